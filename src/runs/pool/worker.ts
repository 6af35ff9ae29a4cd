import { randomUUID } from 'node:crypto';
import { reasonOf } from '../../core/guards.ts';
import { connectServer } from '../../database/postgres.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import { tryProcessLock } from '../../hooks/store/use-database.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../../system/atomic-file.ts';
import { identityNow, isSameIdentity, type ProcessIdentity } from '../../system/process-identity.ts';
import { readTextFile } from '../../system/runtime-bun.ts';
import { WakeableSleep } from '../../system/wakeable-sleep.ts';
import { openTeamServer, readMembership } from '../../team/membership.ts';
import { noteRelease } from '../client-release.ts';
import type { Requester } from '../model/run.ts';
import { reconcile, reconcileRegularly } from '../reconcile.ts';
import { stopRuns } from '../stop.ts';
import { openRunsDb } from '../store/rows.ts';
import { getRun } from '../store/runs.ts';
import { supervise } from '../supervisor/supervise.ts';
import type { RunsWorld, TurnKey } from '../world.ts';
import { beginAwayTurn } from './away-turn.ts';
import { Closed, Link } from './link.ts';
import { openQueue, type PoolQueue } from './queue.ts';
import { type GivenUp, serveRun } from './serve-run.ts';
import {
  beat,
  beginWorker,
  type Claimed,
  claimRun,
  leaveWorker,
  reap,
  type WorkerEntry,
} from './store/pool-store.ts';
import { startGuard } from './worker-guard.ts';
import { markWorker, poolHome } from './worker-mark.ts';
import type { WorkerOptions, WorkerShell } from './worker-options.ts';
import { type Places, removeOldPlaces } from './workplace.ts';

/** A worker: takes runs of a pool and has them done by this machine's own background runs, until it is told to end. */

const HEARTBEAT_MAX_MS = 5000;
/** So many signs of life fit into the time after which a worker is given up. */
const HEARTBEATS_BEFORE_LOST = 6;
const LOOK_MS = 3000;
const CLEAN_EVERY_MS = 3_600_000;

/** Runs until it is told to end: once, and it takes no more; again, and it stops what it has. @throws Error that says why not */
export async function runWorker(options: WorkerOptions, world: RunsWorld, shell: WorkerShell): Promise<void> {
  const membership = readMembership(world.paths);
  if (membership === undefined)
    throw new Error('you are in no team; "self-generation team join" makes you a member of one');
  const home = poolHome(world.paths);
  ensurePrivateDirectory(world.paths.home);
  ensurePrivateDirectory(home);
  const stem = `${home}/${options.pool}.${options.name.replace(/[^\w-]/g, '_')}`;
  const release = tryProcessLock(`${stem}.lock`);
  if (release === undefined)
    throw new Error(`a worker "${options.name}" of the pool "${options.pool}" runs here already`);
  const id = ownId(`${stem}.id`);
  markWorker(id, world.paths);
  const guard = startGuard(world);
  const worker = new Worker(id, membership.team, options, world, shell);
  const link = new Link({
    connect: () => openTeamServer(membership, world.env, connectServer),
    prepare: async (server) => {
      await server.listen('self_generation_pool', (payload) => worker.heard(payload));
      return openQueue(server);
    },
    release: (queue) => queue.close(),
    onTrouble: (words) => shell.say(`${words}. Runs go on, and it is tried again.`),
    onBack: () => shell.say('The server is back.'),
  });
  try {
    await worker.run(link);
  } finally {
    await link.close();
    guard.end();
    release();
  }
}

/** Kept, since it has the sessions of its runs. */
function ownId(file: string): string {
  const known = readTextFile(file)?.trim();
  if (known) return known;
  const id = randomUUID();
  writeFileAtomic(file, `${id}\n`, { mode: 0o600 });
  return id;
}

const nameOf = ({ runId, number }: TurnKey) => `${runId} ${number}`;

