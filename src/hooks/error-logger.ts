import type { Telling } from '../benefit/model/telling.ts';
import { groupFingerprint } from '../benefit/model/telling.ts';
import { isRecord, lookOr, parseJson, readString } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import { cleanText } from '../core/text.ts';
import { readTree, toss } from '../database/hold-out.ts';
import { isOwnCommand } from '../lessons/command.ts';
import { wasDecided } from '../lessons/store/seen-errors.ts';
import { type HookContext, NOTHING, originOf, type Reply, type ToolError } from './decision.ts';
import { type HookEventOf, readToolCall } from './event.ts';
import { BRIEF_CATCH_UP, type Handler } from './invocation.ts';
import { toldError } from './told-error.ts';
import { toolError } from './tool-call.ts';

/** A client's own rules, logins and interruptions have no lessons. */
export const MAY_BE_KNOWN: ReadonlySet<string | null> = new Set([null, 'finding', 'unclear']);
/** So much of an error's end is looked at to recognise it. */
const TAIL_SEARCHED_MAX = 2000;

type FailureEvent = HookEventOf<'PostToolUseFailure'>;

/**
 * PostToolUseFailure: records the error and, when it has been solved before, says how. A call that the user
 * interrupted is no error.
 */
export const errorLogger: Handler<FailureEvent> = {
  read: (value) => {
    const call = readToolCall(value);
    const error = readString(value, 'error') ?? '';
    return call && { ...call, error, isInterrupt: value.is_interrupt === true };
  },
  decide: (event, context) => {
    if (event.isInterrupt) return NOTHING;
    const error = toolError(event, event.error, context.project);
    if (isOwnCommand(error.command)) return NOTHING;
    // What cannot be read must not cost the event (REQ-DC-304): recording it reports the same fault.
    const hint = lookOr(() => knownFix(error, event, context), undefined);
    const at = originOf(event, context);
    // What is held out is not shown, and does not count as shown; but as what is told, it is not tossed for again.
    const [shown, held] = hint?.telling?.isHeld ? [undefined, hint] : [hint, undefined];
    const about = { shownKbId: shown?.kbId ?? null, heldKbId: held?.kbId };
    const recording = { kind: 'tool-errors', at, errors: [error], ...about } as const;
    return {
      recording,
      ...(shown && { reply: shown.reply }),
      ...(hint?.telling && { tellings: [hint.telling] }),
    };
  },
  catchUp: BRIEF_CATCH_UP,
  delivers: 'when-marked',
  searchesErrors: true,
};

/** What is compared of an error as it was printed: the line that names it often comes last, behind what is stored. */
export function searchedText({ errorRaw }: ToolError, printed: string): string {
  if (printed.length <= errorRaw.length) return errorRaw;
  return `${errorRaw}\n${redactSecrets(cleanText(printed.slice(-TAIL_SEARCHED_MAX)))}`;
}

type Hint = {
  readonly reply: Reply;
  readonly kbId: number;
  /** Undefined of what an earlier implementation's database has. */
  readonly telling: Telling | undefined;
};

/** Whoever has just read the linter's message knows its rule. */
function isLintRule(resolution: string): boolean {
  const remedy = parseJson(resolution);
  return isRecord(remedy) && remedy.kind === 'lint';
}

/** The lesson for this very error, else for the same of another name, which it then says; once in a tree of sessions. */
function knownFix(error: ToolError, event: FailureEvent, context: HookContext): Hint | undefined {
  const db = MAY_BE_KNOWN.has(error.noise) ? context.knowledge() : undefined;
  const known =
    db && context.searchErrors?.(error.error, context.project.path, db, searchedText(error, event.error));
  if (!known || isLintRule(known.resolution) || wasDecided(known.id, event.sessionId, db)) return undefined;
  const group = { place: known.place, key: known.errorNormalized };
  const tree = db?.isOwn ? readTree(event.sessionId, 'failure', db) : undefined;
  if (tree?.assigned.has(groupFingerprint(group))) return undefined;
  const { language, proof } = context.config;
  const told = toldError(known, language);
  if (told === undefined) return undefined;
  const { kind, isPinned } = known;
  const telling =
    tree && toss({ group, kind, isPinned, text: told.record, callId: event.toolUseId }, proof.holdOut, tree);
  return { kbId: known.id, reply: { event: 'PostToolUseFailure', context: told.text }, telling };
}
