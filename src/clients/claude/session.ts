import { basename } from 'node:path';
import { type Picture, pictureOf, type SessionStep } from '../../core/conversation.ts';
import { isRecord, type Json, lookOr, readRecord, readRecords, readString } from '../../core/guards.ts';
import type { Environment } from '../../core/state-paths.ts';
import { below, SESSION_ID } from '../reading.ts';
import { type CallChange, withEach, withText, withValue } from '../session-format.ts';
import { newestFirst, type SessionStore, stepsIn, storedAt } from '../sessions.ts';
import { claudeDirectory } from './configuration.ts';
import { blocksOf, callIn, isOfTheUser, promptIn, queuedPrompt, textIn, timeOf } from './transcript.ts';

/** Nobody goes back behind so many records. */
const REMEMBERED_MAX = 25_000;

/**
 * Reads the records of a transcript as a conversation. They form a tree: where the user went back, the next prompt hangs
 * on an earlier record than the last.
 */
export class ClaudeSession {
  /** In which turn each of the newest records stands. */
  #turnOf = new Map<string, number>();
  #turnOfOlder: ReadonlyMap<string, number> = new Map();
  #turns = 0;

  readonly #isAgent: boolean;

  /** @param isAgent it is a sub-agent's own transcript, whose records are marked as beside the main one */
  constructor(isAgent = false) {
    this.#isAgent = isAgent;
  }

