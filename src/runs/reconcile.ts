import { existsSync } from 'node:fs';
import { loadRunSettings } from '../settings/run-settings.ts';
import { isGone, isJudged } from '../system/process-identity.ts';
import { startDetached } from '../system/run-command.ts';
import { archiveDue } from './archive.ts';
import { markInbox } from './delivery/deliver.ts';
import { logRunFailure, orLogged } from './failure-log.ts';
import { inboxMark } from './model/run.ts';
import type { Turn } from './model/turn.ts';
import { waitingRequesters } from './store/outbox.ts';
import { claimOrphans, claimTurns, unclaim } from './store/queue.ts';
import { readRuns, withRuns } from './store/runs-db.ts';
import { activeWatches, type Watch } from './store/turns.ts';
import type { RunsWorld } from './world.ts';
import { checkpoint, isInsideRun, ownProgram } from './world.ts';

/** How long a supervisor may take from the claim of its turn to its first word. */
const TAKE_OVER_MS = 3000;
/** With the time above, nobody misses a supervisor that died for more than five seconds. */
const LOOK_EVERY_MS = 2000;

/** Starts what may start, looks after runs, archives what is due. Never throws: what fails is in logs/runs.log. */
export function advance(world: RunsWorld): void {
  lookAfterRuns(world);
  if (existsSync(world.paths.runsDatabase)) archiveDue(world.paths, world.now());
}

/**
 * Looks after all runs again and again, beside whatever else this process does and not a reason for it to live on; what
 * is given back ends that. Every process that lives for long does so: a supervisor that died cannot look after its own.
 */
export function startLookingAfter(world: RunsWorld): () => void {
  if (isInsideRun(world)) return () => {}; // It stays so when the processes above have gone.
  const timer = setInterval(() => lookAfterRuns(world), LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** As advance(), but archives nothing: for those who are waited for. Never throws. */
export function lookAfterRuns(world: RunsWorld): void {
  const { paths } = world;
  try {
    if (!existsSync(paths.runsDatabase)) return;
    const nowMs = world.now().getTime();
    const { active, marked } = readRuns(paths, (db) => ({
      active: activeWatches(db),
      marked: waitingRequesters(nowMs, db),
    })) ?? { active: [], marked: [] };
    // Whoever wrote an announcement may have died before it left the sign.
    for (const requester of marked) if (!existsSync(inboxMark(requester, paths))) markInbox(requester, paths);
    const orphans = active.filter((turn) => isOrphan(turn, nowMs));
    const isWaiting = active.some(({ state }) => state === 'queued');
    // Inside a run, what it started would count as part of that run.
    if ((orphans.length > 0 || isWaiting) && !isInsideRun(world)) {
      const claimed = claim(orphans, isWaiting, world);
      checkpoint('after-claim', world.env);
      startSupervisors(claimed, world);
    }
  } catch (error) {
    logRunFailure('', error, paths);
  }
}

/** Starts a supervisor for each of these turns. One that cannot be started gives its slot back. Never throws. */
export function startSupervisors(turns: readonly Turn[], world: RunsWorld): void {
  for (const turn of turns) {
    try {
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
 * What this process may start supervisors for. It is written down first: a supervisor that cannot write would look, to
 * everybody, like one that never came, and each of many would be answered by many more. @throws then
 */
function claim(orphans: readonly Watch[], isWaiting: boolean, { paths, now }: RunsWorld): Turn[] {
  const nowMs = now().getTime();
  return withRuns(paths, (db) => [
    ...claimOrphans(orphans, nowMs, db),
    ...(isWaiting ? claimTurns(loadRunSettings(paths), nowMs, db) : []),
  ]);
}

/** Nobody looks after it: whoever did is gone, or never came. */
function isOrphan({ state, owner, process, claimedAtMs, queuedAtMs }: Watch, nowMs: number): boolean {
  if (state === 'queued') return false;
  if (process !== null && !isJudged(process)) return false;
  if (owner !== null) return isGone(owner);
  const waitingMs = nowMs - (claimedAtMs ?? queuedAtMs);
  return waitingMs > TAKE_OVER_MS || waitingMs < 0; // A clock that was set back must not keep it waiting.
}
