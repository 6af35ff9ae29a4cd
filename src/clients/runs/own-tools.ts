import { expandNames, isToolAllowed, type ToolName, type ToolPolicy } from '../../core/runs/tool-policy.ts';

/** Our own server in the configuration of a child; its tools are `mcp__self-generation__…` in a policy. */
export const MCP_SERVER_NAME = 'self-generation';
const PREFIX = `mcp__${MCP_SERVER_NAME}__`;
/** A tool that nobody has named: what means this one means all. */
const ANY_TOOL = `${PREFIX}\0`;

/** A client's own tools by their names there, each with that of a policy. */
export type OwnTools = Readonly<Record<string, ToolName>>;

/**
 * Which of the client's tools the policy lets through. A tool goes by both its names: who denies `Grep`, as the
 * client calls it, has not denied all that reads, and must not be left with it.
 */
export function offeredTools(policy: ToolPolicy, tools: OwnTools): string[] {
  const isOffered = (name: string) => {
    const names = new Set([tools[name] ?? name, name.toLowerCase()]);
    const isDenied = [...names].some((one) => !isToolAllowed({ ...policy, allow: null }, one));
    return !isDenied && [...names].some((one) => isToolAllowed(policy, one));
  };
  return Object.keys(tools).filter(isOffered);
}

/** The tools of our server that the policy names one by one as denied; `*` may be in them. */
export function deniedServerTools(policy: ToolPolicy): string[] {
  return expandNames(policy.deny).filter((name) => name.startsWith(PREFIX));
}

/** Which tools of our own server a child is let to see, by their names there. */
export type ServerTools = {
  /** Null: all that are not denied. */
  readonly only: readonly string[] | null;
  readonly except: readonly string[];
};

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
