import { isRecord, type Json, readRecord, readString, readTexts } from '../core/guards.ts';
import { cleanText, cutText, fingerprint, oneLine } from '../core/text.ts';
import { describeDeclaration, type HookDeclaration, readDeclaration } from './declared-hook.ts';

/**
 * What an analysis may propose: a command for the user, a rule for CLAUDE.md, a hook, or a lesson that agents are told
 * where it matters.
 */
export const SUGGESTION_TYPES = ['skill', 'claude_md', 'hook', 'lesson'] as const;
export type SuggestionType = (typeof SUGGESTION_TYPES)[number];

/** `new` was never announced, `shown` was; the user decides between `applied` and `dismissed`. */
export const SUGGESTION_STATUSES = ['new', 'shown', 'applied', 'dismissed', 'expired'] as const;
export type SuggestionStatus = (typeof SUGGESTION_STATUSES)[number];

/** Why a lesson is believed. */
export type LessonEvidence = {
  /** The calls that ran what it advises with success, and those that failed. */
  readonly ran: readonly string[];
  readonly failed: readonly string[];
  /** The sessions of those that failed. */
  readonly sessions: readonly string[];
  /** The failing commands without what only moves or reports. */
  readonly failingLines: readonly string[];
  /** It is about what a check says of the work, which fails at times whatever is done. */
  readonly isFinding: boolean;
};

/** To which error a lesson belongs. */
export type LessonDetails = {
  readonly errorKey: string;
  /** The telling line. */
  readonly said: string;
  readonly kind: string;
  readonly confidence: number;
  readonly evidence: LessonEvidence;
};

/** What depends on the type. `errors`: the normalised errors that a rule is to prevent. */
export type SuggestionDetails = {
  readonly skillName?: string;
  /** Of a hook; one without contains code, as earlier versions and other implementations proposed it. */
  readonly hook?: HookDeclaration;
  /** Of a hook that contains code. */
  readonly hookEvent?: string;
  readonly errors?: readonly string[];
  /** Prompts, in the user's words, that a skill is for. */
  readonly examples?: readonly string[];
  readonly lesson?: LessonDetails;
};

/** A suggestion as an analysis makes it; the model wrote it, so it is data until the user applies it. */
export type Proposal = {
  readonly type: SuggestionType;
  /** One line. */
  readonly summary: string;
  readonly evidence: string;
  /** What would be applied: the rule, the skill's instructions, the hook in words, the advice. */
  readonly text: string;
  readonly priority: number;
  readonly details: SuggestionDetails;
};

/** A proposal with its history. */
export type Suggestion = Proposal & {
  readonly id: string;
  /** When it was first and last proposed, ISO. */
  readonly ts: string;
  readonly lastTs: string;
  /** `all` for suggestions that are not about one project; then the path is empty. */
  readonly project: string;
  readonly projectPath: string;
  /** `cache`: found in analysis_cache, left there by another implementation. */
  readonly origin: 'analysis' | 'cache';
  readonly status: SuggestionStatus;
  readonly decidedTs: string | null;
  readonly why: string | null;
  /** What apply did, as apply wrote it. */
  readonly applied: unknown;
};

const SUMMARY_LENGTH_MAX = 300;
const EVIDENCE_LENGTH_MAX = 500;
const RULE_LENGTH_MAX = 400;
export const SUGGESTION_TEXT_LENGTH_MAX = 16_384;
/** Lower-case letters, digits and Hangul: nothing that has a meaning in a path. */
export const SKILL_NAME = /^[a-z0-9가-힣][a-z0-9가-힣_-]{0,63}$/;

/** The same proposal for the same project has the same id, however often and in whatever order it is made. */
export function suggestionId(proposal: Proposal, projectPath: string): string {
  const { type, text, details } = proposal;
  const key = type === 'skill' ? (details.skillName ?? '') : comparable(text);
  return `s${fingerprint([projectPath, type, details.hookEvent ?? '', key].join('\n')).padStart(9, '0')}`;
}

