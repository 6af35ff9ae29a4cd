import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sqlite } from '../../database/sqlite.ts';
import type { DeliveryRequest, HookDelivery, HookRun } from '../../hooks/invocation.ts';
import { isMachinePrompt } from '../../hooks/prompt-logger.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import {
  becomeLongLived,
  identityNow,
  isGone,
  isSameProcess,
  type ProcessIdentity,
} from '../../system/process-identity.ts';
import { RECONCILE_EVERY_MS, reconcile } from '../reconcile.ts';
import {
  acknowledgeNamed,
  acknowledgeSession,
  countWake,
  enterListener,
  forgetWakes,
  listenerOf,
  newsOf,
  removeWaiter,
} from '../store/outbox.ts';
import { dataVersion, LOOK_MS, openRunsDb, readRuns, withRuns } from '../store/rows.ts';
import { isInsideRun, type RunsWorld, thisProcess } from '../world.ts';
import { acknowledgeDelivery, confirmSaid, type Reader, returnDelivery, takeDelivery } from './deliver.ts';

/** Announcements through the hooks of a main session. Loaded only when something may wait. */

/** The client waits for its hooks: what is locked now, the next hook gets. */
const LOCK_TIMEOUT_MS = 400;

/**
 * What is delivered to the session now, after acknowledging what its last hook delivered: when the next hook comes, the
 * answer of the last has arrived. After a start or resume it may not have, so that it is delivered again. What another
 * hook of the session has leased and not written out yet stays with that hook.
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
  if (isAtHumanPace) reconcile(world);
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
  const { sessionId: session, client = 'claude' } = event;
  return takeForHook({ requester: key, session, client }, limits, world);
}

/** Who holds what a session was woken with, until the prompt that contains it comes in. */
function wakerOf(session: string): string {
  return `wake:${session}`;
}

/** Leases what waits to one hook of a session; settle() has to be told whether it was written out, and is then held by `told`. */
function takeForHook(
  { requester: key, session, client = 'claude' }: Session & { readonly client?: string },
  limits: Pick<Reader, 'lengthMax' | 'lockTimeoutMs'>,
  world: RunsWorld,
  told: { readonly owner: string; readonly leaseMs?: number } = { owner: `hook:${session}` },
): HookDelivery | undefined {
  const owner = `hook:${session}`;
  const holder = `${owner}:${randomUUID()}`;
  const reader = { ...limits, owner, holder, isPerson: false };
  const known = session === 'unknown' ? null : session;
  const delivery = takeDelivery({ key, session: known, client, cwd: world.cwd }, reader, world);
  const settle = (isSaid: boolean) =>
    isSaid ? confirmSaid(holder, { ...limits, ...told }, world) : returnDelivery(holder, world);
  return delivery && { text: delivery.text, settle };
}

/** Ends the waiter of a session that has ended; resets its count of wake-ups when its user types. */
function noteUser(event: HookRun['event'], { paths }: RunsWorld): void {
  const isOver = event.name === 'SessionEnd';
  if (!isOver && (event.name !== 'UserPromptSubmit' || isMachinePrompt(event.prompt))) return;
  const waiter = readRuns(paths, (db) => listenerOf('waiter', event.sessionId, db));
  if (waiter !== undefined && (isOver || waiter.wakes > 0))
    withRuns(paths, (db) => (isOver ? removeWaiter : forgetWakes)(event.sessionId, db));
}

/** The world of the process of a hook. */
export function worldOf({ env, paths, now, event }: HookRun): RunsWorld {
  return { ...thisProcess(), paths, env, cwd: event.cwd ?? paths.home, now: () => now };
}

/**
 * The hook behind a turn that wakes the idle session: it waits while a run of this session is active, and ends with exit
 * code 2 when there is an announcement. The client takes what it wrote to standard error into a new request (measured
 * with 2.1.328: `Stop hook blocking error from command …` in a task notification).
 */

/** Announcements within this time are delivered together. */
const TOGETHER_MS = 2000;
/** A command or a tool that waits for it in the session, and looks every LOOK_MS, has it first. */
const YIELDS_MS = 500;
/** The exit code that wakes. */
const WAKES = 2;
/** A hook that is killed before it ends with that code has woken nobody: then it is delivered again, marked as such. */
const ARRIVES_WITHIN_MS = 60_000;

