import { type Picture, pictureOf, type SessionStep } from '../../core/conversation.ts';
import { isRecord, type Json, readRecord, readRecords, readString } from '../../core/guards.ts';

/** The client's own answer to a summary that it puts in place of a conversation. */
const TAKES_SUMMARY = 'Got it. Thanks for the additional context!';

/**
 * Reads the records of a chat as a conversation: messages, each again when its calls have ended, and lists of all messages
 * in place of those before, at each start and when the conversation was shortened.
 */
export class GeminiSession {
  /** What was said of each message and each call already. */
  #told = new Set<string>();

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
      return wordsOf(message) === TAKES_SUMMARY ? [] : this.#message(message);
    });
    return [{ kind: 'anew' }, ...steps];
  }

  #message(message: Json): SessionStep[] {
    const parts = readRecords(message.content);
    const words = wordsOf(message);
    const id = readString(message, 'id') ?? '';
    const said: SessionStep[] = [];
    if (message.type === 'gemini') {
      if (words !== '') said.push({ kind: 'answer', text: words });
    } else if (message.type === 'user') {
      const pictures = picturesIn(parts);
      const isResult = parts.some((part) => isRecord(part.functionResponse));
      if (words.startsWith('<session_context>')) said.push({ kind: 'system', text: words });
      else if (!isResult && (words !== '' || pictures.length > 0))
        said.push({ kind: 'prompt', text: words, pictures });
    } else if (words !== '') said.push({ kind: 'system', text: words });
    const isKnown = this.#told.has(`${message.type} ${id}`);
    this.#told.add(`${message.type} ${id}`);
    return [...(isKnown ? [] : said), ...this.#calls(readRecords(message.toolCalls)), ...this.#parts(parts)];
  }

  /** Calls beside a message, with their results. */
  #calls(calls: readonly Json[]): SessionStep[] {
    return calls.flatMap((call) => [
      ...this.#call(call),
      ...this.#parts(readRecords(call.result), call.status === 'error'),
    ]);
  }

  /** Calls and results among the parts of a message. */
  #parts(parts: readonly Json[], isError = false): SessionStep[] {
    return parts.flatMap((part) => {
      if (isRecord(part.functionCall)) return this.#call(part.functionCall);
      if (!isRecord(part.functionResponse)) return [];
      const { functionResponse: result } = part;
      const id = readString(result, 'id') ?? '';
      if (this.#told.has(`result ${id}`)) return [];
      this.#told.add(`result ${id}`);
      const response = readRecord(result, 'response');
      const text = readString(response, 'output') ?? readString(response, 'error') ?? '';
      const hasFailed = isError || 'error' in response || /^Exit Code: [1-9]/m.test(text);
      return [{ kind: 'result', id, text, isError: hasFailed, pictures: picturesIn(parts) }];
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
