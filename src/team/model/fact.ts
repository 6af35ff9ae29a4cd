import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isInstructionShaped } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cutText, oneLine } from '../../core/text.ts';
import { resolutionText } from '../../core/told-texts.ts';
import { maskLine } from '../../lessons/failure.ts';

/** What a team's history consists of. Facts are written by others: they are read as data, within limits, and checked. */

const HEX = /^[0-9a-f]{64}$/;
/** The place of what is about no repository. */
export const NO_REPOSITORY = '0'.repeat(64);

const SAID_LENGTH_MAX = 400;
const COMMAND_LENGTH_MAX = 600;
const REASON_LENGTH_MAX = 300;
const COUNT_MAX = 1_000_000;

/** Texts come in clean, on one line and no longer than this. A text that is empty then is none. */
const text = (lengthMax: number) =>
  z
    .string()
    .transform((value) => cutText(oneLine(value), lengthMax))
    .pipe(z.string().min(1));
const command = text(COMMAND_LENGTH_MAX);
/** One that may be empty. */
const place = z.string().transform((value) => cutText(oneLine(value), COMMAND_LENGTH_MAX));
const count = z.number().int().min(0).max(COUNT_MAX);

/** As lessons/lesson.ts has them, and a person's own words. */
const REMEDY = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('command'), failing: command, use: command }),
  z.object({ kind: z.literal('without'), failing: command, leaveOut: command }),
  z.object({ kind: z.literal('directory'), use: command, directory: place }),
  z.object({ kind: z.literal('fixer'), failing: place, use: command }),
  z.object({ kind: z.literal('lint'), rule: command, message: command }),
  z.object({ kind: z.literal('words'), summary: command }),
]);

const SUPPORT = {
  sessions: count,
  failed: count,
  helped: count,
};

const LESSON = z.object({
  key: text(COMMAND_LENGTH_MAX),
  said: text(SAID_LENGTH_MAX),
  remedy: REMEDY,
  ...SUPPORT,
});
const RULE = z.object({ text: text(SAID_LENGTH_MAX) });
const VERDICT = z.object({
  accepts: z.boolean().nullable(),
  why: text(REASON_LENGTH_MAX).nullable().catch(null),
});
const REASON = z.object({ reason: text(REASON_LENGTH_MAX) });

const TALLY = z.object({
  kind: z.string().max(20),
  holdPercent: z.number().int().min(1).max(99),
  held: count,
  told: count,
});
/** What one episode can add to the logarithm of an evidence: its stake is at most .95 of what would lose all. */
const LOG_OF_EPISODE_MAX = Math.log(1.95);
const log = z.number().min(-700).max(700);
const CURE = z
  .object({ kind: z.string().max(20), episodes: count, logEvidence: log, logHarm: log })
  .refine(
    ({ episodes, logEvidence, logHarm }) => Math.max(logEvidence, logHarm) <= episodes * LOG_OF_EPISODE_MAX,
  );
/** `ledger`: which one of its author's. */
const EVIDENCE = z.object({
  ledger: z.string().regex(HEX),
  tallies: z.array(TALLY).max(200),
  cures: z.array(CURE).max(20),
});

/** The body of each kind. A kind that is not here comes from a later program: it is kept, and means nothing here. */
const BODIES = {
  /** What helped, with what it rests on. */
  lesson: LESSON,
  /** A rule that somebody applied to the repository. */
  rule: RULE,
  /** It has been seen in more sessions by the same author. */
  support: z.object(SUPPORT),
  /** What somebody thinks of a lesson or rule; null takes that back. */
  verdict: VERDICT,
  /** Wrong: told nowhere any more. */
  withdraw: REASON,
  /** The same, by what somebody's own log has shown. */
  contradicted: REASON,
  /** It may be told again. */
  restore: REASON,
  /** Who takes part in a repository. */
  part: z.object({ takesPart: z.boolean() }),
  /** Somebody's proof: counts alone, the latest one holds. */
  evidence: EVIDENCE,
} as const;

export type FactKind = keyof typeof BODIES;
export type FactBody<Kind extends FactKind> = z.infer<(typeof BODIES)[Kind]>;
export type LessonBody = FactBody<'lesson'>;
export type TeamRemedy = LessonBody['remedy'];

type FactOf<Kind extends FactKind> = { readonly kind: Kind; readonly body: FactBody<Kind> };

