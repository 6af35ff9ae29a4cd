import type { Requester } from '../core/runs/run.ts';
import { isTerminal, RUN_VARIABLE, type Stop, type Turn, turnMark } from '../core/runs/turn.ts';
import { getRun } from '../store/runs/runs.ts';
import { withRuns } from '../store/runs/runs-db.ts';
import { endTurn, getTurn, requestStop, requestStopAll, type StopResult } from '../store/runs/turns.ts';
import type { Sqlite } from '../store/sqlite.ts';
import { isJudged } from '../sys/process-identity.ts';
import { withMarker } from '../sys/process-tree.ts';
import { pathExists } from '../sys/runtime-bun.ts';
import type { Refusal, RunName, RunsWorld, StopAnswer, StopTarget, TurnName } from './features.ts';
import { ownRun, refusalInside } from './own-run.ts';
import { waitForRuns } from './wait.ts';

/** The supervisor may have to be started again; then asking, SIGTERM and SIGKILL have their grace. */
const STOP_TIMEOUT_MS = 40_000;

type Requested = { readonly name: RunName; readonly result: StopResult };

type Request =
  | { readonly kind: 'requested'; readonly requested: readonly Requested[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * Writes down that runs are to stop, and resolves when every process of theirs is gone or has outlived its grace. With
 * `all`, nothing that was asked for before starts any more, also what is only being written down now.
 */
export async function stopRuns(
  target: StopTarget,
  requester: Requester,
  by: string,
  world: RunsWorld,
): Promise<StopAnswer> {
  const inside = refusalInside('subagents stop', world);
  if (inside !== undefined) return inside;
  const stop: Stop = { reason: 'requested', by, atMs: world.now().getTime() };
  const request = requestStops(target, requester, stop, world);
  if (request.kind === 'refused') return request.refusal;
  const turns = request.requested.flatMap(({ result }) => result.turns);
  const names = turns.map(({ runId, number: turn }) => ({ runId, turn }));
  const { kind, runs } = await waitForRuns(names, { timeoutMs: STOP_TIMEOUT_MS }, world);
  const ended = runs.map(({ turn }) => turn);
  const givenUp = kind === 'timeout' ? giveUpUnseen(names, world) : [];
  const isGivenUp = ({ runId, number }: Turn) =>
    givenUp.some((one) => one.runId === runId && one.number === number);
  return answerOf(request.requested, [...ended.filter((turn) => !isGivenUp(turn)), ...givenUp]);
}

/** One transaction, whatever the target. */
function requestStops(target: StopTarget, requester: Requester, stop: Stop, { paths }: RunsWorld): Request {
  if (!pathExists(paths.runsDatabase)) return withoutDatabase(target);
  return withRuns(paths, (db) =>
    db.transaction(() => {
      if (target.kind === 'all') {
        const results = [...requestStopAll(requester.key, stop, db)];
        const requested = results.map(([runId, result]) => ({ name: nameOf(runId, db), result }));
        return { kind: 'requested', requested };
      }
      const own = ownRun(target.runId, requester, db);
      if (own.kind === 'refused') return own;
      const name = { runId: own.run.id, number: own.run.number };
      return { kind: 'requested', requested: [{ name, result: requestStop(own.run.id, stop, db) }] };
    }),
  );
}

function withoutDatabase(target: StopTarget): Request {
  if (target.kind === 'all') return { kind: 'requested', requested: [] };
  const error = `Unknown subagent id: ${target.runId}`;
  return { kind: 'refused', refusal: { status: 'error', error } };
}

function nameOf(runId: string, db: Sqlite): RunName {
  return { runId, number: getRun(runId, db)?.run.number ?? 0 };
}

type Outcome = 'stopped' | 'already-finished' | { readonly reason: string };

function answerOf(requested: readonly Requested[], turns: readonly Turn[]): StopAnswer {
  const stopped: RunName[] = [];
  const alreadyFinished: RunName[] = [];
  const failedToStop: (RunName & { reason: string })[] = [];
  const survivors: { runId: string; pid: number }[] = [];
  for (const { name, result } of requested) {
    const own = turns.filter(({ runId }) => runId === name.runId);
    const living = own.flatMap(processesOf);
    survivors.push(...living.map((pid) => ({ runId: name.runId, pid })));
    const outcome = outcomeOf(result, own, living);
    if (outcome === 'stopped') stopped.push(name);
    else if (outcome === 'already-finished') alreadyFinished.push(name);
    else failedToStop.push({ ...name, ...outcome });
  }
  return { status: 'done', stopped, alreadyFinished, failedToStop, survivors };
}

function outcomeOf(result: StopResult, turns: readonly Turn[], living: readonly number[]): Outcome {
  if (result.kind === 'already-finished') return 'already-finished';
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
        const ending = { outcome: 'lost', result: turn.result, error, exit: null } as const;
        const rest = { notes: turn.notes, usage: turn.usage, endedAtMs: now().getTime() };
        return endTurn(turn, { ...ending, ...rest }, null, db) ?? [];
      }),
    ),
  );
}

function isUnseen({ owner, process }: Turn): boolean {
  return [owner, process].some((identity) => identity !== null && !isJudged(identity));
}
