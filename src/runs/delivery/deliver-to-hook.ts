import { randomUUID } from 'node:crypto';
import type { DeliveryRequest, HookDelivery, HookRun } from '../../hooks/invocation.ts';
import { isMachinePrompt } from '../../hooks/prompt-logger.ts';
import { lookAfterRuns } from '../reconcile.ts';
import { forgetWakes, removeWaiter, waiterOf } from '../store/listeners.ts';
import { acknowledgeNamed } from '../store/outbox.ts';
import { readRuns, withRuns } from '../store/runs-db.ts';
import type { RunsWorld } from '../world.ts';
import { thisProcess } from '../world.ts';
import { acknowledgeDelivery, noteSaid, type Reader, returnDelivery, takeDelivery } from './deliver.ts';

/** What background runs have to tell, by way of a main session's hooks. Loaded only when there may be something. */

/** A hook is waited for: what it cannot have now, the next one gets. */
const LOCK_TIMEOUT_MS = 400;

/**
 * What the session is told now, after settling what its last hook said: a session whose next hook comes has had the
 * answer of the last. Not so one that was only just started or resumed: its client may have died with the answer, so
 * that is given again. What a hook was handed and has not said yet is left to that hook: several may be at work at once.
 */
export function deliverToHook(
  { requester: key, isMarked }: DeliveryRequest,
  lengthMax: number,
  run: HookRun,
): HookDelivery | undefined {
  const { event } = run;
  const world = worldOf(run);
  const owner = `hook:${event.sessionId}`;
  const isAtHumanPace = event.name === 'UserPromptSubmit' || event.name === 'SessionStart';
  if (isAtHumanPace) lookAfterRuns(world);
  noteUser(event, world);
  if (event.name === 'SessionEnd') {
    if (isMarked) acknowledgeDelivery(key, owner, world);
    return undefined;
  }
  if (!isMarked) return undefined;
  if (event.name === 'SessionStart' && event.source !== 'compact')
    for (const one of [owner, wakerOf(event.sessionId)]) returnDelivery(one, world);
  if (event.name === 'UserPromptSubmit' && isMachinePrompt(event.prompt))
    withRuns(world.paths, (db) =>
      acknowledgeNamed(wakerOf(event.sessionId), event.prompt, run.now.getTime(), db),
    );
  const limits = { lengthMax, lockTimeoutMs: LOCK_TIMEOUT_MS };
  return takeForHook({ requester: key, session: event.sessionId }, limits, world);
}

/** Who holds what a session was woken with, until the prompt comes in which it stands. */
export function wakerOf(session: string): string {
  return `wake:${session}`;
}

/** Hands out to one hook of a session, which says whether it has told it: others may ask meanwhile. */
export function takeForHook(
  { requester: key, session }: { readonly requester: string; readonly session: string },
  limits: Pick<Reader, 'lengthMax' | 'lockTimeoutMs' | 'told'>,
  world: RunsWorld,
): HookDelivery | undefined {
  const owner = `hook:${session}`;
  const reader = { ...limits, owner, holder: `${owner}:${randomUUID()}`, isPerson: false };
  const known = session === 'unknown' ? null : session;
  const delivery = takeDelivery({ key, session: known, client: 'claude', cwd: world.cwd }, reader, world);
  const settle = (isSaid: boolean) =>
    isSaid ? noteSaid(reader, world) : returnDelivery(reader.holder, world);
  return delivery && { text: delivery.text, settle };
}

/** Whoever waits for the session need not when that has ended; when its user is there, it may be woken as often again. */
function noteUser(event: HookRun['event'], { paths }: RunsWorld): void {
  const isOver = event.name === 'SessionEnd';
  if (!isOver && (event.name !== 'UserPromptSubmit' || isMachinePrompt(event.prompt))) return;
  const waiter = readRuns(paths, (db) => waiterOf(event.sessionId, db));
  if (waiter !== undefined && (isOver || waiter.wakes > 0))
    withRuns(paths, (db) => (isOver ? removeWaiter : forgetWakes)(event.sessionId, db));
}

/** The process of a hook, as the world of background runs. */
export function worldOf({ env, paths, now, event }: HookRun): RunsWorld {
  const { platform, executablePath, isCompiled } = thisProcess();
  const cwd = event.cwd ?? paths.home;
  return { paths, env, platform, cwd, executablePath, isCompiled, now: () => now };
}
