import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CLIENT_NAMES } from '../../core/client-name.ts';
import { PERMISSION_MODES, type Permissions } from '../model/permissions.ts';
import { isAway, type PoolPlace } from '../model/pool-role.ts';
import { type Run, THINKING_LEVELS } from '../model/run.ts';
import type { Turn } from '../model/turn.ts';

/** What a worker is told of a turn: all that it needs, and nothing else leaves this machine. */

const texts = z.array(z.string().max(4096)).max(2000);

const SPEC = z.strictObject({
  format: z.literal(1),
  client: z.enum(CLIENT_NAMES),
  /** As the client gets it: with the project's files, lessons and what was handed over. */
  prompt: z.string().min(1),
  session: z.enum(['new', 'goes on']),
  model: z.string().max(200).nullable(),
  thinking: z.enum(THINKING_LEVELS).nullable(),
  policy: z.strictObject({ deny: texts, allow: texts.nullable() }),
  permissions: z.strictObject({ mode: z.enum(PERMISSION_MODES), allow: texts, deny: texts }),
  timeoutMs: z.int().nonnegative(),
  budgetUsd: z.number().nonnegative().nullable(),
  remote: z.string().max(1000),
  branch: z.string().regex(/^(?!-)(?!.*\.\.)[^\s:?*[\\^~]{1,400}$/),
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  /** The directory in the repository; '': its root. */
  inside: z.string().max(4096),
});

export type PoolSpec = z.infer<typeof SPEC>;

/** The spec in a value from the server; what is wrong with it when it is none. */
export function readSpec(
  value: unknown,
): { readonly kind: 'spec'; readonly spec: PoolSpec } | { readonly kind: 'wrong'; readonly reason: string } {
  const read = SPEC.safeParse(value);
  if (read.success) return { kind: 'spec', spec: read.data };
  const [issue] = read.error.issues;
  return {
    kind: 'wrong',
    reason: `what it asks for cannot be read: ${issue?.path.join('.')} ${issue?.message}`,
  };
}

export type Away = Run & { readonly pool: PoolPlace };

/** Whether the run's client works on another machine. */
export function worksAway(run: Run): run is Away {
  return isAway(run);
}

/** What is asked of a worker for this turn. `prompt`, `permissions`, `budgetUsd`: as a client here would get them. */
export function specOf(
  run: Away,
  asked: {
    readonly prompt: string;
    readonly session: PoolSpec['session'];
    readonly permissions: Permissions;
    readonly budgetUsd: number | null;
  },
): PoolSpec {
  const { client, model, thinking, policy, runTimeoutMs, pool } = run;
  const { deny, allow } = policy;
  const { permissions } = asked;
  return {
    ...asked,
    format: 1,
    client,
    thinking,
    model: model.resolved,
    policy: { deny: [...deny], allow: allow === null ? null : [...allow] },
    permissions: { mode: permissions.mode, allow: [...permissions.allow], deny: [...permissions.deny] },
    timeoutMs: runTimeoutMs,
    ...{ remote: pool.remote, branch: pool.branch, commit: pool.commit, inside: pool.inside },
  };
}

/** The id of a turn for the pool: asking again for the same turn is asking for the same. A second try has another model. */
export function poolRunId(
  { runId, number }: Pick<Turn, 'runId' | 'number'>,
  { model }: Pick<PoolSpec, 'model'>,
): string {
  const sum = createHash('sha256')
    .update(JSON.stringify([runId, number, model]))
    .digest('hex');
  return sum.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
