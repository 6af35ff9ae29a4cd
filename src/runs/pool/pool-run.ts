import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { parseJson, reasonOf } from '../../core/guards.ts';
import { connectServer } from '../../database/postgres.ts';
import { type Membership, openTeamServer, readMembership } from '../../team/membership.ts';
import { type Run, type TurnFiles, turnFiles } from '../model/run.ts';
import { isTerminal } from '../model/turn.ts';
import { readRuns } from '../store/rows.ts';
import { getRun } from '../store/runs.ts';
import { getTurn } from '../store/turns.ts';
import { logRunFailure, type RunsWorld, runsWorld, thisProcess } from '../world.ts';
import { type WrittenEnd, writeAwayEnd } from './away-end.ts';
import { bringBack } from './bring-back.ts';
import { Link } from './link.ts';
import { type PoolSpec, poolRunId, readSpec, worksAway } from './spec.ts';
import {
  type AwayState,
  askFor,
  ownActive,
  readAway,
  reap,
  type Stream,
  stopAway,
} from './store/pool-store.ts';
import { PATCH_BYTES_MAX } from './workplace.ts';

/**
 * The process that stands where a client would, for a turn on another machine: it asks for the turn, writes what the client
 * there writes, and brings the changes of files back. Its supervisor sees a client like any other.
 */

/** Without a notification it is looked so often. */
const LOOK_MS = 2000;
const REAP_EVERY_MS = 5000;

/** `pool-run RUN TURN`, with what is to be done on standard input. Never comes back. */
export async function poolRunProcess([, runId = '', turn]: readonly string[]): Promise<never> {
  const world = runsWorld(thisProcess());
  if (world === undefined) process.exit(1);
  const files = turnFiles(world.paths, runId, Number(turn));
  let end: WrittenEnd;
  try {
    end = await awayTurn({ runId, number: Number(turn), files }, world);
  } catch (error) {
    logRunFailure(runId, error, world.paths);
    end = {
      outcome: 'error',
      error: `it cannot be done on another machine: ${reasonOf(error)}`,
      exit: null,
      notes: [],
    };
  }
  writeAwayEnd(files, end);
  if (end.error !== null) process.stderr.write(`${end.error}\n`);
  process.exit(end.exit?.code ?? (end.outcome === 'success' ? 0 : 1));
}

type TurnHere = { readonly runId: string; readonly number: number; readonly files: TurnFiles };

/** What a running turn works with. */
type Waiting = {
  readonly here: TurnHere;
  readonly id: string;
  readonly link: Link<void>;
  readonly signals: ReturnType<typeof wakingSignals>;
};

async function awayTurn(here: TurnHere, world: RunsWorld): Promise<WrittenEnd> {
  const read = readSpec(parseJson(readFileSync(0, 'utf8')));
  if (read.kind === 'wrong') throw new Error(read.reason);
  const membership = readMembership(world.paths);
  if (membership === undefined) throw new Error('you are in no team any more');
  const run = readRuns(world.paths, (db) => getRun(here.runId, db)?.run);
  if (run?.pool?.kind !== 'away') throw new Error('this run is for no pool');
  const { pool } = run.pool;
  const signals = wakingSignals();
  const id = poolRunId(here, read.spec);
  const link = linkFor(membership, world, signals, (words) => process.stderr.write(`${words}\n`));
  const waiting: Waiting = { here, id, link, signals };
  try {
    await ask(waiting, { team: membership.team, pool, spec: read.spec });
    void stopLeftBehind(link, world).catch((error) => logRunFailure(here.runId, error, world.paths));
    const state = await follow(waiting);
    return await concluded(state, waiting, run, world);
  } finally {
    await link.close();
  }
}

function linkFor(
  membership: Membership,
  world: RunsWorld,
  signals: ReturnType<typeof wakingSignals>,
  onTrouble: (words: string) => void,
): Link<void> {
  return new Link({
    connect: () => openTeamServer(membership, world.env, connectServer),
    prepare: (server) => server.listen('self_generation_pool', signals.heard),
    onTrouble,
  });
}

function ask(
  { here, id, link }: Waiting,
  { team, pool, spec }: { readonly team: string; readonly pool: string; readonly spec: PoolSpec },
): Promise<void> {
  const asked = { id, team, pool, origin: here.runId, turn: here.number, session: spec.session, spec };
  return link.do(({ server }) => askFor(asked, server));
}

