import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { runDirectory, turnFiles } from '../../../src/runs/model/run.ts';
import { isTerminal } from '../../../src/runs/model/turn.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { isAlive } from '../../../src/system/process-identity.ts';
import { until } from '../runs-home.ts';
import { commit, git, NO_POSTGRES, type PoolTeam, poolTeam } from './pool-home.ts';

/** Runs on the machines of a team: a real server, a real remote, the built program; a stand-in for the client. */

setDefaultTimeout(120_000);
const suite = describe.skipIf(NO_POSTGRES !== undefined);

suite(`a pool${NO_POSTGRES === undefined ? '' : ` (left out: ${NO_POSTGRES})`}`, () => {
  let team: PoolTeam;
  beforeAll(async () => {
    team = await poolTeam();
  });
  afterAll(() => team[Symbol.asyncDispose]());

  /** A worker of bob's, and a member who asks, each in a home of their own. */
  async function machines(...words: readonly string[]) {
    const [asker, host] = [team.member('ann'), team.member('bob')];
    const worker = team.worker(host, '--name', `m${Math.random().toString(36).slice(2, 8)}`, ...words);
    await until('the worker is there', () => host.said('worker').includes('takes runs'), 60_000);
    const end = async () => {
      worker.kill('SIGKILL');
      await worker.exited;
    };
    return { asker, host, worker, end };
  }

  const spawnOn = (home: Awaited<ReturnType<typeof machines>>['asker'], task: string, ...words: string[]) =>
    home.call('subagents', 'spawn', '--on', 'build', '--permissions', 'all', ...words, task);

  const over = (home: Awaited<ReturnType<typeof machines>>['asker'], number = 1, turn = 1) =>
    until(
      'the turn ends',
      () => home.turns(number).some((one) => one.number === turn && isTerminal(one.state)),
      60_000,
    );

  test('a run works on another machine, and its answer, its log and its changes come back', async () => {
    const { asker, host, end } = await machines();
    const spawned = await spawnOn(asker, '[[write made.txt]] [[answer all is well]]', '--wait');
    expect(spawned).toMatchObject({ code: 0 });
    expect(spawned.stdout).toContain('all is well');
    expect(spawned.stdout).toContain('worked on the machine');
    expect(spawned.stdout).toContain('its changes are in the branch subagent/');
    expect((await asker.call('subagents', 'diff', '1')).stdout).toContain('+++ b/made.txt');
    expect((await asker.call('subagents', 'log', '1')).stdout).toContain('all is well');
    expect(existsSync(`${asker.project}/made.txt`)).toBe(false);
    expect((await asker.call('subagents', 'merge', '1')).code).toBe(0);
    expect(readFileSync(`${asker.project}/made.txt`, 'utf8')).toBe('written\n');
    expect(host.said('worker')).toContain('of ann: success');
    expect(await asker.call('subagents', 'attach', '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('its session is on another machine'),
    });
    // Nothing of it stays on the server but that it was.
    const admin = await team.open('admin');
    const count = async (table: string) => (await admin.all(`SELECT count(*) AS n FROM ${table}`))[0]?.n;
    expect(await count('self_generation.pool_specs')).toBe('0');
    expect(await count('self_generation.pool_output')).toBe('0');
    expect(await count('self_generation_queue.job_common')).toBe('0');
    await admin.close();
    await end();
  });

  test('what came back is thrown away with its branch, and nothing comes of a run that changed nothing', async () => {
    const { asker, end } = await machines();
    const branches = () => git(asker.project, 'branch', '--list', 'subagent/*').trim();
    await spawnOn(asker, '[[write made.txt]] [[answer made]]', '--wait');
    expect(branches()).not.toBe('');
    expect((await asker.call('subagents', 'discard', '1', '--yes')).code).toBe(0);
    expect(branches()).toBe('');
    expect((await spawnOn(asker, '[[answer looked]]', '--wait')).stdout).toContain('looked');
    expect(branches()).toBe('');
    const { runId = '' } = asker.turns(2)[0] ?? {};
    expect(
      readdirSync(runDirectory(asker.home.paths, runId)).filter((name) => /patch|index/.test(name)),
    ).toEqual([]);
    await end();
  });

  test('a message goes to the machine that has the session, and brings back what it has changed since', async () => {
    const { asker, host, end } = await machines();
    await spawnOn(asker, '[[write one.txt]] [[answer first]]', '--wait');
    const sent = await asker.call('subagents', 'send', '1', '[[write two.txt]] [[answer second]]');
    expect(sent).toMatchObject({ code: 0 });
    await over(asker, 1, 2);
    expect(asker.turns()[1]).toMatchObject({ state: 'success', result: 'second' });
    const { stdout: diff } = await asker.call('subagents', 'diff', '1');
    expect(diff).toContain('+++ b/one.txt');
    expect(diff).toContain('+++ b/two.txt');
    expect(host.said('worker').match(/of ann: success/g)).toHaveLength(2);
    await end();
    // That machine does not work any more: in words, and not as a new run elsewhere.
    await Bun.sleep(100);
    const admin = await team.open('admin');
    await admin.all(`UPDATE self_generation.pool_workers SET heartbeat_at = now() - interval '1 hour'`);
    await admin.all('SELECT self_generation.pool_reap()');
    await admin.all(`UPDATE self_generation.pool_workers SET ended_at = now()`);
    await admin.close();
    await asker.call('subagents', 'send', '1', '[[answer third]]');
    await over(asker, 1, 3);
    expect(asker.turns()[2]).toMatchObject({ state: 'error' });
    expect(asker.turns()[2]?.error).toContain('has its session, and no worker runs there');
  });

  test('a run is stopped from here, and no process of it is left there', async () => {
    const { asker, host, end } = await machines();
    await spawnOn(asker, `[[until ${asker.home.path}/never]]`);
    await until('it runs there', () => host.processes().length > 2, 60_000);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    const stopped = await asker.call('subagents', 'stop', '1');
    expect(stopped).toMatchObject({ code: 0 });
    expect(asker.turns()[0]).toMatchObject({ state: 'stopped' });
    await until('it is stopped there', () => host.said('worker').includes(': stopped'), 60_000);
    await until('only the worker and its guard are left', () => host.processes().length === 2, 60_000);
    await end();
  });

  test('a run whose worker is killed is lost, in words, is not run again, and leaves no process', async () => {
    const { asker, host, worker } = await machines('--lost-after', '3');
    const note = `${host.home.path}/note`;
    await spawnOn(asker, `[[note ${note}]] [[until ${asker.home.path}/never]]`);
    await until('it runs there', () => existsSync(note), 60_000);
    worker.kill('SIGKILL');
    await worker.exited;
    await over(asker);
    expect(asker.turns()[0]).toMatchObject({ state: 'lost' });
    expect(asker.turns()[0]?.error).toContain('gave no sign for 3 seconds');
    await until('nothing is left there', () => host.processes().length === 0, 60_000);
    const again = team.worker(host, '--name', 'again');
    await until('another is there', () => host.said('worker').includes('"again" takes runs'), 60_000);
    const spawned = await spawnOn(asker, '[[answer the next one works]]', '--wait');
    expect(spawned.stdout).toContain('the next one works');
    expect(readFileSync(note, 'utf8').trim().split('\n')).toHaveLength(1);
    again.kill('SIGKILL');
    await again.exited;
  });

  test('a run goes on while the server is away, and what came of it comes when that is back', async () => {
    const { asker, host, end } = await machines('--lost-after', '20');
    const go = `${asker.home.path}/go`;
    await spawnOn(asker, `[[until ${go}]] [[write late.txt]] [[answer late but there]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    await team.server.kill();
    writeFileSync(go, '');
    await until('it is told', () => host.said('worker').includes('Runs go on'), 60_000);
    await team.server.start();
    await over(asker);
    expect(asker.turns()[0]).toMatchObject({ state: 'success', result: 'late but there' });
    expect((await asker.call('subagents', 'diff', '1')).stdout).toContain('+++ b/late.txt');
    await end();
  });

  test('a supervisor that is killed while a run is away is followed by another, which misses and doubles nothing', async () => {
    const { asker, host, end } = await machines();
    const [go, note] = [`${asker.home.path}/go`, `${host.home.path}/noted`];
    await spawnOn(asker, `[[note ${note}]] [[until ${go}]] [[write kept.txt]] [[answer none was lost]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    const { runId, owner } = asker.turns()[0] ?? {};
    process.kill(owner?.pid ?? 0, 'SIGKILL');
    const output = turnFiles(asker.home.paths, runId ?? '', 1).output;
    await until('it is gone', () => !isAlive(owner?.pid ?? 0), 10_000);
    const written = readFileSync(output);
    await asker.call('subagents', 'list');
    await until('another one has it', () => asker.turns()[0]?.owner?.pid !== owner?.pid, 60_000);
    writeFileSync(go, '');
    await over(asker);
    expect(asker.turns()).toMatchObject([{ state: 'success', result: 'none was lost' }]);
    expect(readFileSync(output).subarray(0, written.length)).toEqual(written);
    expect(readFileSync(output, 'utf8').match(/"subtype":"init"/g)).toHaveLength(1);
    expect((await asker.call('subagents', 'diff', '1')).stdout).toContain('+++ b/kept.txt');
    expect(readFileSync(note, 'utf8').trim().split('\n')).toHaveLength(1);
    await end();
  });

  test('a worker that is told twice to end does so also while the server is away', async () => {
    const { asker, host, worker } = await machines();
    await spawnOn(asker, `[[until ${asker.home.path}/never]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    await team.server.kill();
    await until('it is told', () => host.said('worker').includes('Runs go on'), 60_000);
    worker.kill('SIGTERM');
    await until('it says so', () => host.said('worker').includes('No more is taken'), 60_000);
    worker.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
    expect(host.processes()).toEqual([]);
    await team.server.start();
    await asker.call('subagents', 'stop', 'all');
  });

  test('what has come is there for the next supervisor until the end is stored', async () => {
    const { asker, end } = await machines();
    const go = `${asker.home.path}/go`;
    const spawned = await asker.callWith({ SELF_GENERATION_CRASH_AT: 'before-end' }, [
      ...['subagents', 'spawn', '--on', 'build', '--permissions', 'all'],
      `[[write kept.txt]] [[until ${go}]] [[answer it is there]]`,
    ]);
    expect(spawned.code).toBe(0);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    const pid = asker.turns()[0]?.owner?.pid ?? 0;
    writeFileSync(go, '');
    await until('it was killed', () => !isAlive(pid), 60_000);
    expect(asker.turns()[0]).toMatchObject({ state: 'running' });
    await asker.call('subagents', 'list');
    await over(asker);
    expect(asker.turns()).toMatchObject([{ state: 'success', result: 'it is there' }]);
    expect((await asker.call('subagents', 'diff', '1')).stdout).toContain('+++ b/kept.txt');
    const { runId = '' } = asker.turns()[0] ?? {};
    expect(readdirSync(runDirectory(asker.home.paths, runId)).sort()).toEqual([
      ...['turn-1.jsonl', 'turn-1.prompt', 'turn-1.stderr'],
    ]);
    await end();
  });

  test('a supervisor that is told to end leaves the run to the next one', async () => {
    const { asker, end } = await machines();
    const go = `${asker.home.path}/go`;
    await spawnOn(asker, `[[until ${go}]] [[answer it went on]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    const pid = asker.turns()[0]?.owner?.pid ?? 0;
    process.kill(pid, 'SIGTERM');
    await until('it is gone', () => !isAlive(pid), 10_000);
    expect(asker.turns()[0]).toMatchObject({ state: 'running', stop: null });
    writeFileSync(go, '');
    await asker.call('subagents', 'list');
    await over(asker);
    expect(asker.turns()).toMatchObject([{ state: 'success', result: 'it went on' }]);
    await end();
  });

  test('a run that the server knows no more is lost, and is not asked for again', async () => {
    const { asker, host, end } = await machines();
    const note = `${host.home.path}/noted`;
    await spawnOn(asker, `[[note ${note}]] [[until ${asker.home.path}/never]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    process.kill(asker.turns()[0]?.owner?.pid ?? 0, 'SIGKILL');
    const admin = await team.open('admin');
    await admin.script('DELETE FROM self_generation.pool_output; DELETE FROM self_generation.pool_runs');
    await admin.close();
    await asker.call('subagents', 'list');
    await over(asker);
    expect(asker.turns()[0]).toMatchObject({ state: 'lost' });
    expect(asker.turns()[0]?.error).toContain('the server does not know it any more');
    expect(readFileSync(note, 'utf8').trim().split('\n')).toHaveLength(1);
    await end();
  });

  test('a worker that has to end by an error ends the clients of its runs', async () => {
    const { asker, host, worker } = await machines('--lost-after', '6');
    await spawnOn(asker, `[[until ${asker.home.path}/never]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    const admin = await team.open('admin');
    const beat = 'FUNCTION self_generation.pool_beat(uuid, uuid)';
    const roles = 'self_generation_member, self_generation_owner, self_generation_reviewer';
    await admin.script(`REVOKE EXECUTE ON ${beat} FROM ${roles}`);
    expect(await worker.exited).toBe(1);
    expect(host.said('worker')).toContain('no right');
    expect(host.processes()).toEqual([]);
    await admin.script(`GRANT EXECUTE ON ${beat} TO ${roles}`);
    await admin.close();
  });

  test('what is to be stopped is stopped there, also when its supervisor was killed before', async () => {
    const { asker, host, end } = await machines();
    await spawnOn(asker, `[[until ${asker.home.path}/never]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    process.kill(asker.turns()[0]?.owner?.pid ?? 0, 'SIGKILL');
    expect(await asker.call('subagents', 'stop', '1')).toMatchObject({ code: 0 });
    expect(asker.turns()[0]).toMatchObject({ state: 'stopped' });
    await until('only the worker and its guard are left', () => host.processes().length === 2, 60_000);
    await end();
  });

  test('a worker that is told to end takes no more and waits; told once more, it stops what it has', async () => {
    const { asker, host, worker } = await machines();
    await spawnOn(asker, `[[until ${asker.home.path}/never]]`);
    await until('its output is here', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    worker.kill('SIGINT');
    await until('it says so', () => host.said('worker').includes('No more is taken'), 60_000);
    expect(worker.exitCode).toBeNull();
    worker.kill('SIGINT');
    expect(await worker.exited).toBe(0);
    await over(asker);
    expect(asker.turns()[0]).toMatchObject({ state: 'stopped' });
    expect(host.processes()).toEqual([]);
  });

  test('what a worker may not fetch is refused there, and what it cannot find here', async () => {
    const [asker, host] = [team.member('ann'), team.member('bob')];
    const spawned = () => spawnOn(asker, '[[answer x]]', '--wait');
    const strict = host.start(['worker', '--pool', 'build', '--name', 'strict']);
    await until('it is there', () => host.said('worker').includes('takes runs'), 60_000);
    const refused = await spawned();
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain('without --allow-local-remotes');
    strict.kill('SIGKILL');
    await strict.exited;
    writeFileSync(`${asker.project}/new.txt`, 'new\n');
    commit(asker.project, 'not pushed');
    expect((await spawned()).stderr).toContain('push it first');
    git(asker.project, 'remote', 'remove', 'origin');
    expect((await spawned()).stderr).toContain('no remote');
  });

  test('a worker grants no more than its own user does, whatever is asked for', async () => {
    const [asker, host] = [team.member('ann'), team.member('bob')];
    const worker = host.start(['worker', '--pool', 'build', '--name', 'careful', '--allow-local-remotes']);
    await until('it is there', () => host.said('worker').includes('takes runs'), 60_000);
    await spawnOn(asker, '[[answer x]]', '--wait');
    const row = readRuns(host.home.paths, (db) => db.get('SELECT permissions FROM runs'));
    expect(JSON.parse(String(row?.permissions))).toMatchObject({ mode: 'default', allow: [] });
    worker.kill('SIGKILL');
    await worker.exited;
  });

  test('team pool shows machines, slots, the queue and one’s own runs', async () => {
    const { asker, end } = await machines('--slots', '1');
    await spawnOn(asker, `[[until ${asker.home.path}/never]] one`);
    await until('it runs', () => asker.turns()[0]?.usage.inputTokens !== null, 60_000);
    await spawnOn(asker, `[[until ${asker.home.path}/never]] two`);
    await until('it waits', () => asker.turns(2)[0]?.state === 'running', 60_000);
    await Bun.sleep(500);
    const { stdout } = await asker.call('team', 'pool', '--json');
    const shown = JSON.parse(stdout);
    expect(shown.machines).toContainEqual(
      expect.objectContaining({ pool: 'build', login: 'bob', slots: 1, busy: 1 }),
    );
    expect(shown.queues).toEqual([expect.objectContaining({ pool: 'build', queued: 1 })]);
    expect(
      shown.own.map(({ number, state }: { number: number; state: string }) => `${number} ${state}`),
    ).toEqual(['1 running', '2 queued']);
    expect((await asker.call('team', 'pool')).stdout).toMatch(/1 of \d+ slots used · 1 queued/);
    await asker.call('subagents', 'stop', 'all');
    await end();
  });
});
