import { isTerminal } from '../runs/model/turn.ts';
import type { PartRun } from '../runs/store/parts.ts';
import type { ContinuedFact, PlanFact } from './model/facts.ts';
import { Facts } from './model/facts.ts';
import { advancePhase, initAgentPhases } from './model/phases.ts';
import type { Asked, Attempt, Orchestration, OrchestrationState, Work } from './model/state.ts';
import { notPassed, type Verdict } from './model/verdict.ts';
import { WRITING_PHASE } from './prompts/phase-gates.ts';

/** What an orchestration is made of. */
export type Stored = {
  readonly orchestration: Orchestration;
  readonly facts: readonly { readonly name: string; readonly value: unknown }[];
  readonly parts: readonly PartRun[];
};

/** The part of an agent's work in a phase. */
export function workKey(agent: string, phase: number): string {
  return `work.${agent}.${phase}`;
}

/** The part that reviews a round. */
export function reviewKey(round: number): string {
  return `review.${round}`;
}

/** The name of a run that begins a part, or goes on with it where the run before cannot: `plan`, `plan.2`. */
export function partName(key: string, nth: number): string {
  return nth === 1 ? key : `${key}.${nth}`;
}

/** The name of the turn with which a run is asked again. */
export function turnName(nth: number): string {
  return `attempt.${nth}`;
}

/** How an orchestration stands, from what is stored of it alone: the same rows give the same state, whoever reads them. */
export function replay({ orchestration, facts: stored, parts }: Stored): OrchestrationState {
  const facts = new Facts(stored);
  const continued = continuations(facts);
  const epoch = continued.length;
  const asked = askedParts(parts, stored);
  const askedBefore = continued.at(-1)?.asked ?? {};
  const dropped = new Set(
    continued.flatMap((one) => Object.entries(one.dropped).map(([key, nth]) => `${key} ${nth}`)),
  );
  const plan = facts.get('plan');
  const layout = facts.get('layout');
  const base = { facts, epoch, asked, askedBefore, dropped, plan, layout };
  const interrupted = [...asked.values()]
    .flat()
    .find((one) => isInterrupted(one) && one.nth > (askedBefore[one.key] ?? 0));
  return {
    ...orchestration,
    ...base,
    ...(plan?.kind === 'work' && layout !== null
      ? worked(plan, layout.parallel, orchestration.options.attempts, { ...base, continued })
      : { works: [], verdicts: [], settling: null }),
    triage: facts.get('triage'),
    stop: facts.get(`stop.${epoch}`)?.by ?? (interrupted === undefined ? null : stoppedBy(interrupted)),
    ended: facts.get(`ended.${epoch}`),
  };
}

function continuations(facts: Facts): ContinuedFact[] {
  const found: ContinuedFact[] = [];
  for (;;) {
    const next = facts.get(`continued.${found.length + 1}`);
    if (next === null) return found;
    found.push(next);
  }
}

/** What is written down when an orchestration goes on after an end or a stop: what was asked before counts no more. */
export function continuation({ asked, verdicts, works }: OrchestrationState): ContinuedFact {
  const counts = [...asked].map(([key, all]) => [key, all.at(-1)?.nth ?? 0] as const);
  const dropped = works.flatMap(({ attempts }) => {
    const { verdict = null, asked = null, key = '', nth = 0 } = attempts.at(-1) ?? {};
    return verdict === null && asked !== null && hasFailed(asked) ? [[key, nth] as const] : [];
  });
  return {
    round: verdicts.length,
    asked: Object.fromEntries(counts),
    dropped: Object.fromEntries(dropped),
  };
}

const PART_NAME = /^(triage|plan|review\.\d+|work\.[\w-]+\.\d)(?:\.(\d+))?$/;
const TURN_NAME = /^attempt\.(\d+)$/;
const REFUSED = /^refused\.(.+)\.(\d+)$/;