/** Writes what comes until the turn has ended and all of it is here. */
async function follow({ here, id, link, signals }: Waiting): Promise<AwayState> {
  const arrived: Record<Stream, number> = { out: 0, err: 0, patch: 0 };
  const patch = patchFile(here.files);
  rmSync(patch, { force: true });
  const patchHandle = openSync(patch, 'a', 0o600);
  const handles: Readonly<Record<Stream, number>> = { out: 1, err: 2, patch: patchHandle };
  let isStopAsked = false;
  let reapedAtMs = performance.now();
  try {
    for (;;) {
      if (signals.isStopping() && !isStopAsked) {
        await link.do(({ server }) => stopAway(id, server));
        isStopAsked = true;
      }
      if (performance.now() - reapedAtMs > REAP_EVERY_MS) {
        await link.do(({ server }) => reap(server));
        reapedAtMs = performance.now();
      }
      const state = await link.do(({ server }) => readAway(id, arrived, server));
      if (state === undefined) throw new Error('the server does not know it any more');
      const news = state.pieces.filter(({ stream, at }) => at >= arrived[stream]);
      for (const { stream, at, data } of news) {
        if (at !== arrived[stream]) throw new Error(`a part of what came back is missing: ${stream} ${at}`);
        const bytes = Buffer.from(data, 'base64');
        writeAll(handles[stream], bytes);
        arrived[stream] += bytes.length;
      }
      if (news.length > 0) continue;
      if (state.state !== 'queued' && state.state !== 'running') return state;
      await signals.wait(id, LOOK_MS);
    }
  } finally {
    closeSync(patchHandle);
  }
}

function writeAll(handle: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
}

/** Where the changes of the turn are kept. */
function patchFile({ away }: TurnFiles): string {
  return away.replace(/\.away$/, '.patch');
}

async function concluded(
  state: AwayState,
  { here }: Waiting,
  run: Run,
  world: RunsWorld,
): Promise<WrittenEnd> {
  const where = state.machine === null ? [] : [`worked on the machine "${state.machine}"`];
  if (state.state === 'stopped') return { outcome: 'stopped', error: null, exit: null, notes: [] };
  if (state.state === 'lost') return { outcome: 'lost', error: state.error, exit: null, notes: where };
  const { code, signal, outcome, error, patchBytes } = state;
  const changes = await changesHere(patchBytes ?? 0, here, run, world);
  return {
    outcome: outcome ?? 'error',
    error,
    exit: code === null && signal === null ? null : { code, signal },
    notes: [...where, ...changes],
  };
}

/** Adds the changes to the run's branch; what hinders that, in words. */
async function changesHere(
  bytes: number,
  { files, number }: TurnHere,
  run: Run,
  world: RunsWorld,
): Promise<readonly string[]> {
  const patch = patchFile(files);
  if (bytes > PATCH_BYTES_MAX)
    return [
      `its changes have ${bytes} bytes, and the most that comes back is ${PATCH_BYTES_MAX}: they stayed there`,
    ];
  if (bytes === 0 || !worksAway(run)) {
    rmSync(patch, { force: true });
    return [];
  }
  try {
    const { branch } = await bringBack(patch, number, run, world);
    rmSync(patch, { force: true });
    return [
      `its changes are in the branch ${branch}: "subagents diff ${run.number}" shows them, "merge" takes them over`,
    ];
  } catch (error) {
    return [`its changes are kept as ${patch}: ${reasonOf(error)}`];
  }
}

/** Stops what was asked for by a process that was killed, once nobody here waits for it any more. */
async function stopLeftBehind(link: Link<void>, { paths }: RunsWorld): Promise<void> {
  const active = await link.do(({ server }) => ownActive(server));
  const over = readRuns(paths, (db) =>
    active.filter(({ origin, turn }) => {
      const known = getTurn(origin, turn, db);
      return known !== undefined && isTerminal(known.state);
    }),
  );
  for (const { id } of over ?? []) await link.do(({ server }) => stopAway(id, server));
}

/** What wakes a process that waits: a notification about its run, and being told to stop. */
function wakingSignals() {
  let isStopping = false;
  let hasNews = false;
  let wake = () => {};
  const stop = () => {
    isStopping = true;
    wake();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  const heardOf = new Set<string>();
  return {
    isStopping: () => isStopping,
    heard: (payload: string) => {
      heardOf.add(payload);
      if (heardOf.size > 1000) heardOf.clear();
      hasNews = true;
      wake();
    },
    /** Until there is something about this run, it is told to stop, or so long. */
    wait: async (id: string, timeoutMs: number): Promise<void> => {
      const wasStopping = isStopping;
      const endMs = performance.now() + timeoutMs;
      while (isStopping === wasStopping && !heardOf.delete(`run ${id}`)) {
        const leftMs = endMs - performance.now();
        if (leftMs <= 0) return;
        if (hasNews) {
          hasNews = false;
          continue;
        }
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
  };
}
