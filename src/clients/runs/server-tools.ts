import { expandNames, isToolAllowed, type ToolPolicy } from '../../core/runs/tool-policy.ts';
import { MCP_SERVER_NAME } from './own-tools.ts';

/** Which tools of our own server a child is let to see, by their names there. */
export type ServerTools = {
  /** Null: all that are not denied. */
  readonly only: readonly string[] | null;
  readonly except: readonly string[];
};

const PREFIX = `mcp__${MCP_SERVER_NAME}__`;
/** A tool that nobody has named: what means this one means all. */
const ANY_TOOL = `${PREFIX}\0`;

const NONE: ServerTools = { only: [], except: [] };

/** For a client that takes names. One that is denied some of the tools by a pattern, which it cannot be told, sees none. */
export function serverTools({ deny, allow }: ToolPolicy): ServerTools {
  if (expandNames(deny).some(mayMeanOurs)) return NONE;
  if (!isToolAllowed({ deny, allow: null }, ANY_TOOL)) return NONE;
  const isOpen = allow === null || isToolAllowed({ deny: [], allow }, ANY_TOOL);
  return { only: isOpen ? null : named(allow), except: named(deny) };
}

function named(names: readonly string[]): string[] {
  const ours = expandNames(names).filter((name) => name.startsWith(PREFIX) && !name.includes('*'));
  return ours.map((name) => name.slice(PREFIX.length));
}

function mayMeanOurs(pattern: string): boolean {
  const at = pattern.indexOf('*');
  if (at < 0) return false;
  const start = pattern.slice(0, at);
  return PREFIX.startsWith(start) || start.startsWith(PREFIX);
}
