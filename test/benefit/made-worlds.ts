import type { Random } from '../../scripts/measure.ts';
import { type CureEpisode, cureSteps } from '../../src/benefit/evidence/cure.ts';
import { ENOUGH, fromLog } from '../../src/benefit/evidence/e-value.ts';
import { uselessOf } from '../../src/benefit/evidence/posterior.ts';
import { logEvidence, mayBe, type Tally } from '../../src/benefit/evidence/prevention.ts';
import { combined, eBh } from '../../src/benefit/evidence/several.ts';
import { UNITS_MIN, USELESS_MIN } from '../../src/benefit/withdraw.ts';

/**
 * Made-up worlds in which it is known what telling does: exposures one after the other, each held out by a coin, of which some
 * fail; where told `ratio` times as often. The evidence is looked at after every failure.
 */

const LOG_ENOUGH = Math.log(ENOUGH);

/** The risk of the next exposure where it is held out, 0 to 1; the ratio times as much where told, which must be below 1. */
type Risk = (random: Random) => (at: number) => number;

const steady: Risk = () => () => 0.4;
/** Learnt at a peak: from then on it fails less and less. */
const drifts: Risk = () => (at) => 0.05 + 0.44 * 0.995 ** at;
/** Half of ten exposures now and then, otherwise hardly any. */
const bursts: Risk = ({ next }) => {
  let left = 0;
  return () => {
    if (left === 0 && next() < 0.05) left = 10;
    left = Math.max(0, left - 1);
    return left > 0 ? 0.49 : 0.01;
  };
};
/** One of ten makes four of five. */
const oneHabit: Risk = () => (at) => (at % 10 === 0 ? 0.49 : 0.0136);
export const RISKS = { steady, drifts, bursts, oneHabit };

export type World = {
  readonly ratio: number;
  readonly risk?: Risk;
  /** The probability of being held out. */
  readonly p: number;
  /** Another one, chosen by what came before: log E, and whether it was already the other. */
  readonly other?: { readonly p: number; readonly when: (helps: number, wasOther: boolean) => boolean };
  /** It ends after as many failures, or, with `untilKnown`, when it is known that telling helps. */
  readonly failures: number;
  readonly untilKnown?: boolean;
};

/** What somebody who looked after every failure has seen at any time. */
export type Seen = {
  /** It helps; it does harm. */
  readonly helps: boolean;
  readonly harms: boolean;
  /** The interval was without the true ratio. */
  readonly misses: boolean;
  /** It was withdrawn, as a single lesson that probably prevents nothing. */
  readonly withdraws: boolean;
  /** Failures that would have happened were nothing told: until it was known that it helps, or else to the end. */
  readonly wouldBe: number;
};

type Look = {
  readonly helps: number;
  readonly harms: number;
  readonly misses: boolean;
  readonly useless: number;
};

/** What is said of counts, worked out once for each. */
function onceForEach<T>(work: (tallies: readonly Tally[]) => T): (tallies: readonly Tally[]) => T {
  const known = new Map<number, T>();
  return (tallies) => {
    let key = 0;
    for (const { held, told } of tallies) key = (key * 4096 + held) * 4096 + told;
    const result = known.get(key) ?? work(tallies);
    known.set(key, result);
    return result;
  };
}

/** Lives a world again and again. */
export function livesOf(world: World, random: Random): () => Seen {
  const { ratio, risk = steady, p, other, failures, untilKnown = false } = world;
  const lookAt = onceForEach((tallies): Look => {
    const logs = logEvidence(tallies);
    return { ...logs, misses: !mayBe(ratio, tallies), useless: uselessOf(logs) };
  });
  return () => {
    const riskAt = risk(random);
    const [first, second] = [
      { p, held: 0, told: 0 },
      { p: other?.p ?? p, held: 0, told: 0 },
    ];
    let [isOther, wouldBe, known] = [false, 0, false];
    let [harms, misses, withdraws] = [false, false, false];
    for (let at = 0; first.held + first.told + second.held + second.told < failures; at++) {
      const least = riskAt(at);
      const dice = random.next();
      if (dice >= least * Math.max(1, ratio)) continue;
      if (dice < least && !known) wouldBe++;
      const tally = isOther ? second : first;
      const isHeld = random.next() < tally.p;
      if (dice >= least * (isHeld ? 1 : ratio)) continue;
      if (isHeld) tally.held++;
      else tally.told++;
      const failed = first.held + first.told + second.held + second.told;
      const look = lookAt([first, second]);
      known ||= look.helps >= LOG_ENOUGH;
      harms ||= look.harms >= LOG_ENOUGH;
      misses ||= look.misses;
      withdraws ||= failed >= UNITS_MIN && tally.told > 0 && look.useless > USELESS_MIN;
      isOther = other?.when(look.helps, isOther) ?? false;
      if (known && untilKnown) break;
    }
    return { helps: known, harms, misses, withdraws, wouldBe };
  };
}

