import { isJudged, RUN_VARIABLE } from '../system/process-identity.ts';
import { withMarker } from '../system/processes.ts';
import { pathExists } from '../system/runtime-bun.ts';
import type { Requester, RunWithTurn } from './model/run.ts';
import { isTerminal, type Stop, type Turn, turnMark } from './model/turn.ts';
import { lookAfterRuns } from './reconcile.ts';
import { ownRun, refusalInside } from './requester.ts';
import { WHOLE_PROJECT } from './store/listeners.ts';
import { withRuns } from './store/runs-db.ts';
import { announceEnd, endTurn, getTurn, requestStop, requestStopAll, unstoppedRuns } from './store/turns.ts';
import { waitForRuns } from './wait.ts';
import type { Refusal, RunName, RunsWorld, StopAnswer, StoppedRun, StopTarget, TurnName } from './world.ts';

/** The supervisor may have to be started again; then asking, SIGTERM and SIGKILL have their grace. */
const STOP_TIMEOUT_MS = 40_000;

/** Stops runs, tells whoever else asked for them, and resolves when their processes are gone or have outlived their grace. */
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
  lookAfterRuns(world); // Also leaves the sign for those who are told.
  return answerOf(runs, request);
}

type Request = {
  /** Those that were active. */
  readonly turns: readonly Turn[];
  readonly finished: readonly RunName[];
  readonly othersActive: number;
};

/** One transaction, whatever the target. */
function requestStops(
  target: StopTarget,
  requester: Requester,
  stop: Stop,
  { paths }: RunsWorld,
): Request | Refusal {
  if (!pathExists(paths.runsDatabase)) {
    if (target.kind !== 'run') return { turns: [], finished: [], othersActive: 0 };
    return { status: 'error', error: `Unknown subagent id: ${target.runId}` };
  }
  return withRuns(paths, (db) =>
    db.transaction(() => {
      if (target.kind !== 'run') {
        const session = target.kind === 'project' ? WHOLE_PROJECT : (requester.session ?? '');
        const turns = requestStopAll(requester.key, session, stop, db);
        return { turns, finished: [], othersActive: unstoppedRuns(requester.key, db) };
      }
      const own = ownRun(target.runId, requester, db);
      if ('status' in own) return own;
      const { id: runId, number } = own.run;
      const turns = requestStop(runId, stop, db);
      return { turns, finished: turns.length === 0 ? [{ runId, number }] : [], othersActive: 0 };
    }),
  );
}

function answerOf(runs: readonly RunWithTurn[], { finished, othersActive }: Request): StopAnswer {
  const stopped: StoppedRun[] = [];
  const alreadyFinished = [...finished];
  const failedToStop: (RunName & { reason: string })[] = [];
  const survivors: { runId: string; pid: number }[] = [];
  for (const [runId, own] of Map.groupBy(runs, ({ run }) => run.id)) {
    const name = { runId, number: own[0]?.run.number ?? 0 };
    const turns = own.map(({ turn }) => turn);
    const living = turns.flatMap(processesOf);
    survivors.push(...living.map((pid) => ({ runId, pid })));
    const outcome = outcomeOf(turns, living);
    if (outcome === 'stopped') stopped.push({ ...name, ...partsOf(turns) });
    else if (outcome === 'already-finished') alreadyFinished.push(name);
    else failedToStop.push({ ...name, reason: outcome.reason });
  }
  return { status: 'done', stopped, alreadyFinished, failedToStop, survivors, othersActive };
}

/** A message that had no slot yet waited; all else is the run's work. */
function partsOf(turns: readonly Turn[]): Pick<StoppedRun, 'work' | 'waitingMessages'> {
  const ended = turns.filter(({ kind, state }) => kind !== 'announce' && state === 'stopped');
  const waited = ended.filter(({ kind, claimedAtMs }) => kind === 'send' && claimedAtMs === null);
  return { work: waited.length < ended.length, waitingMessages: waited.length };
}

function outcomeOf(
  turns: readonly Turn[],
  living: readonly number[],
): 'stopped' | 'already-finished' | { readonly reason: string } {
  if (!turns.every(({ state }) => isTerminal(state))) {
    return { reason: `it had not ended ${STOP_TIMEOUT_MS / 1000} seconds later` };
  }
  if (living.length > 0) return { reason: `processes outlived SIGKILL: ${living.join(', ')}` };
  const lost = turns.find(({ kind, state }) => kind !== 'announce' && state === 'lost');
  if (lost !== undefined) return { reason: lost.error ?? 'nobody knows whether it has ended' };
  // The announce step only puts into words what has ended before; and a turn may end by itself before it is stopped.
  const isStopped = turns.some(({ kind, state }) => kind !== 'announce' && state === 'stopped');
  return isStopped ? 'stopped' : 'already-finished';
}

/** What still carries the turn's mark in its environment. */
function processesOf(turn: Turn): number[] {
  return turn.launchedAtMs === null ? [] : withMarker({ name: RUN_VARIABLE, value: turnMark(turn) });
}

/**
 * Ends the turns among these that belong to a container or a sandbox which no longer answers: from here nobody can see
 * whether its processes live, and only a supervisor there could have ended them. To be called when that has had its time.
 * No process is signalled. Gives those that were given up.
 */
export function giveUpUnseen(names: readonly TurnName[], { paths, now }: RunsWorld): Turn[] {
  return withRuns(paths, (db) =>
    db.transaction(() =>
      names.flatMap(({ runId, turn: number }) => {
        const turn = getTurn(runId, number, db);
        if (turn === undefined || isTerminal(turn.state) || !isUnseen(turn)) return [];
        const error = 'Its container or sandbox does not answer: what runs there is not known';
        const endedAtMs = now().getTime();
        const { result, notes, usage } = turn;
        const ending = { outcome: 'lost', result, error, notes, usage, exit: null, endedAtMs } as const;
        const ended = endTurn(turn, ending, null, db);
        if (ended !== undefined && ended.kind !== 'announce') announceEnd(ended, ending, db);
        return ended ?? [];
      }),
    ),
  );
}

function isUnseen({ owner, process }: Turn): boolean {
  return [owner, process].some((identity) => identity !== null && !isJudged(identity));
}