  /** What a record says; nothing for one that is not known. */
  read(record: unknown): SessionStep[] {
    if (!isRecord(record) || (record.isSidechain === true && !this.#isAgent)) return [];
    const ts = timeOf(record);
    const answer = record.type === 'assistant' ? readString(readRecord(record, 'message'), 'id') : undefined;
    const about = { ...(ts !== undefined && { ts }), ...(answer !== undefined && { answer }) };
    const steps = [...this.#steps(record)].map((step) => ({ ...step, ...about }));
    const uuid = readString(record, 'uuid');
    if (uuid !== undefined) this.#remember(uuid);
    return steps;
  }

  #remember(uuid: string): void {
    if (this.#turnOf.size >= REMEMBERED_MAX) [this.#turnOfOlder, this.#turnOf] = [this.#turnOf, new Map()];
    this.#turnOf.set(uuid, this.#turns);
  }

  *#steps(record: Json): Generator<SessionStep> {
    const { content } = readRecord(record, 'message');
    if (record.type === 'assistant') yield* answered(blocksOf(record));
    if (record.type === 'attachment') {
      const queued = queuedPrompt(record);
      if (queued !== undefined) yield* this.#prompt(promptIn({ content: queued }), queued);
    }
    if (record.type !== 'user') return;
    if (record.isCompactSummary === true) {
      yield { kind: 'compaction', summary: summaryIn(textIn(content)) };
      return;
    }
    const results = blocksOf(record).filter(({ type }) => type === 'tool_result');
    for (const result of results) {
      const id = readString(result, 'tool_use_id') ?? '';
      const shown = { text: outputIn(result.content), pictures: picturesIn(result.content) };
      yield { kind: 'result', id, isError: result.is_error === true, ...shown };
    }
    if (results.length > 0) return;
    const isOfUser = isOfTheUser(this.#isAgent ? { ...record, isSidechain: false } : record);
    const prompt = isOfUser ? promptIn(record.message) : '';
    if (prompt === '' && (!isOfUser || picturesIn(content).length === 0)) {
      yield { kind: 'system', text: textIn(content) };
      return;
    }
    yield* this.#back(readString(record, 'parentUuid'));
    yield* this.#prompt(prompt, content);
  }

  *#prompt(text: string, content: unknown): Generator<SessionStep> {
    this.#turns++;
    yield { kind: 'prompt', text: withoutPointer(text), pictures: picturesIn(content) };
  }

  *#back(parent: string | undefined): Generator<SessionStep> {
    const turns = this.#turnOf.get(parent ?? '') ?? this.#turnOfOlder.get(parent ?? '');
    if (turns === undefined || turns >= this.#turns) return;
    this.#turns = turns;
    yield { kind: 'back-to', turns };
  }
}

/** Without what the client says to its own model around it: to go on at once, and where the whole transcript stands. */
function summaryIn(text: string): string {
  const [, summary = text] = /^This session is being continued .*?\nSummary:\n(.*)$/s.exec(text) ?? [];
  return withoutPointer(summary).trim();
}

function answered(blocks: readonly Json[]): SessionStep[] {
  return blocks.flatMap((block): SessionStep[] => {
    const text = readString(block, 'text') ?? '';
    if (block.type === 'text' && text !== '') return [{ kind: 'answer', text }];
    const call = callIn(block);
    return call === undefined ? [] : [{ kind: 'call', ...call, input: JSON.stringify(call.input) }];
  });
}

/** Where the client has shortened what its model knows, it names the whole transcript, which is nobody else's. */
function withoutPointer(text: string): string {
  const at = text.lastIndexOf('\nIf you need specific details from before ');
  return at < 0 ? text : text.slice(0, at).trimEnd();
}

const WRAPPED_ERROR = /^<tool_use_error>([\s\S]*)<\/tool_use_error>$/;
const REMINDER = '<system-reminder>';
const REMINDER_END = '</system-reminder>';

/** What a tool has answered, without what the client wraps it in and adds for its model. */
function outputIn(content: unknown): string {
  const text = textIn(content).replace(WRAPPED_ERROR, '$1');
  let [kept, at] = ['', 0];
  for (;;) {
    const from = text.indexOf(REMINDER, at);
    const end = from < 0 ? -1 : text.indexOf(REMINDER_END, from);
    if (end < 0) return (kept + text.slice(at)).trimEnd();
    kept += text.slice(at, from);
    at = end + REMINDER_END.length;
  }
}

function picturesIn(content: unknown): Picture[] {
  const sources = readRecords(content).filter(({ type }) => type === 'image');
  return sources.map((block) => {
    const source = readRecord(block, 'source');
    return pictureOf(readString(source, 'media_type') ?? 'image', readString(source, 'data') ?? '');
  });
}

const ENDING = '.jsonl';

/** `projects/<directory, its signs as dashes>/<id>.jsonl`; sub-agents' lie deeper. */
export const claudeSessions: SessionStore = {
  startedIn: (cwd, env) =>
    lookOr(() => {
      const project = `${projectsIn(env)}/${cwd.replace(/[^A-Za-z0-9]/g, '-')}`;
      const files = below(project).filter((path) => path.endsWith(ENDING));
      return newestFirst(files.flatMap((path) => storedAt(path, basename(path, ENDING))));
    }, []),
  withId: (id, env) => {
    const projects = SESSION_ID.test(id) ? lookOr(() => below(projectsIn(env)), []) : [];
    return newestFirst(projects.flatMap((project) => storedAt(`${project}/${id}${ENDING}`, id)))[0];
  },
  read: ({ path }) => stepsIn(path, new ClaudeSession()),
  format: {
    headIn: (record) => {
      const { type, isSidechain, sessionId: id } = record;
      if ((type !== 'user' && type !== 'assistant') || typeof id !== 'string') return undefined;
      return { id, isOfAgent: isSidechain === true, cwd: readString(record, 'cwd') };
    },
    reader: () => new ClaudeSession(),
    withCalls,
  },
};

/** What the client shows of a result on its own screen stands beside the message, and stays. */
function withCalls(record: Json, change: CallChange): Json {
  const message = readRecord(record, 'message');
  const content = withEach(message.content, (block) => {
    const call = callIn(block);
    if (call !== undefined) return withValue(block, 'input', change.input(call.id, call.input));
    const id = block.type === 'tool_result' ? readString(block, 'tool_use_id') : undefined;
    if (id === undefined) return block;
    return withValue(
      block,
      'content',
      withText(block.content, (text) => {
        const [, error] = WRAPPED_ERROR.exec(text) ?? [];
        if (error === undefined) return change.output(id, text);
        return `<tool_use_error>${change.output(id, error)}</tool_use_error>`;
      }),
    );
  });
  return withValue(record, 'message', withValue(message, 'content', content));
}

function projectsIn(env: Environment): string {
  return `${claudeDirectory({ env, agentDir: null })}/projects`;
}
