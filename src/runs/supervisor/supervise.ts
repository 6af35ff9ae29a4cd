import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { endLeftClient } from '../../clients/client-process.ts';
import { reasonOf } from '../../core/guards.ts';
import { sqliteErrorCode } from '../../database/sqlite.ts';
import { becomeLongLived } from '../../system/process-identity.ts';
import { noteRelease } from '../client-release.ts';
import { markInbox } from '../delivery/deliver.ts';
import { isAway } from '../model/pool-role.ts';
import { turnFiles } from '../model/run.ts';
import type { Ending, Turn } from '../model/turn.ts';
import { workerWatch } from '../pool/worker-mark.ts';
import { reconcileAndArchive, reconcileRegularly } from '../reconcile.ts';
import { reword } from '../store/outbox.ts';
import { openRunsDb } from '../store/rows.ts';
import { appendTurn, endTurn } from '../store/turns.ts';
import { leaveWorktree } from '../workspace/worktree.ts';
import { checkpoint, logRunFailure, orLogged, type RunsWorld, runsWorld, thisProcess } from '../world.ts';
import { announcingOf, isAnnounceStepDue, notifyOfResult, rewordBy } from './announce.ts';
import { endingWithout, runOf, superviseTurn, type TurnEnd } from './supervise-turn.ts';
import { type LoadAway, NotOurs, supervisionOf, TurnRow } from './turn-row.ts';

/** A full disk may have room later. After that, the next supervisor reads what the client wrote. */
const WRITE_TRIES_MAX = 120;
const WRITE_RETRY_MS = 500;

type Prepare = {
  /** What comes before a run is begun. */
  readonly prepare: (runId: string, world: RunsWorld) => void;
  readonly loadAway: LoadAway;
};

/** A supervisor's whole process, called as `supervise RUN TURN`. Never comes back. */
export async function superviseProcess(
  [, runId = '', turn]: readonly string[],
  { prepare, loadAway }: Prepare,
): Promise<never> {
  becomeLongLived();
  const world = runsWorld(thisProcess());
  if (world !== undefined) {
    let isShuttingDown = false;
    process.on('SIGTERM', () => {
      isShuttingDown = true;
    });
    orLogged(runId, world.paths, () => prepare(runId, world));
    const isWorkerGone = orLogged(runId, world.paths, () => workerWatch(runId, world.paths));
    if (isWorkerGone === undefined) process.exit(1); // The next one tries it again.
    const isOver = () => isShuttingDown || isWorkerGone();
    const stopReconciling = reconcileRegularly(world);
    await Promise.all([
      supervise(runId, Number(turn), world, { isOver, loadAway }).finally(stopReconciling),
      noteRelease(runId, world),
    ]);
  }
  process.exit(0); // Nobody waits for it, and nothing that is left may keep it.
}

/** Who supervises. */
type Host = {
  /** Whether it was told to end. */
  readonly isOver: () => boolean;
  readonly loadAway: LoadAway;
};

/** Supervises one turn of a run from its taking to its announcement. Never throws: failures are logged to logs/runs.log. */
export async function supervise(
  runId: string,
  turnNumber: number,
  world: RunsWorld,
  { isOver, loadAway }: Host,
): Promise<void> {
  let hasTaken = false;
  try {
    const db = openRunsDb(world.paths);
    try {
      const supervision = supervisionOf(db, world, { isShuttingDown: isOver, loadAway });
      supervision.checkpoint('before-take');
      const taken = TurnRow.take({ runId, number: turnNumber }, supervision);
      if (taken !== undefined) {
        hasTaken = true;
        await superviseWithAnnouncement(taken.row, taken.before);
      }
    } finally {
      db.close();
    }
  } catch (error) {
    if (!(error instanceof NotOurs)) logRunFailure(runId, error, world.paths);
  }
  // A supervisor that could not take its turn has nothing to hand on.
  if (!hasTaken) return;
  checkpoint('before-reconcile', world.env);
  reconcileAndArchive(world);
  await notifyOfResult(runId, world);
}

/** A turn, and the announce step that may follow it. */
async function superviseWithAnnouncement(row: TurnRow, before: Turn): Promise<void> {
  const { supervision } = row;
  supervision.checkpoint('after-take');
  if (before.kind === 'announce') {
    // A step that was not begun, left by a supervisor that died: the announcement stays as it is.
    const isBegun = before.launchedAtMs !== null;
    const end = isBegun
      ? await endOf(row, before)
      : unwatchedEnd(row, 'lost', 'its supervisor died before the client was asked');
    return endAnnounceStep(row, end);
  }
  const step = await endTurnAndAnnounce(row, await endOf(row, before));
  supervision.checkpoint('before-announce-step');
  const taken = step && TurnRow.take(step, supervision);
  if (taken !== undefined) await endAnnounceStep(taken.row, await endOf(taken.row, taken.before));
}

