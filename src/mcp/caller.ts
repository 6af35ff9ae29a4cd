import { addRunEvent } from '../store/runs/run-events.ts';
import { withRuns } from '../store/runs/runs-db.ts';
import type { RunsWorld } from '../subagents/features.ts';
import { isInsideRun } from '../subagents/requester.ts';

/** Who is at the other end: a session of the user's, or a sub-agent, whatever it says of itself. */
export type Caller = { readonly kind: 'main' } | { readonly kind: 'subagent'; readonly runId: string | null };

const RUN_ID = /^[0-9a-f]{32}(?=\/|$)/;

/** Who calls. To be asked once: a place inside a run stays one, also when the processes above have gone. */
export function callerOf(world: RunsWorld): Caller {
  if (!isInsideRun(world)) return { kind: 'main' };
  return { kind: 'subagent', runId: RUN_ID.exec(world.env.SELF_GENERATION_RUN ?? '')?.[0] ?? null };
}

/** The words of a refusal, which is written down; where it cannot be, it is one all the same. */
export function refuse(
  tool: string,
  { runId }: Extract<Caller, { kind: 'subagent' }>,
  { paths, now }: RunsWorld,
  onProblem: (error: unknown) => void,
): string {
  const event = { runId, turn: null, atMs: now().getTime(), actor: 'mcp', type: 'refused' };
  try {
    withRuns(paths, (db) => addRunEvent({ ...event, detail: `${tool}: inside a run` }, db));
  } catch (error) {
    onProblem(error);
  }
  return `${tool} is not allowed from sub-agent sessions`;
}
