import { describe, expect, test } from 'bun:test';
import { proofCommand } from '../../../src/cli/proof/proof.ts';
import { writeDatabase } from '../../../src/hooks/store/use-database.ts';
import { type Home, readRows, temporaryHome } from '../../support/home.ts';
import { withDatabase } from '../../support/seed.ts';
import { SimulatedUser, USERS_PROJECT, type World } from '../../support/simulated-user.ts';
import { call, callHere, printed } from '../call.ts';

const START = Date.parse('2026-08-31T08:00:00.000Z');
const HELPS: World = { holdOut: 'trial', ratio: 0.1, calls: [4, 1], perWeek: 15, seed: 3 };

/** A user who has worked so long; what `proof` says to him with these words. */
async function proofOf(home: Home, world: Partial<World>, weeks: number) {
  const whole = { ...HELPS, ...world };
  home.writeConfig({ proof: { holdOut: whole.holdOut } });
  const now = writeDatabase(home.paths, (db) => {
    const user = new SimulatedUser(whole, START, db);
    user.work(weeks);
    return user.now;
  });
  return (...words: string[]) => callHere(proofCommand, words, { env: { HOME: home.path }, now: () => now });
}

const json = async (asked: ReturnType<typeof callHere>) => JSON.parse(printed(await asked));

describe('proof', () => {
  test('goes from nothing over not known to helps', async () => {
    using home = temporaryHome();
    const states: string[] = [];
    for (const weeks of [0, 1, 12]) {
      using one = temporaryHome();
      states.push((await json((await proofOf(one, {}, weeks))('--json'))).start.verdict);
    }
    expect(states).toEqual(['unknown', 'open', 'helps']);
    const text = printed(await (await proofOf(home, {}, 12))());
    expect(text).toContain('Told when an agent starts, does a failure come back less often? IT HELPS');
    expect(text).not.toContain('\u001b');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('says harm, finds nothing where nothing is changed, and that it cannot be known', async () => {
    const verdictOf = async (world: Partial<World>, weeks: number) => {
      using home = temporaryHome();
      const { start, failure, holdOut } = await json((await proofOf(home, world, weeks))('--json'));
      return {
        start: start.verdict,
        failure: failure.verdict,
        holdOut,
        told: start.told,
        always: start.always,
      };
    };
    expect(await verdictOf({ ratio: 5, calls: [2, 2], perWeek: 5 }, 26)).toMatchObject({ start: 'harms' });
    const same = await verdictOf({ ratio: 1, calls: [3, 3] }, 12);
    expect(same).toMatchObject({ start: 'open', failure: 'open' });
    const off = await verdictOf({ holdOut: 'off' }, 4);
    expect(off).toMatchObject({ start: 'unknown', told: 0, holdOut: 'off' });
    expect(off.always).toBeGreaterThan(0);
  });

  test('--json adds up, and has no text, path, key or name of a session', async () => {
    using home = temporaryHome();
    const ask = await proofOf(home, {}, 12);
    const stdout = printed(await ask('--json'));
    const { version, program, kinds, start, failure, sessions } = JSON.parse(stdout);
    expect({ version, program, sessions }).toEqual({
      version: 1,
      program: expect.any(String),
      sessions: 108,
    });
    const of = (channel: string) => kinds.find((one: { channel: string }) => one.channel === channel);
    expect(of('start')).toMatchObject({ kind: 'rule', told: start.told, held: start.held, holdPercent: 10 });
    expect(of('failure').logEvidence).toBeCloseTo(Math.log(failure.found.evidence));
    const [coin] = readRows(home.paths, 'SELECT key, commitment FROM coin');
    const secrets = [USERS_PROJECT, 'pytest', 's-1-1', String(coin?.key), String(coin?.commitment)];
    for (const secret of secrets) expect(stdout).not.toContain(secret);
  });

  test('--verify finds what was changed by hand, and names it', async () => {
    using home = temporaryHome();
    const ask = await proofOf(home, {}, 2);
    expect(printed(await ask('--verify'))).toContain('Nothing was changed by hand');
    withDatabase(home.paths, (db) => db.sqlite.run('UPDATE exposures SET held = 1 - held WHERE id = 7'));
    const { code, stdout } = await ask('--verify');
    expect(code).toBe(1);
    expect(stdout).toContain('row 7');
    const { problems } = JSON.parse((await ask('--verify', '--json')).stdout);
    expect(problems).toContainEqual(expect.objectContaining({ id: 7 }));
  });

  test('--withdrawn says what is told no more, why, since when, and how it comes back', async () => {
    using home = temporaryHome();
    const ask = await proofOf(home, { ratio: 5, calls: [2, 2], perWeek: 5 }, 26);
    const stdout = printed(await ask('--withdrawn'));
    expect(stdout).toMatch(
      /was told: use `.+` instead of `.+`\n {4}of no use: .+\n {4}2026-\d\d-\d\d {2}\/home\/dev\/app/,
    );
    expect(stdout).toContain('"self-generation lessons restore ID"');
    expect((await json(ask('--withdrawn', '--json'))).withdrawn[0]).toMatchObject({ reason: 'statistics' });
    using other = temporaryHome();
    expect(printed(await (await proofOf(other, {}, 0))('--withdrawn'))).toBe('No lesson is withdrawn.\n');
  });

  test('takes one view at a time', async () => {
    using home = temporaryHome();
    const ask = await proofOf(home, {}, 0);
    for (const words of [
      ['--verify', '--withdrawn'],
      ['--verify', '--replay', '1'],
      ['--pairs', '3'],
      ['--yes'],
    ])
      expect((await ask(...words)).code).toBe(2);
  });

  test('is a command of the program, also where nothing is recorded', async () => {
    using home = temporaryHome();
    const { exitCode, stdout, stderr } = await call(home, ['proof']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('nothing is held out');
    const status = JSON.parse((await call(home, ['status', '--json'])).stdout);
    expect(status.proof).toContain('nothing is held out');
  });
});