/** The end of a turn. If supervising fails, the client is ended, and so is the turn. */
async function endOf(row: TurnRow, before: Turn): Promise<TurnEnd> {
  try {
    return await superviseTurn(row, before);
  } catch (error) {
    if (error instanceof NotOurs) throw error;
    const { world } = row.supervision;
    logRunFailure(row.turn.runId, error, world.paths);
    await endLeftClient(row.turn, turnFiles(world.paths, row.turn.runId, row.turn.number));
    const words = `the supervisor failed: ${reasonOf(error)}`;
    return unwatchedEnd(row, 'error', words);
  }
}

/** Ends the turn and adds its announcement in one transaction. Returns the turn of the announce step, if there is one. */
async function endTurnAndAnnounce(row: TurnRow, end: TurnEnd): Promise<Turn | undefined> {
  const { turn, supervision } = row;
  const { db, world } = supervision;
  const isStepDue = isAnnounceStepDue({ ...end, turn }, supervision);
  // An announce step works in the same directory: the working tree is looked at behind it.
  const note = isStepDue || isAway(end.run) ? null : await leaveWorktree(end.run, world);
  const ending = note === null ? end.ending : { ...end.ending, notes: [...end.ending.notes, note] };
  const { announcement, prompt, isSkipped } = announcingOf(
    { run: end.run, turn, ending },
    isStepDue,
    supervision,
  );
  supervision.checkpoint('before-end');
  const step = await writeEnd(row, () => {
    const ended = endTurn(turn, ending, announcement, db);
    supervision.checkpoint('within-end');
    if (ended === undefined || ended.state !== ending.outcome) return undefined;
    const { runId, number } = turn;
    if (isSkipped) {
      const nowMs = Math.min(supervision.nowMs(), announcement.readyAtMs - 1);
      reword(runId, number, { skip: true, nowMs }, db);
    }
    if (prompt === null) return undefined;
    const asked = { runId, kind: 'announce', announces: number, message: prompt, state: 'starting' } as const;
    return appendTurn({ ...asked, session: ended.session, nowMs: supervision.nowMs() }, db);
  });
  supervision.checkpoint('after-end');
  if (isAway(end.run)) removeHome(turn, world);
  supervision.note(turn, 'ended', describe(ending));
  if (end.run.part === null) markInbox(end.run.requester.key, world.paths);
  supervision.checkpoint('after-mark');
  return step;
}

function removeHome({ runId, number }: Turn, { paths }: RunsWorld): void {
  orLogged(runId, paths, () =>
    rmSync(turnFiles(paths, runId, number).home, { recursive: true, force: true }),
  );
}

/** Ends an announce step and rewords the announcement by it in one transaction. */
async function endAnnounceStep(row: TurnRow, end: TurnEnd): Promise<void> {
  const { turn, supervision } = row;
  const { db, world } = supervision;
  const note = await leaveWorktree(end.run, world);
  supervision.checkpoint('before-reword');
  await writeEnd(row, () => {
    const ended = endTurn(turn, end.ending, null, db);
    if (ended !== undefined) rewordBy(turn, end.ending, end.run, note, supervision);
  });
  supervision.checkpoint('after-reword');
  if (end.ending.outcome !== 'success') supervision.note(turn, 'announce step failed', describe(end.ending));
  markInbox(end.run.requester.key, world.paths);
}

function unwatchedEnd(row: TurnRow, outcome: 'error' | 'lost', error: string): TurnEnd {
  const ending = endingWithout(row.turn, { outcome, error, endedAtMs: row.supervision.nowMs() });
  return { ending, run: runOf(row), wasWatched: false, isModelRefused: false };
}

/** Writes in one transaction, and tries again while that fails, because an end must not be lost. @throws the last failure */
async function writeEnd<T>({ turn, supervision: { db, world } }: TurnRow, write: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return db.transaction(write);
    } catch (error) {
      if (sqliteErrorCode(error) === undefined || tries >= WRITE_TRIES_MAX) throw error;
      if (tries === 1) logRunFailure(turn.runId, error, world.paths);
      await sleep(WRITE_RETRY_MS);
    }
  }
}

function describe({ outcome, error, exit }: Ending): string {
  const code = exit === null ? '' : exit.code === null ? ` (${exit.signal})` : ` (exit code ${exit.code})`;
  return `${outcome}${code}${error === null ? '' : `: ${error}`}`;
}
