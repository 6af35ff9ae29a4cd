import { setTimeout as sleep } from 'node:timers/promises';
import type { Sqlite } from '../database/sqlite.ts';
import { isJudged, RUN_VARIABLE } from '../system/process-identity.ts';
import { withMarker } from '../system/processes.ts';
import { pathExists } from '../system/runtime-bun.ts';
import { isKeyOfRun, type Requester, type RunWithTurn, type TurnName } from './model/run.ts';
import { isTerminal, type Stop, type Turn, turnMark } from './model/turn.ts';
import { reconcile, reconcileAndArchive, reconcileRegularly } from './reconcile.ts';
import { ownRun, refusalInside } from './requester.ts';
import { isAnnouncing, waitingAnnouncements } from './store/outbox.ts';
import { dataVersion, LOOK_MS, openRunsDb, readRuns, runsTransaction } from './store/rows.ts';
import { getRun } from './store/runs.ts';
import {
  announceEnd,
  awaitedTurns,
  endTurn,
  getTurn,
  requestStop,
  requestStopAll,
  requestStopOfTurn,
  turnsOf,
  unstoppedRuns,
  WHOLE_PROJECT,
} from './store/turns.ts';
import type { Refusal, RunsWorld } from './world.ts';

/**
 * `all`: all runs of the caller's session, `project`: all runs of the project; what of them is queued never starts. `turn`:
 * this one alone, so that what waits behind it comes next.
 */
export type StopTarget =
  | { readonly kind: 'all' | 'project' }
  | (TurnName & { readonly kind: 'turn' })
  | { readonly kind: 'run'; readonly runId: string };

export type StopAnswer =
  | {
      readonly status: 'done';
      readonly stopped: readonly StoppedRun[];
      readonly alreadyFinished: readonly RunName[];
      readonly failedToStop: readonly (RunName & { readonly reason: string })[];
      /** Processes of these runs that still live. */
      readonly survivors: readonly { readonly runId: string; readonly pid: number }[];
      /** Of `all`: how many runs of other sessions work or wait. */
      readonly othersActive: number;
    }
  | Refusal;

type RunName = { readonly runId: string; readonly number: number };

/** What was stopped: whether the run's work was, and how many waiting messages. */
type StoppedRun = RunName & { readonly work: boolean; readonly waitingMessages: number };

/** Covers a restart of the supervisor and the grace periods of SIGTERM and SIGKILL. */
const STOP_TIMEOUT_MS = 40_000;

/** Stops runs, announces that to other sessions that asked for them, and resolves when their processes are gone or have survived SIGKILL. */
export async function stopRuns(
  target: StopTarget,
  requester: Requester,
  by: string,
  world: RunsWorld,
): Promise<StopAnswer> {
  const inside = refusalInside('subagents stop', world);
  if (inside !== undefined) return inside;
  const session = requester.session ?? '';
  const stop: Stop = { reason: 'requested', by, session, atMs: world.now().getTime() };
  const request = requestStops(target, requester, stop, world);
  if ('status' in request) return request;
  const names = request.turns.map(({ runId, number: turn }) => ({ runId, turn }));
  let { kind, runs } = await waitForRuns(names, { timeoutMs: STOP_TIMEOUT_MS }, world);
  if (kind === 'timeout' && giveUpUnseen(names, world).length > 0)
    ({ runs } = await waitForRuns(names, { timeoutMs: 0 }, world));
  reconcile(world); // Also marks the inboxes of those who are told.
  return answerOf(runs, request);
}

/** Stops those of these turns that wait still, at once; returns them. One that has begun goes on. */
export function dropTurns(
  names: readonly TurnName[],
  requester: Requester,
  by: string,
  world: RunsWorld,
): { readonly status: 'done'; readonly dropped: readonly TurnName[] } | Refusal {
  const inside = refusalInside('queue', world);
  if (inside !== undefined) return inside;
  const session = requester.session ?? '';
  const stop: Stop = { reason: 'requested', by, session, atMs: world.now().getTime() };
  return runsTransaction(world.paths, (db) => {
    const found = names.map(({ runId }) => ownRun(runId, requester, db));
    const refusal = found.find((one) => 'status' in one);
    if (refusal !== undefined) return refusal;
    const dropped = names.filter((name) => requestStopOfTurn(name, 'waiting', stop, db) !== undefined);
    return { status: 'done', dropped };
  });
}

type StopRequest = { turns: readonly Turn[]; finished: readonly RunName[]; othersActive: number };

/** Writes the stop for every turn of the target, in one transaction. Returns the turns that were active. */
function requestStops(
  target: StopTarget,
  requester: Requester,
  stop: Stop,
  { paths }: RunsWorld,
): StopRequest | Refusal {
  if (!pathExists(paths.runsDatabase)) {
    if (!('runId' in target)) return { turns: [], finished: [], othersActive: 0 };
    return { status: 'error', error: `Unknown subagent id: ${target.runId}` };
  }
  return runsTransaction(paths, (db) => {
    if (!('runId' in target)) {
      const session = target.kind === 'project' ? WHOLE_PROJECT : (requester.session ?? '');
      const turns = requestStopAll(requester.key, session, stop, db);
      return { turns, finished: [], othersActive: unstoppedRuns(requester.key, db) };
    }
    const own = ownRun(target.runId, requester, db);
    if ('status' in own) return own;
    const { id: runId, number } = own.run;
    const turns =
      target.kind === 'turn'
        ? [requestStopOfTurn(target, 'any', stop, db)].flatMap((turn) => turn ?? [])
        : requestStop(runId, stop, db);
    return { turns, finished: turns.length === 0 ? [{ runId, number }] : [], othersActive: 0 };
  });
}

