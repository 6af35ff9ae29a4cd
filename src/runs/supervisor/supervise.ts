import { setTimeout as sleep } from 'node:timers/promises';
import { endLeftClient } from '../../clients/client-process.ts';
import { reasonOf } from '../../core/guards.ts';
import { sqliteErrorCode } from '../../database/sqlite.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import { becomeLongLived, identityNow } from '../../system/process-identity.ts';
import { noteRelease } from '../client-release.ts';
import { markInbox } from '../delivery/deliver.ts';
import { notifyOfResult } from '../delivery/notify.ts';
import { logRunFailure } from '../failure-log.ts';
import { turnFiles } from '../model/run.ts';
import type { Ending, Turn } from '../model/turn.ts';
import { advance, startLookingAfter } from '../reconcile.ts';
import { reword } from '../store/outbox.ts';
import { openRunsDb } from '../store/runs-db.ts';
import { endTurn } from '../store/turns.ts';
import { leaveWorktree } from '../workspace/worktree.ts';
import type { RunsWorld } from '../world.ts';
import { checkpoint, runsWorld, thisProcess } from '../world.ts';
import { addAnnounceTurn, announcingOf, rewordingOf } from './announce.ts';
import { runOf, superviseTurn, type TurnEnd } from './supervise-turn.ts';
import { endingWithout } from './turn-ending.ts';
import { NotOurs, noteEvent, type Supervision, TurnRow } from './turn-row.ts';

/** A disk that is full now may have room later; after that the next supervisor finds what the client wrote. */
const WRITE_TRIES_MAX = 120;
const WRITE_RETRY_MS = 500;

/** A supervisor's whole process, called as `supervise RUN TURN`. Never comes back. */
export async function superviseProcess([, runId = '', turn]: readonly string[]): Promise<never> {
  becomeLongLived();
  const world = runsWorld(thisProcess());
  if (world !== undefined) {
    await Promise.all([supervise(runId, Number(turn), world), noteRelease(runId, world)]);
  }
  process.exit(0); // Nobody waits for it, and nothing that is left may keep it.
}

/**
 * The whole life of a supervisor: takes one turn of a run, starts its client or takes over one that runs, follows it to
 * its end and says so. Resolves when nothing is left to do. Never throws: what goes wrong is noted in logs/runs.log.
 */
export async function supervise(runId: string, turnNumber: number, world: RunsWorld): Promise<void> {
  let isShuttingDown = false;
  const shutDown = () => {
    isShuttingDown = true;
  };
  process.on('SIGTERM', shutDown);
  let hasTaken = false;
  try {
    const db = openRunsDb(world.paths);
    try {
      const self = identityNow(process.pid);
      const settings = loadRunSettings(world.paths);
      const supervision = { db, world, settings, self, isShuttingDown: () => isShuttingDown };
      checkpoint('before-take', world.env);
      const taken = TurnRow.take({ runId, number: turnNumber }, self, db);
      if (taken !== undefined) {
        hasTaken = true;
        const stopLooking = startLookingAfter(world);
        await lookAfter(taken.row, taken.before, supervision).finally(stopLooking);
      }
    } finally {
      db.close();
    }
  } catch (error) {
    if (!(error instanceof NotOurs)) logRunFailure(runId, error, world.paths);
  } finally {
    process.off('SIGTERM', shutDown);
  }
  // One that could not take its turn changed nothing: what it would start now would be in the same position.
  if (!hasTaken) return;
  checkpoint('before-advance', world.env);
  advance(world);
  await notifyOfResult(runId, world);
}

/** A turn, and the announce step that may follow it. */
async function lookAfter(row: TurnRow, before: Turn, supervision: Supervision): Promise<void> {
  const { world, db, self } = supervision;
  checkpoint('after-take', world.env);
  if (before.kind === 'announce') {
    // A step that nobody has begun, left by a supervisor that died: what stands is what is told.
    const error = 'its supervisor died before the client was asked';
    const isBegun = before.launchedAtMs !== null;
    const end = isBegun ? endOf(row, before, supervision) : unwatchedEnd(row, 'lost', error, supervision);
    return announce(row, await end, supervision);
  }
  const end = await endOf(row, before, supervision);
  const step = await finish(row, end, supervision);
  checkpoint('before-announce-step', world.env);
  const taken = step && TurnRow.take(step, self, db);
  if (taken !== undefined) {
    await announce(taken.row, await endOf(taken.row, taken.before, supervision), supervision);
  }
}

