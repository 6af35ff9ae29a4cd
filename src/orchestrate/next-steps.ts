import { redactSecrets } from '../core/redact.ts';
import { isTerminal } from '../runs/model/turn.ts';
import type { EndedFact, Fact, TreeFact, TriageFact } from './model/facts.ts';
import { finalText } from './model/final-text.ts';
import { parallelWork, readPlan } from './model/plan.ts';
import type { Asked, Attempt, OrchestrationState, Work } from './model/state.ts';
import { mergedReviews, notPassed, readReview, type Verdict } from './model/verdict.ts';
import { WRITING_PHASE } from './prompts/phase-gates.ts';
import { countedOf, isInOwnTree, reviewKey } from './replay.ts';
import { decideTriage, readTriageAnswer } from './triage/triage.ts';

/** What is asked of whom, for the `nth` time. `problem`: what was wrong with the last answer, which was none of the form. */
export type Ask = { readonly key: string; readonly nth: number } & (
  | { readonly what: 'triage' }
  | { readonly what: 'plan'; readonly problem: string | null }
  | { readonly what: 'work'; readonly work: Work; readonly attempt: Attempt }
  | {
      readonly what: 'review';
      readonly round: number;
      readonly problem: string | null;
      readonly delivered: readonly Delivered[];
    }
);

/** Work that a reviewer is shown. */
export type Delivered = { readonly work: Work; readonly attempt: Attempt };

/** What is to be done now. Each of them leaves a fact or a turn behind, so that it is never asked for again. */
export type Step =
  | { readonly kind: 'ask'; readonly ask: Ask }
  | { readonly kind: 'record'; readonly fact: Fact }
  /** Whether there can be a working tree of its own for each of these. */
  | { readonly kind: 'layout'; readonly parallel: readonly string[] }
  /** The tree before an attempt. */
  | { readonly kind: 'snapshot'; readonly attempt: Attempt }
  | { readonly kind: 'changes'; readonly attempt: Attempt; readonly isInOwnTree: boolean }
  | { readonly kind: 'overlap'; readonly round: number; readonly held: readonly Work[] }
  | { readonly kind: 'merge'; readonly fact: `merge.${number}.${number}.${string}`; readonly work: Work }
  | { readonly kind: 'stop'; readonly by: string; readonly asked: readonly Asked[] }
  | { readonly kind: 'wait'; readonly asked: readonly Asked[] }
  | { readonly kind: 'end'; readonly ended: EndedFact };

/** A planner or a reviewer may answer so often in a form that cannot be read. */
const UNUSABLE_MAX = 2;

/** What is to be done now; nothing when it has ended. Pure: the same state gives the same steps. */
export function nextSteps(state: OrchestrationState): readonly Step[] {
  if (state.ended !== null) return [];
  const active = [...state.asked.values()].flat().filter(isActive);
  if (state.stop !== null) return stopping(state.stop, active);
  if (state.triage === null) return triage(state);
  if (state.triage.label !== 'team') return [end('answered', '')];
  if (state.plan === null) return planning(state);
  if (state.plan.kind === 'answer') return [end('answered', state.plan.text)];
  if (state.layout === null) return [layout(parallelWork(state.plan.subtasks))];
  if (state.settling !== null) return bringIn(state, state.settling);
  return working(state);
}

function isActive(asked: Asked): boolean {
  return asked.kind === 'turn' && !isTerminal(asked.turn.state);
}

function end(state: EndedFact['state'], text: string): Step {
  return { kind: 'end', ended: { state, text } };
}

function record(fact: Fact): Step {
  return { kind: 'record', fact };
}

function stopping(by: string, active: readonly Asked[]): Step[] {
  if (active.length === 0) return [end('stopped', by)];
  const left = active.filter((one) => one.kind === 'turn' && one.turn.stop === null);
  return [
    ...(left.length === 0 ? [] : [{ kind: 'stop', by, asked: left } as const]),
    { kind: 'wait', asked: active },
  ];
}

