import { basename } from 'node:path';
import { type Picture, pictureOf, type SessionStep } from '../../core/conversation.ts';
import { geminiCommandEnd } from '../../core/gemini-command.ts';
import { isRecord, type Json, lookOr, readRecord, readRecords, readString } from '../../core/guards.ts';
import type { Environment } from '../../core/state-paths.ts';
import { fingerprint } from '../../core/text.ts';
import { readRegularFile } from '../../system/files.ts';
import { below } from '../reading.ts';
import { type CallChange, withEach, withValue } from '../session-format.ts';
import {
  type ListedSession,
  newestFirst,
  recordsIn,
  type SessionStore,
  type StoredSession,
  stepsIn,
  storedAt,
  timeIn,
} from '../sessions.ts';
import { geminiDirectory } from './configuration.ts';

/** The client's own answer to a summary that it puts in place of a conversation. */
const TAKES_SUMMARY = 'Got it. Thanks for the additional context!';

/**
 * Reads the records of a chat as a conversation: messages, each again when its calls have ended, and lists of all messages
 * in place of those before, at each start and when the conversation was shortened.
 */
export class GeminiSession {
  /** What was said of each message and each call already. */
  #told = new Set<string>();
  /** When the user said something, by its words. */
  readonly #saidAt = new Map<string, string | undefined>();

  /** What a record says; nothing for one that is not known. */
  read(record: unknown): SessionStep[] {
    if (!isRecord(record)) return [];
    const { messages } = isRecord(record.$set) ? record.$set : record;
    if (!Array.isArray(messages)) return this.#message(record);
    this.#told = new Set();
    const all = readRecords(messages);
    const steps = all.flatMap((message, at): SessionStep[] => {
      const isSummary = wordsOf(all[at + 1] ?? {}) === TAKES_SUMMARY;
      if (isSummary) return [{ kind: 'compaction', summary: wordsOf(message) }];
      return wordsOf(message) === TAKES_SUMMARY ? [] : this.#message(message, true);
    });
    return [{ kind: 'anew' }, ...steps];
  }

  #message(message: Json, isAnew = false): SessionStep[] {
    const parts = readRecords(message.content);
    const words = message.type === 'user' ? wordsOf(message).replace(OF_HOOKS, '') : wordsOf(message);
    const id = readString(message, 'id') ?? '';
    const ts = message.type === 'user' ? this.#firstTime(words, message, isAnew) : timeIn(message.timestamp);
    const said: SessionStep[] = [];
    if (message.type === 'gemini') {
      if (words !== '') said.push({ kind: 'answer', text: words, ts });
    } else if (message.type === 'user') {
      const pictures = picturesIn(parts);
      const isResult = parts.some((part) => isRecord(part.functionResponse));
      if (words.startsWith('<session_context>')) said.push({ kind: 'system', text: words });
      else if (!isResult && (words !== '' || pictures.length > 0))
        said.push({ kind: 'prompt', text: words, pictures, ts });
    } else if (words !== '') said.push({ kind: 'system', text: words });
    const isKnown = this.#told.has(`${message.type} ${id}`);
    this.#told.add(`${message.type} ${id}`);
    const calls = this.#calls(readRecords(message.toolCalls));
    const all = [...(isKnown ? [] : said), ...calls, ...this.#parts(parts, message)];
    return message.type === 'gemini' ? all.map((step) => ({ ...step, answer: id })) : all;
  }

  /** What is said anew has another time than it had, and at times another id. */
  #firstTime(words: string, { timestamp }: Json, isAnew: boolean): string | undefined {
    const name = fingerprint(words);
    const first = (isAnew ? this.#saidAt.get(name) : undefined) ?? timeIn(timestamp);
    this.#saidAt.set(name, first);
    return first;
  }

