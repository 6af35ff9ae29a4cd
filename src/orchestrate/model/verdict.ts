import { z } from 'zod';
import type { Json } from '../../core/guards.ts';
import { inertText } from '../../core/inert-text.ts';
import { jsonInProse } from '../../core/json-in-prose.ts';
import type { Phase } from '../prompts/phase-gates.ts';

/** What a reviewer answers: one verdict for each of the work. Words such as "3 PASS, 1 FAIL" are none. */

const VERDICT = z.object({
  agent: z.string().trim().min(1),
  phase: z.number().nullish(),
  pass: z.boolean(),
  evidence: z.string().nullish(),
  feedback: z.string().nullish(),
});
const PROBLEM_LENGTH_MAX = 500;

/** Who is judged, and in which phase. */
export type Judged = { readonly agent: string; readonly phase: Phase };

export type Verdict = Judged & {
  readonly pass: boolean;
  readonly evidence: string;
  readonly feedback: string;
  /** `engine`: nobody reviewed it, because it was not delivered, or there was no verdict. */
  readonly by: 'reviewer' | 'engine';
};

export type ReviewAnswer = {
  readonly verdicts: readonly Verdict[];
  readonly allDone: boolean;
  readonly summary: string;
  /** What is wrong with it, for the repair turn; empty: there is a verdict for each. */
  readonly problems: readonly string[];
};

const hasVerdicts = (value: Json) => Array.isArray(value.verdicts);

/** The verdicts of the last object that has a list of them, unchecked; null: there is none (seed: parseVerdicts). */
export function parseVerdicts(text: string): readonly unknown[] | null {
  const found = jsonInProse(text, hasVerdicts).at(-1)?.value.verdicts;
  return Array.isArray(found) ? found : null;
}

/** Reads a reviewer's answer on these. Verdicts that cannot be read, on others, or against each other are none; nor is a pass without evidence. */
export function readReview(text: string, judged: readonly Judged[]): ReviewAnswer {
  // Of several blocks none is preferred: one may be quoted from what was to be judged.
  const blocks = jsonInProse(text, hasVerdicts);
  const block = blocks.at(-1);
  const rows = blocks.flatMap(({ value: { verdicts } }) => (Array.isArray(verdicts) ? verdicts : []));
  const read = rows.map((row) => VERDICT.safeParse(row));
  const known = read.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const unknown = known.filter(({ agent }) => !judged.some((one) => isSame(one.agent, agent)));
  const unreadable = read.filter(({ success }) => !success).length;
  const verdicts: Verdict[] = [];
  const problems = [
    ...(block === undefined ? ['there is no JSON object with "verdicts" in it'] : []),
    ...(unreadable > 0
      ? [`${unreadable} of the verdicts cannot be read: "agent" is a text, "pass" true or false`]
      : []),
    ...unknown.map(({ agent }) => `there is no "${agent}" to be judged`),
  ];
  for (const { agent, phase } of judged) {
    const own = known.filter((one) => isSame(agent, one.agent));
    const [first] = own;
    const other = own.find((one) => one.phase != null && one.phase !== phase);
    if (first === undefined) problems.push(`there is no verdict on "${agent}"`);
    else if (other !== undefined) problems.push(`"${agent}" is in phase ${phase}, not ${other.phase}`);
    else if (own.some(({ pass }) => pass !== first.pass))
      problems.push(`there are two verdicts on "${agent}" that differ`);
    else {
      const { pass } = first;
      const [evidence, feedback] = [first.evidence?.trim() ?? '', first.feedback?.trim() ?? ''];
      if (pass && evidence === '') problems.push(`"${agent}" passes without any evidence`);
      else verdicts.push({ agent, phase, pass, evidence, feedback, by: 'reviewer' });
      if (!pass && feedback === '') problems.push(`nothing says what is to be mended for "${agent}"`);
    }
  }
  const summary = block?.value.summary;
  return {
    verdicts,
    allDone: block?.value.allDone === true,
    summary: typeof summary === 'string' ? summary.trim() : '',
    problems: problems.map((problem) => inertText(problem, PROBLEM_LENGTH_MAX)),
  };
}

function isSame(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}

/** One answer after the other to the same question: a verdict of the later one counts. */
export function mergedReviews(answers: readonly ReviewAnswer[]): ReviewAnswer {
  const byAgent = new Map(answers.flatMap(({ verdicts }) => verdicts.map((one) => [one.agent, one])));
  const last = answers.at(-1);
  return {
    verdicts: [...byAgent.values()],
    allDone: last?.allDone ?? false,
    summary: answers.findLast(({ summary }) => summary !== '')?.summary ?? '',
    problems: last?.problems ?? [],
  };
}

/** The verdict on what nobody has judged. `why` goes into the next attempt. */
export function notPassed({ agent, phase }: Judged, why: string): Verdict {
  return { agent, phase, pass: false, evidence: '', feedback: why, by: 'engine' };
}