/** Whatever goes wrong with us, nothing of the client is left behind, and the turn ends. */
async function endOf(row: TurnRow, before: Turn, supervision: Supervision): Promise<TurnEnd> {
  try {
    return await superviseTurn(row, before, supervision);
  } catch (error) {
    if (error instanceof NotOurs) throw error;
    const { world } = supervision;
    logRunFailure(row.turn.runId, error, world.paths);
    await endLeftClient(row.turn, turnFiles(world.paths, row.turn.runId, row.turn.number));
    const words = `the supervisor failed: ${reasonOf(error)}`;
    return unwatchedEnd(row, 'error', words, supervision);
  }
}

/** Ends the turn and writes what it has to tell, at once. Gives the announce step, when there is to be one. */
async function finish(row: TurnRow, end: TurnEnd, supervision: Supervision): Promise<Turn | undefined> {
  const { db, world } = supervision;
  const { turn } = row;
  const planned = announcingOf({ ...end, turn }, end.wasWatched, supervision);
  // An announce step works in the same directory: the working tree is looked at behind it.
  const note = planned.kind === 'step' ? null : await leaveWorktree(end.run, world);
  const ending = note === null ? end.ending : { ...end.ending, notes: [...end.ending.notes, note] };
  const announcing =
    note === null ? planned : announcingOf({ ...end, ending, turn }, end.wasWatched, supervision);
  checkpoint('before-end', world.env);
  const step = await writing(turn.runId, supervision, () =>
    db.transaction(() => {
      const ended = endTurn(turn, ending, announcing.announcement, db);
      checkpoint('within-end', world.env);
      if (ended === undefined || ended.state !== ending.outcome) return undefined;
      const nowMs = world.now().getTime();
      if (announcing.kind === 'step') return addAnnounceTurn(ended, announcing.prompt, supervision);
      const skip = { skip: true, nowMs: Math.min(nowMs, announcing.announcement.readyAtMs - 1) } as const;
      if (announcing.isSkipped) reword(turn.runId, turn.number, skip, db);
      return undefined;
    }),
  );
  checkpoint('after-end', world.env);
  noteEvent(turn, 'ended', describe(ending), supervision);
  markInbox(end.run.requester.key, world.paths);
  checkpoint('after-mark', world.env);
  return step;
}

/** The client was asked for words in its own session. What that came to is written with the end of the step. */
async function announce(row: TurnRow, end: TurnEnd, supervision: Supervision): Promise<void> {
  const { db, world } = supervision;
  const { turn } = row;
  const note = await leaveWorktree(end.run, world);
  checkpoint('before-reword', world.env);
  await writing(turn.runId, supervision, () =>
    db.transaction(() => {
      const rewording = rewordingOf(turn, end.ending, end.run, note, supervision);
      if (endTurn(turn, end.ending, null, db) === undefined || rewording === undefined) return;
      reword(turn.runId, rewording.turn.number, rewording.words, db);
      checkpoint('within-reword', world.env);
    }),
  );
  checkpoint('after-reword', world.env);
  if (end.ending.outcome !== 'success')
    noteEvent(turn, 'announce step failed', describe(end.ending), supervision);
  markInbox(end.run.requester.key, world.paths);
}

function unwatchedEnd(
  { turn }: TurnRow,
  outcome: 'error' | 'lost',
  error: string,
  supervision: Supervision,
): TurnEnd {
  const ending = endingWithout(turn, { outcome, error, endedAtMs: supervision.world.now().getTime() });
  return { ending, run: runOf(turn, supervision), wasWatched: false, isModelRefused: false };
}

/** An end has to be written, also when that is impossible just now. @throws the last failure */
async function writing<T>(runId: string, { world }: Supervision, write: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return write();
    } catch (error) {
      if (sqliteErrorCode(error) === undefined || tries >= WRITE_TRIES_MAX) throw error;
      if (tries === 1) logRunFailure(runId, error, world.paths);
      await sleep(WRITE_RETRY_MS);
    }
  }
}

function describe({ outcome, error, exit }: Ending): string {
  const code = exit === null ? '' : exit.code === null ? ` (${exit.signal})` : ` (exit code ${exit.code})`;
  return `${outcome}${code}${error === null ? '' : `: ${error}`}`;
}
