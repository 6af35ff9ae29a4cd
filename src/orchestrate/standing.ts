import { addUsage } from '../clients/reading.ts';
import type { Language } from '../core/told-texts.ts';
import { endReason, isTerminal, NO_USAGE, type TurnState, type Usage } from '../runs/model/turn.ts';
import type { Asked, Attempt, OrchestrationState, Work } from './model/state.ts';
import type { Phase } from './prompts/phase-gates.ts';
import { inertWords } from './prompts/quote.ts';

/**
 * How an orchestration stands, as a person is shown it: by the worklog, the live view and JSON. Texts of agents and of the
 * user are on one line in it, without secrets and inert.
 */

/** One part of it: the triage, the plan, a review, or the work of an agent in a phase. */
export type PartStanding = {
  /** The newest time that it was asked: `work.backend.3`. */
  readonly key: string;
  readonly state: TurnState | 'refused';
  readonly client: string | null;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly usage: Usage;
  /** Why it failed; null: it did not, or nothing is known. */
  readonly error: string | null;
};

export type VerdictStanding = Pick<Attempt, 'phase' | 'number'> & {
  readonly pass: boolean;
  readonly feedback: string;
};

export type WorkStanding = Pick<Work, 'agent' | 'role' | 'status' | 'reason'> & {
  readonly phase: Phase;
  readonly phases: readonly Phase[];
  /** Of the phase, from 1 on; 0: not tried yet. */
  readonly attempt: number;
  /** Of all attempts that were judged, in their order. */
  readonly verdicts: readonly VerdictStanding[];
  /** Null: it was not asked yet. */
  readonly part: PartStanding | null;
};

export type Standing = {
  readonly number: number;
  readonly language: Language;
  readonly prompt: string;
  /** `triage`, `planning`, `round_2`, `stopping`, or how it ended: `done`, `partial`, `failed`, `stopped`, `answered`. */
  readonly status: string;
  /** The one at work, or the last; 0: none has begun. */
  readonly round: number;
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
  /** Triage, plan and reviews, in their order. */
  readonly others: readonly PartStanding[];
  readonly works: readonly WorkStanding[];
  /** Of all turns, those that failed too; what no client says is not in it. */
  readonly usage: Usage;
};

const LENGTH_MAX = 500;
const words = (text: string) => inertWords(text, LENGTH_MAX);
const wordsOrNull = (text: string | null | undefined) => (text == null ? null : words(text));

/** What a state comes to. The usage of a turn that is at work is not known yet. */
export function standingOf(state: OrchestrationState): Standing {
  const { number, createdAtMs, endedAtMs, asked, options } = state;
  const others = [...asked.values()]
    .flatMap((all) => all.slice(-1))
    .filter(({ key }) => !key.startsWith('work.'))
    .map(partStanding);
  const turns = [...asked.values()].flat().flatMap((one) => (one.kind === 'turn' ? one.turn : []));
  return {
    ...{ number, language: options.language, prompt: words(state.prompt), createdAtMs, endedAtMs },
    ...{ status: statusOf(state), round: roundOf(state), others },
    works: state.works.map(workStanding),
    usage: turns.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
  };
}

/** That nobody carries on one that has not ended, and what does. `isCarriedOn`: see store.ts; undefined: all is well. */
export function leftNote(
  { ended, number }: Pick<OrchestrationState, 'ended' | 'number'>,
  isCarriedOn: boolean,
) {
  if (ended !== null || isCarriedOn) return undefined;
  return `nobody carries it on: "self-generation orchestrate --continue ${number}" does`;
}

/** In a word, as the seed has it: `planning`, `round_1`, `done`. */
export function statusOf(state: OrchestrationState): string {
  if (state.ended !== null) return state.ended.state;
  if (state.stop !== null) return 'stopping';
  if (state.triage?.label !== 'team') return 'triage';
  return state.plan === null || state.layout === null ? 'planning' : `round_${Math.max(1, roundOf(state))}`;
}

function roundOf({ works, verdicts }: OrchestrationState): number {
  return Math.max(verdicts.length, ...works.map(({ attempts }) => attempts.at(-1)?.round ?? 0));
}

function workStanding(work: Work): WorkStanding {
  const { status, phaseProfile: phases, currentPhase: phase, attempts } = work;
  const last = attempts.at(-1);
  return {
    ...{ agent: words(work.agent), role: words(work.role), status, reason: wordsOrNull(work.reason) },
    ...{ phase, phases, attempt: last?.phase === phase ? last.number : 0 },
    verdicts: attempts.flatMap(({ phase, number, verdict }) =>
      verdict === null ? [] : [{ phase, number, pass: verdict.pass, feedback: words(verdict.feedback) }],
    ),
    part: last?.asked == null ? null : partStanding(last.asked),
  };
}

function partStanding(asked: Asked): PartStanding {
  if (asked.kind === 'refused') {
    const never = { client: null, startedAtMs: null, endedAtMs: null, usage: NO_USAGE };
    return { key: words(asked.key), state: 'refused', error: words(asked.error), ...never };
  }
  const { run, turn } = asked;
  const { state, startedAtMs, endedAtMs, usage } = turn;
  const error = state === 'success' ? null : wordsOrNull(endReason(turn));
  return { key: words(asked.key), state, client: run.client, startedAtMs, endedAtMs, usage, error };
}

/** Whether the part waits for its turn or is at work. */
export function isAtWork({ state }: PartStanding): boolean {
  return state !== 'refused' && !isTerminal(state);
}

const MARKS = { waiting: '⏸', working: '⏳', held: '📦', done: '✅', 'given up': '❌' } as const;
const GATES = {
  ko: { waiting: '대기', working: '진행 중', held: '합치기 대기', done: '완료', 'given up': '미완료' },
  en: {
    waiting: 'waiting',
    working: 'in progress',
    held: 'waits to be merged',
    done: 'done',
    'given up': 'given up',
  },
} as const;

/** `✅ done`, `⏳ in progress` (seed 004: the gate in the matrix). */
export function gateOf({ status }: Pick<Work, 'status'>, language: Language): string {
  return `${MARKS[status]} ${GATES[language][status]}`;
}

/** Only its sign: `✅`. */
export function markOf({ status }: Pick<Work, 'status'>): string {
  return MARKS[status];
}
