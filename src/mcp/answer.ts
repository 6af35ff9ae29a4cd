import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Json } from '../core/guards.ts';
import { inertLines, inertText } from '../core/inert-text.ts';

/** What a tool answers: a value, or a refusal in one line. */
export type Answer =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'refused'; readonly status: 'error' | 'forbidden'; readonly error: string };

/** The answer with this value. */
export function answered(value: Json): Answer {
  return { kind: 'value', value };
}

/** The answer that something is wrong with the call, or went wrong. */
export function failed(error: string): Answer {
  return { kind: 'refused', status: 'error', error };
}

const REFUSAL_LENGTH_MAX = 2000;

/**
 * The answer as it is sent, all texts in it inert. `news`: what waited for this requester. With a structured part, Claude Code and Codex hand
 * nothing else on to the model, so with news there is none.
 */
export function toolResult(answer: Answer, news: string | undefined): CallToolResult {
  if (answer.kind === 'refused') {
    const { status, error } = answer;
    const refusal = { status, error: inertText(error, REFUSAL_LENGTH_MAX) };
    return { content: [textBlock(refusal)], isError: true };
  }
  const value = inert(answer.value);
  const content = [textBlock(value)];
  if (news === undefined) return { content, structuredContent: value };
  return { content: [...content, { type: 'text', text: news }] };
}

function inert(value: Json): Json {
  return JSON.parse(
    JSON.stringify(value, (_key, one) => (typeof one === 'string' ? inertLines(one) : one)),
  ) as Json;
}

function textBlock(value: Json): { type: 'text'; text: string } {
  return { type: 'text', text: JSON.stringify(value) };
}
