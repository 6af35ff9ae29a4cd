/**
 * Which tools a sub-agent may use (R43–R45), in names that are no client's: see TOOL_NAMES. Deny beats allow at every
 * level; an allow list, once set, is all there is. Names are lower-case, `*` stands for any letters.
 */
export type ToolPolicy = {
  readonly deny: readonly string[];
  /** Null: everything that is not denied. */
  readonly allow: readonly string[] | null;
};

/** What the clients' own tools are called here, and the tools of our MCP server. Other names are tools of MCP servers. */
export const TOOL_NAMES = [
  ...['read', 'write', 'edit', 'apply_patch', 'exec', 'process', 'web_search', 'web_fetch'],
  ...['task', 'todo', 'skill', 'mcp'],
  ...['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'agents_list', 'subagents'],
] as const;

export type ToolName = (typeof TOOL_NAMES)[number];

/** No nested fan-out: neither by our tools (R43) nor by the client's own (R7). */
export const SUBAGENT_DENY: readonly string[] = [
  ...['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'agents_list', 'subagents'],
  'task',
];

export const NO_POLICY: ToolPolicy = { deny: [], allow: null };

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'group:fs': ['read', 'write', 'edit', 'apply_patch'],
  'group:runtime': ['exec', 'process'],
  'group:web': ['web_search', 'web_fetch'],
  'group:sessions': [
    ...['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'agents_list', 'subagents'],
  ],
};

const ALIASES: Readonly<Record<string, string>> = {
  bash: 'exec',
  shell: 'exec',
  'apply-patch': 'apply_patch',
};

/** Whether the policy lets the tool through. `mcp` stands for every tool of an MCP server. */
export function isToolAllowed(policy: ToolPolicy, tool: string): boolean {
  const names = tool.startsWith('mcp__') ? [tool, 'mcp'] : [tool];
  const isIn = (list: readonly string[]) =>
    expandNames(list).some((pattern) => names.some((name) => matches(pattern, name)));
  return !isIn(policy.deny) && (policy.allow === null || isIn(policy.allow));
}

/** One policy that lets through what each of these does: a later stage never widens. */
export function combinePolicies(stages: readonly ToolPolicy[]): ToolPolicy {
  const deny = [...new Set(stages.flatMap((stage) => expandNames(stage.deny)))];
  const lists = stages.flatMap(({ allow }) => (allow === null ? [] : [allow]));
  if (lists.length === 0) return { deny, allow: null };
  const candidates = new Set<string>([...TOOL_NAMES, ...lists.flatMap(expandNames)]);
  const isInAll = (name: string) => lists.every((allow) => isToolAllowed({ deny: [], allow }, name));
  return { deny, allow: [...candidates].filter(isInAll) };
}

/** Names in lower case, groups and other spellings resolved; each once. */
export function expandNames(names: readonly string[]): string[] {
  const expanded = names.flatMap((name) => {
    const lower = name.trim().toLowerCase();
    return GROUPS[lower] ?? [ALIASES[lower] ?? lower];
  });
  return [...new Set(expanded)].filter((name) => name !== '');
}

function matches(pattern: string, name: string): boolean {
  if (!pattern.includes('*')) return pattern === name;
  const [first = '', ...rest] = pattern.split('*');
  if (!name.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() ?? '';
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