function askedParts(parts: readonly PartRun[], facts: Stored['facts']): Map<string, readonly Asked[]> {
  const turns = parts.flatMap(({ run, turns }) => {
    const [, key, first] = PART_NAME.exec(run.part.name) ?? [];
    if (key === undefined) return [];
    return turns.flatMap((turn): Asked[] => {
      const nth = turn.kind === 'task' ? (first ?? 1) : TURN_NAME.exec(turn.name ?? '')?.[1];
      return nth === undefined ? [] : [{ kind: 'turn', key, nth: Number(nth), run, turn }];
    });
  });
  const refused = facts.flatMap(({ name, value }): Asked[] => {
    const [, key, nth] = REFUSED.exec(name) ?? [];
    if (key === undefined) return [];
    return [{ kind: 'refused', key, nth: Number(nth), error: (value as { error: string }).error }];
  });
  const all = [...turns, ...refused].sort((one, other) => one.nth - other.nth);
  return Map.groupBy(all, ({ key }) => key);
}

function hasFailed(asked: Asked): boolean {
  return asked.kind === 'refused' || (isTerminal(asked.turn.state) && asked.turn.state !== 'success');
}

/** Somebody has stopped it: that is no failure of what was asked. */
export function isInterrupted(asked: Asked): boolean {
  return asked.kind === 'turn' && asked.turn.state === 'stopped' && asked.turn.stop?.reason === 'requested';
}

function stoppedBy(asked: Asked): string {
  return (asked.kind === 'turn' && asked.turn.stop?.by) || 'somebody';
}

type Counting = Pick<OrchestrationState, 'asked' | 'askedBefore' | 'dropped'>;

/** What was asked of a part and counts: not what was stopped or dropped before the orchestration was continued. */
export function countedOf(key: string, { asked, askedBefore, dropped }: Counting): Asked[] {
  const before = askedBefore[key] ?? 0;
  const isOut = (one: Asked) => dropped.has(`${key} ${one.nth}`) || (isInterrupted(one) && one.nth <= before);
  return (asked.get(key) ?? []).filter((one) => !isOut(one));
}

type Replayed = Pick<OrchestrationState, 'facts'> &
  Counting & {
    readonly continued: readonly ContinuedFact[];
  };

/** The work, round by round: who tries which phase, what the verdict is, and what is brought in between two rounds. */
function worked(
  plan: Extract<PlanFact, { kind: 'work' }>,
  parallel: readonly string[],
  attemptsMax: number,
  replayed: Replayed,
): Pick<OrchestrationState, 'works' | 'verdicts' | 'settling'> {
  const { facts, continued } = replayed;
  let works: readonly Work[] = initAgentPhases(plan.subtasks).map((phases) => ({
    ...phases,
    ...{ status: 'waiting', reason: null, attempts: [], merge: null, tries: 0 },
    isParallel: parallel.includes(phases.agent),
  }));
  const verdicts: OrchestrationState['verdicts'][number][] = [];
  for (let round = 1; ; round++) {
    const passes = continued.filter((one) => one.round === round - 1).length;
    for (let pass = 0; pass <= passes; pass++) {
      if (pass > 0) works = works.map(revived);
      const settled = settle(works, { round: round - 1, pass }, facts);
      works = settled.works;
      if (settled.isPending && pass === passes)
        return { works, verdicts, settling: { round: round - 1, pass } };
    }
    const at = workingNow(works);
    if (at.length === 0) return { works, verdicts, settling: null };
    works = works.map((work) => (at.includes(work) ? tried(work, round, replayed) : work));
    const verdict = facts.get(`verdict.${round}`);
    if (verdict === null) return { works, verdicts, settling: null };
    verdicts.push(verdict);
    works = works.map((work) =>
      work.attempts.at(-1)?.round === round ? judged(work, verdict.verdicts, attemptsMax) : work,
    );
  }
}

/** Those of the next round. Whoever changes files in the project itself waits until what was made beside it is in. */
function workingNow(works: readonly Work[]): Work[] {
  const isApart = works.some((work) => work.isParallel && isOpen(work) && !isIn(work));
  return works.filter((work) => {
    if (!isOpen(work) || work.completed || work.status === 'held') return false;
    return !isApart || (work.isParallel && !isIn(work)) || work.currentPhase < WRITING_PHASE;
  });
}

