import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../core/guards.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import type { Requester, TurnName } from '../model/run.ts';
import { turnFiles } from '../model/run.ts';
import { endReason, isTerminal, type Turn } from '../model/turn.ts';
import { sendToRun } from '../send.ts';
import { spawnRun } from '../spawn.ts';
import { stopRuns } from '../stop.ts';
import { dataVersion } from '../store/rows.ts';
import { runOfPart } from '../store/runs.ts';
import { getTurn } from '../store/turns.ts';
import { logRunFailure, type RunsWorld } from '../world.ts';
import type { Link } from './link.ts';
import type { PoolQueue } from './queue.ts';
import { type PoolSpec, readSpec } from './spec.ts';
import {
  type AwayEnd,
  type Claimed,
  endRun,
  putPiece,
  type Stream,
  type WorkerKey,
} from './store/pool-store.ts';
import { changesIn, type Places, type Workplace, workplaceFor } from './workplace.ts';

/** One turn of somebody else, done by this machine's own background runs. */

const LOOK_MS = 10;
/** Output is sent when so much time has passed, in such pieces. */
const SEND_EVERY_MS = 150;
const PIECE_BYTES = 256 * 1024;
/** A full disk may have room later. */
const STOP_TRIES_MAX = 300;
const STOP_AGAIN_MS = 1000;

/** Why a run is given up before it has ended. `lost`: the server has given it up, and what comes of it is thrown away. */
export type GivenUp = 'stop' | 'lost' | 'shutdown';

export type Serving = {
  readonly world: RunsWorld;
  /** Open as long as the worker works. */
  readonly db: Sqlite;
  readonly link: Link<PoolQueue>;
  /** As the run was taken. */
  readonly worker: WorkerKey;
  readonly places: Places;
  /** As whom the worker asks for its runs. */
  readonly requester: Requester;
  /** What the worker's user lets them do besides. */
  readonly grants: readonly string[] | undefined;
  /** Aborted with a GivenUp. */
  readonly signal: AbortSignal;
};

/** Does the turn to its end, and says so to the server; `lost` when nobody wants to hear of it. Never throws. */
export async function serveRun(claimed: Claimed, serving: Serving): Promise<AwayEnd['outcome']> {
  const { link, worker, world } = serving;
  let end: AwayEnd | undefined;
  try {
    end = await perform(claimed, serving);
  } catch (error) {
    logRunFailure(claimed.id, error, world.paths);
    end = failed(reasonOf(error));
  }
  const done = end;
  if (done === undefined || serving.signal.reason === 'lost') return 'lost';
  try {
    return (await link.do(({ server }) => endRun(worker, claimed.id, done, server))) ? done.outcome : 'lost';
  } catch (error) {
    logRunFailure(claimed.id, error, world.paths);
    return 'lost';
  }
}

function failed(error: string, outcome: AwayEnd['outcome'] = 'error'): AwayEnd {
  return { outcome, error, code: null, signal: null, patchBytes: 0 };
}

/** Undefined: the server has given it up. */
async function perform(claimed: Claimed, serving: Serving): Promise<AwayEnd | undefined> {
  const read = readSpec(claimed.spec);
  if (read.kind === 'wrong') return failed(read.reason);
  const { spec } = read;
  const place = await workplaceFor(claimed.line, spec, serving.places);
  if (serving.signal.aborted) return givenUp(serving.signal.reason);
  const begun = begin(claimed, spec, place, serving);
  if ('error' in begun) return failed(begun.error);
  const turn = await follow(begun, claimed.id, serving);
  if (turn === undefined) return undefined;
  const changes = await changesIn(place, serving.world.env);
  if (changes.patch !== null && changes.patch.length > 0) {
    const answer = await send('patch', 0, changes.patch, claimed.id, serving);
    if (answer === 'lost') return undefined;
    if (answer === 'full') return { ...endOf(turn), error: TOO_MUCH, outcome: 'error' };
  }
  return { ...endOf(turn), patchBytes: changes.size };
}

const TOO_MUCH = 'more came of it than a team keeps of one run: 256 MiB';

function givenUp(why: GivenUp): AwayEnd | undefined {
  if (why === 'lost') return undefined;
  return failed(why === 'stop' ? 'stopped before it started' : 'the worker was ended', 'stopped');
}

function endOf(turn: Turn): AwayEnd {
  const outcome = isTerminal(turn.state) ? turn.state : 'lost';
  const { code, signal } = turn.exit ?? { code: null, signal: null };
  return {
    outcome,
    error: outcome === 'success' ? null : (endReason(turn) ?? null),
    code,
    signal,
    patchBytes: 0,
  };
}

