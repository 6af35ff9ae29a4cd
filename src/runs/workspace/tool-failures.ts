import { existsSync, readdirSync } from 'node:fs';
import type { AgentEvent } from '../../clients/client.ts';
import { type GeminiExits, geminiExits } from '../../clients/gemini/exit-codes.ts';
import type { ClientName } from '../../core/client-name.ts';
import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText, fingerprint } from '../../core/text.ts';
import { getDb } from '../../database/db.ts';
import { decide } from '../../hooks/decide.ts';
import type { FullContext, Project, Recording } from '../../hooks/decision.ts';
import { type HookEvent, parseHookEvent } from '../../hooks/event.ts';
import { record } from '../../hooks/store/record.ts';
import { spool } from '../../hooks/store/spool.ts';
import type { Config } from '../../settings/hook-settings.ts';
import { isEnabled, loadConfig } from '../../settings/load-hook-settings.ts';
import { type Run, runDirectory } from '../model/run.ts';
import { orLogged } from '../world.ts';
import { projectOfDirectory } from './first-prompt.ts';

/** A call of a client's tool as the hooks know it: by the names and fields of Claude Code. */
export type HookCall = { readonly tool: string; readonly input: Json };

const FILES_MAX = 20;
/** What Gemini CLI and OpenCode call the tools that something can be learned from. Other names stay as they are. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ run_shell_command: 'Bash', bash: 'Bash', shell: 'Bash', exec_command: 'Bash' },
  ...{ read_file: 'Read', read: 'Read', write_file: 'Write', write: 'Write' },
  ...{ replace: 'Edit', edit: 'Edit', multiedit: 'Edit' },
  ...{ search_file_content: 'Grep', grep_search: 'Grep', grep: 'Grep', glob: 'Glob' },
};
const FILE_FIELDS = ['file_path', 'filePath', 'absolute_path', 'path'];
const FILE_TOOLS = new Set(['Read', 'Write', 'Edit']);

/** What the hooks would have been told of the call; of a patch, one call for each file that it changes. */
export function hookCalls(client: ClientName, { tool, input }: HookCall): HookCall[] {
  if (client === 'claude') return [{ tool, input }];
  if (tool === 'apply_patch' || tool === 'patch') return patchedFiles(input);
  const name = NAMES[tool] ?? tool;
  if (name === 'Bash') {
    const isInBackground = input.is_background === true ? { run_in_background: true } : {};
    return [{ tool: name, input: { ...input, ...isInBackground, command: commandOf(input) } }];
  }
  if (!FILE_TOOLS.has(name)) return [{ tool: name, input }];
  const file = FILE_FIELDS.map((field) => readString(input, field)).find((path) => path !== undefined);
  return [{ tool: name, input: file === undefined ? {} : { file_path: file } }];
}

/** How the clients word that a call was not let through. */
const REFUSALS: readonly RegExp[] = [
  /^Permission (?:to|for) .{0,4000} has been denied/s,
  /^Claude requested permissions to /,
  /^(?:<tool_use_error>)?File is in a directory that is denied by your permission settings/,
  /^The user (?:doesn't want to |rejected permission to |has specified a rule which prevents )/,
  /^Tool execution (?:denied by policy|blocked)/,
  /^Tool "[^"]{1,200}" not found/,
  /^Model tried to call unavailable tool /,
];

/** Whether a policy kept the call back: nothing of the project has failed then, and no hook would be told. */
export function isRefused(text: string): boolean {
  return REFUSALS.some((refusal) => refusal.test(text));
}

/** A command line, or its words. */
function commandOf(input: Json): unknown {
  const command = input.command ?? input.cmd;
  return Array.isArray(command) ? command.filter((word) => typeof word === 'string').join(' ') : command;
}

/** From the client's own list of changes, or from the patch itself. */
function patchedFiles(input: Json): HookCall[] {
  const listed = Array.isArray(input.changes) ? input.changes.filter(isRecord) : [];
  const named = isRecord(input.changes) ? Object.keys(readRecord(input, 'changes')) : [];
  const text =
    readString(input, 'patchText') ?? readString(input, 'patch') ?? readString(input, 'input') ?? '';
  const inText = [...text.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.{1,4096})$/gm)];
  const files = [
    ...listed.flatMap((change) => readString(change, 'path') ?? []),
    ...named,
    ...inText.flatMap(([, path]) => path ?? []),
  ];
  const inputs = [...new Set(files)].slice(0, FILES_MAX).map((path) => ({ file_path: path }));
  return (inputs.length > 0 ? inputs : [{}]).map((one) => ({ tool: 'Edit', input: one }));
}