const isOpen = ({ status }: Work) => status !== 'given up';
/** What it has made in a working tree of its own is in the project. */
const isIn = ({ merge }: Work) => merge !== null && merge.kind !== 'failed';

/** Whether this phase of the work is done in a working tree of its own. */
export function isInOwnTree({ isParallel }: Pick<Work, 'isParallel'>, phase: number): boolean {
  return isParallel && phase === WRITING_PHASE;
}

function revived(work: Work): Work {
  if (isOpen(work)) return work;
  return { ...work, status: hasMade(work) ? 'held' : 'waiting', reason: null, merge: null, tries: 0 };
}

/** It has passed the phase in its own tree, and that is not in the project yet. */
function hasMade(work: Work): boolean {
  const isPast = work.completed || work.currentPhase > WRITING_PHASE;
  return work.isParallel && isPast && !isIn(work);
}

function tried(work: Work, round: number, replayed: Replayed): Work {
  const { facts, asked } = replayed;
  const { agent, currentPhase: phase } = work;
  const key = workKey(agent, phase);
  const number = work.attempts.filter((one) => one.phase === phase).length + 1;
  const found = countedOf(key, replayed)[number - 1] ?? null;
  const nth = found?.nth ?? (asked.get(key)?.length ?? 0) + 1;
  const changes = facts.get(`changes.${key}.${nth}`);
  const attempt: Attempt = { round, phase, number, key, nth, asked: found, changes, verdict: null };
  return { ...work, status: 'working', attempts: [...work.attempts, attempt] };
}

function judged(work: Work, verdicts: readonly Verdict[], attemptsMax: number): Work {
  const last = work.attempts.at(-1);
  if (last === undefined) return work;
  const { agent } = work;
  const own = verdicts.find((one) => one.agent === agent);
  const verdict = own ?? notPassed({ agent, phase: last.phase }, 'no verdict');
  const { round, phase } = last;
  const attempts = work.attempts.with(-1, { ...last, verdict });
  const history = [...work.history, { round, phase, pass: verdict.pass, feedback: verdict.feedback }];
  const next = advancePhase<Work>({ ...work, attempts, history, status: 'waiting' }, verdict.pass);
  if (verdict.pass)
    return { ...next, status: hasMade(next) ? 'held' : next.completed ? 'done' : 'waiting', tries: 0 };
  const tries = work.tries + 1;
  const isOver = tries >= attemptsMax || last.asked?.kind === 'refused';
  const reason = isOver ? verdict.feedback : null;
  return { ...next, tries, ...(isOver && { status: 'given up', reason }) };
}

/** Brings in what was made in trees of their own, when all of these have passed or been given up. */
function settle(
  works: readonly Work[],
  { round, pass }: NonNullable<OrchestrationState['settling']>,
  facts: Facts,
): { readonly works: readonly Work[]; readonly isPending: boolean } {
  const isDone = works.every(
    (work) => !work.isParallel || work.status === 'held' || !isOpen(work) || isIn(work),
  );
  const held = works.filter(({ status }) => status === 'held');
  if (!isDone || held.length === 0) return { works, isPending: false };
  // Who continues has seen which files these are: then each is brought in if git can.
  const overlap = pass > 0 ? { held: [] } : facts.get(`overlap.${round}`);
  if (overlap === null) return { works, isPending: true };
  const after = works.map((work): Work => {
    if (work.status !== 'held') return work;
    const found = overlap.held.find(({ agent }) => agent === work.agent);
    if (found !== undefined) {
      const reason = `${found.files.join(', ')}: changed by ${found.with.join(', ')} as well`;
      return { ...work, status: 'given up', reason };
    }
    const merge = facts.get(`merge.${round}.${pass}.${work.agent}`);
    if (merge === null) return work;
    if (merge.kind === 'failed') return { ...work, merge, status: 'given up', reason: merge.reason };
    return { ...work, merge, status: work.completed ? 'done' : 'waiting' };
  });
  return { works: after, isPending: after.some(({ status }) => status === 'held') };
}
