import { parseJson } from '../../../core/guards.ts';
import type { Statements } from '../../../database/postgres.ts';

/** What a team's server is asked about its pools. Who may do what is decided there, see team/store/schema/003-pool.sql. */

/** A worker as the server knows it; `instance` is another one with each start. */
export type WorkerKey = { readonly id: string; readonly instance: string };

export type WorkerEntry = WorkerKey & {
  readonly team: string;
  readonly pool: string;
  readonly name: string;
  readonly slots: number;
  readonly lostAfterMs: number;
};

/** A worker begins, and is told its queue. What an earlier process of it had is lost then. */
export async function beginWorker(worker: WorkerEntry, { all }: Statements): Promise<string> {
  const { id, instance, team, pool, name, slots, lostAfterMs } = worker;
  const values = [id, instance, team, pool, name, slots, lostAfterMs];
  const [row] = await all('SELECT self_generation.pool_begin($1, $2, $3, $4, $5, $6, $7) AS queue', values);
  return String(row?.queue);
}

/** A worker goes: what it has is lost. */
export async function leaveWorker({ id, instance }: WorkerKey, { all }: Statements): Promise<void> {
  await all('SELECT self_generation.pool_leave($1, $2)', [id, instance]);
}

/** The runs of a worker. */
export type Held = {
  readonly running: readonly string[];
  /** Those of them that are to be stopped. */
  readonly stopping: readonly string[];
  /** Messages that wait for it. */
  readonly wanted: readonly string[];
};

/** A sign of life; undefined: the worker counts no more. */
export async function beat({ id, instance }: WorkerKey, { all }: Statements): Promise<Held | undefined> {
  const [row] = await all('SELECT self_generation.pool_beat($1, $2) AS held', [id, instance]);
  return (jsonIn(row?.held) ?? undefined) as Held | undefined;
}

/** What a worker took: `line` is the run that began the session, `spec` what the requester wrote. */
export type Claimed = {
  readonly id: string;
  readonly line: string;
  readonly login: string;
  readonly spec: unknown;
};

/** Takes a run, once; undefined when somebody else has, or it was stopped. */
export async function claimRun(
  { id, instance }: WorkerKey,
  run: string,
  { all }: Statements,
): Promise<Claimed | undefined> {
  const [row] = await all('SELECT self_generation.pool_claim($1, $2, $3) AS claimed', [id, instance, run]);
  return (jsonIn(row?.claimed) ?? undefined) as Claimed | undefined;
}

export type Stream = 'out' | 'err' | 'patch';
export type Piece = { readonly stream: Stream; readonly at: number; readonly bytes: Uint8Array };

/** Stores a piece of what comes back, once. `lost`: the run is not this worker's any more; `full`: it is too much. */
export async function putPiece(
  { id, instance }: WorkerKey,
  run: string,
  { stream, at, bytes }: Piece,
  { all }: Statements,
): Promise<'ok' | 'full' | 'lost'> {
  const values = [id, instance, run, stream, at, Buffer.from(bytes)];
  const [row] = await all('SELECT self_generation.pool_put($1, $2, $3, $4, $5, $6) AS answer', values);
  return row?.answer as 'ok' | 'full' | 'lost';
}

/** How a turn ended on its machine. `patchBytes`: 0 without changes. */
export type AwayEnd = {
  readonly outcome: 'success' | 'error' | 'timeout' | 'stopped' | 'lost';
  readonly error: string | null;
  readonly code: number | null;
  readonly signal: string | null;
  readonly patchBytes: number;
};

/** Ends a run, once. Whether it is ended so, now or by an earlier call. */
export async function endRun(
  { id, instance }: WorkerKey,
  run: string,
  end: AwayEnd,
  { all }: Statements,
): Promise<boolean> {
  const values = [id, instance, run, end.outcome, end.error, end.code, end.signal, end.patchBytes];
  const [row] = await all('SELECT self_generation.pool_end($1, $2, $3, $4, $5, $6, $7, $8) AS state', values);
  return row?.state === 'ended';
}

export type Asked = {
  readonly id: string;
  readonly team: string;
  readonly pool: string;
  /** The run of who asks, and its turn. */
  readonly origin: string;
  readonly turn: number;
  readonly session: 'new' | 'goes on';
  readonly spec: object;
};

/** Asks for a turn, once by its id. @throws ServerError, also where the machine that has its session is gone */
export async function askFor(asked: Asked, { all }: Statements): Promise<void> {
  const { id, team, pool, origin, turn, session, spec } = asked;
  const values = [id, team, pool, origin, turn, session === 'goes on', JSON.stringify(spec)];
  await all('SELECT self_generation.pool_ask($1, $2, $3, $4, $5, $6, $7)', values);
}

