import { grantProblem } from '../core/runs/permissions.ts';
import type { Requester, Run } from '../core/runs/run.ts';
import { isTerminal } from '../core/runs/turn.ts';
import { readRuns } from '../store/runs/runs-db.ts';
import type { RunsWorld, SpawnAnswer, SpawnRequest } from './features.ts';
import { ownRun, refusalInside } from './own-run.ts';
import { isPerson } from './requester-permissions.ts';
import { spawnAgain } from './spawn.ts';
import { directoryBefore } from './workplace/worktree.ts';

const MS_PER_SECOND = 1000;

/**
 * A new run with the task and the settings of an earlier one that has ended. Never by itself (P9). What the agent's
 * settings say is read anew; what was asked for stays.
 */
export function retryRun(runId: string, requester: Requester, world: RunsWorld): SpawnAnswer {
  const inside = refusalInside('sessions_spawn', world);
  if (inside !== undefined) return inside;
  const own = readRuns(world.paths, (db) => ownRun(runId, requester, db));
  if (own === undefined) return { status: 'error', error: `Unknown subagent id: ${runId}` };
  if (own.kind === 'refused') return own.refusal;
  const { run, turn } = own;
  if (!isTerminal(turn.state)) {
    return { status: 'error', error: `Subagent #${run.number} is still ${turn.state}: stop it first.` };
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
    ...(label === null ? {} : { label }),
    ...(model.requested === null ? {} : { model: model.requested }),
    ...(thinking === null ? {} : { thinking }),
  };
}
