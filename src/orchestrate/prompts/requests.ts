import { type Employee, employeeLines } from '../../conversation/prompts/system.ts';
import type { Language } from '../../core/told-texts.ts';
import { criteriaLines, filesLine, type Verification } from './criteria.ts';
import { type Phase, phaseName } from './phase-gates.ts';
import {
  type Fence,
  fences,
  inertPart,
  inertWords,
  NAME_LENGTH_MAX,
  PATH_LENGTH_MAX,
  REPORT_LENGTH_MAX,
  REQUEST_LENGTH_MAX,
} from './quote.ts';
import { WORDS } from './words.ts';

/** What the parts of an orchestration are asked: for a plan, for a piece of the work, for it once more (seed 004). */

/** What somebody of the team has done before. */
export type PriorResult = {
  readonly agent: string;
  readonly role: string;
  readonly phase: Phase;
  readonly status: 'passed' | 'failed' | 'open';
  /** Those that it has changed so far; null: git cannot say. */
  readonly files: readonly string[] | null;
  /** Its last message, in which decisions and open points stand as `workTask` asks for them. */
  readonly report: string;
  /** The file with all of it; null: this is all. */
  readonly fullText: string | null;
};

/** The JSON that a planner answers with. */
export const PLAN_SHAPE = `{"subtasks": [{"agent": "NAME", "role": "frontend|backend|data|docs|custom", "task": "…",
  "verification": {"pass_criteria": "…", "fail_criteria": "…", "affected_files": ["src/file.ts"]},
  "start_phase": 1, "end_phase": 5, "parallel": false}]}`;
export const DIRECT_ANSWER_SHAPE = '{"direct_answer": "…", "subtasks": []}';

const TASK_LENGTH_MAX = 12_000;
/** What others have done is a hand-over, not their whole log. */
const PRIOR_LENGTH_MAX = 2500;
const FEEDBACK_LENGTH_MAX = 4000;

/** Asks for a plan, or for the answer where there is nothing to divide. The request stands at its end, as it was given. */
export function planPrompt(asked: {
  readonly prompt: string;
  readonly employees: readonly Employee[];
  readonly language: Language;
}): string {
  const words = WORDS[asked.language];
  return [
    ...words.plan,
    ...employeeLines(asked.employees),
    '',
    ...words.planRules,
    '',
    words.planAnswer,
    PLAN_SHAPE,
    words.directAnswer,
    DIRECT_ANSWER_SHAPE,
    '',
    words.request,
    asked.prompt,
  ].join('\n');
}

/** The first turn of an employee in a phase. `remaining`: its phases behind this one; `isFirst`: nobody has done anything yet. */
export function workTask(asked: {
  /** Of the user, for the whole. */
  readonly request: string;
  readonly subtask: { readonly task: string; readonly verification: Verification | null };
  readonly phase: Phase;
  readonly remaining: readonly Phase[];
  readonly prior: readonly PriorResult[];
  readonly isFirst: boolean;
  readonly language: Language;
}): string {
  const { request, subtask, phase, remaining, prior, isFirst, language } = asked;
  const words = WORDS[language];
  const { nonce, fence } = fences(asked);
  const names = remaining.map((one) => `${one} (${phaseName(one, language)})`).join(', ');
  return [
    words.quoted(nonce),
    '',
    words.whole,
    fence('REQUEST', request, REQUEST_LENGTH_MAX),
    '',
    words.yours,
    inertPart(subtask.task, TASK_LENGTH_MAX),
    '',
    ...criteriaLines(subtask.verification, phase, words),
    `${words.phase(phase, phaseName(phase, language))} ${names === '' ? words.last : words.after(names)}`,
    '',
    ...(isFirst ? [words.isFirst, ''] : priorLines(prior, fence, language)),
    ...words.report,
  ].join('\n');
}

function priorLines(prior: readonly PriorResult[], fence: Fence, language: Language): string[] {
  if (prior.length === 0) return [];
  const words = WORDS[language];
  const parts = prior.flatMap(({ agent, role, phase, status, files, report, fullText }) => [
    `- ${inertWords(agent, NAME_LENGTH_MAX)} (${inertWords(role, NAME_LENGTH_MAX)}), ${phase} ${phaseName(phase, language)}: ${words.judged[status]}`,
    `  ${words.changed}: ${files === null ? words.notKnown : filesLine(files, words) || words.none}`,
    ...(fullText === null ? [] : [`  ${words.all}: ${inertWords(fullText, PATH_LENGTH_MAX)}`]),
    fence('REPORT', report, PRIOR_LENGTH_MAX),
  ]);
  return [words.prior, ...parts, ''];
}

/** The next turn of an employee whose work did not pass: what was found, and what it had reported. */
export function retryPrompt(asked: {
  readonly feedback: string;
  readonly evidence: string;
  /** Its last report. */
  readonly previous: string;
  /** Which attempt this is, from 2. */
  readonly attempt: number;
  readonly language: Language;
}): string {
  const words = WORDS[asked.language];
  const { nonce, fence } = fences(asked);
  const evidence = inertPart(asked.evidence, FEEDBACK_LENGTH_MAX);
  return [
    words.attempt(asked.attempt),
    '',
    words.feedback,
    inertPart(asked.feedback, FEEDBACK_LENGTH_MAX) || words.none,
    ...(evidence === '' ? [] : ['', words.evidence, evidence]),
    '',
    words.previous,
    words.quoted(nonce),
    fence('REPORT', asked.previous, REPORT_LENGTH_MAX),
    '',
    ...words.retryRules,
  ].join('\n');
}

/** Asks once more for an answer that could not be read. `problem`: why; `shape`: the JSON, such as PLAN_SHAPE. */
export function repairPrompt(asked: {
  readonly problem: string;
  readonly shape: string;
  readonly language: Language;
}): string {
  const words = WORDS[asked.language];
  return [
    `${words.repair} ${inertWords(asked.problem, FEEDBACK_LENGTH_MAX)}`,
    '',
    words.repairAsk,
    asked.shape,
  ].join('\n');
}
