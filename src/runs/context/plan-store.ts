import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { z } from 'zod';
import { lookOr, parseJson } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../../system/atomic-file.ts';
import { readRegularFile } from '../../system/files.ts';
import { planFile, planHash } from './plan.ts';

/** Plans below the state directory: each a file with all its versions, and one as Markdown once it is approved. */

const turnName = { runId: z.string(), turn: z.int().min(1) };

const VERSION = z.object({
  number: z.int().min(1),
  text: z.string(),
  /** What a person said of the version before; null: the first draft, or what it lacked was added. */
  feedback: z.string().nullable(),
  /** The version that it was made of. */
  from: z.int().nullable(),
  ...turnName,
  at: z.string(),
});

const PLAN = z.object({
  id: z.string().regex(/^[0-9a-f]{8}$/),
  task: z.string(),
  /** Of the project that it is for. */
  requester: z.string(),
  createdAt: z.string(),
  status: z.enum(['draft', 'approved', 'cancelled']),
  versions: z.array(VERSION),
  /** The number of the version that counts; 0: there is none yet. */
  current: z.int().min(0),
  /** How often it was refined upon feedback. */
  rounds: z.int().min(0),
  /** The turn that is asked for the next version. */
  pending: z.object({ ...turnName, feedback: z.string().nullable() }).nullable(),
  approved: z.object({ file: z.string(), hash: z.string(), at: z.string() }).nullable(),
});

export type PlanVersion = Readonly<z.infer<typeof VERSION>>;
export type Plan = Readonly<Omit<z.infer<typeof PLAN>, 'versions'>> & {
  readonly versions: readonly PlanVersion[];
};

type Place = Pick<StatePaths, 'plans'>;

/** A plan of which nothing is written yet. */
export function newPlan(task: string, requester: string, now: Date): Plan {
  return {
    id: randomUUID().slice(0, 8),
    task: redactSecrets(task),
    requester,
    createdAt: now.toISOString(),
    ...{ status: 'draft', versions: [], current: 0, rounds: 0, pending: null, approved: null },
  };
}

/** Writes it in one step, for this user alone. @throws Error that names the file */
export function savePlan(plan: Plan, paths: Place): Plan {
  ensurePrivateDirectory(paths.plans);
  writeFileAtomic(`${paths.plans}/${plan.id}.json`, `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600 });
  return plan;
}

/** The plan of this id as it is stored; undefined when there is none that can be read. */
export function readPlan(id: string, { plans }: Place): Plan | undefined {
  const text = lookOr(() => readRegularFile(`${plans}/${id}.json`), undefined);
  return PLAN.safeParse(text === undefined ? undefined : parseJson(text)).data;
}

/** The plans of a project, or of all, the newest first. Files that are no plans are left out. */
export function listPlans(requester: string | null, { plans }: Place): Plan[] {
  return lookOr(() => readdirSync(plans), [])
    .flatMap((name) => readPlan(/^([0-9a-f]{8})\.json$/.exec(name)?.[1] ?? '', { plans }) ?? [])
    .filter((plan) => requester === null || plan.requester === requester)
    .sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1));
}

/** The plan that is meant: `last`, or the beginning of an id; or why it is none. */
export function findPlan(words: string, plans: readonly Plan[]): Plan | { readonly error: string } {
  const wanted = words.trim().toLowerCase();
  const found = wanted === 'last' ? plans.slice(0, 1) : plans.filter(({ id }) => id.startsWith(wanted));
  const [plan, ...others] = wanted === '' ? [] : found;
  if (plan !== undefined && others.length === 0) return plan;
  if (plan === undefined) return { error: `Unknown plan: ${words}. "plan list" shows those that there are` };
  return { error: `Ambiguous plan: it may be ${found.map(({ id }) => id).join(', ')}` };
}

/** The version that counts. */
export function currentVersion({ versions, current }: Plan): PlanVersion | undefined {
  return versions.find(({ number }) => number === current);
}

/** Writes the plan as Markdown, by its hash, and that it is approved. @throws Error when there is no version, or it cannot be written */
export function approvePlan(plan: Plan, now: Date, paths: Place): Plan {
  const version = currentVersion(plan);
  if (version === undefined) throw new Error(`Cannot approve plan ${plan.id}: it has no draft yet`);
  const { name, text, hash } = planFile(plan.task, version.text, now);
  ensurePrivateDirectory(paths.plans);
  const wanted = `${paths.plans}/${name}`;
  const file = existsSync(wanted) ? wanted.replace(/\.md$/, `-${plan.id}.md`) : wanted;
  writeFileAtomic(file, text, { mode: 0o600 });
  return savePlan({ ...plan, status: 'approved', approved: { file, hash, at: now.toISOString() } }, paths);
}

/** What has become of an approved plan's file since: `gone`, `changed`, or nothing; null: it is not approved. */
export function approvedState({ approved }: Plan): 'as approved' | 'changed since' | 'gone' | null {
  if (approved === null) return null;
  const text = lookOr(() => readRegularFile(approved.file), undefined);
  if (text === undefined) return 'gone';
  return planHash(text) === approved.hash ? 'as approved' : 'changed since';
}
