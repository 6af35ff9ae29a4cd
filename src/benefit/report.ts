import type { LedgerRow } from '../database/ledger.ts';
import { episodesOf } from './episodes.ts';
import { type Cure, cure, cureSteps } from './evidence/cure.ts';
import { ENOUGH, fromLog } from './evidence/e-value.ts';
import { type Forecast, forecast } from './evidence/forecast.ts';
import {
  logEvidence,
  type Prevention,
  type PreventionEvent,
  prevention,
  type Tally,
} from './evidence/prevention.ts';
import { someHelps } from './evidence/several.ts';
import { answerKey, type HoldOut, holdPercentOf } from './model/coin.ts';
import type { Channel, LessonKind } from './model/telling.ts';

/**
 * What the ledger proves, as a value: nothing in it compares before with after, and nothing promises a saving. Each exposure counts in
 * the arm that the coin gave it, whatever the agent made of it; those that were never to be held out are only counted.
 */

/** How lessons are told now, and how many failures there are to learn from. */
export type Situation = {
  readonly holdOut: HoldOut;
  /** Kinds and channels of which it is known by now, as answerKey(). */
  readonly answered: ReadonlySet<string>;
  /** Would-be failures of known lessons a week. `weeksSeen`: over how long they were counted; below 1 they say too little. */
  readonly rate: {
    readonly startPerWeek: number;
    readonly failurePerWeek: number;
    readonly weeksSeen: number;
  };
};

/** What is known of a question. `unknown`: nothing has failed yet that could tell. */
export type Verdict = 'helps' | 'harms' | 'open' | 'unknown';

/** Told and held out, with a probability above 0. */
export type Counts = {
  readonly told: number;
  readonly held: number;
  /** Told without a coin, of which nothing can be known. */
  readonly always: number;
};

/** `peak`: the most that either evidence has ever been: at 20 the question counted as answered, whatever came later. */
type Known = Counts & { readonly verdict: Verdict; readonly peak: number };

/** Does telling at a start keep the failure from coming back? */
export type PreventionProof = Known & { readonly found: Prevention };

/** Does telling at a failing call make the same check pass after fewer calls? */
export type CureProof = Known & { readonly found: Cure };

/** The same for one kind of lessons. */
export type KindProof = {
  readonly kind: LessonKind;
  readonly channel: Channel;
  readonly holdPercent: number;
  readonly told: number;
  readonly held: number;
  readonly always: number;
  /** Of those that were told and held out: how many failed; at failing calls, how many are settled. */
  readonly toldFailures: number;
  readonly heldFailures: number;
  readonly verdict: Verdict;
  readonly evidence: number;
  readonly harm: number;
  /** The natural logarithm of `evidence`: those of several people, whose coins are independent, add up. */
  readonly logEvidence: number;
};

/** What the ledger proves, and what it does not. */
export type Proof = {
  readonly holdOut: HoldOut;
  /** Since when a coin is thrown, ISO 8601, and in how many trees; null: none was. */
  readonly since: string | null;
  readonly sessions: number;
  readonly start: PreventionProof & { readonly outlook: Forecast };
  readonly failure: CureProof & { readonly outlook: Forecast };
  readonly kinds: readonly KindProof[];
  /** That at least one lesson prevents its failure; how many lessons could tell, and how often the most frequent failed. */
  readonly some: {
    readonly verdict: Verdict;
    readonly evidence: number;
    readonly lessons: number;
    readonly most: number;
  };
  readonly rate: Situation['rate'];
  /** How long answers would take on trial, at this rate, else at a typical one. */
  readonly onTrial: Outlooks;
  readonly price: Price;
  readonly leaked: number;
};

/** When it can be known whether telling helps, at a start and at a failing call. */
export type Outlooks = { readonly start: Forecast; readonly failure: Forecast };

/** Of active developer-weeks, the middle one: so many would-be failures of known lessons. */
export const TYPICAL_PER_WEEK = 4;
const TRIAL_SHARE = 0.5;

