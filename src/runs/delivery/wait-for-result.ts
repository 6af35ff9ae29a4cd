import { setTimeout as sleep } from 'node:timers/promises';
import type { Sqlite } from '../../database/sqlite.ts';
import type { HookRun, Waiter } from '../../hooks/invocation.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import type { ProcessIdentity } from '../../system/process-identity.ts';
import { becomeLongLived, identityNow, isGone, isSameProcess } from '../../system/process-identity.ts';
import { lookAfterRuns } from '../reconcile.ts';
import { countWake, enterListener, newsOf, serverOf, waiterOf } from '../store/listeners.ts';
import { acknowledgeSession } from '../store/outbox.ts';
import { dataVersion, openRunsDb } from '../store/runs-db.ts';
import { isInsideRun, type RunsWorld } from '../world.ts';
import { takeForHook, wakerOf, worldOf } from './deliver-to-hook.ts';

/**
 * The hook behind a turn that wakes the idle session: it waits while a run of this very session works, and ends with exit
 * code 2 when one has something to tell. The client takes what it wrote to standard error into a new request (measured
 * with 2.1.328: `Stop hook blocking error from command …` in a task notification).
 */

/** How often it is looked whether anything was written; that alone costs next to nothing. */
const LOOK_MS = 200;
/** What several runs have to tell within this time is told together. */
const TOGETHER_MS = 2000;
/** How often it is looked after runs, and whether the client still lives. */
const LOOK_AFTER_MS = 2000;
/** The exit code that wakes. */
const WAKES = 2;
const TEXT_LENGTH_MAX = 9500;
/** Whoever is killed before it ends with that code has woken nobody: then it is told again, and marked as such. */
const ARRIVES_WITHIN_MS = 60_000;

/** Resolves when there is nothing to wait for, or somebody else waits, or the session has been told. */
export async function waitForResult(requester: string, run: HookRun): Promise<void> {
  const world = { ...worldOf(run), now: () => new Date() };
  const { announce } = loadRunSettings(world.paths);
  if (announce.wake === 'off' || isInsideRun(world)) return;
  becomeLongLived();
  const one = { session: run.event.sessionId, requester };
  const db = openRunsDb(world.paths);
  try {
    const server = serverOf(one.session, db)?.process;
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
      await sleep(LOOK_MS); // Another hook of the session was faster.
    }
  } finally {
    db.close();
  }
}

type Session = { readonly session: string; readonly requester: string };

/** Of all hooks that end their turns, one waits. */
function beginToWait({ session, requester }: Session, db: Sqlite): boolean {
  return db.transaction(() => {
    const other = waiterOf(session, db);
    if (other !== undefined && !isGone(other.process)) return false;
    const listener = { kind: 'waiter', session, requester, client: 'claude' } as const;
    enterListener({ ...listener, process: identityNow(process.pid) }, Date.now(), db);
    return true;
  });
}

type Limits = { readonly wakesMax: number; readonly client: ProcessIdentity };

/** Resolves with true when something can be told, with false when nothing will be, or to nobody. */
async function isToBeWoken(
  one: Session,
  { wakesMax, client }: Limits,
  { world, db }: { readonly world: RunsWorld; readonly db: Sqlite },
): Promise<boolean> {
  let version: number | undefined;
  let news = newsOf(one, Date.now(), db);
  let readySinceMs: number | undefined;
  let nextLookAfterMs = performance.now();
  for (;;) {
    const nowMs = performance.now();
    const found = dataVersion(db);
    if (nowMs >= nextLookAfterMs) {
      nextLookAfterMs = nowMs + LOOK_AFTER_MS;
      if (!isSameProcess(client)) return false;
      lookAfterRuns(world);
      version = undefined; // What was handed out comes back, and what is being worded is told, when its time is over.
    }
    if (found !== version) {
      version = found;
      const own = waiterOf(one.session, db);
      if (own?.process.pid !== process.pid || own.wakes >= wakesMax) return false;
      news = newsOf(one, Date.now(), db);
    }
    if (!news.isReady && !news.isComing) return false;
    if (news.isReady) readySinceMs ??= nowMs;
    if (readySinceMs !== undefined && (!news.isComing || nowMs - readySinceMs >= TOGETHER_MS)) return true;
    await sleep(LOOK_MS);
  }
}

/** What cannot be written now is left to the next prompt: a second try would go the same way. */
async function wake(one: Session, world: RunsWorld): Promise<'told' | 'nothing' | 'unwritable'> {
  const told = { owner: wakerOf(one.session), leaseMs: ARRIVES_WITHIN_MS };
  const news = takeForHook(one, { lengthMax: TEXT_LENGTH_MAX, told }, world);
  if (news === undefined) return 'nothing';
  const isWritten = await new Promise<boolean>((resolve) => {
    process.stderr.once('error', () => resolve(false));
    process.stderr.write(`${news.text}\n`, (error) => resolve(error == null));
  });
  news.settle(isWritten);
  return isWritten ? 'told' : 'unwritable';
}

({ waitForResult }) satisfies Waiter;
