import type { Deliveries, Errand, HookRun } from '../hooks/invocation.ts';
import { lookAfterRuns } from './advance.ts';
import { acknowledgeDelivery, returnDelivery, takeDelivery } from './deliver.ts';
import type { RunsWorld } from './features.ts';
import { thisProcess } from './world.ts';

/** What background runs have to tell, by way of a main session's hooks. Loaded only when there may be something. */

/** A hook is waited for: what it cannot have now, the next one gets. */
const LOCK_TIMEOUT_MS = 400;

/**
 * What the session is told now, after settling what its last hook was given: a session whose next hook comes has had
 * the answer of the last. Not so one that was only just started or resumed: its client may have died with the answer, so
 * that is given again.
 */
export function deliverToHook(
  { requester: key, isMarked }: Errand,
  lengthMax: number,
  run: HookRun,
): string | undefined {
  const { event } = run;
  const world = worldOf(run);
  const owner = ownerOf(run);
  const isAtHumanPace = event.name === 'UserPromptSubmit' || event.name === 'SessionStart';
  if (isAtHumanPace) lookAfterRuns(world);
  if (!isMarked) return undefined;
  if (event.name === 'SessionEnd') {
    acknowledgeDelivery(key, owner, world);
    return undefined;
  }
  if (event.name === 'SessionStart' && event.source !== 'compact') returnDelivery(owner, world);
  const session = event.sessionId === 'unknown' ? null : event.sessionId;
  const requester = { key, session, client: 'claude', cwd: world.cwd } as const;
  const reader = { owner, isPerson: false, lengthMax, lockTimeoutMs: LOCK_TIMEOUT_MS };
  return takeDelivery(requester, reader, world)?.text;
}

/** It could not be said: the next one gets it. */
export function takeBack(run: HookRun): void {
  returnDelivery(ownerOf(run), worldOf(run));
}

function ownerOf({ event }: HookRun): string {
  return `hook:${event.sessionId}`;
}

function worldOf({ env, paths, now, event }: HookRun): RunsWorld {
  const { platform, executablePath, isCompiled } = thisProcess();
  const cwd = event.cwd ?? paths.home;
  return { paths, env, platform, cwd, executablePath, isCompiled, now: () => now };
}

({ deliverToHook, takeBack }) satisfies Deliveries;
