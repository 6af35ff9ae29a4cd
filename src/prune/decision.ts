import type { Json } from '../core/guards.ts';
import type { Call } from './call.ts';
import { jsonChars, withoutLongTexts } from './input.ts';
import { asSwept, isPruned } from './placeholder.ts';

/** What decides that something is shown no more; `sweep`: the user's own wish. */
export const RULES = ['deduplicate', 'supersede-writes', 'purge-errors', 'sweep'] as const;
export type Rule = (typeof RULES)[number];

/** What of a call is shown no more, and what is shown instead: made once, and applied byte for byte ever after. */
export type Decision = {
  readonly callId: string;
  readonly rule: Rule;
  /** `output`: the placeholder stands in its place. `input`: its long texts are left out, and the placeholder is added to the output. */
  readonly part: 'output' | 'input';
  readonly placeholder: string;
  /** How many characters a request is shorter by. */
  readonly savedChars: number;
  /** Holds only in a request in which this call stands in full. */
  readonly anchor: string | null;
};

/** Below that a placeholder is more trouble than it saves. */
export const SAVED_CHARS_MIN = 200;

/** The call as it is shown under a decision of its own. What already is a placeholder stays as it is. */
export function prunedCall(call: Call, { part, placeholder }: Decision): { input: Json; output: string } {
  const { input, output } = call;
  if (isPruned(call)) return { input, output };
  if (part === 'output') return { input, output: placeholder };
  return {
    input: withoutLongTexts(input),
    output: output === '' ? placeholder : `${output}\n${placeholder}`,
  };
}

/** What the user wants to be shown no more; undefined where that would save next to nothing. */
export function sweptCall(call: Call): Decision | undefined {
  if (call.state === 'running' || call.isCleared === true || isPruned(call)) return undefined;
  return decisionOf(call, { rule: 'sweep', part: 'output', placeholder: asSwept(call), anchor: null });
}

/** A decision on the call; undefined where it would save next to nothing. */
export function decisionOf(
  call: Call,
  made: Pick<Decision, 'rule' | 'part' | 'placeholder' | 'anchor'>,
): Decision | undefined {
  const removed =
    made.part === 'output'
      ? call.output.length
      : jsonChars(call.input) - jsonChars(withoutLongTexts(call.input)) - 1;
  const savedChars = removed - made.placeholder.length;
  return savedChars < SAVED_CHARS_MIN ? undefined : { callId: call.id, ...made, savedChars };
}
