import { isRecord, parseJson } from '../core/guards.ts';
import { framed, inertText } from '../core/inert-text.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { messagesIn } from '../core/messages.ts';
import { redactSecrets } from '../core/redact.ts';
import { cleanText } from '../core/text.ts';
import { isOwnCommand } from '../lessons/command.ts';
import { resolutionText } from '../lessons/errors/normalize-error.ts';
import { wasShown } from '../lessons/store/error-entries.ts';
import { searchErrorKB } from '../lessons/store/error-search.ts';
import type { ToolError } from './decision.ts';
import { type Decision, type HookContext, NOTHING, originOf, type Reply } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { sessionMessagesIn } from './session-analyzer.ts';
import { toolError } from './tool-call.ts';

const FIX_LENGTH_MAX = 300;
const NAME_LENGTH_MAX = 60;
/** A client's own rules, logins and interruptions have no lessons. */
const MAY_BE_KNOWN: ReadonlySet<string | null> = new Set([null, 'finding', 'unclear']);
/** So much of an error's end is looked at to recognise it. */
const TAIL_SEARCHED_MAX = 2000;

/**
 * PostToolUseFailure: records the error and, when it has been solved before, says how. A call that the user
 * interrupted is no error.
 */
export function decidePostToolUseFailure(
  event: HookEventOf<'PostToolUseFailure'>,
  context: HookContext,
): Decision {
  if (event.isInterrupt) return NOTHING;
  const error = toolError(event, event.error, context.project);
  if (isOwnCommand(error.command)) return NOTHING;
  const hint = MAY_BE_KNOWN.has(error.noise) ? knownFixIfReadable(error, event, context) : undefined;
  const recording = {
    kind: 'tool-errors',
    at: originOf(event, context),
    errors: [error],
    shownKbId: hint?.kbId ?? null,
  } as const;
  return hint === undefined ? { recording } : { recording, reply: hint.reply };
}

type Failure = HookEventOf<'PostToolUseFailure'>;

/** A knowledge base that cannot be read must not cost the event (REQ-DC-304); the store's own log says why. */
function knownFixIfReadable(error: ToolError, event: Failure, context: HookContext): Hint | undefined {
  try {
    return knownFix(error, event, context);
  } catch {
    return undefined; // Recording the event meets the same fault and reports it.
  }
}

/** The line that tells most often comes last, behind what is stored. */
function searchedText({ errorRaw }: ToolError, printed: string): string {
  if (printed.length <= errorRaw.length) return errorRaw;
  return `${errorRaw}\n${redactSecrets(cleanText(printed.slice(-TAIL_SEARCHED_MAX)))}`;
}

type Hint = { readonly reply: Reply; readonly kbId: number };

/** Whoever has just read the linter's message knows its rule. */
function isLintRule(resolution: string): boolean {
  const remedy = parseJson(resolution);
  return isRecord(remedy) && remedy.kind === 'lint';
}

/** The lesson for this very error, else for the same of another name, which it then says; once in a session. */
function knownFix(error: ToolError, event: Failure, context: HookContext): Hint | undefined {
  const db = context.knowledge();
  const known = db && searchErrorKB(error.error, context.project.path, db, searchedText(error, event.error));
  if (!known || isLintRule(known.resolution) || wasShown(known.id, event.sessionId, db)) return undefined;
  const { language } = context.config;
  const messages = sessionMessagesIn(language);
  const words = messagesIn(language);
  const fix = inertText(resolutionText(known.resolution, words), FIX_LENGTH_MAX);
  const said = known.said ?? known.errorNormalized;
  const names = known.differing && [known.differing.known, known.differing.asked];
  if ([fix, said, ...(names ?? [])].some(isInstructionShaped)) return undefined;
  const record = [
    messages.knownErrorText(inertText(said, FIX_LENGTH_MAX)),
    messages.knownErrorFix(fix + words.from(known.origin)),
  ];
  if (names !== undefined) {
    const [solved = '', asked = ''] = names.map((name) => inertText(name, NAME_LENGTH_MAX));
    record.unshift(messages.similarErrorNames(solved, asked));
  }
  const [heading, advice] =
    names === undefined
      ? [messages.knownError, messages.knownErrorAdvice]
      : [messages.similarError, messages.similarErrorAdvice];
  const lines = [heading, framed(record.join('\n'), words.recordNote), advice];
  return { kbId: known.id, reply: { event: 'PostToolUseFailure', context: lines.join('\n') } };
}
