import { grantProblem } from '../core/runs/permissions.ts';
import { isLive, type Requester, type Run } from '../core/runs/run.ts';
import { labelProblem } from '../core/runs/run-target.ts';
import { isTerminal } from '../core/runs/turn.ts';
import { readRuns } from '../store/runs/runs-db.ts';
import type { RunsWorld, SpawnAnswer, SpawnRequest } from './features.ts';
import { ownRun, refusalInside } from './own-run.ts';
import { isPerson } from './requester-permissions.ts';
import { spawnAgain } from './spawn.ts';
import { directoryBefore } from './workplace/worktree.ts';

const MS_PER_SECOND = 1000;

/** A new run with the task and settings of one that has ended (P9). What the agent's settings say is read anew. */
export function retryRun(runId: string, requester: Requester, world: RunsWorld): SpawnAnswer {
  const inside = refusalInside('sessions_spawn', world);
  if (inside !== undefined) return inside;
  const own = readRuns(world.paths, (db) => ownRun(runId, requester, db));
  if (own === undefined) return { status: 'error', error: `Unknown subagent id: ${runId}` };
  if ('status' in own) return own;
  const { run, turn } = own;
  if (isLive(own)) {
    const what = isTerminal(turn.state) ? 'has a message waiting' : `is still ${turn.state}`;
    return { status: 'error', error: `Subagent #${run.number} ${what}: stop it first.` };
  }
  const request = requestOf(run);
  const permissions = isPerson(requester, world) ? { permissions: grantsOf(run) } : {};
  return spawnAgain({ ...request, ...permissions }, requester, world);
}

/** A person lets it do once more what it was let do. */
function grantsOf({ permissions: { mode, allow } }: Run): readonly string[] {
  if (mode === 'all') return ['all'];
  const known = allow.filter((rule) => grantProblem(rule) === undefined);
  return mode === 'edit' || mode === 'auto' ? ['edit', ...known] : known;
}

function requestOf(run: Run): SpawnRequest {
  const { task, label, agentId, client, model, thinking, runTimeoutMs, cleanup, worktreeMode } = run;
  return {
    task,
    agentId,
    client,
    cleanup,
    worktree: worktreeMode,
    runTimeoutSeconds: runTimeoutMs / MS_PER_SECOND,
    cwd: directoryBefore(run), // A tree of its own is made anew.
    idempotencyKey: `retry ${run.id}`,
    // Not one that was given before such labels were refused.
    label: label === null || labelProblem(label) !== undefined ? undefined : label,
    model: model.requested ?? undefined,
    thinking: thinking ?? undefined,
  };
}
