import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Json } from '../core/guards.ts';
import { inertLines, inertText } from '../core/inert-text.ts';
import type { Refusal } from '../subagents/features.ts';

/** What a tool answers: a value, or a refusal in one line. */
export type Answer = { readonly kind: 'value'; readonly value: Json } | Refused;
type Refused = Pick<Refusal, 'status' | 'error'> & { readonly kind: 'refused' };

/** The answer with this value. */
export function answered(value: Json): Answer {
  return { kind: 'value', value };
}

/** The answer that something is wrong with the call, or went wrong. */
export function failed(error: string): Refused {
  return refusedBy({ status: 'error', error });
}

/** A refusal of the features, in their words. */
export function refusedBy({ status, error }: Refusal): Refused {
  return { kind: 'refused', status, error };
}

const REFUSAL_LENGTH_MAX = 2000;

/** As it is sent, all texts inert. `news`: what waited; without a structured part then, beside which Claude Code and Codex hand on nothing. */
export function toolResult(answer: Answer, news: string | undefined): CallToolResult {
  if (answer.kind === 'refused') {
    const refusal = { status: answer.status, error: inertText(answer.error, REFUSAL_LENGTH_MAX) };
    return { content: [textBlock(refusal)], isError: true };
  }
  const inert = (_key: string, one: unknown) => (typeof one === 'string' ? inertLines(one) : one);
  const value = JSON.parse(JSON.stringify(answer.value, inert)) as Json;
  const content = [textBlock(value)];
  if (news === undefined) return { content, structuredContent: value };
  return { content: [...content, { type: 'text', text: news }] };
}

function textBlock(value: Json): { type: 'text'; text: string } {
  return { type: 'text', text: JSON.stringify(value) };
}
