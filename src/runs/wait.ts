import { setTimeout as sleep } from 'node:timers/promises';
import type { Sqlite } from '../database/sqlite.ts';
import { pathExists } from '../system/runtime-bun.ts';
import type { Requester, RunWithTurn, TurnName } from './model/run.ts';
import { isTerminal } from './model/turn.ts';
import { reconcileAndArchive, reconcileRegularly } from './reconcile.ts';
import { isAnnouncing, waitingAnnouncements } from './store/outbox.ts';
import { getRun } from './store/runs.ts';
import { dataVersion, openRunsDb, readRuns } from './store/runs-db.ts';
import { awaitedTurns, getTurn, turnsOf } from './store/turns.ts';
import type { RunsWorld } from './world.ts';

export type WaitOptions = {
  /** Null: as long as it takes. */
  readonly timeoutMs: number | null;
  /** Also until what they have to tell has been put into words, and can be handed out. */
  readonly untilAnnounced?: boolean;
  /** Given up before the time is over. */
  readonly signal?: AbortSignal;
  /** Called now and then with how things stand. */
  readonly onProgress?: (runs: readonly RunWithTurn[]) => void;
};

/** In the order in which they were asked for, each with the turn that was asked for. */
export type WaitAnswer = { readonly kind: 'ended' | 'timeout'; readonly runs: readonly RunWithTurn[] };

/** How often it is looked whether anything was written; that alone costs next to nothing. */
const LOOK_MS = 200;

/**
 * Resolves when every one of these turns has ended, or the time is over, or it is called off; looks after all runs
 * meanwhile. A turn that there is not counts as ended and is left out.
 */
export async function waitForRuns(
  turns: readonly TurnName[],
  options: WaitOptions,
  world: RunsWorld,
): Promise<WaitAnswer> {
  if (!pathExists(world.paths.runsDatabase)) return { kind: 'ended', runs: [] };
  // One connection for all of it: only one that stays open tells what others have written since it last looked.
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

/** The turns that work or wait, and those whose end this session was not told; of one run without any, its newest turn. */
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
    // Ends early, and not with an error, when it is called off.
    await sleep(Math.min(LOOK_MS, leftMs), undefined, signal && { signal }).catch(() => {});
  }
}

function readNamed({ runId, turn: number }: TurnName, db: Sqlite): RunWithTurn[] {
  const run = getRun(runId, db)?.run;
  const turn = getTurn(runId, number, db);
  return run === undefined || turn === undefined ? [] : [{ run, turn }];
}