function triage(state: OrchestrationState): Step[] {
  const { prompt, options } = state;
  const flag = options.mode === 'pipeline' ? 'pipeline' : null;
  const decide = (said: string | null): TriageFact => {
    const answer = said === null ? null : (readTriageAnswer(said) ?? null);
    const { label, by, evidence } = decideTriage({ prompt, flag, answer });
    return { label, by, evidence: redactSecrets(evidence) };
  };
  const [asked] = countedOf('triage', state);
  if (asked === undefined) {
    const known = decide(null);
    if (known.by !== 'default') return [record({ name: 'triage', value: known })];
    return [{ kind: 'ask', ask: { what: 'triage', key: 'triage', nth: nextOf('triage', state) } }];
  }
  if (isActive(asked)) return [{ kind: 'wait', asked: [asked] }];
  return [record({ name: 'triage', value: decide(answerOf(asked)) })];
}

function nextOf(key: string, { asked }: OrchestrationState): number {
  return (asked.get(key)?.at(-1)?.nth ?? 0) + 1;
}

/** What was answered; null: nothing that could be used. */
function answerOf(asked: Asked): string | null {
  if (asked.kind === 'refused' || asked.turn.state !== 'success') return null;
  return asked.turn.result?.trim() || null;
}

/** Why there is no answer. */
function failureOf(asked: Asked): string {
  if (asked.kind === 'refused') return asked.error;
  const { state, error, stop } = asked.turn;
  if (state === 'success') return 'the answer is empty';
  return error ?? stop?.by ?? `the turn ended as ${state}`;
}

/** The answers of a part since the orchestration was continued, and how it goes on. */
type Dialogue =
  | { readonly kind: 'first' }
  | { readonly kind: 'active'; readonly asked: Asked }
  | { readonly kind: 'answered'; readonly text: string; readonly answers: readonly string[] }
  /** It failed, and may be asked once more. */
  | { readonly kind: 'again' }
  | { readonly kind: 'over'; readonly why: string };

function dialogue(key: string, state: OrchestrationState): Dialogue {
  const own = countedOf(key, state).filter(({ nth }) => nth > (state.askedBefore[key] ?? 0));
  const last = own.at(-1);
  if (last === undefined) return { kind: 'first' };
  if (isActive(last)) return { kind: 'active', asked: last };
  const text = answerOf(last);
  if (text !== null) return { kind: 'answered', text, answers: own.flatMap((one) => answerOf(one) ?? []) };
  const failed = own.filter((one) => answerOf(one) === null).length;
  const isOver = last.kind === 'refused' || failed >= state.options.attempts;
  return isOver ? { kind: 'over', why: failureOf(last) } : { kind: 'again' };
}

function planning(state: OrchestrationState): Step[] {
  const ask = (problem: string | null): Step => {
    return { kind: 'ask', ask: { what: 'plan', key: 'plan', nth: nextOf('plan', state), problem } };
  };
  const found = dialogue('plan', state);
  if (found.kind === 'active') return [{ kind: 'wait', asked: [found.asked] }];
  if (found.kind === 'over') return [end('failed', `there is no plan: ${found.why}`)];
  if (found.kind !== 'answered') return [ask(null)];
  const { team } = state.options;
  const read = readPlan(found.text, team);
  if (read.kind !== 'unusable') return [record({ name: 'plan', value: read })];
  const unusable = found.answers.filter((text) => readPlan(text, team).kind === 'unusable').length;
  if (unusable < UNUSABLE_MAX) return [ask(read.problem)];
  return [end('failed', `the plan cannot be used: ${read.problem}`)];
}

function layout(parallel: readonly string[]): Step {
  if (parallel.length > 0) return { kind: 'layout', parallel };
  return record({ name: 'layout', value: { parallel: [], reason: null, tree: null } });
}

function bringIn(state: OrchestrationState, { round, pass }: { round: number; pass: number }): Step[] {
  const held = state.works.filter(({ status }) => status === 'held');
  if (pass === 0 && state.facts.get(`overlap.${round}`) === null) return [{ kind: 'overlap', round, held }];
  // One after the other: what one brings in may be in the way of the next.
  return held
    .slice(0, 1)
    .map((work) => ({ kind: 'merge', fact: `merge.${round}.${pass}.${work.agent}`, work }));
}