/** Without case, punctuation and spacing, which models change from one answer to the next. */
function comparable(text: string): string {
  return (
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(' ') ?? ''
  );
}

/** A suggestion as it stands in analysis_cache, in the shape of any implementation; undefined when it is none. */
export function readProposal(value: unknown): Proposal | undefined {
  if (!isRecord(value)) return undefined;
  const type = SUGGESTION_TYPES.find((one) => one === value.type);
  const text = type && suggestedText(type, value);
  const summary =
    line(value, 'summary', SUMMARY_LENGTH_MAX) || cutText(oneLine(text ?? ''), SUMMARY_LENGTH_MAX);
  if (type === undefined || !text || summary === '') return undefined;
  const { priority } = value;
  return {
    type,
    summary,
    evidence: line(value, 'evidence', EVIDENCE_LENGTH_MAX),
    text,
    priority: typeof priority === 'number' && Number.isFinite(priority) ? priority : 0,
    details: readDetails(value),
  };
}

function suggestedText(type: SuggestionType, value: Json): string {
  if (type === 'claude_md')
    return line(value, 'rule', RULE_LENGTH_MAX) || line(value, 'summary', RULE_LENGTH_MAX);
  if (type === 'lesson') return line(value, 'advice', RULE_LENGTH_MAX);
  const declared = type === 'hook' ? readDeclaration(value.hook) : undefined;
  if (declared?.kind === 'read') return describeDeclaration(declared.declaration);
  const text = type === 'skill' ? readString(value, 'action') : readString(value, 'hookCode');
  return cutText(cleanText(text ?? ''), SUGGESTION_TEXT_LENGTH_MAX);
}

/** The fields that are there; `details` itself is read back with the same function. */
export function readDetails(value: Json): SuggestionDetails {
  const skillName = line(value, 'skillName', 64);
  const declared = readDeclaration(value.hook);
  const hookEvent = line(value, 'hookEvent', 64);
  const errors = texts(value.errors, 10, 200);
  const examples = texts(value.examples, 5, 200);
  const lesson = readLessonDetails(value.lesson);
  return {
    ...(skillName && { skillName }),
    ...(declared.kind === 'read' && { hook: declared.declaration }),
    ...(hookEvent && { hookEvent }),
    ...(errors.length > 0 && { errors }),
    ...(examples.length > 0 && { examples }),
    ...(lesson && { lesson }),
  };
}

const LESSON_TEXT_LENGTH_MAX = 1000;
const LESSON_IDS_MAX = 50;

function readLessonDetails(value: unknown): LessonDetails | undefined {
  if (!isRecord(value)) return undefined;
  const errorKey = readString(value, 'errorKey');
  if (!errorKey) return undefined;
  return {
    errorKey: cutText(errorKey, LESSON_TEXT_LENGTH_MAX),
    said: line(value, 'said', LESSON_TEXT_LENGTH_MAX),
    kind: line(value, 'kind', 64),
    confidence: typeof value.confidence === 'number' ? value.confidence : 0,
    evidence: readLessonEvidence(readRecord(value, 'evidence')),
  };
}

/** As it was stored, whoever stored it. */
export function readLessonEvidence(value: Json): LessonEvidence {
  const list = (key: string) => texts(value[key], LESSON_IDS_MAX, LESSON_TEXT_LENGTH_MAX);
  return {
    ran: list('ran'),
    failed: list('failed'),
    sessions: list('sessions'),
    failingLines: list('failingLines'),
    isFinding: value.isFinding === true,
  };
}

function texts(value: unknown, most: number, lengthMax: number): string[] {
  return readTexts(value)
    .map((one) => cutText(oneLine(one), lengthMax))
    .filter((one) => one !== '')
    .slice(0, most);
}

function line(value: Json, key: string, lengthMax: number): string {
  return cutText(oneLine(readString(value, key) ?? ''), lengthMax);
}