/** What a run's tools did, for the hooks' database and by their decisions: no hook of ours runs in a client we start. */

/** A busy database costs the supervisor no more than this; then the recordings wait in the spool. */
const LOCK_TIMEOUT_MS = 100;
const MIGRATION_BYTES_MAX = 16 * 1024 * 1024;
const PENDING_MAX = 64;
/** Until it is known how they ended. */
const HELD_BACK_MAX = 512;
const WRITE_EVERY_MS = 2000;
/** Calls that have not ended, of which the oldest is forgotten. */
const OPEN_CALLS_MAX = 256;
/** More of a command, a path or an error is never looked at; see hooks/tool-call.ts. */
const TEXT_LENGTH_MAX = 16 * 1024;

type OpenCall = { readonly tool: string; readonly input: Json };

/** Calls that have not ended, without what is too long of them, by their ids. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();

  add({ id, tool, input }: Extract<AgentEvent, { kind: 'tool-call' }>): void {
    this.#calls.set(id, { tool, input: withShortTexts(input) });
    if (this.#calls.size > OPEN_CALLS_MAX) this.#calls.delete(this.#calls.keys().next().value ?? '');
  }

  get(id: string): OpenCall | undefined {
    return this.#calls.get(id);
  }

  delete(id: string): void {
    this.#calls.delete(id);
  }
}

/** A call that has ended. It is decided on when it is written: some clients say elsewhere, and later, how it ended. */
type EndedCall = OpenCall & {
  readonly id: string;
  readonly isError: boolean;
  readonly text: string;
  readonly at: Date;
};

/** For one turn of a run. Nothing of it throws. */
export class FailureRecorder {
  readonly #run: Run;
  readonly #paths: StatePaths;
  readonly #open = new OpenCalls();
  #config: Config | undefined;
  #project: Project | undefined;
  readonly #pending: EndedCall[] = [];
  #writtenMs = 0;

  constructor(run: Run, paths: StatePaths) {
    this.#run = run;
    this.#paths = paths;
  }

  /** Looks at one event of the client. */
  observe(event: AgentEvent): void {
    this.#guarded(() => this.#observe(event));
  }

  /** Writes what has been collected; to be called at the end of the turn. */
  flush(): void {
    this.#guarded(() => this.#take(this.#pending.length, this.#exits()));
  }

  #guarded(work: () => void): void {
    orLogged(this.#run.id, this.#paths, work);
  }

  #observe(event: AgentEvent): void {
    if (event.kind === 'tool-call') {
      this.#open.add(event);
    } else if (event.kind === 'tool-result') {
      const { id, isError } = event;
      const call = this.#open.get(id) ?? { tool: event.tool ?? '', input: {} };
      this.#open.delete(id);
      const text = cutText(event.text, TEXT_LENGTH_MAX);
      this.#pending.push({ ...call, id, isError, text, at: new Date() });
      const isLongAgo = Date.now() - this.#writtenMs > WRITE_EVERY_MS;
      if (isLongAgo || this.#pending.length % PENDING_MAX === 0) this.#flushKnown();
    }
  }