class Worker {
  readonly #options: WorkerOptions;
  readonly #world: RunsWorld;
  readonly #shell: WorkerShell;
  readonly #requester: Requester;
  readonly #places: Places;
  readonly #running = new Map<
    string,
    { readonly giveUp: (why: GivenUp) => void; readonly done: Promise<void> }
  >();
  /** The turns that this process supervises. */
  readonly #supervised = new Map<string, Promise<void>>();
  readonly #self = identityNow(process.pid);
  #db: Sqlite | undefined;
  #entry: WorkerEntry;
  #queue = '';
  /** `stop`: nothing is worked for any more, and what still runs is stopped. */
  #orders: 'take' | 'no more' | 'stop' = 'take';
  /** One of its runs is to be stopped, or a message waits for it. */
  #isMeant = false;
  /** Until there is news. */
  readonly #rest = new WakeableSleep();

  constructor(id: string, team: string, options: WorkerOptions, world: RunsWorld, shell: WorkerShell) {
    const { pool, name, slots, lostAfterMs } = options;
    this.#options = options;
    const ownSupervisors = {
      begin: (turn: TurnKey) => this.#supervise(turn),
      hasLeft: (turn: TurnKey & { owner: ProcessIdentity | null }) => this.#hasLeft(turn),
    };
    this.#world = { ...world, ownSupervisors };
    this.#shell = shell;
    this.#entry = { id, instance: randomUUID(), team, pool, name, slots, lostAfterMs };
    this.#requester = { key: `agent:main:pool-${id}`, session: null, client: null, cwd: world.paths.home };
    this.#places = { home: poolHome(world.paths), env: world.env, allowsLocal: options.allowsLocal };
  }

