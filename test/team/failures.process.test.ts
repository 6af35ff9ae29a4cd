import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { statusCommand } from '../../src/cli/status.ts';
import { teamCommand } from '../../src/cli/team/team.ts';
import { readMembership, teamPaths, writeMembership } from '../../src/team/membership.ts';
import { callHere } from '../cli/call.ts';
import { ADMIN } from '../support/postgres-server.ts';
import { BINARY } from '../support/program.ts';
import { networkTo } from './network.ts';
import {
  asAdmin,
  HAS_POSTGRES,
  lesson,
  offered,
  open,
  type Person,
  remedyOf,
  sharedWorld,
  TEAM,
} from './team-world.ts';

const world = sharedWorld();

const NAMES = Array.from({ length: 12 }, (_, index) => `option-${index}`);

/** What the server has of this person's lessons, each once. */
async function sharedBy(login: string): Promise<string[]> {
  const { server } = await world();
  const admin = await open(server, ADMIN);
  const rows = await admin.all(
    `SELECT body ->> 'key' AS key FROM self_generation.facts WHERE author = $1 AND kind = 'lesson' ORDER BY 1`,
    [login],
  );
  await admin.close();
  return rows.map(({ key }) => String(key));
}

/** Reaches the server by way of another port. */
function throughPort({ home, login }: Person, port: number): void {
  const membership = readMembership(home.paths);
  if (membership === undefined) throw new Error(`${login} is in no team`);
  writeMembership({ ...membership, url: membership.url.replace(/:\d+\//, `:${port}/`) }, home.paths);
}

const keysOf = (names: readonly string[], prefix: string) =>
  names.map((name) => lesson(`${prefix}${name}`).key).sort();

/** What is in the copy, without what differs from one to the next. */
function copyOf({ home }: Person): unknown[] {
  const copy = new Database(teamPaths(home.paths).copy, { readonly: true });
  const rows = copy.query('SELECT seq, author, kind, about FROM facts ORDER BY seq').all();
  copy.close();
  return rows;
}

describe.skipIf(!HAS_POSTGRES)('a team whose server, network or machine fails', () => {
  test('a server that is away changes nothing here, is named in status, and gets what waited when it is back', async () => {
    const { person, server } = await world();
    const [gil, hue] = [await person('gil'), await person('hue')];
    gil.learn(lesson('away'));
    await gil.sync();
    await hue.sync();
    const id = await offered(hue, 'away');
    await server.kill();
    expect(await gil.run(teamCommand, 'sync')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^error: Cannot sync with the team: Cannot reach the database "postgres" on 127\.0\.0\.1:\d+: nothing answers there; is the server running\? What is here works without it\.\n$/,
      ),
    });
    gil.learn(lesson('meanwhile'));
    // A decision needs no server.
    expect((await hue.apply(id)).code).toBe(0);
    expect(hue.told()).toEqual([remedyOf('away')]);
    expect(await gil.team('status')).toMatch(
      /The last sync failed .*: Cannot reach .* What is here works without it; the next one sends what waits\./,
    );
    expect((await gil.run(statusCommand)).stdout).toMatch(
      /^Team "shop": The last sync failed .*nothing answers there/m,
    );
    await server.start();
    await gil.sync();
    await hue.sync();
    await gil.sync();
    expect(await sharedBy('gil')).toEqual(keysOf(['away', 'meanwhile'], ''));
    expect(await gil.team('log')).toContain('hue accepted');
    expect(await gil.team('status')).toContain('Last sync');
  });

  test('a network that is cut anywhere loses and doubles nothing', async () => {
    const { person, server } = await world();
    const [ida, jon] = [await person('ida'), await person('jon')];
    const network = await networkTo(server.port);
    ida.learn(...NAMES.map((name) => lesson(`ida-${name}`)));
    for (const one of [ida, jon]) throughPort(one, network.port);
    let failed = 0;
    for (let bytes = 200; bytes < 30_000; bytes = Math.ceil(bytes * 1.4)) {
      for (const one of [ida, jon]) {
        network.cutAfterBytes = bytes;
        const { code, stderr } = await one.run(teamCommand, 'sync');
        if (code === 0) continue;
        failed++;
        expect(stderr).toContain('the connection was cut');
      }
    }
    expect(failed).toBeGreaterThan(5);
    network.cutAfterBytes = Number.POSITIVE_INFINITY;
    for (const one of [ida, jon]) await one.sync();
    expect(await sharedBy('ida')).toEqual(keysOf(NAMES, 'ida-'));
    expect((await jon.suggestions()).filter(({ text }) => text.includes('ida-')).length).toBe(NAMES.length);
    network.close();
  });

  test('a slow network is waited for, one that passes nothing is not', async () => {
    const { person, server } = await world();
    const kit = await person('kit');
    const network = await networkTo(server.port);
    throughPort(kit, network.port);
    kit.learn(lesson('slow'));
    network.delayMs = 100;
    expect(await kit.sync()).toMatchObject({ kind: 'done', pushed: 2 });
    network.isHeldUp = true;
    const before = performance.now();
    expect(await kit.run(teamCommand, 'sync')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it does not answer in time'),
    });
    expect(performance.now() - before).toBeLessThan(20_000);
    network.close();
  });

  test('clocks that differ by days change nothing: the server counts', async () => {
    const { person } = await world();
    const [lea, max] = [await person('lea'), await person('max')];
    const at = (one: Person, days: number, ...words: string[]) =>
      callHere(teamCommand, words, {
        env: { HOME: one.home.path, PATH: process.env.PATH },
        cwd: one.project,
        now: () => new Date(Date.now() + days * 86_400_000),
      });
    lea.learn(lesson('skewed'));
    expect((await at(lea, 1, 'sync')).code).toBe(0);
    expect((await at(max, -1, 'sync')).code).toBe(0);
    await max.apply(await offered(max, 'skewed'));
    await at(max, -1, 'sync');
    const number = /(\d+) +\S+ \S+ +lea shared/.exec((await at(lea, 1, 'log')).stdout)?.[1] ?? '';
    expect((await at(lea, -2, 'revert', number)).code).toBe(0);
    await at(max, 2, 'sync');
    expect([lea.told(), max.told()]).toEqual([[], []]);
  });

  test('a copy that is damaged, cut off or no database is set aside and fetched anew', async () => {
    const { person } = await world();
    const [nia, oli] = [await person('nia'), await person('oli')];
    nia.learn(...NAMES.map((name) => lesson(`nia-${name}`)));
    await nia.sync();
    await oli.sync();
    await oli.apply(await offered(oli, 'nia-option-3'));
    await oli.sync();
    const { copy } = teamPaths(oli.home.paths);
    const sound = copyOf(oli);
    const damages: ((bytes: Buffer) => Buffer)[] = [
      (bytes) => Buffer.from(bytes).fill(0x5a, 4096, bytes.length),
      (bytes) => bytes.subarray(0, bytes.length / 3),
      () => Buffer.from('this is no database, whatever its name says'.repeat(100)),
    ];
    for (const damage of damages) {
      writeFileSync(copy, damage(readFileSync(copy)));
      const report = await oli.sync();
      const aside = String(report.setAside);
      expect([report.kind, aside.includes('/backups/team-'), existsSync(aside)]).toEqual([
        'done',
        true,
        true,
      ]);
      expect(copyOf(oli)).toEqual(sound);
      expect(oli.told()).toEqual([remedyOf('nia-option-3')]);
      expect(await oli.team('status')).toContain('the copy here was damaged');
    }
    expect(await oli.sync()).toMatchObject({ pushed: 0, setAside: null });
  });

  test('a server that was set back to an earlier state gets again what it has lost', async () => {
    const { person, server } = await world();
    const [pia, quin] = [await person('pia'), await person('quin')];
    pia.learn(lesson('kept'));
    await pia.sync();
    await quin.sync();
    await quin.apply(await offered(quin, 'kept'));
    await quin.sync();
    const number = /(\d+) +\S+ \S+ +pia shared/.exec(await quin.team('log'))?.[1];
    await asAdmin(
      server,
      `ALTER TABLE self_generation.facts DISABLE TRIGGER ALL; DELETE FROM self_generation.facts WHERE seq >= ${number};
       ALTER TABLE self_generation.facts ENABLE TRIGGER ALL`,
    );
    expect(await sharedBy('pia')).toEqual([]);
    await pia.sync();
    await quin.sync();
    await pia.sync();
    expect(await sharedBy('pia')).toEqual(keysOf(['kept'], ''));
    expect(await pia.team('log')).toContain('quin accepted');
    expect(quin.told()).toEqual([remedyOf('kept')]);
  });

  test('a program that is older than the server works beside it, and says so when it does not', async () => {
    const { person, server } = await world();
    const [rex, sue] = [await person('rex'), await person('sue')];
    rex.learn(lesson('later'));
    await rex.sync();
    // What a later version may add: columns, and facts of a kind that this one does not know.
    await asAdmin(
      server,
      `ALTER TABLE self_generation.facts ADD COLUMN machine text; ALTER TABLE self_generation.members ADD COLUMN note text;
       INSERT INTO self_generation.versions (version, least_program) VALUES (90, 1)`,
    );
    const later = await open(server, 'rex');
    await later.all(
      `INSERT INTO self_generation.facts (team, id, kind, repository, about, body)
       SELECT team, repeat('ab', 32), 'praise', repository, about, '{"stars":5}' FROM self_generation.facts
       WHERE author = 'rex' AND kind = 'lesson'`,
    );
    await later.close();
    await sue.sync();
    expect(await sue.team('log')).toContain('wrote "praise", which this program does not understand');
    await sue.apply(await offered(sue, 'later'));
    expect(sue.told()).toEqual([remedyOf('later')]);
    await asAdmin(server, 'UPDATE self_generation.versions SET least_program = 91 WHERE version = 90');
    expect(await sue.run(teamCommand, 'sync')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'the team works with a later version of this program; run "self-generation update"',
      ),
    });
    expect(sue.told()).toEqual([remedyOf('later')]);
    await asAdmin(server, 'DELETE FROM self_generation.versions WHERE version = 90');
    await sue.sync();
  });

  test('a sync that is killed at twenty points loses and doubles nothing', async () => {
    const { person } = await world();
    const [tom, uma] = [await person('tom'), await person('uma')];
    tom.learn(...NAMES.map((name) => lesson(`tom-${name}`)));
    const sync = (one: Person) =>
      Bun.spawn([BINARY, 'team', 'sync'], {
        cwd: one.project,
        env: { HOME: one.home.path, PATH: process.env.PATH },
        stdout: 'ignore',
        stderr: 'ignore',
      });
    const before = performance.now();
    await sync(uma).exited;
    const lastsMs = performance.now() - before;
    let killed = 0;
    for (let point = 1; point <= 20; point++) {
      const child = sync(point % 3 === 0 ? uma : tom);
      await Bun.sleep((lastsMs * point) / 20);
      child.kill('SIGKILL');
      await child.exited;
      if (child.signalCode === 'SIGKILL') killed++;
    }
    expect(killed).toBeGreaterThan(10);
    for (const one of [tom, uma, tom, uma]) await one.sync();
    expect(await sharedBy('tom')).toEqual(keysOf(NAMES, 'tom-'));
    expect(copyOf(tom)).toEqual(copyOf(uma));
    const { repositories } = JSON.parse(await uma.team('status', '--json'));
    expect(repositories[0].waiting).toBeGreaterThanOrEqual(NAMES.length);
  }, 120_000);

  test('two syncs at once do no harm', async () => {
    const { person } = await world();
    const vic = await person('vic');
    vic.learn(lesson('both'));
    const outcomes = await Promise.all([vic.sync(), vic.sync(), vic.sync()]);
    expect(outcomes.map(({ kind }) => kind)).toContain('done');
    expect(await sharedBy('vic')).toEqual(keysOf(['both'], ''));
  });

  test('a login that is not in the team, and a wrong key, are told so', async () => {
    const { person, server, key } = await world();
    const wes = await person('wes');
    const { owner } = await world();
    await owner.team('members', 'remove', 'wes');
    expect((await wes.run(teamCommand, 'sync')).stderr).toContain(`"wes" is no member of the team "${TEAM}"`);
    await asAdmin(server, 'CREATE ROLE nobody LOGIN');
    const joined = await callHere(teamCommand, ['join', server.url('nobody')], {
      env: { HOME: wes.home.path, SELF_GENERATION_TEAM_KEY: key },
    });
    expect(joined.stderr).toContain('this login has no right to that');
    const xia = await person('xia');
    const other = await callHere(teamCommand, ['join', server.url('xia')], {
      env: { HOME: xia.home.path, SELF_GENERATION_TEAM_KEY: 'f'.repeat(64) },
    });
    expect(other.stderr).toContain(`the key is not that of the team "${TEAM}"`);
  });
});
