import { pictureIn, type SessionStep } from '../../core/conversation.ts';
import { isRecord, type Json, readRecord, readRecords, readString } from '../../core/guards.ts';

/** What Codex itself says in the place of the user. */
const OF_CLIENT =
  /^\s*(?:# AGENTS\.md instructions|<(?:user_instructions|environment_context|turn_aborted|user_shell_command|skill|subagent_notification|hook_prompt)\b)/;

/** Reads the records of a rollout as a conversation. One of a fork holds only what came after. */
export class CodexSession {
  #turns = 0;
  #isBegun = false;

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
    return record.type === 'response_item' ? this.#item(payload) : [];
  }

  #item(item: Json): SessionStep[] {
    const id = readString(item, 'call_id') ?? readString(item, 'id') ?? '';
    switch (item.type) {
      case 'message':
        return this.#message(item);
      case 'function_call':
      case 'custom_tool_call': {
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
        return [{ kind: 'result', id, text, isError: isFailure(text), pictures: picturesIn(item.output) }];
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

/** How the output of a command begins that did not end well. */
function isFailure(text: string): boolean {
  const code = /^(?:Chunk ID: .*\nWall time: .*\n)?(?:Process exited with code|Exit code:) (-?\d+)/.exec(
    text,
  )?.[1];
  return code !== undefined && code !== '0';
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
