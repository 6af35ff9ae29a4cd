import { ENOUGH } from './e-value.ts';

/** When an answer can be expected. */

/** What is expected of a lesson: six of ten failures prevented, or six tenths of the cost. */
const RATIO = 0.4;
/** An answer that takes longer is none. */
const WEEKS_MAX = 104;
/** From here on weeks are counted as months. */
const WEEKS_SHOWN = 26;
const WEEKS_PER_MONTH = 365.25 / 12 / 7;

/** In how many weeks or months, whole ones: half of all answers come until `median`, four of five until `most`. */
export type Forecast =
  | { readonly kind: 'weeks' | 'months'; readonly median: number; readonly most: number }
  | { readonly kind: 'never' };

export type Outlook = {
  readonly question: 'prevention' | 'cure';
  /** Failures a week that would happen were nothing told; of them the told ones are prevented in part. */
  readonly eventsPerWeek: number;
  /** The probability, 0 to 1, with which one is held out. */
  readonly p: number;
  /** That it helps, as far as it has come: 1 is none. */
  readonly evidence?: number;
};

/** How many would-be failures it takes: half of all answers, and four of five. */
function eventsNeeded(question: Outlook['question'], p: number): readonly [median: number, most: number] {
  // Straight lines in 1/p through what scripts/proof-worlds.ts measures.
  if (question === 'cure') return [CURE.median[0] + CURE.median[1] / p, CURE.most[0] + CURE.most[1] / p];
  // Wald: what is needed, divided by what one would-be failure is expected to add to log L at the true ratio.
  const share = p + (1 - p) * RATIO;
  const gain = -share * Math.log(share) + (1 - p) * RATIO * Math.log(RATIO);
  const needed = Math.log(ENOUGH) / gain;
  return [1.1 * needed, 2.2 * needed];
}
const CURE = { median: [8, 10], most: [18, 14] } as const;

/**
 * When an answer can be expected at a rate, if the lessons prevent six of ten failures (cure: take six tenths of the cost away):
 * what is missing of the evidence, by what one event adds. Within a fifth of what is simulated for p = 0.1 to 0.5. 'never': in more than two
 * years; 0 weeks: it is there.
 */
export function forecast({ question, eventsPerWeek, p, evidence = 1 }: Outlook): Forecast {
  if (!(eventsPerWeek > 0 && p > 0 && p < 1)) return { kind: 'never' };
  const missing = Math.max(0, 1 - Math.log(evidence) / Math.log(ENOUGH));
  const [median, most] = eventsNeeded(question, p).map((events) => (missing * events) / eventsPerWeek) as [
    number,
    number,
  ];
  if (median > WEEKS_MAX) return { kind: 'never' };
  const kind = most > WEEKS_SHOWN ? 'months' : 'weeks';
  const whole = (weeks: number) => Math.ceil(kind === 'weeks' ? weeks : weeks / WEEKS_PER_MONTH);
  return { kind, median: whole(median), most: whole(most) };
}
