import { fileURLToPath } from 'node:url';
import { type CommandEnd, pictureIn, type SessionStep } from '../../core/conversation.ts';
import {
  asRecord,
  isRecord,
  type Json,
  lookOr,
  parseJson,
  readRecord,
  readRecords,
  readString,
} from '../../core/guards.ts';
import type { Environment } from '../../core/state-paths.ts';
import { below, SESSION_ID } from '../reading.ts';
import { type CallChange, withText, withValue } from '../session-format.ts';
import {
  type ListedSession,
  newestFirst,
  recordsIn,
  type SessionStore,
  type StoredSession,
  storedAt,
  timeIn,
} from '../sessions.ts';
import { commandIn } from '../tools.ts';
import { codexDirectory } from './configuration.ts';

/** What Codex itself says in the place of the user. */
const OF_CLIENT =
  /^\s*(?:# AGENTS\.md instructions|<(?:user_instructions|environment_context|turn_aborted|user_shell_command|skill|subagent_notification|hook_prompt)\b)/;

/**
 * Reads the records of a rollout as a conversation. One of a fork holds only what came after. Newer models call a tool that runs
 * JavaScript; the commands that this has run stand beside the conversation, and are calls only where `withCommands`.
 */
export class CodexSession {
  #turns = 0;
  #isBegun = false;
  readonly #withCommands: boolean;
  readonly #calls = new Set<string>();

  constructor({ withCommands = false } = {}) {
    this.#withCommands = withCommands;
  }

  /** What a record says; nothing for one that is not known. */
  read(record: unknown): SessionStep[] {
    if (!isRecord(record)) return [];
    const payload = readRecord(record, 'payload');
    const isFirst = !this.#isBegun && record.type === 'session_meta';
    if (isFirst) this.#isBegun = true;
    const from = readString(payload, 'forked_from_id');
    const before = payload.forked_from_ordinal_exclusive;
    if (isFirst && from !== undefined && typeof before === 'number')
      return [{ kind: 'fork', sessionId: from, before }];
    if (record.type === 'compacted')
      return [{ kind: 'compaction', summary: readString(payload, 'message') ?? '' }];
    if (record.type === 'event_msg' && payload.type === 'thread_rolled_back') {
      this.#turns = Math.max(0, this.#turns - Number(payload.num_turns ?? 0));
      return [{ kind: 'back-to', turns: this.#turns }];
    }
    const steps = record.type === 'response_item' ? this.#item(payload) : this.#command(record, payload);
    const ts = timeIn(record.timestamp);
    return steps.map((step) => ({ ...step, ts }));
  }

  /** Of a command that a call has run: a call of its own, and its end. */
  #command(record: Json, payload: Json): SessionStep[] {
    const item = readRecord(payload, 'item');
    const isEnd = record.type === 'event_msg' && payload.type === 'item_completed';
    if (!this.#withCommands || !isEnd || item.type !== 'CommandExecution') return [];
    const { exit_code: code, aggregated_output: text = '' } = item;
    const id = idOf(item);
    if (this.#calls.has(id) || typeof code !== 'number' || typeof text !== 'string') return [];
    this.#calls.add(id);
    const workdir = lookOr(() => fileURLToPath(readString(item, 'cwd') ?? ''), undefined);
    const input = JSON.stringify({ cmd: commandIn({ cmd: item.command }), workdir });
    const end = { code, printed: text, process: undefined };
    return [
      { kind: 'call', id, tool: 'exec_command', input },
      { kind: 'result', id, text, isError: code !== 0, end, pictures: [] },
    ];
  }

  #item(item: Json): SessionStep[] {
    const id = idOf(item);
    switch (item.type) {
      case 'message':
        return this.#message(item);
      case 'function_call':
      case 'custom_tool_call': {
        this.#calls.add(id);
        const input = readString(item, 'arguments') ?? readString(item, 'input') ?? '';
        const [space, name = ''] = [readString(item, 'namespace'), readString(item, 'name')];
        return [{ kind: 'call', id, tool: space === undefined ? name : `${space}.${name}`, input }];
      }
      case 'local_shell_call':
      case 'web_search_call':
        return [
          {
            kind: 'call',
            id,
            tool: String(item.type).slice(0, -5),
            input: JSON.stringify(item.action ?? {}),
          },
        ];
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const text = textsIn(item.output);
        const end = commandEnd(text);
        const isError = end !== undefined && end.code !== null && end.code !== 0;
        return [{ kind: 'result', id, text, isError, end, pictures: picturesIn(item.output) }];
      }
      default:
        return [];
    }
  }

  #message(item: Json): SessionStep[] {
    const text = textsIn(item.content);
    if (item.role === 'assistant') return text === '' ? [] : [{ kind: 'answer', text }];
    if (item.role !== 'user' || OF_CLIENT.test(text)) return [{ kind: 'system', text }];
    this.#turns++;
    return [{ kind: 'prompt', text, pictures: picturesIn(item.content) }];
  }
}

function idOf(item: Json): string {
  return readString(item, 'call_id') ?? readString(item, 'id') ?? '';
}

const COMMAND_END =
  /^(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?(?:Process running with session ID (\S+)|(?:Process exited with code|Exit code:) (-?\d+))(?:\n(?:Wall time|Original token count|Total output lines): .*)*(?:\nOutput:\n?)?/;

/** What stands before the output of a command; earlier releases wrote JSON. */
function commandEnd(text: string): CommandEnd | undefined {
  const [head = '', process, code] = COMMAND_END.exec(text) ?? [];
  if (head !== '')
    return { code: code === undefined ? null : Number(code), printed: text.slice(head.length), process };
  const json = text.startsWith('{"output":') ? parseJson(text) : undefined;
  const { exit_code } = readRecord(asRecord(json), 'metadata');
  const printed = readString(asRecord(json), 'output');
  return printed === undefined || typeof exit_code !== 'number' ? undefined : { code: exit_code, printed };
}

function textsIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return readRecords(content)
    .flatMap((part) => readString(part, 'text') ?? [])
    .join('\n');
}

function picturesIn(content: unknown) {
  return readRecords(content).flatMap((part) => pictureIn(readString(part, 'image_url') ?? '') ?? []);
}

/** So many files are looked into, the newest days first. */
const FILES_MAX = 500;
const FORKS_MAX = 20;

/** `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, a file for each session; its first record says where it was started. */
export const codexSessions: SessionStore = {
  startedIn: (cwd, env) => {
    const files = rolloutsIn(env).slice(0, FILES_MAX);
    return newestFirst(files.flatMap(listed).filter((one) => one.cwd === cwd && one.parentId === null));
  },
  withId,
  all: (env) => rolloutsIn(env).toReversed().flatMap(listed),
  withAgents,
  read: (session, env) => read(session, env, Number.POSITIVE_INFINITY, FORKS_MAX),
  format: {
    headIn: (record) => {
      const meta = readRecord(record, 'payload');
      const { source, thread_source, parent_thread_id } = meta;
      if (record.type !== 'session_meta') return undefined;
      const isOfAgent = isRecord(source) || thread_source === 'subagent' || parent_thread_id !== undefined;
      return { id: readString(meta, 'id') ?? '', isOfAgent, cwd: readString(meta, 'cwd') };
    },
    reader: () => new CodexSession(),
    withCalls,
  },
};

function withCalls(record: Json, change: CallChange): Json {
  const item = readRecord(record, 'payload');
  if (record.type !== 'response_item') return record;
  const id = idOf(item);
  const output = withText(item.output, (text) => change.output(id, text));
  return withValue(record, 'payload', withInput(withValue(item, 'output', output), id, change));
}

/** Of a tool that takes JSON; what takes a text needs all of it. */
function withInput(item: Json, id: string, change: CallChange): Json {
  const input = parseJson(readString(item, 'arguments') ?? '');
  if (!isRecord(input)) return item;
  const changed = change.input(id, input);
  return changed === input ? item : withValue(item, 'arguments', JSON.stringify(changed));
}

function withId(id: string, env: Environment): StoredSession | undefined {
  if (!SESSION_ID.test(id)) return undefined;
  const path = rolloutsIn(env).find((one) => one.endsWith(`-${id}.jsonl`));
  return path === undefined ? undefined : listed(path)[0];
}

/** An agent's file is of the session's second, by its name, or later. */
function withAgents(id: string, env: Environment): ListedSession[] {
  const main = withId(id, env);
  if (main === undefined) return [];
  const begin = main.path.slice(0, -`${id}.jsonl`.length);
  const later = rolloutsIn(env).filter((path) => path >= begin);
  return later
    .toReversed()
    .flatMap(listed)
    .filter((one) => one.id === id || one.parentId === id);
}

function rolloutsIn(env: Environment): string[] {
  const under = (directory: string) => lookOr(() => below(directory), []);
  const years = lookOr(() => below(`${codexDirectory({ env, agentDir: null })}/sessions`), []);
  return years.flatMap(under).flatMap(under).flatMap(under);
}

function listed(path: string): ListedSession[] {
  const [first] = recordsIn(path).take(1);
  const meta = isRecord(first) ? readRecord(first, 'payload') : {};
  const thread = readString(meta, 'parent_thread_id');
  // Of an agent of an agent `session_id` is the session of the user.
  const parentId = thread === undefined ? null : (readString(meta, 'session_id') ?? thread);
  const cwd = readString(meta, 'cwd');
  const agentType = readString(meta, 'agent_role') ?? null;
  const found = storedAt(path, readString(meta, 'id') ?? '');
  return found.flatMap((session) => (session.id === '' ? [] : [{ ...session, cwd, parentId, agentType }]));
}

/** A fork begins with the records of the session that it comes from, up to the one at which it was made. */
function* read(
  session: StoredSession,
  env: Environment,
  before: number,
  forks: number,
): Generator<SessionStep> {
  const reader = new CodexSession({ withCommands: true });
  for (const record of recordsIn(session.path)) {
    if (isRecord(record) && typeof record.ordinal === 'number' && record.ordinal >= before) return;
    for (const step of reader.read(record)) {
      const from = step.kind === 'fork' && forks > 0 ? withId(step.sessionId, env) : undefined;
      if (step.kind !== 'fork') yield step;
      else if (from !== undefined) yield* read(from, env, step.before, forks - 1);
    }
  }
}
