import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { getConstructionPlans } from 'pg-boss';
import type { Server } from '../../../src/database/postgres.ts';
import { openQueue, QUEUE_SCHEMA } from '../../../src/runs/pool/queue.ts';
import {
  askFor,
  beat,
  beginWorker,
  claimRun,
  endRun,
  leaveWorker,
  ownActive,
  putPiece,
  readAway,
  readPools,
  reap,
  stopAway,
} from '../../../src/runs/pool/store/pool-store.ts';
import queueScript from '../../../src/team/store/schema/002-queue.sql' with { type: 'text' };
import { NO_POSTGRES, type PoolTeam, poolTeam, TEAM } from './pool-home.ts';

/** What the server lets whom do, asked by its own functions and past them. */

setDefaultTimeout(60_000);
const suite = describe.skipIf(NO_POSTGRES !== undefined);

test('the script of the queue is the one that pg-boss makes', () => {
  const lines = (text: string) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(
        (line) =>
          line !== '' &&
          !/^--|^(?:BEGIN|COMMIT);|SET LOCAL |pg_advisory_xact_lock|^CREATE SCHEMA /.test(line),
      );
  expect(lines(queueScript)).toEqual(lines(getConstructionPlans(QUEUE_SCHEMA)));
});

suite(`rights of a pool${NO_POSTGRES === undefined ? '' : ` (left out: ${NO_POSTGRES})`}`, () => {
  let team: PoolTeam;
  const servers: Record<string, Server> = {};
  const as = (login: string) => servers[login] as Server;
  beforeAll(async () => {
    team = await poolTeam();
    for (const login of ['ann', 'bob', 'eve', 'mallory', 'admin']) servers[login] = await team.open(login);
  });
  afterAll(async () => {
    for (const server of Object.values(servers)) await server.close();
    await team[Symbol.asyncDispose]();
  });

  const worker = (changes: object = {}) => ({
    ...{ id: randomUUID(), instance: randomUUID(), team: TEAM, pool: 'build', name: 'm', slots: 2 },
    lostAfterMs: 30_000,
    ...changes,
  });
  const asked = (changes: object = {}) => ({
    ...{ id: randomUUID(), team: TEAM, pool: 'build', origin: randomUUID().replaceAll('-', ''), turn: 1 },
    ...({ session: 'new', spec: { secret: 'plan' } } as const),
    ...changes,
  });
  const end = { outcome: 'success', error: null, code: 0, signal: null, patchBytes: 0 } as const;
  const out = (text: string, at = 0) => ({ stream: 'out', at, bytes: Buffer.from(text) }) as const;
  const stateOf = async (id: string) =>
    (await as('admin').all('SELECT state FROM self_generation.pool_runs WHERE id = $1', [id]))[0]?.state;

  /** One run that bob's worker has taken. */
  async function taken() {
    const [host, run] = [worker(), asked()];
    const queue = await beginWorker(host, as('bob'));
    await askFor(run, as('ann'));
    const jobs = await openQueue(as('bob'));
    const ids = await as('bob').transaction((statements) => jobs.take(queue, 100, statements));
    expect(ids).toContain(run.id);
    const claimed = await claimRun(host, run.id, as('bob'));
    await jobs.close();
    return { host, run, claimed };
  }

  test('a run is taken once, ended once, and read by who asked alone', async () => {
    const { host, run, claimed } = await taken();
    expect(claimed).toMatchObject({ id: run.id, line: run.id, login: 'ann', spec: { secret: 'plan' } });
    // Asking again by its id is asking for the same.
    await askFor(run, as('ann'));
    const other = worker({ name: 'other' });
    await beginWorker(other, as('bob'));
    expect(await claimRun(other, run.id, as('bob'))).toBeUndefined();
    expect(await putPiece(host, run.id, out('one'), as('bob'))).toBe('ok');
    expect(await putPiece(host, run.id, out('one'), as('bob'))).toBe('ok');
    const nothing = { out: 0, err: 0, patch: 0 };
    expect((await readAway(run.id, nothing, as('ann')))?.pieces).toMatchObject([{ stream: 'out', at: 0 }]);
    // One that came in part stays until it is whole.
    expect((await readAway(run.id, { ...nothing, out: 2 }, as('ann')))?.pieces).toMatchObject([{ at: 0 }]);
    expect((await readAway(run.id, { ...nothing, out: 3 }, as('ann')))?.pieces).toEqual([]);
    for (const login of ['bob', 'eve', 'mallory'])
      expect(await readAway(run.id, nothing, as(login))).toBeUndefined();
    expect(await endRun(host, run.id, end, as('bob'))).toBe(true);
    expect(await endRun(host, run.id, { ...end, outcome: 'error' }, as('bob'))).toBe(true);
    expect(await readAway(run.id, nothing, as('ann'))).toMatchObject({ state: 'ended', outcome: 'success' });
    expect(await putPiece(host, run.id, out('late', 3), as('bob'))).toBe('lost');
  });

  test('nobody stops, ends, fills or beats for another login', async () => {
    const { host, run } = await taken();
    for (const login of ['bob', 'eve', 'mallory']) await stopAway(run.id, as(login));
    expect((await beat(host, as('bob')))?.stopping).toEqual([]);
    for (const login of ['ann', 'eve', 'mallory']) {
      expect(await beat(host, as(login))).toBeUndefined();
      expect(await putPiece(host, run.id, out('forged'), as(login))).toBe('lost');
      await endRun(host, run.id, end, as(login));
      await leaveWorker(host, as(login));
    }
    expect(await stateOf(run.id)).toBe('running');
    await stopAway(run.id, as('ann'));
    expect((await beat(host, as('bob')))?.stopping).toEqual([run.id]);
    await expect(beginWorker({ ...host, instance: randomUUID() }, as('eve'))).rejects.toThrow('right');
  });

  test('another team takes nothing and sees nothing, and a pool is no other pool', async () => {
    const run = asked();
    await askFor(run, as('ann'));
    const strange = worker({ team: 'others' });
    await beginWorker(strange, as('mallory'));
    expect(await claimRun(strange, run.id, as('mallory'))).toBeUndefined();
    await expect(beginWorker(worker(), as('mallory'))).rejects.toThrow('right');
    await expect(askFor(asked(), as('mallory'))).rejects.toThrow('right');
    await expect(askFor({ ...run, spec: { other: 1 } }, as('bob'))).rejects.toThrow('right');
    const elsewhere = worker({ pool: 'other' });
    await beginWorker(elsewhere, as('bob'));
    expect(await claimRun(elsewhere, run.id, as('bob'))).toBeUndefined();
    const seen = await as('mallory').all('SELECT id FROM self_generation.pool_runs');
    expect(seen).toEqual([]);
    expect(await as('mallory').all(`SELECT id FROM self_generation_queue.job_common`)).toEqual([]);
    expect((await readPools(TEAM, as('mallory'))).machines).toEqual([]);
    expect((await ownActive(as('ann'))).map(({ id }) => id)).toContain(run.id);
    await stopAway(run.id, as('ann'));
    expect(await stateOf(run.id)).toBe('stopped');
  });

  for (const [what, sql] of [
    ['a claim', `UPDATE self_generation.pool_runs SET state = 'running', worker = gen_random_uuid()`],
    ['an end', `UPDATE self_generation.pool_runs SET state = 'ended'`],
    ['a run', `DELETE FROM self_generation.pool_runs`],
    ['a worker', `UPDATE self_generation.pool_workers SET heartbeat_at = now() + interval '1 day'`],
    ['what is to be done', `SELECT * FROM self_generation.pool_specs`],
    ['what came back', `SELECT * FROM self_generation.pool_output`],
    ['why it failed', `SELECT error FROM self_generation.pool_runs`],
    ['a job', `INSERT INTO self_generation_queue.job_common (name, data) VALUES ('team-1.build', '{}')`],
    ['a queue', `INSERT INTO self_generation_queue.queue (name) VALUES ('x')`],
    ['runs lost', `SELECT self_generation.pool_lose(ARRAY[gen_random_uuid()], 'x')`],
    ['who is notified', `SELECT self_generation.pool_tell('x')`],
  ] as const)
    test(`a member cannot write or read past the functions: ${what}`, async () => {
      await expect(as('eve').all(sql)).rejects.toThrow('this login has no right to that');
    });

  test('a worker that gave no sign is given up by the server’s clock, and what it says then no longer counts', async () => {
    const { host, run } = await taken();
    await reap(as('ann'));
    expect(await stateOf(run.id)).toBe('running');
    await as('admin').all(
      `UPDATE self_generation.pool_workers SET lost_after = interval '1 second', heartbeat_at = now() - interval '2 seconds'
       WHERE id = $1`,
      [host.id],
    );
    // The server itself has to have been there for as long.
    await Bun.sleep(1100);
    await reap(as('eve'));
    expect(await stateOf(run.id)).toBe('lost');
    expect(await beat(host, as('bob'))).toBeUndefined();
    expect(await endRun(host, run.id, end, as('bob'))).toBe(false);
    expect(await putPiece(host, run.id, out('late'), as('bob'))).toBe('lost');
    expect(await readAway(run.id, { out: 0, err: 0, patch: 0 }, as('ann'))).toMatchObject({
      ...{ state: 'lost', error: 'the machine "m" gave no sign for 1 seconds' },
    });
    expect(
      askFor({ ...asked({ origin: run.origin }), turn: 2, session: 'goes on' }, as('ann')),
    ).rejects.toThrow('no worker runs there');
  });

  test('a worker that was started anew has lost what it had', async () => {
    const { host, run } = await taken();
    await beginWorker({ ...host, instance: randomUUID() }, as('bob'));
    expect(await stateOf(run.id)).toBe('lost');
    expect(await endRun(host, run.id, end, as('bob'))).toBe(false);
  });
});