/** Calls until the same check passes: median 3, mean 5.7, at most 20, as measured. */
export type CureWorld = {
  readonly p: number;
  /** Where told: the probability that the next call passes, and what the cost is otherwise multiplied by. */
  readonly atOnce?: number;
  readonly ratio?: number;
  /** What the costs of the episode at an index are multiplied by in both arms. */
  readonly scale?: (at: number) => number;
  readonly episodes: number;
};

/** Lives it once; episodes until it is known that what is told is mended sooner, Infinity when it never is. */
export function liveCure(
  world: CureWorld,
  { next }: Random,
): { readonly known: number; readonly harms: boolean } {
  const { p, atOnce = 0, ratio = 1, scale = () => 1, episodes } = world;
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const made = Array.from({ length: episodes }, (_, at): CureEpisode => {
    const isHeld = next() < p;
    const calls = 3 * Math.exp(1.13 * normal()) * scale(at) * (isHeld ? 1 : ratio);
    const isAtOnce = !isHeld && next() < atOnce;
    return { isHeld, p, cost: isAtOnce ? 1 : Math.min(20, Math.max(1, Math.round(calls))) };
  });
  const steps = cureSteps(made);
  const first = steps.findIndex(({ evidence }) => evidence >= ENOUGH);
  return {
    known: first < 0 ? Number.POSITIVE_INFINITY : first + 1,
    harms: steps.some(({ harm }) => harm >= ENOUGH),
  };
}

/** Many lessons, each with a share of what fails and the ratio that telling it makes. */
export type Lessons = readonly { readonly ratio: number; readonly share: number }[];

/**
 * Lives with them again and again for so many would-be failures, p = 0.5; looks after every failure whether any helps, and which.
 * `falseShare`: of those that were called proven when that was first said, the moment that somebody would choose who wants to be
 * misled; 0 when nothing was.
 */
export function livesWith(lessons: Lessons, wouldBe: number, { next }: Random) {
  const evidenceOf = onceForEach((tallies) => fromLog(logEvidence(tallies).helps));
  const limits = lessons.map((_, at) => lessons.slice(0, at + 1).reduce((sum, { share }) => sum + share, 0));
  return () => {
    const tallies = lessons.map(() => ({ p: 0.5, held: 0, told: 0 }));
    const evidences = lessons.map(() => 1);
    let [someHelp, falseShare, proven] = [Number.POSITIVE_INFINITY, 0, 0];
    for (let at = 1; at <= wouldBe; at++) {
      const dice = next();
      const index = limits.findIndex((limit) => dice < limit);
      const [lesson, tally] = [lessons[index], tallies[index]];
      if (lesson === undefined || tally === undefined) continue;
      const isHeld = next() < tally.p;
      if (!isHeld && next() >= lesson.ratio) continue;
      if (isHeld) tally.held++;
      else tally.told++;
      evidences[index] = evidenceOf([tally]);
      if (combined(evidences) >= ENOUGH) someHelp = Math.min(someHelp, at);
      if (proven > 0) continue;
      const ids = eBh(
        evidences.map((evidence, id) => ({ id, evidence })),
        1 / ENOUGH,
      );
      proven = ids.length;
      if (proven > 0) falseShare = ids.filter((id) => lessons[id]?.ratio === 1).length / proven;
    }
    return { someHelp, falseShare, proven };
  };
}
