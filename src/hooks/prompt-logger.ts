import { messagesIn } from '../core/messages.ts';
import { redactSecrets, stripPrivateTags } from '../core/redact.ts';
import type { Skill } from '../core/skills/skill.ts';
import { matchSkill } from '../core/skills/skill-matcher.ts';
import { cleanText, cutText } from '../core/text.ts';
import { recentPrompts } from '../store/events.ts';
import { type Decision, type FullContext, NOTHING, originOf, type Reply } from './decision.ts';
import type { HookEventOf } from './event.ts';

const PROMPT_LENGTH_MAX = 4000;
/** Secrets are looked for in this much of a prompt, so that none is stored that the cut would have split. */
const PROMPT_SCANNED_MAX = 8192;
/** A session's newest events, among which the same proposal must not stand already. */
const EVENTS_LOOKED_AT = 2000;

/** The client also submits machine texts as prompts: that of a background agent's end is no wish of the user. */
const MACHINE_PROMPT = '<task-notification>';

/**
 * UserPromptSubmit: records what the user asked for (REQ-DC-101, REQ-DC-102) and which skill was called by its name
 * (REQ-DC-103), and proposes the skill that fits, once in a session (REQ-DC-106).
 */
export function decideUserPromptSubmit(
  event: HookEventOf<'UserPromptSubmit'>,
  context: FullContext,
): Decision {
  if (event.prompt.startsWith(MACHINE_PROMPT)) return NOTHING;
  const wanted = context.config.collectPromptText;
  const text = wanted ? storedText(event.prompt) : '[REDACTED]';
  const charCount = wanted ? text.length : event.prompt.length;
  const recording = { kind: 'prompt', at: originOf(event, context), text, charCount } as const;
  const skills = context.skills();
  if (event.prompt.startsWith('/')) {
    const called = /^\/(\S+)/.exec(event.prompt)?.[1];
    const skill = skills.find(({ name }) => name === called)?.name;
    return { recording: skill === undefined ? recording : { ...recording, skill } };
  }
  const proposed = skills.length === 0 ? undefined : fittingSkill(event, skills, context);
  if (proposed === undefined) return { recording };
  return { recording: { ...recording, skillHint: proposed.name }, reply: proposal(proposed, context) };
}

/** What is private takes no part in the search either. */
function fittingSkill(
  event: HookEventOf<'UserPromptSubmit'>,
  skills: readonly Skill[],
  { knowledge }: FullContext,
): Skill | undefined {
  const found = matchSkill(cutText(stripPrivateTags(event.prompt), PROMPT_SCANNED_MAX), skills)?.skill;
  const db = found && knowledge();
  if (db === undefined) return found;
  const prompts = recentPrompts(event.sessionId, EVENTS_LOOKED_AT, db);
  return prompts.some((prompt) => prompt.skillHint === found?.name) ? undefined : found;
}

function proposal({ name, scope }: Skill, { config }: FullContext): Reply {
  const messages = messagesIn(config.language);
  const place = scope === 'global' ? messages.globalSkill : messages.projectSkill;
  const context = `${messages.fittingSkill(name, place)}\n${messages.fittingSkillAdvice}`;
  return { event: 'UserPromptSubmit', context };
}

function storedText(prompt: string): string {
  const open = cleanText(cutText(stripPrivateTags(prompt), PROMPT_SCANNED_MAX));
  return cutText(redactSecrets(open), PROMPT_LENGTH_MAX);
}
