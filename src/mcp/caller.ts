import { addRunEvent } from '../store/runs/run-events.ts';
import { readRuns, withRuns } from '../store/runs/runs-db.ts';
import { readToken } from '../store/runs/tokens.ts';
import type { RunsWorld } from '../subagents/features.ts';
import { isInsideRun } from '../subagents/requester.ts';

/** Who is at the other end: a session of the user's, or a sub-agent, whatever it says of itself. */
export type Caller =
  | { readonly kind: 'main' }
  | { readonly kind: 'subagent'; readonly runId: string | null; readonly why: string };

const RUN_ID = /^[0-9a-f]{32}(?=\/|$)/;

/** How to tell who calls. A place inside a run stays one, also when the processes above have gone. */
export function watchCaller(world: RunsWorld): () => Caller {
  const { env, paths, now } = world;
  if (isInsideRun(world)) {
    const runId = RUN_ID.exec(env.SELF_GENERATION_RUN ?? '')?.[0] ?? null;
    return () => ({ kind: 'subagent', runId, why: 'inside a run' });
  }
  const token = env.SELF_GENERATION_TOKEN;
  if (!token) return () => ({ kind: 'main' });
  return () => {
    try {
      const known = readRuns(paths, (db) => readToken(token, now().getTime(), db));
      if (known?.role === 'main') return { kind: 'main' };
      if (known === undefined) return { kind: 'subagent', runId: null, why: 'its token is not known' };
      return { kind: 'subagent', runId: known.runId, why: 'the token of a sub-agent' };
    } catch {
      return { kind: 'subagent', runId: null, why: 'its token cannot be looked up' }; // What is not known is not trusted.
    }
  };
}

/** The words of a refusal, which is written down; where it cannot be, it is one all the same. */
export function refuse(
  tool: string,
  { runId, why }: Extract<Caller, { kind: 'subagent' }>,
  { paths, now }: RunsWorld,
  onProblem: (error: unknown) => void,
): string {
  const event = { runId, turn: null, atMs: now().getTime(), actor: 'mcp', type: 'refused' };
  try {
    withRuns(paths, (db) => addRunEvent({ ...event, detail: `${tool}: ${why}` }, db));
  } catch (error) {
    onProblem(error);
  }
  return `${tool} is not allowed from sub-agent sessions`;
}
