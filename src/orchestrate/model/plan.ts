import { posix } from 'node:path';
import { z } from 'zod';
import type { Employee } from '../../conversation/prompts/system.ts';
import { isRecord, type Json } from '../../core/guards.ts';
import { inertText } from '../../core/inert-text.ts';
import { type FoundJson, jsonInProse, withoutJson } from '../../core/json-in-prose.ts';
import { WRITING_PHASE } from '../prompts/phase-gates.ts';
import { initAgentPhases, type PlannedSubtask } from './phases.ts';

/** What a planner answers: the work of each of the team, or the answer itself. Checked, and nothing guessed. */

const SUBTASKS_MAX = 20;
const PROBLEM_LENGTH_MAX = 300;
const texts = z.union([z.array(z.string()), z.string().transform((text) => [text])]);
const criteria = z
  .union([z.string(), z.array(z.string()).transform((lines) => lines.join('\n'))])
  .default('');
const phase = z.int().min(1).max(5).optional();

const SUBTASK = z.object({
  agent: z.string().trim().min(1),
  role: z.string().optional(),
  task: z.string().trim().min(1),
  verification: z
    .object({ pass_criteria: criteria, fail_criteria: criteria, affected_files: texts.default([]) })
    .nullish()
    .transform((found) => found ?? null),
  start_phase: phase,
  end_phase: phase,
  parallel: z.boolean().default(false),
});
const SUBTASKS = z.array(SUBTASK).min(1).max(SUBTASKS_MAX);

/** A subtask that was checked. */
export type PlannedWork = z.output<typeof SUBTASK>;

export type PlanAnswer =
  | { readonly kind: 'work'; readonly subtasks: readonly PlannedWork[]; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string }
  /** `problem`: one line, for the repair turn. */
  | { readonly kind: 'unusable'; readonly problem: string };

const hasSubtasks = (value: Json) => Array.isArray(value.subtasks);
const isDirect = ({ direct_answer: answer, subtasks }: Json) =>
  typeof answer === 'string' &&
  answer.trim() !== '' &&
  (subtasks === undefined || subtasks === null || (Array.isArray(subtasks) && subtasks.length === 0));

/** The subtasks of the last object that has a list of them, unchecked; null: there is none (seed: parseSubtasks). */
export function parseSubtasks(text: string): readonly PlannedSubtask[] | null {
  const found = jsonInProse(text, hasSubtasks).at(-1)?.value.subtasks;
  return Array.isArray(found) ? found.filter(isRecord).map((one) => one as PlannedSubtask) : null;
}

/** The direct answer, where there is one and nothing to divide beside it; null: there is none (seed: parseDirectAnswer). */
export function parseDirectAnswer(text: string): string | null {
  return directAnswer(lastOf(plansIn(text), isDirect));
}

/** The text without the block that was taken as the plan; every other block stays (seed: stripSubtaskJSON). */
export function stripSubtaskJSON(text: string): string {
  const plans = plansIn(text);
  const block = lastOf(plans, isDirect) ?? lastOf(plans, hasSubtasks);
  return block === undefined ? text.trim() : withoutJson(text, block);
}

function plansIn(text: string): readonly FoundJson[] {
  return jsonInProse(text, (value) => hasSubtasks(value) || isDirect(value));
}

function lastOf(plans: readonly FoundJson[], isWanted: (value: Json) => boolean): FoundJson | undefined {
  return plans.findLast(({ value }) => isWanted(value));
}

function directAnswer(plan: FoundJson | undefined): string | null {
  const answer = plan?.value.direct_answer;
  return typeof answer === 'string' ? answer.trim() : null;
}

/**
 * Reads a planner's answer for this team. An agent that there is not, or twice, and a file outside of the project make it
 * unusable. A role that it does not name is that of the settings.
 */