function working(state: OrchestrationState): Step[] {
  const round = state.verdicts.length + 1;
  const tried = state.works.flatMap((work) => {
    const attempt = work.attempts.at(-1);
    return attempt?.round === round ? [{ work, attempt }] : [];
  });
  if (tried.length === 0) {
    const isDone = state.works.every(({ status }) => status === 'done');
    return [end(isDone ? 'done' : 'partial', finalText(state))];
  }
  const isBeside = ({ work, attempt }: Delivered) => work.isParallel && attempt.phase <= WRITING_PHASE;
  const open = tried.filter((one) => !isOver(one));
  const [first] = open.filter((one) => !isBeside(one));
  const now = [...open.filter(isBeside), ...(first === undefined ? [] : [first])];
  const before = first === undefined ? undefined : tried[tried.indexOf(first) - 1];
  const known = before === undefined || isBeside(before) ? null : (before.attempt.changes ?? null);
  const steps = now.map((one) => attemptStep(one, known, state));
  const waits = steps.flatMap((step) => (step.kind === 'wait' ? step.asked : []));
  const doing = steps.filter(({ kind }) => kind !== 'wait');
  if (now.length > 0)
    return [...doing, ...(waits.length === 0 ? [] : [{ kind: 'wait', asked: waits } as const])];
  return reviewing(tried, round, state);
}

/** The attempt has ended, and what it has done is known. */
function isOver({ attempt: { asked, changes } }: Delivered): boolean {
  if (asked === null || isActive(asked)) return false;
  return answerOf(asked) === null || changes !== null;
}

/** `known`: how somebody has left the project to this one just now. */
function attemptStep(
  { work, attempt }: Delivered,
  known: TreeFact | null,
  { facts }: OrchestrationState,
): Step {
  const { asked, key, nth, phase } = attempt;
  const isApart = isInOwnTree(work, phase);
  if (asked === null) {
    const before = `before.${key}.${nth}` as const;
    if (phase < WRITING_PHASE || isApart || facts.get(before) !== null)
      return { kind: 'ask', ask: { what: 'work', key, nth, work, attempt } };
    if (known?.tree == null) return { kind: 'snapshot', attempt };
    return record({ name: before, value: { tree: known.tree, head: known.head } });
  }
  if (isActive(asked)) return { kind: 'wait', asked: [asked] };
  return { kind: 'changes', attempt, isInOwnTree: isApart };
}

function reviewing(tried: readonly Delivered[], round: number, state: OrchestrationState): Step[] {
  const isDelivered = ({ attempt: { asked } }: Delivered) => asked !== null && answerOf(asked) !== null;
  const delivered = tried.filter(isDelivered);
  const failed = tried
    .filter((one) => !isDelivered(one))
    .map(({ work: { agent }, attempt: { phase, asked } }) =>
      notPassed({ agent, phase }, asked === null ? '' : failureOf(asked)),
    );
  const judge = (
    verdicts: readonly Verdict[],
    rest: { allDone: boolean; summary: string; problems: readonly string[] },
  ) => record({ name: `verdict.${round}`, value: { ...rest, verdicts: [...verdicts, ...failed] } });
  if (delivered.length === 0) return [judge([], { allDone: false, summary: '', problems: [] })];
  const key = reviewKey(round);
  const ask = (problem: string | null): Step => {
    return { kind: 'ask', ask: { what: 'review', key, nth: nextOf(key, state), round, problem, delivered } };
  };
  const found = dialogue(key, state);
  if (found.kind === 'active') return [{ kind: 'wait', asked: [found.asked] }];
  // What is wrong with the reviewer is not mended by who is reviewed: no attempt is taken from them.
  const without = (why: string) =>
    end('partial', `review ${round} could not be had: ${why}\n\n${finalText(state)}`);
  if (found.kind === 'over') return [without(found.why)];
  if (found.kind !== 'answered') return [ask(null)];
  const expected = delivered.map(({ work: { agent }, attempt: { phase } }) => ({ agent, phase }));
  const answers = found.answers.map((text) => readReview(text, expected));
  const { verdicts, allDone, summary, problems } = mergedReviews(answers);
  const unusable = answers.filter((one) => one.problems.length > 0).length;
  if (problems.length > 0 && unusable < UNUSABLE_MAX) return [ask(problems.join('; '))];
  if (verdicts.length === 0) return [without(problems.join('; '))];
  const missing = expected.filter(({ agent }) => !verdicts.some((one) => one.agent === agent));
  const all = [...verdicts, ...missing.map((one) => notPassed(one, 'no verdict'))];
  return [judge(all, { allDone, summary, problems })];
}