/** Begins it as a run of this machine, once by its id. */
function begin(
  { id, line }: Claimed,
  spec: PoolSpec,
  { cwd }: Workplace,
  { world, db, requester, grants, worker }: Serving,
): TurnName | { readonly error: string } {
  const part = { kind: 'pool', id: line, name: 'session' } as const;
  const { policy, permissions, prompt, budgetUsd } = spec;
  if (spec.session === 'goes on') {
    const known = runOfPart(part, db);
    if (known === undefined) return { error: 'its session is not kept any more: use retry' };
    const sent = sendToRun(known.run.id, prompt, requester, world, { name: id, permissions });
    return sent.status === 'accepted' ? { runId: sent.runId, turn: sent.turn } : { error: sent.error };
  }
  const answer = spawnRun(
    {
      task: prompt,
      client: spec.client,
      model: spec.model ?? undefined,
      thinking: spec.thinking ?? undefined,
      runTimeoutSeconds: shorter(spec.timeoutMs / 1000, loadRunSettings(world.paths).runTimeoutSeconds),
      permissions: grants,
      service: { kind: 'served', worker: worker.id, budgetUsd, policy, permissions },
      ...{ cwd, part, worktree: 'never', cleanup: 'keep' },
    },
    { ...requester, cwd },
    world,
  );
  return answer.status === 'accepted' ? { runId: answer.runId, turn: 1 } : { error: answer.error };
}

/** The shorter of two limits; 0: none. */
function shorter(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);
}

/** Sends what the client writes until the turn has ended here. Undefined: the server has given it up. */
async function follow(name: TurnName, id: string, serving: Serving): Promise<Turn | undefined> {
  const { world, db, signal } = serving;
  const { output, errors } = turnFiles(world.paths, name.runId, name.turn);
  const streams: readonly { stream: Stream; path: string; sent: number }[] = [
    { stream: 'out', path: output, sent: 0 },
    { stream: 'err', path: errors, sent: 0 },
  ];
  let stopping: Promise<unknown> | undefined;
  let sentAtMs = performance.now();
  let isFull = false;
  let version: number | undefined;
  let turn: Turn | undefined;
  for (;;) {
    // Before its files are read: then all that the client wrote is in them.
    const found = dataVersion(db);
    if (found !== version || stopping !== undefined) turn = getTurn(name.runId, name.turn, db);
    version = found;
    if (turn === undefined) throw new Error('its row is gone');
    const isOver = isTerminal(turn.state);
    if (signal.aborted || isFull)
      stopping ??= stop(name, isFull ? TOO_MUCH : wordsFor(signal.reason), serving);
    if (signal.reason === 'lost') {
      await stopping;
      return undefined;
    }
    if (isOver || (performance.now() - sentAtMs > SEND_EVERY_MS && !serving.link.isAway)) {
      for (const one of streams) {
        for (
          let piece = readAt(one.path, one.sent);
          piece.length > 0 && !isFull;
          piece = readAt(one.path, one.sent)
        ) {
          const answer = await send(one.stream, one.sent, piece, id, serving);
          if (answer === 'lost') {
            await stop(name, wordsFor('lost'), serving);
            return undefined;
          }
          isFull = answer === 'full';
          one.sent += piece.length;
        }
      }
      sentAtMs = performance.now();
    }
    if (isOver) {
      await stopping;
      return isFull ? { ...turn, state: 'error', error: TOO_MUCH } : turn;
    }
    await sleep(LOOK_MS);
  }
}

function wordsFor(why: GivenUp): string {
  if (why === 'stop') return 'who asked for it';
  return why === 'lost' ? 'the worker: the team has given it up' : 'the end of the worker';
}

/** Resolves when no process of it is left, or nothing can be written here for long. Never throws. */
async function stop({ runId, turn }: TurnName, by: string, { requester, world }: Serving): Promise<void> {
  for (let tries = 1; tries <= STOP_TRIES_MAX; tries++) {
    try {
      await stopRuns({ kind: 'turn', runId, turn }, requester, by, world);
      return;
    } catch (error) {
      if (tries === 1) logRunFailure(runId, error, world.paths);
      await sleep(STOP_AGAIN_MS);
    }
  }
}

async function send(stream: Stream, at: number, bytes: Uint8Array, id: string, { link, worker }: Serving) {
  for (let sent = 0; sent < bytes.length; sent += PIECE_BYTES) {
    const piece = { stream, at: at + sent, bytes: bytes.subarray(sent, sent + PIECE_BYTES) };
    const answer = await link.do(({ server }) => putPiece(worker, id, piece, server));
    if (answer !== 'ok') return answer;
  }
  return 'ok';
}

/** What stands in the file from there on, and so much at the most. */
function readAt(path: string, at: number): Uint8Array {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Uint8Array(); // It is not started yet.
    throw error;
  }
  try {
    const length = Math.min(Math.max(0, fstatSync(file).size - at), PIECE_BYTES);
    const bytes = new Uint8Array(length);
    return bytes.subarray(0, length === 0 ? 0 : readSync(file, bytes, 0, length, at));
  } finally {
    closeSync(file);
  }
}