/** How long answers take with a half held out: at this rate, or at a typical one where none has been seen. */
export function outlooksOnTrial({ startPerWeek, failurePerWeek, weeksSeen }: Situation['rate']): Outlooks {
  const at = (question: 'prevention' | 'cure', perWeek: number) =>
    forecast({ question, eventsPerWeek: weeksSeen < 1 ? TYPICAL_PER_WEEK : perWeek, p: TRIAL_SHARE });
  return { start: at('prevention', startPerWeek), failure: at('cure', failurePerWeek) };
}

/** What holding out and telling took. */
export type Price = {
  /** Failures that came back while their lesson was held out. */
  readonly heldFailures: number;
  /** How many of them telling would have prevented, by what failed where it was told: at least 0. */
  readonly letThrough: number;
  /** Characters that agents were told. */
  readonly toldChars: number;
};

/** Reads rows of the ledger, in any order. */
export function proofOf(rows: readonly LedgerRow[], situation: Situation): Proof {
  const { holdOut, rate } = situation;
  const [start, failure] = [ofChannel('start', rows), ofChannel('failure', rows)];
  const prevented = prevention(start.filter(hasFailed).map(eventOf));
  const cured = cure(episodesOf(failure));
  const current = (channel: Channel) => currentShare(channel, situation, rows);
  const perLesson = [...Map.groupBy(start.filter(hasFailed).filter(counts), ({ group }) => group).values()];
  const someEvidence = someHelps(perLesson.map((those) => those.map(eventOf)));
  const tossed = rows.filter(counts);
  const since = tossed.reduce((least, { ts }) => Math.min(least, ts), Number.POSITIVE_INFINITY);
  return {
    holdOut,
    since: tossed.length === 0 ? null : new Date(since).toISOString(),
    sessions: new Set(tossed.map(({ root }) => root)).size,
    start: {
      ...countsOf(start),
      verdict: verdictOf(prevented.failures, prevented),
      peak: preventionPeak(start.filter(hasFailed).filter(counts).map(eventOf)),
      found: prevented,
      outlook: forecast({
        ...{ question: 'prevention', eventsPerWeek: rate.startPerWeek, p: current('start') },
        evidence: prevented.evidence,
      }),
    },
    failure: {
      ...countsOf(failure),
      verdict: verdictOf(cured.episodes, cured),
      peak: Math.max(1, ...cureSteps(episodesOf(failure)).flatMap(({ evidence, harm }) => [evidence, harm])),
      found: cured,
      outlook: forecast({
        ...{ question: 'cure', eventsPerWeek: rate.failurePerWeek, p: current('failure') },
        evidence: cured.evidence,
      }),
    },
    kinds: kindsOf(rows, situation),
    some: {
      verdict: perLesson.length === 0 ? 'unknown' : someEvidence >= ENOUGH ? 'helps' : 'open',
      evidence: someEvidence,
      lessons: perLesson.length,
      most: Math.max(0, ...perLesson.map(({ length }) => length)),
    },
    rate,
    onTrial: outlooksOnTrial(rate),
    price: priceOf(rows),
    leaked: rows.filter(({ leaked }) => leaked === true).length,
  };
}

/** What a person's ledger says, as counts that can be added to those of others; see {@link teamEvidence}. */
export function memberEvidence(rows: readonly LedgerRow[]) {
  const failed = ofChannel('start', rows).filter(hasFailed).filter(counts);
  const groups = Map.groupBy(failed, ({ kind, holdPercent }) => `${kind} ${holdPercent}`);
  const tallies = [...groups.values()].map((those) => {
    const { kind, holdPercent } = those[0] as LedgerRow;
    const held = those.filter(({ isHeld }) => isHeld).length;
    return { kind, holdPercent, held, told: those.length - held };
  });
  const found = cure(episodesOf(ofChannel('failure', rows)));
  const { episodes, evidence, harm } = found;
  const cures = [{ kind: 'all', episodes, logEvidence: logOf(evidence), logHarm: logOf(harm) }];
  return { tallies, cures: episodes === 0 ? [] : cures };
}

/** Neither infinite nor without end as a decimal. */
const LOG_MAX = 700;
const logOf = (evidence: number): number => Math.max(-LOG_MAX, Math.min(LOG_MAX, Math.log(evidence)));