/** Resolves when there is nothing to wait for, another process waits, or the session has been woken. */
export async function waitForResult(requester: string, run: HookRun): Promise<void> {
  const world = { ...worldOf(run), now: () => new Date() };
  const { announce } = loadRunSettings(world.paths);
  if (announce.wake === 'off' || isInsideRun(world)) return;
  becomeLongLived();
  const one = { session: run.event.sessionId, requester };
  const db = openRunsDb(world.paths);
  try {
    const server = listenerOf('server', one.session, db)?.process;
    const serverPid = server !== undefined && isSameProcess(server) ? server.pid : undefined;
    acknowledgeSession({ session: one.session, serverPid }, Date.now(), db);
    const { isReady, isComing } = newsOf(one, Date.now(), db);
    if ((!isReady && !isComing) || !beginToWait(one, db)) return;
    const limits = { wakesMax: announce.wakesMax, client: identityNow(Number(run.env.CLAUDE_PID)) };
    while (await isToBeWoken(one, limits, { world, db })) {
      const end = await wake(one, world);
      if (end === 'unwritable') return;
      if (end === 'told') {
        countWake(one.session, db);
        process.exitCode = WAKES;
        return;
      }
      await sleep(LOOK_MS); // Another hook of the session has taken it.
    }
  } finally {
    db.close();
  }
}

type Session = { readonly session: string; readonly requester: string };

/** Registers this process as the session's waiter; false if another one lives. */
function beginToWait({ session, requester }: Session, db: Sqlite): boolean {
  return db.transaction(() => {
    const other = listenerOf('waiter', session, db);
    if (other !== undefined && !isGone(other.process)) return false;
    const listener = { kind: 'waiter', session, requester, client: 'claude' } as const;
    enterListener({ ...listener, process: identityNow(process.pid) }, Date.now(), db);
    return true;
  });
}

/** Resolves with true when something can be delivered, with false when nothing will come or the session is gone. */
async function isToBeWoken(
  one: Session,
  { wakesMax, client }: { readonly wakesMax: number; readonly client: ProcessIdentity },
  { world, db }: { readonly world: RunsWorld; readonly db: Sqlite },
): Promise<boolean> {
  let version: number | undefined;
  let news = newsOf(one, Date.now(), db);
  let readySinceMs: number | undefined;
  let nextReconcileMs = performance.now();
  for (;;) {
    const nowMs = performance.now();
    const found = dataVersion(db);
    if (nowMs >= nextReconcileMs) {
      nextReconcileMs = nowMs + RECONCILE_EVERY_MS;
      if (!isSameProcess(client)) return false;
      reconcile(world);
      version = undefined; // Leases and the time for wording expire without a write.
    }
    if (found !== version) {
      version = found;
      const own = listenerOf('waiter', one.session, db);
      if (own?.process.pid !== process.pid || own.wakes >= wakesMax) return false;
      news = newsOf(one, Date.now(), db);
    }
    if (!news.isReady && !news.isComing) return false;
    if (news.isReady) readySinceMs ??= nowMs;
    const patienceMs = news.isComing ? TOGETHER_MS : YIELDS_MS;
    if (readySinceMs !== undefined && nowMs - readySinceMs >= patienceMs) return true;
    await sleep(LOOK_MS);
  }
}

/** Delivers over standard error. What cannot be written is left to the next prompt. */
async function wake(one: Session, world: RunsWorld): Promise<'told' | 'nothing' | 'unwritable'> {
  const told = { owner: wakerOf(one.session), leaseMs: ARRIVES_WITHIN_MS };
  const news = takeForHook(one, {}, world, told);
  if (news === undefined) return 'nothing';
  const isWritten = await new Promise<boolean>((resolve) => {
    process.stderr.once('error', () => resolve(false));
    process.stderr.write(`${news.text}\n`, (error) => resolve(error == null));
  });
  news.settle(isWritten);
  return isWritten ? 'told' : 'unwritable';
}
