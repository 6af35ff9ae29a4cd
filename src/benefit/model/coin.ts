import { hmacSha256 } from '#runtime';
import type { Channel, LessonKind } from './telling.ts';

/** The coin that decides what is held out, so that what is told can be compared with it. */

/** How much is held out: nothing; a tenth; half until the question is answered, then a tenth. */
export type HoldOut = 'off' | 'low' | 'trial';

const PERCENT_ON_TRIAL = 50;
const PERCENT_LOW = 10;

type Held = {
  readonly holdOut: HoldOut;
  readonly kind: LessonKind;
  readonly channel: Channel;
  /** For which kinds and channels it is known by now whether telling helps, each as answerKey(). */
  readonly answered: ReadonlySet<string>;
  /** A person wants it told in any case, or shares it from another project. */
  readonly isPinned: boolean;
};

/** The probability, in percent, with which this is held out; 0: it is told in any case, as what a person wrote. */
export function holdPercentOf({ holdOut, kind, channel, answered, isPinned }: Held): number {
  if (holdOut === 'off' || kind === 'user' || isPinned) return 0;
  return holdOut === 'trial' && !answered.has(answerKey(kind, channel)) ? PERCENT_ON_TRIAL : PERCENT_LOW;
}

/** By what an answered question is known: does telling lessons of this kind there help? */
export function answerKey(kind: string, channel: Channel): string {
  return `${kind} ${channel}`;
}

type Toss = {
  /** The coin's own. */
  readonly key: string;
  readonly channel: Channel;
  /** groupFingerprint(). */
  readonly group: string;
  /** The id of the tree's first session. */
  readonly root: string;
  readonly holdPercent: number;
};

const HEX_DIGITS = 13;

/**
 * Whether it is held out: the same for every agent and every moment of a tree, so that one that is told cannot tell
 * another that is not. The first 52 bits of HMAC(key, channel|group|tree), as a fraction, are below the probability.
 */
export function armOf({ key, channel, group, root, holdPercent }: Toss): boolean {
  if (holdPercent === 0) return false;
  const drawn = Number.parseInt(hmacSha256(key, `${channel}|${group}|${root}`).slice(0, HEX_DIGITS), 16);
  return drawn / 16 ** HEX_DIGITS < holdPercent / 100;
}
