import { redactSecrets, stripPrivateTags } from '../core/redact.ts';
import { cleanText, cutText } from '../core/text.ts';
import { type Decision, type FullContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';

const PROMPT_LENGTH_MAX = 4000;
/** Secrets are looked for in this much of a prompt, so that none is stored that the cut would have split. */
const PROMPT_SCANNED_MAX = 8192;

/** The client also submits machine texts as prompts: that of a background agent's end is no wish of the user. */
export function isMachinePrompt(prompt: string): boolean {
  return prompt.startsWith('<task-notification>');
}

/**
 * UserPromptSubmit: records what the user asked for (REQ-DC-101, REQ-DC-102) and which skill was called by its name
 * (REQ-DC-103).
 */
export function decideUserPromptSubmit(
  event: HookEventOf<'UserPromptSubmit'>,
  context: FullContext,
): Decision {
  if (isMachinePrompt(event.prompt)) return NOTHING;
  const wanted = context.config.collectPromptText;
  const text = wanted ? storedText(event.prompt) : '[REDACTED]';
  const charCount = wanted ? text.length : event.prompt.length;
  const recording = { kind: 'prompt', at: originOf(event, context), text, charCount } as const;
  const called = /^\/(\S+)/.exec(event.prompt)?.[1];
  const isSkill = called !== undefined && context.skills().some(({ name }) => name === called);
  return { recording: isSkill ? { ...recording, skill: called } : recording };
}

function storedText(prompt: string): string {
  const open = cleanText(cutText(stripPrivateTags(prompt), PROMPT_SCANNED_MAX));
  return cutText(redactSecrets(open), PROMPT_LENGTH_MAX);
}
