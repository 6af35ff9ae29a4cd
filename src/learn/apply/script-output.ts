import { isRecord, type Json, parseJson, readRecord, readString } from '../../core/guards.ts';
import type { HookEventName } from '../../core/hook-names.ts';
import { inertLines } from '../../core/inert-text.ts';
import { cleanText } from '../../core/text.ts';

const CONTEXT_LENGTH_MAX = 2000;
const MESSAGE_LENGTH_MAX = 300;

/** The client takes no context at the end of a session, and at the end of a sub-agent one would keep it from ending. */
const WITHOUT_CONTEXT: readonly HookEventName[] = ['SessionEnd', 'SubagentStop'];

/** What of a script's output the client is to get; `complaint`: why that is not all of it. */
export type FilteredOutput = { readonly stdout: string; readonly complaint?: string };

/**
 * Lets through what a suggested hook may say: a context for the agent and a message for the user, in one JSON object.
 * Whatever else the script prints is dropped: for some events plain text is a context, and an object may decide about a
 * tool's call, change its input or end the session.
 */
export function filterOutput(stdout: string, event: HookEventName): FilteredOutput {
  if (stdout.trim() === '') return { stdout: '' };
  const said = parseJson(stdout);
  if (!isRecord(said))
    return { stdout: '', complaint: 'The script wrote something else than one JSON object' };
  const allowed: Json = { ...contextIn(said, event), ...messageIn(said) };
  const text = Object.keys(allowed).length === 0 ? '' : `${JSON.stringify(allowed)}\n`;
  return Bun.deepEquals(allowed, said)
    ? { stdout: text }
    : {
        stdout: text,
        complaint: `Not all of what the script wrote was let through: only a context for ${event} of at most ${CONTEXT_LENGTH_MAX} characters and a message of at most ${MESSAGE_LENGTH_MAX} are`,
      };
}

function contextIn(said: Json, event: HookEventName): Json {
  const output = readRecord(said, 'hookSpecificOutput');
  if (readString(output, 'hookEventName') !== event || WITHOUT_CONTEXT.includes(event)) return {};
  const additionalContext = plainText(output, 'additionalContext', CONTEXT_LENGTH_MAX);
  return additionalContext === undefined
    ? {}
    : { hookSpecificOutput: { hookEventName: event, additionalContext } };
}

function messageIn(said: Json): Json {
  const systemMessage = plainText(said, 'systemMessage', MESSAGE_LENGTH_MAX);
  return systemMessage === undefined ? {} : { systemMessage };
}

/** A text that shows all that it says, without frames: it may quote others. One that is too long is not cut, because its end may turn its sense. */
function plainText(record: Json, key: string, lengthMax: number): string | undefined {
  const text = readString(record, key);
  const isPlain = text !== undefined && text.length <= lengthMax && cleanText(text) === text;
  return isPlain ? inertLines(text) : undefined;
}