const hasFailed = ({ failedAt }: LedgerRow): boolean => failedAt !== null;
const counts = ({ holdPercent }: LedgerRow): boolean => holdPercent > 0;

/** In the order in which they failed, which the sequential tests look at. */
function ofChannel(channel: Channel, rows: readonly LedgerRow[]): LedgerRow[] {
  const at = ({ failedAt }: LedgerRow) => failedAt ?? Number.POSITIVE_INFINITY;
  const own = rows.filter((row) => row.channel === channel);
  return own.sort((one, other) => (at(one) === at(other) ? one.id - other.id : at(one) - at(other)));
}

function eventOf({ isHeld, holdPercent }: LedgerRow) {
  return { isHeld, p: holdPercent / 100 };
}

function countsOf(rows: readonly LedgerRow[]): Counts {
  const assigned = rows.filter(counts);
  const held = assigned.filter(({ isHeld }) => isHeld).length;
  return { told: assigned.length - held, held, always: rows.length - assigned.length };
}

function preventionPeak(events: readonly PreventionEvent[]): number {
  const tallies = new Map<number, Tally>();
  let most = 0;
  for (const { isHeld, p } of events) {
    const { held, told } = tallies.get(p) ?? { held: 0, told: 0 };
    tallies.set(p, { p, held: held + Number(isHeld), told: told + Number(!isHeld) });
    const { helps, harms } = logEvidence([...tallies.values()]);
    most = Math.max(most, helps, harms);
  }
  return fromLog(most);
}

function verdictOf(count: number, { evidence, harm }: { evidence: number; harm: number }): Verdict {
  if (count === 0) return 'unknown';
  return evidence >= ENOUGH ? 'helps' : harm >= ENOUGH ? 'harms' : 'open';
}

/** The probability, 0 to 1, with which most of what is told there is held out from now on. */
function currentShare(
  channel: Channel,
  { holdOut, answered }: Situation,
  rows: readonly LedgerRow[],
): number {
  const kinds = rows.filter((row) => row.channel === channel && row.kind !== 'user').map(({ kind }) => kind);
  const percents = (kinds.length === 0 ? (['rule'] as const) : kinds).map((kind) =>
    holdPercentOf({ holdOut, kind, channel, answered, isPinned: false }),
  );
  return percents.reduce((sum, percent) => sum + percent, 0) / percents.length / 100;
}

function kindsOf(rows: readonly LedgerRow[], situation: Situation): KindProof[] {
  const groups = Map.groupBy(rows, ({ kind, channel }) => answerKey(kind, channel));
  return [...groups.keys()].sort().map((name) => {
    const own = groups.get(name) ?? [];
    const { kind, channel } = own[0] as LedgerRow;
    const sorted = ofChannel(channel, own);
    const isStart = channel === 'start';
    const found = isStart ? prevention(sorted.filter(hasFailed).map(eventOf)) : cure(episodesOf(sorted));
    const count = 'failures' in found ? found.failures : found.episodes;
    const { holdOut, answered } = situation;
    return {
      ...{ kind, channel, ...countsOf(own), toldFailures: found.told, heldFailures: found.held },
      holdPercent: holdPercentOf({ holdOut, kind, channel, answered, isPinned: false }),
      ...{ verdict: verdictOf(count, found), evidence: found.evidence, harm: found.harm },
      logEvidence: Math.log(found.evidence),
    };
  });
}

/**
 * Where nothing is changed by telling, p / (1 − p) failures are held out for each that was told: what there are more is what
 * telling would have prevented.
 */
function priceOf(rows: readonly LedgerRow[]): Price {
  const failed = rows.filter((row) => row.channel === 'start' && hasFailed(row) && counts(row));
  const held = failed.filter(({ isHeld }) => isHeld).length;
  const expected = failed
    .filter(({ isHeld }) => !isHeld)
    .reduce((sum, { holdPercent }) => sum + holdPercent / (100 - holdPercent), 0);
  return {
    heldFailures: held,
    letThrough: Math.max(0, Math.round(held - expected)),
    toldChars: rows.filter(({ isHeld }) => !isHeld).reduce((sum, { text }) => sum + text.length, 0),
  };
}
