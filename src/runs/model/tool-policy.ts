import { cutText } from '../../core/text.ts';

/** Which tools a sub-agent may use (R43–R45), by TOOL_NAMES in lower case; `*` is any letters. Deny beats allow; an allow list is all there is. */
export type ToolPolicy = {
  readonly deny: readonly string[];
  /** Null: everything that is not denied. */
  readonly allow: readonly string[] | null;
};

const OF_SESSIONS = [
  ...['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'agents_list', 'subagents'],
] as const;

/** What the clients' own tools are called here, and the tools of our MCP server. Other names are tools of MCP servers. */
export const TOOL_NAMES = [
  ...['read', 'write', 'edit', 'apply_patch', 'exec', 'process', 'web_search', 'web_fetch'],
  ...['task', 'todo', 'skill', 'mcp'],
  ...OF_SESSIONS,
] as const;

export type ToolName = (typeof TOOL_NAMES)[number];

/** No nested fan-out: neither by our tools (R43) nor by the client's own (R7). */
export const SUBAGENT_DENY: readonly string[] = [...OF_SESSIONS, 'task'];

export const NO_POLICY: ToolPolicy = { deny: [], allow: null };
/** For who only answers. */
export const NO_TOOLS: ToolPolicy = { deny: ['*'], allow: null };

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'group:fs': ['read', 'write', 'edit', 'apply_patch'],
  'group:runtime': ['exec', 'process'],
  'group:web': ['web_search', 'web_fetch'],
  'group:sessions': OF_SESSIONS,
};

/** As the clients call tools, so that who denies one as he knows it is understood in every client. */
const SPELLINGS = {
  read: 'read_file read_many_files readfile',
  write: 'write_file writefile',
  edit: 'replace multiedit',
  apply_patch: 'apply-patch applypatch patch',
  exec: 'bash shell exec_command shell_command local_shell run_shell_command unified_exec',
  process: 'write_stdin bashoutput killshell',
  web_search: 'websearch google_web_search',
  web_fetch: 'webfetch',
  task: 'agent spawn_agent',
  todo: 'todowrite todoread write_todos update_plan',
  skill: 'activate_skill',
  grep: 'grep_search search_file_content',
  list: 'list_directory ls',
  question: 'askuserquestion ask_user request_user_input',
  plan_enter: 'enterplanmode enter_plan_mode',
  plan_exit: 'exitplanmode exit_plan_mode',
};

/** Some clients have these beside what they are a part of: who allows one must not get the whole of it. */
const PARTS = ['glob', 'grep', 'list', 'view_image', 'notebookedit'];

const ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries(SPELLINGS).flatMap(([name, others]) => others.split(' ').map((one) => [one, name] as const)),
);

/** What the policies call a tool, by whatever name a client has for it. */
export function policyName(tool: string): string {
  const name = tool.toLowerCase();
  return ALIASES.get(name) ?? name;
}

/** Tools that only the seed of this program had; naming one is no mistake. */
const NOT_HERE = ['gateway', 'cron'];

/** Whether the tool is let through, under whatever name; `mcp` is every MCP tool. A pattern denies each spelling, and allows but its own. */
export function isToolAllowed(policy: ToolPolicy, tool: string): boolean {
  const own = tool.toLowerCase();
  const name = ALIASES.get(own) ?? own;
  const names = own.startsWith('mcp__') ? [own, 'mcp'] : [own, name];
  const others = [...ALIASES].flatMap(([spelling, meant]) => (meant === name ? [spelling] : []));
  const isIn = (list: readonly string[], known: readonly string[]) =>
    expandNames(list).some((pattern) => known.some((one) => matches(pattern, one)));
  return !isIn(policy.deny, [...names, ...others]) && (policy.allow === null || isIn(policy.allow, names));
}

/** Why an entry means nothing, and would deny nothing; undefined when it means something. By its exact letters: a look-alike is none. */
export function entryProblem(entry: string): string | undefined {
  const word = entry.trim().toLowerCase();
  const isKnown =
    [...Object.keys(GROUPS), ...NOT_HERE].includes(word) ||
    MCP_TOOL.test(word) ||
    KNOWN.some((name) => matches(word, name));
  return isKnown ? undefined : `"${inAscii(entry)}" is no tool: it may be ${ENTRIES}`;
}

const KNOWN: readonly string[] = [...TOOL_NAMES, ...PARTS, ...ALIASES.keys(), ...ALIASES.values()];
const MCP_TOOL = /^mcp__[a-z0-9_.*-]+$/;
const ENTRIES = [
  ...TOOL_NAMES,
  ...Object.keys(GROUPS),
  'mcp__<server>__<tool>, what a client calls one of these (Bash), or a pattern of such names with *',
].join(', ');
const SHOWN_LENGTH_MAX = 80;

/** The text, cut, where a letter that looks like another one, or like none, is seen to be what it is. */
export function inAscii(text: string): string {
  const number = (letter: string) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`;
  return cutText(text, SHOWN_LENGTH_MAX).replace(/[^ -~]/gu, number);
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
    return Object.hasOwn(GROUPS, lower) ? (GROUPS[lower] ?? []) : [ALIASES.get(lower) ?? lower];
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
