import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Environment } from '../../core/state-paths.ts';
import { HOOKS, type HookEventName, type HookMode, hooksIn } from '../../hooks/hooks.ts';
import { findProgram, type RunCommand } from '../../system/run-command.ts';
import type { McpRegistration } from '../server-entry.ts';
import { frontmatterOf } from '../user-files.ts';

/** Beside ~/.claude, not in it; in a directory of one's own it is inside. */
export const claudeServer: McpRegistration = {
  place: ({ env, home, claudeDirectory: directory }) => ({
    directory,
    path: join(env.CLAUDE_CONFIG_DIR ? directory : home, '.claude.json'),
  }),
  format: 'json',
  holder: 'mcpServers',
  entry: ({ command, variables = {} }) => ({ type: 'stdio', command, args: ['mcp'], env: variables }),
};

export type ClientVersion =
  | { readonly kind: 'known'; readonly version: string; readonly path: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** What a client of some version can do, as far as registering hooks goes. */
export type ClientFeatures = {
  /** Runs `command` with `args` directly instead of through a shell. */
  readonly execForm: boolean;
  /** Starts a hook without waiting for it when its entry says so. */
  readonly asyncHooks: boolean;
  /** Those of our events whose names it knows: before 2.1.150 one unknown name switches off the whole settings file. */
  readonly events: readonly HookEventName[];
};

type ClientWorld = { readonly env: Environment; readonly run: RunCommand; readonly platform: string };

const VERSION_TIME_LIMIT_MS = 10_000;
/** What is expected of a client whose version is not known. */
const EXPECTED = '2.0.76';
const OLDEST_EVENTS: readonly HookEventName[] = [
  ...(['PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'SessionStart', 'SessionEnd'] as const),
  ...(['SubagentStop', 'Stop'] as const),
];

/** Whether every client that can run our hooks knows this event. */
export function isKnownToAll(event: HookEventName): boolean {
  return OLDEST_EVENTS.includes(event);
}

/** Asks the `claude` on PATH for its version; takes at most 10 seconds. Never throws. */
export async function findClientVersion({ env, run, platform }: ClientWorld): Promise<ClientVersion> {
  const unknown = (reason: string) => ({ kind: 'unknown', reason }) as const;
  const path = findProgram('claude', env, platform);
  if (path === undefined) return unknown('there is no "claude" on PATH');
  const end = await run(path, ['--version'], { env, cwd: dirname(path), timeoutMs: VERSION_TIME_LIMIT_MS });
  const asked = `"${path} --version"`;
  if (end.kind === 'timed-out') return unknown(`${asked} gave no answer in 10 seconds`);
  if (end.kind === 'failed') return unknown(`${asked} failed: ${end.reason}`);
  if (end.code !== 0) return unknown(`${asked} ended with exit code ${end.code}`);
  const version = parseClientVersion(end.stdout);
  return version === undefined
    ? unknown(`${asked} did not print a version`)
    : { kind: 'known', version, path };
}

/** The version at the beginning of what `claude --version` prints, or undefined. */
export function parseClientVersion(text: string): string | undefined {
  return /^\s*v?(\d{1,6}\.\d{1,6}\.\d{1,6})(?![\w.])/.exec(text)?.[1];
}

/** What this version can do. Of an unknown one only what every client since 2.0.76 understands is expected. */
export function clientFeatures(version = EXPECTED): ClientFeatures {
  const isSince = (first: string) => Bun.semver.order(version, first) >= 0;
  const knows = (event: HookEventName) =>
    isKnownToAll(event) || isSince(event === 'PostToolBatch' ? '2.1.150' : EXPECTED);
  const events = [...new Set(HOOKS.map((hook) => hook.event))].filter(knows);
  // The latter was not tried with older ones.
  return { execForm: isSince('2.1.139'), asyncHooks: isSince('2.1.328'), events };
}

/** The events of this mode that a client of this version does not know. */
export function unknownEvents(version: string, mode: HookMode): HookEventName[] {
  const { events } = clientFeatures(version);
  return hooksIn(mode).flatMap(({ event }) => (events.includes(event) ? [] : [event]));
}

/**
 * What the user should know about hooks that are left out because of the client's version. `before`: what an earlier install
 * was told of it.
 */
export function clientWarnings(client: ClientVersion, mode: HookMode, before?: string): string[] {
  if (client.kind === 'unknown') {
    const registered =
      before === undefined ? 'what every version since 2.0.76 understands' : `for ${before}, as before`;
    return [
      `The version of Claude Code is unknown (${client.reason}): registered ${registered}. ` +
        'If it has another, run "self-generation install --client-version X.Y.Z".',
    ];
  }
  const missing = unknownEvents(client.version, mode);
  if (missing.length === 0) return [];
  return [
    `Claude Code ${client.version} does not know ${missing.join(', ')}; registering that would switch off your ` +
      'whole settings file. Update Claude Code, then run "self-generation install" again.',
  ];
}

/**
 * The commands `/subagents` and `/stop` in Claude Code, which knows a command only by its file. What is typed is answered by
 * the hook that gets the prompt (cli/run.ts); these texts are for a model, where no hook answers. No shell sees what
 * is typed: measured with 2.1.328, in a line that runs a command (`!`), $ARGUMENTS becomes part of the shell's text, so
 * none stands here; without $ARGUMENTS in it the client adds `ARGUMENTS: …` at the end.
 */
const TEXTS = {
  subagents: `---
description: Background sub-agents: list, info, log, send, stop, retry, spawn, inbox
argument-hint: list | info <id> | log <id> [limit] [tools] | send <id> <message> | stop <id|all> | retry <id> | spawn <task> | inbox
allowed-tools: mcp__self-generation__subagents, mcp__self-generation__sessions_spawn
disable-model-invocation: true
---

Call the tool mcp__self-generation__subagents once with what the user typed, below as ARGUMENTS: \`action\`, then \`target\`, for log then \`limit\` and "tools" for \`includeTools\`, for send the rest as \`message\`, word for word. Nothing typed is list. For spawn, the rest is \`task\` of mcp__self-generation__sessions_spawn, word for word. For anything else call nothing, and say which actions there are. Show the answer briefly, and do nothing else.
`,
  stop: `---
description: Stop the background sub-agents of this session
argument-hint: [id]
allowed-tools: mcp__self-generation__subagents
disable-model-invocation: true
---

Call the tool mcp__self-generation__subagents once with action "stop" and, as \`target\`, what the user typed, below as ARGUMENTS; when nothing stands there, "all". Show the answer briefly, and do nothing else.
`,
};

export type CommandName = keyof typeof TEXTS;

/** By these names install keeps record of the commands. */
export const COMMANDS = { command: 'subagents', stop: 'stop' } as const satisfies Readonly<
  Record<string, CommandName>
>;
export type CommandClient = keyof typeof COMMANDS;
export const COMMAND_CLIENTS = ['command', 'stop'] as const satisfies readonly CommandClient[];

/** Whether it is a command of Claude Code, and no client of its own. */
export function isCommand(client: string): client is CommandClient {
  return client in COMMANDS;
}

/** The command's file as it has to be. */
export function commandText(name: CommandName): string {
  return TEXTS[name];
}

/** A shorter name would be found inside nearly every agent type, because RA-401 looks for it as a part. */
const USABLE_NAME = /^[^\x00-\x1f\x7f]{3,100}$/u;
const FILES_MAX = 500;
const FILE_BYTES_MAX = 256 * 1024;
const WRITING_TOOLS: readonly string[] = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'];
/** What an agent without a `tools` line has to be denied to count as a reader. */
const INHERITED_WRITING_TOOLS: readonly string[] = ['Edit', 'Write'];

/** The `.md` files in and below an agents directory, in the order of their names; none when it does not exist. */
export function readAgentFiles(directory: string): { readonly name: string; readonly text: string }[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .slice(0, FILES_MAX)
    .flatMap((name) => {
      const path = join(directory, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      const isRead = stats?.isFile() && stats.size <= FILE_BYTES_MAX;
      return isRead ? [{ name, text: readFileSync(path, 'utf8') }] : [];
    });
}

/** The names of the agents whose tools can change files, by the texts of their files; each once. Never throws. */
export function writingAgents(texts: readonly string[]): string[] {
  const names = texts.flatMap((text) => {
    const fields = frontmatter(text);
    const name = fields.get('name')?.at(0);
    if (name === undefined || !USABLE_NAME.test(name) || !canWrite(fields)) return [];
    return READING_AGENTS.some((agent) => agent.includes(name)) ? [] : [name];
  });
  return [...new Set(names)];
}

/** The client's own agents that only look: a name that is part of theirs would give them context too (RA-401). */
const READING_AGENTS = ['Explore', 'Plan', 'statusline-setup', 'claude-code-guide'];

function canWrite(fields: ReadonlyMap<string, readonly string[]>): boolean {
  const tools = fields.get('tools');
  const denied = new Set(fields.get('disallowedTools'));
  const inheritsAll = tools === undefined || tools.includes('*');
  const granted = inheritsAll
    ? INHERITED_WRITING_TOOLS
    : WRITING_TOOLS.filter((tool) => tools.some((rule) => rule === tool || rule.startsWith(`${tool}(`)));
  return granted.some((tool) => !denied.has(tool));
}

/**
 * The top-level fields of the YAML block at the beginning, as lists: `a, b`, `[a, b]` and `- a` lines. A field without
 * any value is left out, an empty list is an empty list. Nested maps and block texts are not read.
 */
function frontmatter(text: string): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  let key = '';
  for (const line of frontmatterOf(text).split(/\r?\n/)) {
    const item = /^\s*-\s+(.+)$/.exec(line)?.[1];
    const field = /^([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$/.exec(line);
    if (field !== null) {
      key = field[1] ?? '';
      const value = withoutComment(field[2] ?? '');
      if (value !== '') fields.set(key, splitList(value));
    } else if (item !== undefined && key !== '') {
      fields.set(key, [...(fields.get(key) ?? []), unquote(withoutComment(item))]);
    }
  }
  return fields;
}

/** Commas inside parentheses belong to a rule such as `Write(a,b)`. */
function splitList(value: string): string[] {
  const inner = /^\[(.*)\]$/.exec(value)?.[1] ?? unquote(value);
  const parts = inner.match(/(?:\([^)]*\)|[^,(])+/g) ?? [];
  return parts.map((part) => unquote(part.trim())).filter((part) => part !== '');
}

function withoutComment(value: string): string {
  return value.replace(/(?:^|\s)#.*$/, '').trim();
}

function unquote(value: string): string {
  return /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
}
