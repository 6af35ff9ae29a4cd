import { counted } from '../core/text.ts';
import type { WithdrawalReason } from '../lessons/store/withdrawals.ts';
import { uselessProbability } from './evidence/posterior.ts';
import type { Channel } from './model/telling.ts';

/** Whether a lesson is told on. Decisions are values: what they are made of comes in, and nothing is written here. */

/** A telling that has been settled, with its arm. */
export type SettledTelling = {
  readonly channel: Channel;
  readonly isHeld: boolean;
  /** The probability with which it was to be held out, 0 to 1; 0: never. */
  readonly p: number;
  readonly hasFailed: boolean;
  /** Its session is over. */
  readonly isOver: boolean;
};

/** What is known of a lesson since it is told, or since it was restored. */
export type Record = {
  /** A person wrote it or pinned it: then nothing but that person withdraws it. */
  readonly isPersons: boolean;
  readonly isQuiet: boolean;
  readonly tellings: readonly SettledTelling[];
  /** How often what it advises worked and failed, in the whole project. */
  readonly worked: number;
  readonly failed: number;
  /** How often the form that it warns of worked. */
  readonly formWorked: number;
  /** How often the failure happened, whoever was told. */
  readonly failures: number;
  /** What it names that is not there any more. */
  readonly gone: string | undefined;
};

export type Verdict =
  | { readonly kind: 'withdraw'; readonly reason: WithdrawalReason; readonly detail: string }
  /** Not at starts any more; the hint at the failure stays. */
  | { readonly kind: 'quiet' }
  | { readonly kind: 'wake' }
  | { readonly kind: 'keep' };

const KEEP: Verdict = { kind: 'keep' };
/** Silent in its first ten sessions: it fails later in 1.5 % of them, against 12.8 %. */
const SILENT_SESSIONS = 10;
/** Below so many failures statistics say nothing of a lesson. */
export const UNITS_MIN = 5;
/** Of lessons that prevent 6 of 10, so many are withdrawn at some time: 1 % with a half held out, 4 % with a tenth. */
export const USELESS_MIN = 0.95;

/** Contradiction first, then dormancy, then statistics: only what is frequent is told by those. */
export function judge(record: Record): Verdict {
  const reason = record.isPersons ? undefined : (contradiction(record) ?? uselessness(record));
  if (reason !== undefined) return { kind: 'withdraw', ...reason };
  const isSilent = record.failures === 0;
  if (record.isQuiet) return isSilent ? KEEP : { kind: 'wake' };
  const starts = record.tellings.filter(({ channel, isOver }) => channel === 'start' && isOver);
  return !record.isPersons && isSilent && starts.length >= SILENT_SESSIONS ? { kind: 'quiet' } : KEEP;
}

type Reason = { readonly reason: WithdrawalReason; readonly detail: string };

function contradiction({ worked, failed, formWorked, failures, gone }: Record): Reason | undefined {
  if (gone !== undefined)
    return { reason: 'gone', detail: `it names the ${gone}, which is not there any more` };
  if (failed > 0 && failed >= worked)
    return {
      reason: 'contradiction',
      detail: `what it advises failed ${counted(failed, 'time')} since it is told, and worked ${counted(worked, 'time')}`,
    };
  if (formWorked > 0 && formWorked >= failures)
    return {
      reason: 'contradiction',
      detail: `what it says fails worked ${counted(formWorked, 'time')} since it is told, and failed ${counted(failures, 'time')}`,
    };
  return undefined;
}

/** P(r ≥ 1) > .95, of at least five failures where a coin was thrown. */
function uselessness({ tellings }: Record): Reason | undefined {
  const units = tellings.filter(({ channel, p, hasFailed }) => channel === 'start' && p > 0 && hasFailed);
  const told = units.filter(({ isHeld }) => !isHeld).length;
  const probability = uselessProbability(units);
  if (units.length < UNITS_MIN || told === 0 || probability <= USELESS_MIN) return undefined;
  const percent = Math.floor(probability * 100);
  return {
    reason: 'statistics',
    detail: `it failed ${counted(told, 'time')} although told, ${units.length - told} untold: telling it prevents nothing with a probability of ${percent} %`,
  };
}