export function readPlan(text: string, team: readonly Pick<Employee, 'name' | 'role'>[]): PlanAnswer {
  const plans = plansIn(text);
  const answer = directAnswer(lastOf(plans, isDirect));
  if (answer !== null) return { kind: 'answer', text: answer };
  const block = lastOf(plans, hasSubtasks);
  if (block === undefined)
    return unusable('there is no JSON object with "subtasks" or "direct_answer" in it');
  const read = SUBTASKS.safeParse(block.value.subtasks);
  if (!read.success) {
    const [issue] = read.error.issues;
    return unusable(
      `subtasks${(issue?.path ?? []).map((at) => `[${String(at)}]`).join('')}: ${issue?.message}`,
    );
  }
  const known = new Map(team.map((one) => [one.name.toLowerCase(), one]));
  const unknown = read.data.filter(({ agent }) => !known.has(agent.toLowerCase()));
  if (unknown.length > 0)
    return unusable(
      `there is no agent ${named(unknown)}. There are: ${team.map(({ name }) => name).join(', ')}`,
    );
  const outside = read.data.flatMap(({ verification }) => verification?.affected_files ?? []).find(isOutside);
  if (outside !== undefined)
    return unusable(`affected_files are paths from the root of the project, in it: "${outside}" is none`);
  const subtasks = read.data.map((one): PlannedWork => {
    const member = known.get(one.agent.toLowerCase());
    return { ...one, agent: member?.name ?? one.agent, role: one.role ?? member?.role };
  });
  const twice = subtasks.filter(({ agent }, at) => subtasks.findIndex((one) => one.agent === agent) < at);
  if (twice.length > 0)
    return unusable(`${named(twice)} is named more than once: make one subtask of all that it is to do`);
  return { kind: 'work', subtasks, text: withoutJson(text, block) };
}

function named(subtasks: readonly PlannedWork[]): string {
  return subtasks.map(({ agent }) => `"${agent}"`).join(', ');
}

/** Absolute, or above the directory from which it is named. */
function isOutside(file: string): boolean {
  return /^(?:[/~]|[a-z]:|\.\.(?:\/|$))/i.test(posix.normalize(file.trim().replaceAll('\\', '/')));
}

function unusable(problem: string): PlanAnswer {
  return { kind: 'unusable', problem: inertText(problem, PROBLEM_LENGTH_MAX) };
}

/**
 * Which of the work may be done at the same time, each in a working tree of its own: the first pieces of the plan, as long
 * as each is marked so, has files to change named, and none of these is another one's; fewer than two are none. What
 * comes behind them may rest on what they make, and waits.
 */
export function parallelWork(subtasks: readonly PlannedWork[]): string[] {
  const files = new Map<string, readonly string[]>();
  for (const one of subtasks) {
    const own = (one.verification?.affected_files ?? []).filter((file) => file.trim() !== '');
    const [work] = initAgentPhases([one]);
    const fits = one.parallel && own.length > 0 && work?.phaseProfile.includes(WRITING_PHASE);
    if (!fits || [...files.values()].some((others) => overlapping(own, others).length > 0)) break;
    files.set(one.agent, own);
  }
  return files.size < 2 ? [] : [...files.keys()];
}

/** Which of these files, directories or patterns are, hold or may match one of the others. */
export function overlapping(files: readonly string[], others: readonly string[]): string[] {
  return touching(files, others, placeOf);
}

/** The same of files that were changed: `[id].ts` is a name then, and no pattern. */
export function overlappingChanges(files: readonly string[], others: readonly string[]): string[] {
  return touching(files, others, (file) => file.toLowerCase());
}

function touching(files: readonly string[], others: readonly string[], place: (file: string) => string) {
  const places = others.map(place);
  return files.filter((file) => {
    const own = place(file);
    return places.some((other) => own === other || isUnder(own, other) || isUnder(other, own));
  });
}

/** A path from the root of the project; of a pattern the directory that it begins with. Letters count as small ones. */
function placeOf(file: string): string {
  const [fixed = ''] = file
    .trim()
    .replaceAll('\\', '/')
    .split(/[*?[{]/, 1);
  const whole = fixed.length < file.trim().length ? fixed.slice(0, fixed.lastIndexOf('/') + 1) : fixed;
  const parts: string[] = [];
  for (const part of whole.toLowerCase().split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

function isUnder(path: string, directory: string): boolean {
  return directory === '' || path.startsWith(`${directory}/`);
}