function answerOf(runs: readonly RunWithTurn[], { finished, othersActive }: StopRequest): StopAnswer {
  const stopped: StoppedRun[] = [];
  const alreadyFinished = [...finished];
  const failedToStop: (RunName & { reason: string })[] = [];
  const survivors: { runId: string; pid: number }[] = [];
  for (const [runId, own] of Map.groupBy(runs, ({ run }) => run.id)) {
    const name = { runId, number: own[0]?.run.number ?? 0 };
    const turns = own.map(({ turn }) => turn);
    const living = turns.flatMap(processesOf);
    survivors.push(...living.map((pid) => ({ runId, pid })));
    const reason = failureOf(turns, living);
    // The announce step only puts into words what has ended before; and a turn may end by itself before it is stopped.
    const ended = turns.filter(({ kind, state }) => kind !== 'announce' && state === 'stopped');
    // A message that had no slot yet waited; all else is the run's work.
    const waitingMessages = ended.filter((one) => one.kind === 'send' && one.claimedAtMs === null).length;
    if (reason !== undefined) failedToStop.push({ ...name, reason });
    else if (isKeyOfRun(own[0]?.run.requester.key ?? ''))
      continue; // Of a plan that was stopped, which is named itself.
    else if (ended.length === 0) alreadyFinished.push(name);
    else stopped.push({ ...name, work: waitingMessages < ended.length, waitingMessages });
  }
  return { status: 'done', stopped, alreadyFinished, failedToStop, survivors, othersActive };
}

/** Why a run counts as not stopped; undefined: it is stopped. */
function failureOf(turns: readonly Turn[], living: readonly number[]): string | undefined {
  if (!turns.every(({ state }) => isTerminal(state)))
    return `it had not ended ${STOP_TIMEOUT_MS / 1000} seconds later`;
  if (living.length > 0) return `processes outlived SIGKILL: ${living.join(', ')}`;
  const lost = turns.find(({ kind, state }) => kind !== 'announce' && state === 'lost');
  return lost && (lost.error ?? 'nobody knows whether it has ended');
}

/** The processes that carry the turn's mark in their environment. */
function processesOf(turn: Turn): number[] {
  return turn.launchedAtMs === null ? [] : withMarker({ name: RUN_VARIABLE, value: turnMark(turn) });
}

/**
 * Ends, as lost, those of these turns that belong to a container or sandbox which no longer answers: its processes cannot
 * be seen from here. Call it after its supervisor has had time to end them. Signals no process. Returns these turns.
 */
export function giveUpUnseen(names: readonly TurnName[], { paths, now }: RunsWorld): Turn[] {
  return runsTransaction(paths, (db) =>
    names.flatMap(({ runId, turn: number }) => {
      const turn = getTurn(runId, number, db);
      if (turn === undefined || isTerminal(turn.state)) return [];
      const isSeen = [turn.owner, turn.process].every((one) => one === null || isJudged(one));
      if (isSeen) return [];
      const error = 'Its container or sandbox does not answer: what runs there is not known';
      const ending = { ...turn, outcome: 'lost', error, exit: null, endedAtMs: now().getTime() } as const;
      const ended = endTurn(turn, ending, null, db);
      if (ended !== undefined && ended.kind !== 'announce') announceEnd(ended, ending, db);
      return ended ?? [];
    }),
  );
}

export type WaitOptions = {
  /** Null: as long as it takes. */
  readonly timeoutMs: number | null;
  /** Also until their announcements are worded and can be delivered. */
  readonly untilAnnounced?: boolean;
  /** Aborts the wait. */
  readonly signal?: AbortSignal;
  /** How often it is looked; otherwise as everybody does. */
  readonly lookMs?: number;
  /** Called whenever something in the database has changed. */
  readonly onProgress?: (runs: readonly RunWithTurn[]) => void;
};

/** In the order in which they were asked for, each with the turn that was asked for. */
export type WaitAnswer = { readonly kind: 'ended' | 'timeout'; readonly runs: readonly RunWithTurn[] };

/** Resolves when all of these turns that exist have ended, the time is over, or the wait is aborted; reconciles meanwhile. */
export async function waitForRuns(
  turns: readonly TurnName[],
  { timeoutMs, untilAnnounced = false, signal, lookMs = LOOK_MS, onProgress }: WaitOptions,
  world: RunsWorld,
): Promise<WaitAnswer> {
  if (!pathExists(world.paths.runsDatabase)) return { kind: 'ended', runs: [] };
  // One connection for the whole wait: data_version tells only an open one of the writes of others.
  const db = openRunsDb(world.paths);
  reconcileAndArchive(world);
  const stopReconciling = reconcileRegularly(world);
  const endMs = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  let version: number | undefined;
  let runs: readonly RunWithTurn[] = [];
  try {
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
      await sleep(Math.min(lookMs, leftMs), undefined, signal && { signal }).catch(() => {});
    }
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

function readNamed({ runId, turn: number }: TurnName, db: Sqlite): RunWithTurn[] {
  const run = getRun(runId, db)?.run;
  const turn = getTurn(runId, number, db);
  return run === undefined || turn === undefined ? [] : [{ run, turn }];
}
