import { fingerprint } from '../../core/text.ts';

/** What an agent is told of a failure, or would have been, had the coin not held it out. */

/** Where it is told: when a session or a sub-agent starts, or right behind the call that failed. */
export type Channel = 'start' | 'failure';

/** A channel's number, in the ledger, is its place. */
export const CHANNELS: readonly Channel[] = ['start', 'failure'];

/**
 * Who wrote what is told: the rules of `learn()`, among them those of linters, a model, a person, or nobody yet: an error
 * without a fix.
 */
export type LessonKind = (typeof LESSON_KINDS)[number];
export const LESSON_KINDS = ['rule', 'lint', 'model', 'user', 'error'] as const;

export type Telling = {
  readonly group: FailureGroup;
  readonly kind: LessonKind;
  /** As the agent reads it, were it told. */
  readonly text: string;
  readonly channel: Channel;
  /** The probability, in percent, with which it was to be held out; 0: never. */
  readonly holdPercent: number;
  readonly isHeld: boolean;
  /** The failing call behind which it is told; null at a start. */
  readonly callId: string | null;
  /** The first session of the tree that it was tossed for; without it the ledger looks that up. */
  readonly root?: string | undefined;
};

/** What fails: the key of an error in a repository. Whatever is told of it shares one coin. */
export type FailureGroup = {
  /** The repository's name, or the path of a project that has none. */
  readonly place: string;
  /** The error's normalised text. */
  readonly key: string;
};

/** By what a failure group is known, also when its key is forgotten. */
export function groupFingerprint({ place, key }: FailureGroup): string {
  return fingerprint(`${place}\n${key}`);
}
