import { readString } from '../core/guards.ts';
import { redactSecrets, stripPrivateTags } from '../core/redact.ts';
import { cleanText, cutText } from '../core/text.ts';
import { NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { BRIEF_CATCH_UP, type Handler, type HookRun, noteFailure, writeAnswer } from './invocation.ts';

const PROMPT_LENGTH_MAX = 4000;
/** Secrets are looked for in this much of a prompt, so that none is stored that the cut would have split. */
const PROMPT_SCANNED_MAX = 8192;

/** The client also submits machine texts as prompts: that of a background agent's end is no wish of the user. */
export function isMachinePrompt(prompt: string): boolean {
  return prompt.startsWith('<task-notification>');
}

type PromptEvent = HookEventOf<'UserPromptSubmit'>;

/**
 * UserPromptSubmit: records what the user asked for (REQ-DC-101, REQ-DC-102) and which skill was called by its name
 * (REQ-DC-103).
 */
export const promptLogger: Handler<PromptEvent> = {
  read: (value) => {
    const prompt = readString(value, 'prompt');
    return prompt === undefined ? undefined : { prompt };
  },
  decide: (event, context) => {
    if (isMachinePrompt(event.prompt)) return NOTHING;
    const wanted = context.config.collectPromptText;
    const text = wanted ? storedText(event.prompt) : '[REDACTED]';
    const charCount = wanted ? text.length : event.prompt.length;
    const recording = { kind: 'prompt', at: originOf(event, context), text, charCount } as const;
    const called = /^\/(\S+)/.exec(event.prompt)?.[1];
    const isSkill = called !== undefined && context.skills().some(({ name }) => name === called);
    return { recording: isSkill ? { ...recording, skill: called } : recording };
  },
  catchUp: BRIEF_CATCH_UP,
  delivers: 'always',
  replaces: isCommandAnswered,
};

function storedText(prompt: string): string {
  const open = cleanText(cutText(stripPrivateTags(prompt), PROMPT_SCANNED_MAX));
  return cutText(redactSecrets(open), PROMPT_LENGTH_MAX);
}

/** As a command of the user's, or of our plugin. */
const COMMAND = /^\/(?:self-generation:)?(?:subagents|stop)(?!\S)/;

/**
 * A command of ours that the user typed is carried out here, and the prompt goes no further: no model is asked, nothing is
 * recorded as a wish, and what waits for the session is left to its next hook, because a blocked prompt takes no context.
 */
async function isCommandAnswered(run: HookRun<PromptEvent>): Promise<boolean> {
  const { event } = run;
  if (event.agentId !== null || !COMMAND.test(event.prompt)) return false;
  const reason = await answerCommand(run).catch((error) => noteFailure(run, error));
  if (reason === undefined) return false;
  const hookSpecificOutput = { hookEventName: event.name, suppressOriginalPrompt: true };
  return writeAnswer({ decision: 'block', reason, hookSpecificOutput }, run);
}

async function answerCommand(run: HookRun<PromptEvent>): Promise<string | undefined> {
  const commands = await run.chunks.commands?.();
  return commands?.answerPrompt(run.event.prompt, run);
}
