import type { Requester, RunWithTurn } from '../core/runs/run.ts';
import { getRun } from '../store/runs/runs.ts';
import type { Sqlite } from '../store/sqlite.ts';
import type { Refusal, RunsWorld } from './features.ts';
import { isInsideRun } from './requester.ts';

/** What is refused inside a run; undefined outside of one. `action`: as a caller knows it. */
export function refusalInside(action: string, world: RunsWorld): Refusal | undefined {
  if (!isInsideRun(world)) return undefined;
  return { status: 'forbidden', error: `${action} is not allowed from sub-agent sessions` };
}

export type OwnRun =
  | ({ readonly kind: 'found' } & RunWithTurn)
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** The run, when it is one of the requester's. */
export function ownRun(runId: string, requester: Requester, db: Sqlite): OwnRun {
  const found = getRun(runId, db);
  if (found === undefined) {
    return { kind: 'refused', refusal: { status: 'error', error: `Unknown subagent id: ${runId}` } };
  }
  if (found.run.requester.key === requester.key) return { kind: 'found', ...found };
  const error = 'Subagents can only be controlled from the project that spawned them.';
  return { kind: 'refused', refusal: { status: 'forbidden', error } };
}
