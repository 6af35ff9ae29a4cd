import { expandNames, isToolAllowed, type ToolPolicy } from '../../core/runs/tool-policy.ts';
import { MCP_SERVER_NAME } from './own-tools.ts';

/** Which tools of our own server a child is let to see, by their names there. */
export type ServerTools = {
  /** Null: all that are not denied. */
  readonly only: readonly string[] | null;
  readonly except: readonly string[];
};

const PREFIX = `mcp__${MCP_SERVER_NAME}__`;

/** For clients that take a list of names; what stands for several names is in `serverToolGaps`. */
export function serverTools(policy: ToolPolicy): ServerTools {
  const isOpen = policy.allow === null || isToolAllowed({ deny: [], allow: policy.allow }, 'mcp');
  return { only: isOpen ? null : exact(policy.allow ?? []), except: exact(policy.deny) };
}

/** Denials of some tools of our server by a pattern, which such a client cannot be told. */
export function serverToolGaps(policy: ToolPolicy): string[] {
  if (!isToolAllowed(policy, 'mcp') && policy.allow === null) return [];
  return expandNames(policy.deny).filter((name) => name.includes('*') && isPartly(name));
}

function exact(names: readonly string[]): string[] {
  const own = expandNames(names).filter((name) => name.startsWith(PREFIX) && !name.includes('*'));
  return own.map((name) => name.slice(PREFIX.length));
}

/** Whether the pattern may mean a tool of our server, and does not mean them all. */
function isPartly(pattern: string): boolean {
  const start = pattern.slice(0, pattern.indexOf('*'));
  const isOurs = PREFIX.startsWith(start) || start.startsWith(PREFIX);
  return isOurs && !isToolAllowed({ deny: [], allow: [pattern] }, `${PREFIX}x`);
}
