import { type CommandEnd, type Picture, pictureIn, type SessionStep } from '../../core/conversation.ts';
import { isRecord, type Json, readRecord, readRecords, readString } from '../../core/guards.ts';
import { type CallChange, type SessionFormat, withEach, withValue } from '../session-format.ts';
import { timeIn } from '../sessions.ts';

/** A message of a session, with its parts in their order; `data` as it stands in the store. */
export type StoredMessage = { readonly id: string; readonly data: Json; readonly parts: readonly Json[] };

/** What a message says; nothing for what is not known. */
export function stepsOf({ id, data, parts }: StoredMessage): SessionStep[] {
  const words = parts.filter(({ type, ignored }) => type === 'text' && ignored !== true);
  const text = words.flatMap((part) => readString(part, 'text') ?? []).join('\n');
  if (data.role === 'user') {
    const inserted = words.length > 0 && words.every(({ synthetic }) => synthetic === true);
    if (inserted) return [{ kind: 'system', text }];
    const own = words.filter(({ synthetic }) => synthetic !== true);
    const prompt = own.flatMap((part) => readString(part, 'text') ?? []).join('\n');
    const pictures = picturesIn(parts);
    const ts = timeIn(readRecord(data, 'time').created);
    return prompt === '' && pictures.length === 0 ? [] : [{ kind: 'prompt', text: prompt, pictures, ts }];
  }
  if (data.summary === true) return [{ kind: 'compaction', summary: text }];
  const steps = parts.flatMap((part): SessionStep[] => {
    if (part.type === 'tool') return called(part);
    const said = part.type === 'text' ? (readString(part, 'text') ?? '') : '';
    return said === '' ? [] : [{ kind: 'answer', text: said }];
  });
  return steps.map((step) => ({ ...step, answer: id }));
}

function called(part: Json): SessionStep[] {
  const state = readRecord(part, 'state');
  const [id, tool] = [readString(part, 'callID') ?? '', readString(part, 'tool') ?? ''];
  const call: SessionStep = { kind: 'call', id, tool, input: JSON.stringify(state.input ?? {}) };
  if (state.status !== 'completed' && state.status !== 'error') return [call];
  const text = readString(state, 'output') ?? readString(state, 'error') ?? '';
  const { exit } = readRecord(state, 'metadata');
  const hasRun = state.status === 'completed' && exit !== undefined;
  const end: CommandEnd | undefined = hasRun
    ? { code: typeof exit === 'number' ? exit : null, printed: text }
    : undefined;
  const isError = state.status === 'error' || (typeof exit === 'number' && exit !== 0);
  const ts = timeIn(readRecord(state, 'time').end);
  const pictures = picturesIn(readRecords(state.attachments));
  return [call, { kind: 'result', id, text, isError, end, pictures, ts }];
}

function picturesIn(parts: readonly Json[]): Picture[] {
  const files = parts.filter((part) => isRecord(part) && part.type === 'file');
  return files.flatMap((file) =>
    readString(file, 'mime')?.startsWith('image/') ? (pictureIn(readString(file, 'url') ?? '') ?? []) : [],
  );
}

/** Whether a session is a sub-agent's by what OpenCode says of it. What was forked from one has its title, and no parent. */
export function isOfSubAgent({ parentID, title }: Json): boolean {
  return (typeof parentID === 'string' && parentID !== '') || /\(@\S+ subagent\)/.test(String(title));
}

/** `opencode export`: a session with its messages, whose records here are what it says of the session, and each message. */
export const opencodeFormat: SessionFormat = {
  headIn: (info) => {
    const { id, projectID } = info;
    if (typeof id !== 'string' || typeof projectID !== 'string') return undefined;
    return { id, isOfAgent: isOfSubAgent(info), cwd: readString(info, 'directory') };
  },
  reader: () => {
    let until: unknown; // From there on the user has taken it back.
    let isOver = false;
    return {
      read: (record) => {
        if (!isRecord(record)) return [];
        until ??= readRecord(record, 'revert').messageID;
        const data = readRecord(record, 'info');
        isOver ||= until !== undefined && data.id === until;
        const { id = '' } = data;
        return isOver ? [] : stepsOf({ id: String(id), data, parts: readRecords(record.parts) });
      },
    };
  },
  withCalls: (message, change) => {
    const parts = withEach(message.parts, (part) => {
      const id = part.type === 'tool' ? readString(part, 'callID') : undefined;
      return id === undefined
        ? part
        : withValue(part, 'state', withState(readRecord(part, 'state'), id, change));
    });
    return withValue(message, 'parts', parts);
  },
};

function withState(state: Json, id: string, change: CallChange): Json {
  const key = state.status === 'error' ? 'error' : 'output';
  const text = readString(state, key);
  const input = change.input(id, readRecord(state, 'input'));
  const called = isRecord(state.input) ? withValue(state, 'input', input) : state;
  return text === undefined ? called : withValue(called, key, change.output(id, text));
}