/** Who may do what in a team. */
export const ROLES = ['member', 'reviewer', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** A fact as its author makes it. */
export type NewFact = {
  /** Of the same author the same id is the same fact. */
  readonly id: string;
  /** Of the lesson or rule; of others their own id. */
  readonly about: string;
  readonly repository: string;
} & { [Kind in FactKind]: FactOf<Kind> }[FactKind];

/** A fact as the server has it: author, role and time are the server's word. */
export type Fact = NewFact & {
  readonly seq: number;
  readonly author: string;
  readonly role: string;
  /** As the server wrote it. */
  readonly at: string;
};

/** A fact's columns, as they stand on the server and in the copy. */
export type StoredFact = {
  readonly seq: number;
  readonly author: string;
  readonly role: string;
  readonly id: string;
  readonly kind: string;
  readonly repository: string;
  readonly about: string;
  /** JSON. */
  readonly body: string;
  readonly at: string;
};

/** A row of either, whose columns come as text or numbers. */
export function storedIn(row: Readonly<Record<string, unknown>>): StoredFact {
  return {
    seq: Number(row.seq),
    author: String(row.author),
    role: String(row.role),
    id: String(row.id),
    kind: String(row.kind),
    repository: String(row.repository),
    about: String(row.about),
    body: String(row.body),
    at: String(row.at),
  };
}

/** Undefined for what this program does not know, for what is damaged, and for a lesson whose id is not that of its content. */
export function readFact(stored: StoredFact, parse: (text: string) => unknown): Fact | undefined {
  const { kind, body, ...columns } = stored;
  if (!Object.hasOwn(BODIES, kind) || !HEX.test(stored.id) || !HEX.test(stored.about)) return undefined;
  const read = BODIES[kind as FactKind].safeParse(parse(body));
  if (!read.success) return undefined;
  const fact = { ...columns, kind, body: read.data } as Fact;
  if ((fact.kind === 'lesson' || fact.kind === 'rule') && contentId(fact) !== fact.about) return undefined;
  return fact;
}

/** The body as it may leave this machine: without secrets, within its limits. Undefined when nothing is left of it. */
export function bodyOf<Kind extends FactKind>(kind: Kind, body: object): FactBody<Kind> | undefined {
  const redacted: unknown = JSON.parse(JSON.stringify(body), (_key, value) =>
    typeof value === 'string' ? redactSecrets(value) : value,
  );
  return BODIES[kind].safeParse(redacted).data as FactBody<Kind> | undefined;
}

type Content = Pick<FactOf<'lesson'> | FactOf<'rule'>, 'kind' | 'body'> & { readonly repository: string };

/** What a lesson or a rule is: the same words of the same repository are the same, whoever shares them. */
export function contentId({ kind, body, repository }: Content): string {
  const content = 'text' in body ? [body.text] : [body.key, ...sorted(body.remedy)];
  return idOf(kind, repository, ...content);
}

const sorted = (remedy: TeamRemedy): string[] => Object.entries(remedy).sort().flat();

/** A sum of what makes a fact the one that it is. */
export function idOf(...parts: readonly (string | number | null | boolean)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** A remedy as the resolution column of the knowledge base has it. */
export function resolutionOf(remedy: TeamRemedy): string {
  return JSON.stringify(
    remedy.kind === 'words' ? { kind: 'model', summary: remedy.summary, resolvedBy: 'team' } : remedy,
  );
}

/** Of the beginning of a key so much is compared: it may be cut, and has its program behind it. */
const COMPARED_LENGTH = 40;

/** An error is known again by its key: where the telling line is that of another one, the key is shown in its place. */
export function asShown(lesson: LessonBody): LessonBody {
  const { key, said, remedy } = lesson;
  const isOfKey = remedy.kind === 'lint' || key.startsWith(maskLine(said).slice(0, COMPARED_LENGTH));
  return isOfKey ? lesson : { ...lesson, said: key };
}

/** What agents would be told of a lesson, in English. */
export function adviceOf({ remedy }: Pick<LessonBody, 'remedy'>): string {
  return resolutionText(resolutionOf(remedy));
}

/**
 * Why a lesson or rule of somebody else is offered to nobody: it is shaped like an instruction to who reads it, or has a secret in
 * it, which every honest program takes out. Undefined: it is harmless.
 */
export function harmIn(content: LessonBody | FactBody<'rule'>): 'instruction' | 'secret' | undefined {
  const texts =
    'text' in content
      ? [content.text]
      : [content.key, content.said, adviceOf(content), ...Object.values(content.remedy)];
  if (texts.some((one) => redactSecrets(one) !== one)) return 'secret';
  return texts.some(isInstructionShaped) ? 'instruction' : undefined;
}