  /** Calls beside a message, with their results. */
  #calls(calls: readonly Json[]): SessionStep[] {
    return calls.flatMap((call) => [...this.#call(call), ...this.#parts(readRecords(call.result), call)]);
  }

  /** Calls and results among the parts of a message, or of a call beside one. */
  #parts(parts: readonly Json[], holder: Json): SessionStep[] {
    return parts.flatMap((part) => {
      if (isRecord(part.functionCall)) return this.#call(part.functionCall);
      if (!isRecord(part.functionResponse)) return [];
      const { functionResponse: result } = part;
      const id = readString(result, 'id') ?? '';
      if (this.#told.has(`result ${id}`)) return [];
      this.#told.add(`result ${id}`);
      const response = readRecord(result, 'response');
      const text = readString(response, 'output') ?? readString(response, 'error') ?? '';
      const end = result.name === SHELL && !('error' in response) ? geminiCommandEnd(text) : undefined;
      const hasEndedBadly = end !== undefined && end.code !== 0;
      const isError = holder.status === 'error' || 'error' in response || hasEndedBadly;
      const ts = timeIn(holder.timestamp);
      return [{ kind: 'result', id, text, isError, end, pictures: picturesIn(parts), ts }];
    });
  }

  #call(call: Json): SessionStep[] {
    const id = readString(call, 'id') ?? '';
    if (this.#told.has(`call ${id}`)) return [];
    this.#told.add(`call ${id}`);
    return [
      { kind: 'call', id, tool: readString(call, 'name') ?? '', input: JSON.stringify(call.args ?? {}) },
    ];
  }
}

const SHELL = 'run_shell_command';
/** What hooks have put beside what the user said; the client leaves no bracket in it. */
const OF_HOOKS = /^<hook_context>[^<>]*<\/hook_context>\n\n|\n<hook_context>[^<>]*<\/hook_context>$/g;

function wordsOf({ content }: Json): string {
  if (typeof content === 'string') return content;
  return readRecords(content)
    .flatMap((part) => readString(part, 'text') ?? [])
    .join('\n');
}

function picturesIn(parts: readonly Json[]): Picture[] {
  return parts.flatMap((part) => {
    const data = readRecord(part, 'inlineData');
    return readString(data, 'mimeType')?.startsWith('image/')
      ? [pictureOf(readString(data, 'mimeType') ?? '', readString(data, 'data') ?? '')]
      : [];
  });
}

/**
 * `tmp/<project>/chats/session-<time>-<beginning of the id>.jsonl`. Each start writes a head into the file of its minute,
 * and what follows into the session's own: of several files the one written last has it.
 */
export const geminiSessions: SessionStore = {
  startedIn: (cwd, env) => {
    const projects = projectsIn(env).filter((project) => rootOf(project) === cwd);
    return sessionsIn(projects.flatMap(chatsIn));
  },
  withId: (id, env) =>
    sessionsIn(
      projectsIn(env)
        .flatMap(chatsIn)
        .filter((path) => path.includes(`-${id.slice(0, 8)}.`)),
    ).find((session) => session.id === id),
  all,
  withAgents: (id, env) => all(env).filter((session) => session.id === id || session.parentId === id),
  read: ({ path }) => stepsIn(path, new GeminiSession()),
  format: {
    headIn: ({ sessionId: id, projectHash, kind }) => {
      if (typeof id !== 'string' || typeof projectHash !== 'string') return undefined;
      return { id, isOfAgent: kind === 'subagent', cwd: undefined };
    },
    reader: () => new GeminiSession(),
    withCalls,
  },
};

function withCalls(record: Json, change: CallChange): Json {
  const inMessages = (holder: Json) =>
    withValue(
      holder,
      'messages',
      withEach(holder.messages, (message) => withCalls(message, change)),
    );
  if (isRecord(record.$set)) return withValue(record, '$set', inMessages(record.$set));
  if (Array.isArray(record.messages)) return inMessages(record);
  const inParts = (holder: Json, key: string) =>
    withValue(
      holder,
      key,
      withEach(holder[key], (part) => withPart(part, change)),
    );
  const calls = withEach(record.toolCalls, (call) => inParts(withArguments(call, change), 'result'));
  return withValue(inParts(record, 'content'), 'toolCalls', calls);
}

function withPart(part: Json, change: CallChange): Json {
  const { functionCall, functionResponse: result } = part;
  if (isRecord(functionCall)) return withValue(part, 'functionCall', withArguments(functionCall, change));
  if (!isRecord(result)) return part;
  const response = readRecord(result, 'response');
  const key = readString(response, 'output') === undefined ? 'error' : 'output';
  const text = readString(response, key);
  if (text === undefined) return part;
  const shown = withValue(response, key, change.output(readString(result, 'id') ?? '', text));
  return withValue(part, 'functionResponse', withValue(result, 'response', shown));
}

function withArguments(call: Json, change: CallChange): Json {
  const { args } = call;
  return isRecord(args) ? withValue(call, 'args', change.input(readString(call, 'id') ?? '', args)) : call;
}

function all(env: Environment): ListedSession[] {
  return projectsIn(env).flatMap((project) => {
    const cwd = rootOf(project);
    const agents = lookOr(() => below(`${project}/chats`), []).filter((path) => !/\.\w+$/.test(path));
    const main = sessionsIn(chatsIn(project)).map((session) => ({
      ...session,
      cwd,
      parentId: null,
      agentType: null,
    }));
    return [...main, ...agents.flatMap((directory) => agentsIn(directory, cwd))];
  });
}

/** `chats/<id of the main session>/<id>.jsonl` */
function agentsIn(directory: string, cwd: string | undefined): ListedSession[] {
  const files = lookOr(() => below(directory), []).filter((path) => path.endsWith('.jsonl'));
  const [parentId, agentType] = [basename(directory), null];
  return files.flatMap((path) =>
    storedAt(path, basename(path, '.jsonl')).map((one) => ({ ...one, cwd, parentId, agentType })),
  );
}

function projectsIn(env: Environment): string[] {
  return lookOr(() => below(`${geminiDirectory({ env, agentDir: null })}/tmp`), []);
}

function rootOf(project: string): string | undefined {
  return lookOr(() => readRegularFile(`${project}/.project_root`)?.trim(), undefined);
}

function chatsIn(project: string): string[] {
  return lookOr(() => below(`${project}/chats`), []).filter((path) => /\/session-[^/]+\.jsonl?$/.test(path));
}

function sessionsIn(chats: readonly string[]): StoredSession[] {
  const found = chats.flatMap((path) => {
    const [head] = recordsIn(path).take(1);
    const id = isRecord(head) && head.kind !== 'subagent' ? readString(head, 'sessionId') : undefined;
    return id === undefined ? [] : storedAt(path, id);
  });
  const byId = new Map(
    newestFirst(found)
      .toReversed()
      .map((session) => [session.id, session]),
  );
  return newestFirst([...byId.values()]);
}