  heard(payload: string): void {
    // What is in the queue is looked for anyway as soon as a slot is free.
    if (payload === `queue ${this.#queue}` && this.#isFree()) this.#rest.wake();
    if (payload === `worker ${this.#entry.id}`) {
      this.#isMeant = true;
      this.#rest.wake();
    }
  }

  async run(link: Link<PoolQueue>): Promise<void> {
    const { say, onEnd } = this.#shell;
    const forgetEnd = onEnd(() => this.#end(link));
    const stopReconciling = reconcileRegularly(this.#world);
    const db = openRunsDb(this.#world.paths);
    this.#db = db;
    try {
      // What an earlier process of this worker left is nobody's any more.
      await stopRuns({ kind: 'project' }, this.#requester, 'the worker, which was started anew', this.#world);
      await this.#begin(link);
      say(
        `Worker "${this.#entry.name}" takes runs of the pool "${this.#entry.pool}", ${this.#entry.slots} at a time.`,
      );
      await this.#work(link);
      await link.do(({ server }) => leaveWorker(this.#entry, server));
    } catch (error) {
      if (!(error instanceof Closed)) throw error;
    } finally {
      stopReconciling();
      this.#orders = 'stop';
      reconcile(this.#world); // What was left by a supervisor that failed is begun again, to be ended.
      while (this.#supervised.size > 0) await Promise.all(this.#supervised.values());
      forgetEnd();
      db.close();
    }
  }

  /** Begins to supervise a turn of a run that this worker has taken; whether it is one. */
  #supervise({ runId, number }: TurnKey): boolean {
    const pool = this.#db && getRun(runId, this.#db)?.run.pool;
    if (pool?.kind !== 'served' || pool.worker !== this.#entry.id) return false;
    const name = nameOf({ runId, number });
    if (this.#supervised.has(name)) return true;
    const host = { isOver: () => this.#orders === 'stop', loadAway: async () => beginAwayTurn };
    const done = supervise(runId, number, this.#world, host).then(() => void this.#supervised.delete(name));
    this.#supervised.set(name, done);
    void noteRelease(runId, this.#world);
    return true;
  }

  /** A supervisor that failed has ended; the turn is still this process'. */
  #hasLeft({ owner, ...turn }: TurnKey & { readonly owner: ProcessIdentity | null }): boolean {
    return isSameIdentity(owner, this.#self) && !this.#supervised.has(nameOf(turn));
  }

  #end(link: Link<PoolQueue>): void {
    this.#orders = this.#orders === 'take' ? 'no more' : 'stop';
    const left = this.#running.size;
    if (this.#orders === 'stop') {
      for (const { giveUp } of this.#running.values()) giveUp('shutdown');
      // Nobody waits for a server that is away.
      if (link.isAway) void link.close();
    } else if (left > 0)
      this.#shell.say(`No more is taken. It ends after ${left} runs; once more stops them.`);
    this.#rest.wake();
  }

  async #begin(link: Link<PoolQueue>): Promise<void> {
    this.#queue = await link.do(({ server }) => beginWorker(this.#entry, server));
    // Its queue may be new: pg-boss knows those that there were when it began.
  }

  async #work(link: Link<PoolQueue>): Promise<void> {
    const heartbeatMs = Math.min(HEARTBEAT_MAX_MS, this.#entry.lostAfterMs / HEARTBEATS_BEFORE_LOST);
    let [beatAtMs, cleanedAtMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
    let hasNews = false;
    while (this.#orders === 'take' || this.#running.size > 0) {
      const nowMs = performance.now();
      if (nowMs - cleanedAtMs > CLEAN_EVERY_MS) {
        cleanedAtMs = nowMs;
        if (this.#running.size === 0) removeOldPlaces(this.#places, this.#world.now().getTime());
      }
      const isBeatDue = nowMs - beatAtMs >= heartbeatMs;
      if (isBeatDue || hasNews) {
        if (isBeatDue || this.#isMeant) {
          this.#isMeant = false;
          await this.#beat(link);
          beatAtMs = performance.now();
        }
        if (this.#orders === 'take') await this.#take(link);
      }
      hasNews = await this.#rest.sleep(Math.min(LOOK_MS, heartbeatMs));
    }
  }

  /** Says that it lives, and hears what it has. */
  async #beat(link: Link<PoolQueue>): Promise<void> {
    const held = await link.do(async ({ server }) => {
      const held = await beat(this.#entry, server);
      await reap(server);
      return held;
    });
    if (held === undefined) return await this.#beginAgain(link);
    for (const id of held.stopping) this.#running.get(id)?.giveUp('stop');
    // Taken, without having heard of that: the connection was cut just then.
    for (const id of held.running) if (!this.#running.has(id)) await this.#claim(id, link);
    for (const id of held.wanted) if (this.#isFree()) await this.#claim(id, link);
  }

  /** The team has given this worker up: what it has is lost, and it begins anew. */
  async #beginAgain(link: Link<PoolQueue>): Promise<void> {
    const runs = [...this.#running.values()];
    this.#shell.say(
      `The server heard nothing of this worker for too long. Its ${runs.length} runs are lost, and stopped.`,
    );
    for (const { giveUp } of runs) giveUp('lost');
    await Promise.all(runs.map(({ done }) => done));
    this.#entry = { ...this.#entry, instance: randomUUID() };
    await this.#begin(link);
  }

  #isFree(): boolean {
    return this.#orders === 'take' && this.#running.size < this.#entry.slots;
  }

  async #claim(id: string, link: Link<PoolQueue>): Promise<void> {
    const claimed = await link.do(({ server }) => claimRun(this.#entry, id, server));
    if (claimed !== undefined) this.#serve(claimed, link);
  }

  /** Takes as many as there are free slots: out of the queue and for this worker in one transaction. */
  async #take(link: Link<PoolQueue>): Promise<void> {
    const free = this.#entry.slots - this.#running.size;
    if (free <= 0) return;
    const claimed = await link.transaction(async (statements, queue) => {
      const taken: Claimed[] = [];
      for (const id of await queue.take(this.#queue, free, statements)) {
        const one = await claimRun(this.#entry, id, statements);
        if (one !== undefined) taken.push(one);
      }
      return taken;
    });
    for (const one of claimed) this.#serve(one, link);
  }

  #serve(claimed: Claimed, link: Link<PoolQueue>): void {
    const db = this.#db;
    if (db === undefined || this.#running.has(claimed.id)) return;
    const controller = new AbortController();
    const serving = {
      ...{ world: this.#world, db, link, worker: this.#entry, places: this.#places },
      ...{ requester: this.#requester, grants: this.#options.grants, signal: controller.signal },
    };
    const name = `${claimed.id.slice(0, 8)} of ${claimed.login}`;
    this.#shell.say(`${name}: taken`);
    const done = serveRun(claimed, serving)
      .then(
        (outcome) => this.#shell.say(`${name}: ${outcome}`),
        (error) => this.#shell.say(`${name}: ${reasonOf(error)}`),
      )
      .then(() => {
        this.#running.delete(claimed.id);
        this.#rest.wake();
      });
    this.#running.set(claimed.id, { giveUp: (why) => controller.abort(why), done });
  }
}