  /** What is known by now: a conversation may be a moment behind the stream, and what happened stays in its order. */
  #flushKnown(): void {
    this.#writtenMs = Date.now();
    const exits = this.#exits();
    const unknown = this.#pending.findIndex(({ id, isError }) => !isError && exits?.(id) === undefined);
    const isHeldBack = exits !== undefined && unknown >= 0 && this.#pending.length < HELD_BACK_MAX;
    this.#take(isHeldBack ? unknown : this.#pending.length, exits);
  }

  #exits(): GeminiExits | undefined {
    const { client, id } = this.#run;
    if (client !== 'gemini' || this.#pending.length === 0) return undefined;
    return geminiExits(runDirectory(this.#paths, id));
  }

  #take(count: number, exits: GeminiExits | undefined): void {
    const recordings = this.#decide(this.#pending.splice(0, count), exits);
    if (recordings.length === 0) return;
    try {
      this.#write(recordings);
    } catch {
      // Whoever writes next takes them in: a hook, or another supervisor.
      spool(recordings, this.#paths, Date.now());
    }
  }

  #decide(calls: readonly EndedCall[], exits: GeminiExits | undefined): Recording[] {
    if (calls.length === 0) return [];
    this.#config ??= loadConfig(this.#paths);
    if (!isEnabled(this.#config)) return [];
    this.#project ??= withWorktree(projectOfDirectory(this.#run.cwd), this.#run, this.#paths);
    const context: Omit<FullContext, 'now'> = {
      config: this.#config,
      project: this.#project,
      knowledge: () => undefined, // Nobody is told anything here.
      skills: () => [],
    };
    return calls.flatMap((call) => {
      const events = hookEvents(call, this.#run, exits);
      return events.flatMap((event) => decide(event, { ...context, now: call.at }).recording ?? []);
    });
  }

  #write(recordings: readonly Recording[]): void {
    const limits = { busyTimeoutMs: LOCK_TIMEOUT_MS, migrationBytesMax: MIGRATION_BYTES_MAX };
    const db = getDb(this.#paths, { mode: 'write', ...limits });
    try {
      record(recordings, this.#paths, db);
    } finally {
      db.sqlite.close();
    }
  }
}

/** What the hooks of the requester's session would have been told, had the call been one of a sub-agent in it. */
function hookEvents(ended: EndedCall, run: Run, exits: GeminiExits | undefined): HookEvent[] {
  if (ended.tool === '' || (ended.isError && isRefused(ended.text))) return [];
  const agent = { agent_id: run.id, agent_type: run.agentId };
  const common = { session_id: run.requester.session ?? run.childKey, cwd: run.cwd, ...agent };
  // Some clients count the calls of each turn from one.
  const id = `${run.id}:${ended.id}:${fingerprint(JSON.stringify(ended.input))}`;
  return hookCalls(run.client, ended).flatMap((call) => {
    const [name, said] = endOf(ended, call, exits);
    const told = { tool_name: call.tool, tool_input: call.input, tool_use_id: id, ...said };
    const input = name === 'PostToolBatch' ? { tool_calls: [told] } : told;
    return parseHookEvent({ ...common, ...input }, name) ?? [];
  });
}

/** Which hook tells of such an end, and what it is told. */
function endOf(
  { id, isError, text }: EndedCall,
  { tool }: HookCall,
  exits: GeminiExits | undefined,
): readonly [HookEvent['name'], Json] {
  // Rejected by the client, before it was done.
  if (isError && text.startsWith('<tool_use_error>')) return ['PostToolBatch', { tool_response: text }];
  if (isError) return ['PostToolUseFailure', { error: errorIn(text, tool) }];
  const code = exits === undefined || tool !== 'Bash' ? 0 : exits(id);
  if (code === 0) return ['PostToolUse', {}];
  // It returned, which does not mean that it worked.
  if (code === undefined) return ['PostToolUse', { tool_response: { interrupted: true } }];
  return ['PostToolUseFailure', { error: `Exit code ${code}\n${text}`.trim() }];
}

/** As the hooks are told it. A failure without a word is one that nobody can recognise again. */
function errorIn(text: string, tool: string): string {
  const said = text.trim();
  return said !== '' ? said : tool === 'Bash' ? 'Exit code ?' : '?';
}

/** A working tree that was made for the run is another spelling of its project, before the run knows of it. */
function withWorktree(project: Project, { id }: Run, { worktrees }: StatePaths): Project {
  const repositories = existsSync(worktrees) ? readdirSync(worktrees) : [];
  const own = repositories.map((repository) => `${worktrees}/${repository}/${id}`).filter(existsSync);
  return { ...project, spellings: [...new Set([...project.spellings, ...own])] };
}

function withShortTexts(input: Json): Json {
  const short = (value: unknown) => (typeof value === 'string' ? cutText(value, TEXT_LENGTH_MAX) : value);
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, short(value)]));
}