/** How a run stands, with what came back and has not arrived yet. */
export type AwayState = {
  readonly state: 'queued' | 'running' | 'ended' | 'stopped' | 'lost';
  readonly machine: string | null;
  readonly outcome: AwayEnd['outcome'] | null;
  readonly error: string | null;
  readonly code: number | null;
  readonly signal: string | null;
  readonly patchBytes: number | null;
  readonly pieces: readonly { readonly stream: Stream; readonly at: number; readonly data: string }[];
};

/** What comes behind these places; what came before them is removed from the server. Undefined: it knows no such run. */
export async function readAway(
  run: string,
  arrived: Readonly<Record<Stream, number>>,
  { all }: Statements,
): Promise<AwayState | undefined> {
  const values = [run, arrived.out, arrived.err, arrived.patch];
  const [row] = await all('SELECT self_generation.pool_read($1, $2, $3, $4) AS away', values);
  return (jsonIn(row?.away) ?? undefined) as AwayState | undefined;
}

/** Stops a run of one's own. */
export async function stopAway(run: string, { all }: Statements): Promise<void> {
  await all('SELECT self_generation.pool_stop($1)', [run]);
}

/** Declares lost what workers have that gave no sign for long, and removes what is old. */
export async function reap({ all }: Statements): Promise<void> {
  await all('SELECT self_generation.pool_reap()');
}

/** The runs of this login that have not ended. */
export async function ownActive({
  all,
}: Statements): Promise<readonly { id: string; origin: string; turn: number }[]> {
  const rows = await all(
    `SELECT id, origin, turn FROM self_generation.pool_runs
     WHERE login = session_user AND state IN ('queued', 'running') AND stop_at IS NULL ORDER BY created_at LIMIT 1000`,
  );
  return rows.map((row) => ({ id: String(row.id), origin: String(row.origin), turn: Number(row.turn) }));
}

export type Machine = {
  readonly pool: string;
  readonly name: string;
  readonly login: string;
  readonly slots: number;
  readonly busy: number;
  readonly heartbeatSeconds: number;
};
export type PoolQueueState = {
  readonly pool: string;
  readonly queued: number;
  readonly oldestSeconds: number;
};
export type OwnAway = {
  readonly id: string;
  readonly origin: string;
  readonly turn: number;
  readonly pool: string;
  readonly state: 'queued' | 'running';
  readonly machine: string | null;
  readonly forSeconds: number;
};

/** The machines of a team, what waits for them, and the runs of this login. */
export async function readPools(team: string, { all }: Statements) {
  const machines = await all(
    `SELECT worker.pool, worker.name, worker.login, worker.slots,
       (SELECT COUNT(*) FROM self_generation.pool_runs AS run WHERE run.worker = worker.id AND run.state = 'running') AS busy,
       extract(epoch FROM now() - worker.heartbeat_at)::integer AS heartbeat
     FROM self_generation.pool_workers AS worker JOIN self_generation.teams ON teams.id = worker.team
     WHERE teams.name = $1 AND worker.ended_at IS NULL ORDER BY worker.pool, worker.name`,
    [team],
  );
  const queues = await all(
    `SELECT run.pool, COUNT(*) AS queued, extract(epoch FROM now() - MIN(run.created_at))::integer AS oldest
     FROM self_generation.pool_runs AS run JOIN self_generation.teams ON teams.id = run.team
     WHERE teams.name = $1 AND run.state = 'queued' GROUP BY run.pool ORDER BY run.pool`,
    [team],
  );
  const own = await all(
    `SELECT run.id, run.origin, run.turn, run.pool, run.state, worker.name AS machine,
       extract(epoch FROM now() - COALESCE(run.taken_at, run.created_at))::integer AS since
     FROM self_generation.pool_runs AS run JOIN self_generation.teams ON teams.id = run.team
     LEFT JOIN self_generation.pool_workers AS worker ON worker.id = run.worker
     WHERE teams.name = $1 AND run.login = session_user AND run.state IN ('queued', 'running')
     ORDER BY run.created_at LIMIT 1000`,
    [team],
  );
  return {
    machines: machines.map(
      (row): Machine => ({
        ...{ pool: String(row.pool), name: String(row.name), login: String(row.login) },
        ...{ slots: Number(row.slots), busy: Number(row.busy), heartbeatSeconds: Number(row.heartbeat) },
      }),
    ),
    queues: queues.map(
      (row): PoolQueueState => ({
        ...{ pool: String(row.pool), queued: Number(row.queued), oldestSeconds: Number(row.oldest) },
      }),
    ),
    own: own.map(
      (row): OwnAway => ({
        ...{ id: String(row.id), origin: String(row.origin), turn: Number(row.turn), pool: String(row.pool) },
        state: row.state as OwnAway['state'],
        machine: row.machine === null ? null : String(row.machine),
        forSeconds: Number(row.since),
      }),
    ),
  };
}

function jsonIn(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : value;
}
