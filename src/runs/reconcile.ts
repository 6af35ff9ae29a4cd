import { existsSync } from 'node:fs';
import { loadRunSettings } from '../settings/run-settings.ts';
import { isGone, isJudged, type ProcessIdentity } from '../system/process-identity.ts';
import { startDetached } from '../system/run-command.ts';
import { archiveDue } from './archive.ts';
import { markInbox } from './delivery/deliver.ts';
import { inboxMark } from './model/run.ts';
import type { Turn } from './model/turn.ts';
import { waitingRequesters } from './store/outbox.ts';
import {
  claimOrphans,
  claimTurns,
  clearOwner,
  lastSignMs,
  orchestrationOwners,
  unclaim,
} from './store/queue.ts';
import { readRuns, withRuns } from './store/rows.ts';
import { activeLiveness, type TurnLiveness } from './store/turns.ts';
import { checkpoint, isInsideRun, logRunFailure, orLogged, ownProgram, type RunsWorld } from './world.ts';

/** How long a supervisor may take to take over the turn that was claimed for it. */
const TAKE_OVER_MS = 2000;
/** So long an orchestration in a container may do something beside its turns, as with git. */
const UNSEEN_MS = 600_000;
/** How often each process that lives for a while reconciles: with the time above, and that of a start, a supervisor that died is replaced within five seconds. */
export const RECONCILE_EVERY_MS = 2000;

/** reconcile(), and archives runs that are due. Never throws: failures are in logs/runs.log. */
export function reconcileAndArchive(world: RunsWorld): void {
  reconcile(world);
  if (existsSync(world.paths.runsDatabase)) archiveDue(world.paths, world.now());
}

/** Reconciles every two seconds, without keeping the process alive, until the returned function is called. */
export function reconcileRegularly(world: RunsWorld): () => void {
  if (isInsideRun(world)) return () => {}; // It stays so when the processes above have gone.
  const timer = setInterval(() => reconcile(world), RECONCILE_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Starts supervisors for queued turns that have a slot and for turns whose supervisor died; clears dead owners, marks inboxes. Never throws. */
export function reconcile(world: RunsWorld): void {
  const { paths } = world;
  orLogged('', paths, () => {
    if (!existsSync(paths.runsDatabase)) return;
    const nowMs = world.now().getTime();
    const { active, marked, dead } = readRuns(paths, (db) => ({
      active: activeLiveness(db),
      marked: waitingRequesters(nowMs, db),
      dead: orchestrationOwners(db).filter(({ id, owner }) => isOver(owner, () => lastSignMs(id, db), nowMs)),
    })) ?? { active: [], marked: [], dead: [] };
    // The process that wrote an announcement may have died before it marked the inbox.
    for (const requester of marked) if (!existsSync(inboxMark(requester, paths))) markInbox(requester, paths);
    // What waits for the end of an orchestration starts when nobody carries that on any more.
    if (dead.length > 0) withRuns(paths, (db) => dead.map((one) => clearOwner(one, db)));
    const orphans = active.filter(
      (turn) => isOrphan(turn, nowMs) || world.ownSupervisors?.hasLeft(turn) === true,
    );
    const isWaiting = active.some(({ state }) => state === 'queued');
    // Inside a run, a supervisor would inherit that run's mark.
    if ((orphans.length > 0 || isWaiting) && !isInsideRun(world)) {
      const claimed = claim(orphans, isWaiting, world);
      checkpoint('after-claim', world.env);
      startSupervisors(claimed, world);
    }
  });
}

/** Starts a supervisor for each of these turns. One that cannot be started gives its slot back. Never throws. */
export function startSupervisors(turns: readonly Turn[], world: RunsWorld): void {
  for (const turn of turns) {
    try {
      if (world.ownSupervisors?.begin(turn)) continue;
      const [program, ...words] = ownProgram(world);
      const { home } = world.paths;
      startDetached(program, [...words, 'supervise', turn.runId, String(turn.number)], {
        env: world.env,
        cwd: home,
      });
    } catch (error) {
      logRunFailure(turn.runId, error, world.paths);
      orLogged(turn.runId, world.paths, () => withRuns(world.paths, (db) => unclaim(turn, db)));
    }
  }
}

/**
 * Claims the turns that this process starts supervisors for. The claim is written first: with a database that cannot be
 * written, every process would otherwise start supervisors again and again. @throws Error if it cannot be written
 */
function claim(orphans: readonly TurnLiveness[], isWaiting: boolean, { paths, now }: RunsWorld): Turn[] {
  const nowMs = now().getTime();
  return withRuns(paths, (db) => [
    ...claimOrphans(orphans, nowMs, db),
    ...(isWaiting ? claimTurns(loadRunSettings(paths), nowMs, db) : []),
  ]);
}

/** Whether nobody carries an orchestration on: its owner has died, or cannot be seen from here and has given no sign for long. */
function isOver(owner: ProcessIdentity, lastSignMs: () => number, nowMs: number): boolean {
  return isGone(owner) || (!isJudged(owner) && lastSignMs() < nowMs - UNSEEN_MS);
}

/** Whether its supervisor has died, or never took the turn over. */
function isOrphan({ state, owner, process, claimedAtMs, queuedAtMs }: TurnLiveness, nowMs: number): boolean {
  if (state === 'queued') return false;
  if (process !== null && !isJudged(process)) return false;
  if (owner !== null) return isGone(owner);
  const waitingMs = nowMs - (claimedAtMs ?? queuedAtMs);
  return waitingMs > TAKE_OVER_MS || waitingMs < 0; // Negative: the clock was set back.
}
