import {
  closeSync,
  copyFileSync,
  existsSync,
  fdatasyncSync,
  openSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../core/guards.ts';
import { connectServer } from '../../database/postgres.ts';
import { WakeableSleep } from '../../system/wakeable-sleep.ts';
import { type Membership, openTeamServer, readMembership } from '../../team/membership.ts';
import { type TurnFiles, turnFiles } from '../model/run.ts';
import { isTerminal } from '../model/turn.ts';
import { readRuns } from '../store/rows.ts';
import { getTurn } from '../store/turns.ts';
import { logRunFailure, type RunsWorld } from '../world.ts';
import type { AskedTurn, AwayEnding, BeginAwayTurn } from './away-ending.ts';
import { bringBack, type Target, targetFor } from './bring-back.ts';
import { Link } from './link.ts';
import { poolRunId } from './spec.ts';
import { type AwayState, askFor, ownActive, readAway, reap, stopAway } from './store/pool-store.ts';
import { PATCH_BYTES_MAX } from './workplace.ts';

/**
 * A turn on another machine, as its supervisor here sees it: it asks for the turn, writes what the client there writes, and
 * brings the changes of files back. All of that can be done again: whoever takes the turn over goes on where this one was.
 */

/** Without a notification it is looked so often. */
const LOOK_MS = 2000;
const REAP_EVERY_MS = 5000;
/** So long after it was to be asked for, it is asked for by who comes next. */
const ASK_AGAIN_MS = 600_000;
const STOP_MS = 5000;

/** Asks for the turn, unless that was done before, and comes to its end. */
export const beginAwayTurn: BeginAwayTurn = (asked) => {
  const signals = wakingSignals();
  const ended = comeToEnd(asked, signals).catch((error): AwayEnding => {
    if (error instanceof Gone) return { outcome: 'lost', error: error.message, exit: null, notes: [] };
    logRunFailure(asked.run.id, error, asked.world.paths);
    const words = `it cannot be done on another machine: ${reasonOf(error)}`;
    return { outcome: 'error', error: words, exit: null, notes: [] };
  });
  return { ended, stop: signals.stop };
};

type Signals = ReturnType<typeof wakingSignals>;

/** What a running turn works with. */
type Waiting = {
  readonly id: string;
  readonly files: TurnFiles;
  readonly link: Link<void>;
  readonly signals: Signals;
};

async function comeToEnd(asked: AskedTurn, signals: Signals): Promise<AwayEnding> {
  const { run, number, spec, world } = asked;
  const membership = readMembership(world.paths);
  if (membership === undefined) throw new Error('you are in no team any more');
  const files = turnFiles(world.paths, run.id, number);
  const hasAsked = () => existsSync(askedMark(files));
  const link = linkFor(membership, hasAsked, asked, signals);
  const waiting: Waiting = { id: poolRunId({ runId: run.id, number }, spec), files, link, signals };
  try {
    if (!(await isStillThere(waiting, asked))) await ask(waiting, membership.team, asked);
    void stopLeftBehind(link, world).catch((error) => logRunFailure(run.id, error, world.paths));
    let looked: ReturnType<Look> | undefined;
    const look = () => {
      looked ??= targetFor(files.home, number, run, world).catch((error) => ({ problem: reasonOf(error) }));
      return looked;
    };
    const state = await follow(waiting, look);
    return await concluded(state, files, asked, look);
  } catch (error) {
    // Nobody will have what comes of it.
    if (hasAsked()) {
      const stopped = link.do(({ server }) => stopAway(waiting.id, server)).catch(() => {});
      await Promise.race([stopped, sleep(STOP_MS)]);
    }
    throw error;
  } finally {
    void link.close().catch((error) => logRunFailure(run.id, error, world.paths));
  }
}

function linkFor(
  membership: Membership,
  isPatient: () => boolean,
  { world, onTrouble }: AskedTurn,
  signals: Signals,
): Link<void> {
  return new Link({
    connect: () => openTeamServer(membership, world.env, connectServer),
    prepare: (server) => server.listen('self_generation_pool', signals.heard),
    onTrouble,
    isPatient,
  });
}

/**
 * Whether the server has the turn that an earlier supervisor asked for. One that was killed just before it asked is followed by
 * asking. @throws Error when it knows it no more: it may have been done, and is not done again by itself
 */
async function isStillThere({ id, files, link }: Waiting, { world }: AskedTurn): Promise<boolean> {
  const mark = statSync(askedMark(files), { throwIfNoEntry: false });
  if (mark === undefined) return false;
  const nothing = { out: 0, err: 0, patch: 0 };
  if ((await link.do(({ server }) => readAway(id, nothing, server))) !== undefined) return true;
  const hasOutput = [files.output, files.errors].some(
    (path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  if (hasOutput || world.now().getTime() - mark.mtimeMs > ASK_AGAIN_MS) throw new Gone();
  return false;
}

class Gone extends Error {
  constructor() {
    super('the server does not know it any more; what became of the work there is not known');
  }
}

/** There once the turn may have been asked for. */
const askedMark = ({ home }: TurnFiles) => `${home}/asked`;

function ask({ id, files, link }: Waiting, team: string, { run, number, spec }: AskedTurn): Promise<void> {
  const { session } = spec;
  const asked = { id, team, pool: run.pool.pool, origin: run.id, turn: number, session, spec };
  return link.do(({ server }) => {
    if (!existsSync(askedMark(files))) writeFileSync(askedMark(files), '', { mode: 0o600 });
    return askFor(asked, server);
  });
}

/** Where the changes come: looked for while the other machine works, once. */
type Look = () => Promise<Target | { readonly problem: string }>;

/** Writes what comes until the turn has ended and all of it is here. */
async function follow({ id, files, link, signals }: Waiting, look: Look): Promise<AwayState> {
  const patch = arriving(arrivingPatch(files));
  const streams = { out: arriving(files.output), err: arriving(files.errors), patch };
  let reapedAtMs = performance.now();
  try {
    for (;;) {
      if (signals.takeStop()) await link.do(({ server }) => stopAway(id, server));
      if (performance.now() - reapedAtMs > REAP_EVERY_MS) {
        await link.do(({ server }) => reap(server));
        reapedAtMs = performance.now();
      }
      const arrived = { out: streams.out.bytes(), err: streams.err.bytes(), patch: streams.patch.bytes() };
      const state = await link.do(({ server }) => readAway(id, arrived, server));
      if (state === undefined) throw new Gone();
      for (const { stream, at, data } of state.pieces) streams[stream].take(at, Buffer.from(data, 'base64'));
      if (state.pieces.length > 0) {
        // What is counted as arrived is gone from the server.
        for (const { stream } of state.pieces) streams[stream].sync();
        void look();
        continue;
      }
      if (state.state !== 'queued' && state.state !== 'running') return state;
      await signals.wait(id, LOOK_MS);
    }
  } finally {
    for (const one of Object.values(streams)) one.close();
  }
}

/** A file that grows by the pieces that come; what it has already came to an earlier supervisor. @throws Error from the disk */
export function arriving(path: string) {
  const handle = openSync(path, 'a', 0o600);
  let bytes = statSync(path).size;
  if (bytes > 0) fdatasyncSync(handle); // Who wrote it may have been killed before this.
  let safe = bytes;
  return {
    bytes: () => bytes,
    take: (at: number, piece: Uint8Array) => {
      if (at > bytes) throw new Error(`a part of what came back is missing: ${path} ${bytes}`);
      // Its first part may be here: who wrote it was killed meanwhile.
      for (let from = bytes - at; from < piece.length; from = bytes - at)
        bytes += writeSync(handle, piece, from);
    },
    /** So that a power cut takes nothing of it. */
    sync: () => {
      if (bytes > safe) fdatasyncSync(handle);
      safe = bytes;
    },
    close: () => closeSync(handle),
  };
}

/** The changes until they are added; what lies there goes with the turn. */
const arrivingPatch = ({ home }: TurnFiles) => `${home}/changes.patch`;

async function concluded(
  state: AwayState,
  files: TurnFiles,
  asked: AskedTurn,
  look: Look,
): Promise<AwayEnding> {
  const where = state.machine === null ? [] : [`worked on the machine "${state.machine}"`];
  if (state.state === 'stopped') return { outcome: 'stopped', error: null, exit: null, notes: [] };
  if (state.state === 'lost') return { outcome: 'lost', error: state.error, exit: null, notes: where };
  const { code, signal, outcome, error, patchBytes } = state;
  const changes = await changesHere(patchBytes ?? 0, files, asked, look);
  return {
    outcome: outcome ?? 'error',
    error,
    exit: code === null && signal === null ? null : { code, signal },
    notes: [...where, ...changes],
  };
}

/** Adds the changes to the run's branch; what came of that, in words. */
async function changesHere(
  bytes: number,
  files: TurnFiles,
  { run, number, world }: AskedTurn,
  look: Look,
): Promise<readonly string[]> {
  if (bytes > PATCH_BYTES_MAX)
    return [
      `its changes have ${bytes} bytes, and the most that comes back is ${PATCH_BYTES_MAX}: they stayed there`,
    ];
  if (bytes === 0) return [];
  const arrived = arrivingPatch(files);
  try {
    const found = await look();
    const target = 'problem' in found ? await targetFor(files.home, number, run, world) : found;
    await bringBack(arrived, number, target, run, world);
    const { branch } = target.worktree;
    return [
      `its changes are in the branch ${branch}: "subagents diff ${run.number}" shows them, "merge" takes them over`,
    ];
  } catch (error) {
    return [keptAs(files.patch, arrived, reasonOf(error))];
  }
}

/** Keeps the changes beside the run's files; says so, and why. */
function keptAs(patch: string, arrived: string, why: string): string {
  try {
    if (!existsSync(patch)) copyFileSync(arrived, patch);
    return `its changes are kept as ${patch}: ${why}`;
  } catch (error) {
    return `its changes could not be kept as ${patch}: ${reasonOf(error)}; ${why}`;
  }
}

/** Stops what was to be stopped while the server could not be reached, and what nobody here waits for. */
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

/** What wakes who waits: a notification about the run, and being told to stop it. */
function wakingSignals() {
  let isToStop = false;
  const rest = new WakeableSleep();
  const heardOf = new Set<string>();
  return {
    stop: () => {
      isToStop = true;
      rest.wake();
    },
    /** Whether it is to be stopped since this was last asked. */
    takeStop: (): boolean => {
      const isNew = isToStop;
      isToStop = false;
      return isNew;
    },
    heard: (payload: string) => {
      if (heardOf.size > 1000) heardOf.clear();
      heardOf.add(payload);
      rest.wake();
    },
    /** Until there is something about this run, it is told to stop, or so long. */
    wait: async (id: string, timeoutMs: number): Promise<void> => {
      const endMs = performance.now() + timeoutMs;
      while (!isToStop && !heardOf.delete(`run ${id}`)) {
        const leftMs = endMs - performance.now();
        if (leftMs <= 0) return;
        await rest.sleep(leftMs);
      }
    },
  };
}
