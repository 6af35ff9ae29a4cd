import type { Skill } from '../conversation/prompts/skills.ts';
import type { SpawnRequest } from '../runs/spawn-plan.ts';
import type { TeamMember } from './model/facts.ts';
import type { Attempt, OrchestrationState, Work } from './model/state.ts';
import type { Ask } from './next-steps.ts';
import { getReaderPrompt, getSubAgentPromptV2 } from './prompts/employee.ts';
import { WRITING_PHASE } from './prompts/phase-gates.ts';
import {
  DIRECT_ANSWER_SHAPE,
  PLAN_SHAPE,
  type PriorResult,
  planPrompt,
  repairPrompt,
  retryPrompt,
  workTask,
} from './prompts/requests.ts';
import { type Reviewed, reviewPrompt, VERDICT_SHAPE } from './prompts/review.ts';
import { triageQuestion } from './prompts/triage-question.ts';
import { isInOwnTree } from './replay.ts';

/** What each part is asked, in words: pure, and made anew of the state each time that it is asked. */

const WORDS = {
  ko: {
    noVerdict:
      '검토자가 이 일에 판정을 내리지 못했습니다. 기준을 하나씩 확인하고, 근거가 되는 명령과 종료 코드를 적어 다시 보고하세요.',
  },
  en: {
    noVerdict:
      'The reviewer came to no verdict. Check the criteria one by one, and report again with the commands and exit codes that show them.',
  },
};

/** What a run is begun with: its task, and what it may do. */
export type Opening = Pick<SpawnRequest, 'task' | 'instructions' | 'profile' | 'agentId' | 'worktree'>;

/** What begins the run of a part. `skills`: those of the user. */
export function opening(ask: Ask, state: OrchestrationState, skills: readonly Skill[]): Opening {
  const { language } = state.options;
  const task = question(ask, state);
  if (ask.what === 'triage') return { task, profile: 'ask' };
  if (ask.what === 'plan')
    return { task, profile: 'review', instructions: getReaderPrompt('planner', language) };
  if (ask.what === 'review')
    return { task, profile: 'review', instructions: getReaderPrompt('reviewer', language) };
  const { agent, role } = ask.work;
  const { phase } = ask.attempt;
  const member = memberOf(agent, state);
  return {
    task,
    agentId: member.agentId ?? undefined,
    instructions: getSubAgentPromptV2(member, role, phase, { language, skills }),
    ...(phase < WRITING_PHASE && { profile: 'review' }),
    worktree: isInOwnTree(ask.work, phase) ? 'always' : 'never',
  };
}

function memberOf(agent: string, { options: { team } }: OrchestrationState): TeamMember {
  const member = team.find(({ name }) => name === agent);
  if (member === undefined) throw new Error(`Cannot ask agent "${agent}": it is not in the team`);
  return member;
}

/** The message with which the run of a part goes on. */
export function message(ask: Ask, state: OrchestrationState): string {
  const { language } = state.options;
  if ((ask.what === 'plan' || ask.what === 'review') && ask.problem !== null) {
    const shape = ask.what === 'plan' ? `${PLAN_SHAPE}\n${DIRECT_ANSWER_SHAPE}` : VERDICT_SHAPE;
    return repairPrompt({ problem: ask.problem, shape, language });
  }
  const last = ask.what === 'work' ? judgedBefore(ask.work, ask.attempt) : undefined;
  const previous = last === undefined ? null : reportOf(last);
  if (ask.what !== 'work' || last?.verdict == null || previous === null) return question(ask, state);
  const { feedback, evidence, by } = last.verdict;
  const words = by === 'engine' ? WORDS[language].noVerdict : feedback;
  return retryPrompt({ feedback: words, evidence, previous, attempt: ask.attempt.number, language });
}

/** The attempt before this one in the same phase. */
function judgedBefore({ attempts }: Work, { phase, round }: Attempt): Attempt | undefined {
  return attempts.findLast((one) => one.phase === phase && one.round < round);
}

/** What an attempt said at its end; null: it has not come to one. */
function reportOf({ asked }: Attempt): string | null {
  if (asked?.kind !== 'turn' || asked.turn.state !== 'success') return null;
  return asked.turn.result?.trim() || null;
}

function question(ask: Ask, state: OrchestrationState): string {
  const { prompt, options } = state;
  const { language, team } = options;
  if (ask.what === 'triage') return triageQuestion(prompt);
  if (ask.what === 'plan') return planPrompt({ prompt, employees: team, language });
  if (ask.what === 'review') {
    const items = ask.delivered.map(({ work, attempt }) => reviewed(work, attempt));
    const done = state.works.filter(({ status }) => status === 'done');
    return reviewPrompt({ round: ask.round, request: prompt, items, done, language });
  }
  const { work, attempt } = ask;
  const prior = priorResults(state, attempt);
  return workTask({
    ...{ request: prompt, subtask: work, phase: attempt.phase, prior, language },
    remaining: work.phaseProfile.slice(work.currentPhaseIdx + 1),
    isFirst: prior.length === 0,
  });
}

/** The newest result of each of the team, and of the agent's own earlier phases the last. */
function priorResults({ works }: OrchestrationState, current: Attempt): PriorResult[] {
  return works.flatMap(({ agent, role, attempts }) => {
    const last = attempts.findLast((one) => one.key !== current.key && reportOf(one) !== null);
    if (last === undefined) return [];
    const { phase, verdict, changes } = last;
    const judged = verdict?.pass ? 'passed' : 'failed';
    const status = verdict === null ? 'open' : judged;
    const done = {
      files: changedIn(attempts),
      report: reportOf(last) ?? '',
      fullText: changes?.report ?? null,
    };
    return [{ agent, role, phase, status, ...done }];
  });
}

/** The files that were changed in any of these; null: git cannot say it of one. */
function changedIn(attempts: readonly Attempt[]): string[] | null {
  const made = attempts.flatMap(({ phase, changes }) =>
    phase < WRITING_PHASE || changes === null ? [] : changes,
  );
  if (made.some(({ tree }) => tree === null)) return null;
  return [...new Set(made.flatMap(({ files }) => files))].sort();
}

/** Of a phase that was tried before, all that was changed in it. */
function reviewed(work: Work, attempt: Attempt): Reviewed {
  const { agent, role, task, verification: criteria, attempts } = work;
  const { phase, changes } = attempt;
  const tried = attempts.filter((one) => one.phase === phase && one.changes !== null);
  // In a tree of its own, the last patch is all of it.
  const isApart = isInOwnTree(work, phase);
  const patches = (isApart ? tried.slice(-1) : tried).map((one) => one.changes?.patch ?? '');
  const diff = patches.filter((patch) => patch !== '').join('\n');
  return {
    agent,
    role,
    phase,
    task,
    criteria,
    report: reportOf(attempt) ?? '',
    diff: diff === '' && tried.some((one) => one.changes?.tree === null) ? null : diff,
    tree: (isApart && attempt.asked?.kind === 'turn' && attempt.asked.run.worktree?.path) || null,
    moved: tried.flatMap((one) => one.changes?.moved ?? []).join(', ') || null,
    commands: changes?.commands ?? [],
  };
}
