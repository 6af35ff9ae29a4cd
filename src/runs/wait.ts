import { setTimeout as sleep } from 'node:timers/promises';
import type { Sqlite } from '../database/sqlite.ts';
import { pathExists } from '../system/runtime-bun.ts';
import type { Requester, RunWithTurn, TurnName } from './model/run.ts';
import { isTerminal } from './model/turn.ts';
import { reconcileAndArchive, reconcileRegularly } from './reconcile.ts';
import { isAnnouncing, waitingAnnouncements } from './store/outbox.ts';
import { dataVersion, openRunsDb, readRuns } from './store/rows.ts';
import { getRun } from './store/runs.ts';
import { awaitedTurns, getTurn, turnsOf } from './store/turns.ts';
import type { RunsWorld } from './world.ts';

export type WaitOptions = {
  /** Null: as long as it takes. */
  readonly timeoutMs: number | null;
  /** Also until their announcements are worded and can be delivered. */
  readonly untilAnnounced?: boolean;
  /** Aborts the wait. */
  readonly signal?: AbortSignal;
  /** Called whenever something in the database has changed. */
  readonly onProgress?: (runs: readonly RunWithTurn[]) => void;
};

/** In the order in which they were asked for, each with the turn that was asked for. */
export type WaitAnswer = { readonly kind: 'ended' | 'timeout'; readonly runs: readonly RunWithTurn[] };

/** How often the database is checked for changes, which is cheap. */
const LOOK_MS = 200;

/**
 * Resolves when all of these turns have ended, the time is over, or the wait is aborted; reconciles meanwhile. A turn that
 * does not exist counts as ended and is left out.
 */
export async function waitForRuns(
  turns: readonly TurnName[],
  options: WaitOptions,
  world: RunsWorld,
): Promise<WaitAnswer> {
  if (!pathExists(world.paths.runsDatabase)) return { kind: 'ended', runs: [] };
  // One connection for the whole wait: data_version tells only an open one of the writes of others.
  const db = openRunsDb(world.paths);
  reconcileAndArchive(world);
  const stopReconciling = reconcileRegularly(world);
  try {
    return await watch(turns, options, { db, world });
  } finally {
    stopReconciling();
    db.close();
  }
}

/** The active turns and those whose end was not announced to this session yet; of a run without any, its newest turn. */
export function turnsAwaited(
  { key, session }: Requester,
  whose: 'session' | 'project' | { readonly runId: string },
  { paths }: RunsWorld,
): TurnName[] {
  const isOwn = (sessions: readonly (string | null)[]) =>
    whose !== 'session' || sessions.includes(session ?? '');
  const found = readRuns(paths, (db) => {
    const untold = waitingAnnouncements(key, db).filter(
      ({ state, requesterSession: meant }) =>
        state === 'pending' && (meant === session || (meant === null && isOwn(['']))),
    );
    const awaited = awaitedTurns(key, db).filter(({ sessions }) => isOwn(sessions));
    const turns = [...untold, ...awaited].map(({ runId, turn }) => ({ runId, turn }));
    if (typeof whose === 'string') return turns;
    const own = turns.filter(({ runId }) => runId === whose.runId);
    const newest = turnsOf(whose.runId, db).findLast(({ kind }) => kind !== 'announce');
    return own.length > 0 || newest === undefined ? own : [{ runId: whose.runId, turn: newest.number }];
  });
  return found ?? [];
}

async function watch(
  turns: readonly TurnName[],
  { timeoutMs, untilAnnounced = false, signal, onProgress }: WaitOptions,
  { db, world }: { readonly db: Sqlite; readonly world: RunsWorld },
): Promise<WaitAnswer> {
  const endMs = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  let version: number | undefined;
  let runs: readonly RunWithTurn[] = [];
  for (;;) {
    const found = dataVersion(db);
    if (found !== version) {
      version = found;
      runs = turns.flatMap((name) => readNamed(name, db));
      onProgress?.(runs);
    }
    const nowMs = world.now().getTime();
    const isOver = ({ turn }: RunWithTurn) =>
      isTerminal(turn.state) && !(untilAnnounced && isAnnouncing(turn.runId, turn.number, nowMs, db));
    if (runs.every(isOver)) return { kind: 'ended', runs };
    const leftMs = endMs - performance.now();
    if (leftMs <= 0 || signal?.aborted) return { kind: 'timeout', runs };
    // An abort ends it early, without an error.
    await sleep(Math.min(LOOK_MS, leftMs), undefined, signal && { signal }).catch(() => {});
  }
}

function readNamed({ runId, turn: number }: TurnName, db: Sqlite): RunWithTurn[] {
  const run = getRun(runId, db)?.run;
  const turn = getTurn(runId, number, db);
  return run === undefined || turn === undefined ? [] : [{ run, turn }];
}
