import { pathExists, readTextFile } from '#runtime';
import { requesterKey } from '../runs/model/run.ts';
import { NOTHING } from './decision.ts';
import type { HookEventOf } from './event.ts';
import type { HookRun, UnopenedContext } from './invocation.ts';
import { type Handler, WHOLE_CATCH_UP } from './invocation.ts';

/** The two hooks of Stop. */

type Stop = HookEventOf<'Stop'>;

/** Reads what the transcripts have gained, and that is all. */
export const stopTracker: Handler<Stop> = {
  read: () => ({}),
  decide: () => NOTHING,
  catchUp: WHOLE_CATCH_UP,
};

/** Waits for results of background runs, and wakes the session with them. */
export const resultWaiter: Handler<Stop> = {
  read: () => ({}),
  decide: () => NOTHING,
  replaces: waitForRuns,
};

/**
 * Waits where the session may be left alone by its user: one that prints and ends would not end before. Claude Code sets
 * both variables, also when it is started from inside another one (measured with 2.1.328).
 */
async function waitForRuns(run: HookRun<Stop>, { project }: UnopenedContext): Promise<true> {
  const { env, event, paths } = run;
  const isAttended = env.CLAUDE_CODE_ENTRYPOINT === 'cli' && env.CLAUDE_CODE_SESSION_ATTENDED !== '0';
  if (isAttended && event.agentId === null && project.path !== null && pathExists(paths.runsDatabase)) {
    const waiter = await run.chunks.waiter?.();
    await waiter?.waitForResult(requesterKey(project.path, { readTextFile, pathExists }), run);
  }
  return true;
}
