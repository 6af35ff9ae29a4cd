import { describe, expect, test } from 'bun:test';
import { teamCommand } from '../../src/cli/team/team.ts';
import { remoteOf } from '../../src/lessons/repository.ts';
import { repositoryName } from '../../src/team/membership.ts';
import { contentId, type NewFact } from '../../src/team/model/fact.ts';
import { pushFacts, seatIn } from '../../src/team/store/server.ts';
import { inNamespace, NO_NAMESPACES } from '../support/namespace.ts';
import { ADMIN, type TestServer } from '../support/postgres-server.ts';
import { BINARY } from '../support/program.ts';
import { HAS_POSTGRES, lesson, offered, open, sharedWorld, TEAM } from './team-world.ts';

if (NO_NAMESPACES !== undefined)
  console.warn(`NOT TESTED HERE: a team on a full disk, since ${NO_NAMESPACES}`);

const world = sharedWorld();
const FACTS = 4000;
/** Of the script's file system. */
const ROOM_KB = 60 * 1024;

/** Beside the data and a large file there is little room; later that file goes. */
const SCRIPT = `
  cp -a "$1" "$1.before"
  mount -t tmpfs -o size=60m,mode=700 tmpfs "$1"
  cp -a "$1.before/." "$1/"
  head -c "$2"k /dev/zero > "$1/large"
  "$0" team sync || echo "ended with $?"
  "$0" team status
  rm "$1/large"
  "$0" team sync --json
  "$0" team status --json
`;

const fullServer = sharedWorld({ diskMb: 160, settings: ['checkpoint_timeout = 1h', 'max_wal_size = 2GB'] });
const LESSONS = 1500;
const DISK_FULL = /Cannot sync with the team: .*the disk of the server is full/;

/** Lessons with texts that need more room than is left. */
function lessonsOf(name: string) {
  return Array.from({ length: LESSONS }, (_, index) => {
    const said = `${name} ${index}: ${'so long a line that it takes room '.repeat(8).trim()}`;
    return lesson(`${name}-${index}`, { key: said, said });
  });
}

/** Fills the disk of the server; returns what makes room again. */
async function fill(server: TestServer): Promise<() => Promise<void>> {
  const admin = await open(server, ADMIN);
  await admin.script('CREATE TABLE filler (bytes text); ALTER TABLE filler ALTER bytes SET STORAGE PLAIN');
  // A little stays: without any the server itself ends, as one that is killed does.
  for (const rows of [1000, 100])
    for (let isFull = false; !isFull; )
      isFull = await admin
        .script(`INSERT INTO filler SELECT repeat('x', 7000) FROM generate_series(1, ${rows})`)
        .then(
          () => false,
          (error) => String(error).includes('is full'),
        );
  return async () => {
    await admin.script('DROP TABLE filler');
    await admin.close();
  };
}

describe.skipIf(!HAS_POSTGRES || NO_NAMESPACES !== undefined)('a server whose disk is full', () => {
  test('takes nothing, which status says, and has each lesson once when there is room again', async () => {
    const { person, server } = await fullServer();
    const [ada, ben] = [await person('ada'), await person('ben')];
    ada.learn(lesson('before'));
    await ada.sync();
    await ben.sync();
    const id = await offered(ben, 'before');
    const makeRoom = await fill(server);
    ada.learn(...lessonsOf('ada'));
    expect(await ada.run(teamCommand, 'sync')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(DISK_FULL),
    });
    expect(await ada.team('status')).toMatch(/The last sync failed .*: .*the disk of the server is full/);
    // What is here goes on.
    expect((await ben.apply(id)).code).toBe(0);
    expect(ben.told()).toHaveLength(1);
    await makeRoom();
    expect(await ada.sync()).toMatchObject({ kind: 'done', refused: [] });
    expect(await ada.team('status')).toContain('Last sync');
    await ben.sync();
    const admin = await open(server, ADMIN);
    const [row] = await admin.all(
      "SELECT count(*) AS all, count(DISTINCT about) AS each FROM self_generation.facts WHERE author = 'ada' AND kind = 'lesson'",
    );
    await admin.close();
    expect(row).toEqual({ all: String(LESSONS + 1), each: String(LESSONS + 1) });
    expect(JSON.parse(await ben.team('status', '--json')).repositories[0].shared).toBe(LESSONS + 1);
  });
});

describe.skipIf(!HAS_POSTGRES || NO_NAMESPACES !== undefined)('a sync on a full disk', () => {
  test('fails with a word in status, loses nothing, and goes on where there is room again', async () => {
    const { person, server, key } = await world();
    await person('ada');
    const ben = await person('ben');
    await ben.sync();
    const repository = repositoryName(key, remoteOf(ben.project, { PATH: process.env.PATH }) ?? '');
    const connection = await open(server, 'ada');
    const team = (await seatIn(TEAM, connection))?.team ?? 0;
    await pushFacts(
      team,
      Array.from({ length: FACTS }, (_, index) => made(index, repository)),
      connection,
    );
    await connection.close();
    const { data } = ben.home.paths;
    const used = Number(Bun.spawnSync(['du', '-sk', data]).stdout.toString().split('\t')[0]);
    const command = inNamespace(SCRIPT, [BINARY, data, String(ROOM_KB - used - 1024)]);
    const child = Bun.spawnSync(command, {
      cwd: ben.project,
      env: { HOME: ben.home.path, PATH: process.env.PATH },
    });
    const said = child.stdout.toString();
    expect(said).toContain('ended with 1');
    expect(child.stderr.toString()).toMatch(/Cannot sync with the team: .*disk is full/);
    expect(said).toMatch(/The last sync failed .*: .*disk is full/);
    expect(said).toContain('"kind": "done"');
    const status = JSON.parse(said.slice(said.lastIndexOf('\n{') + 1));
    expect(status.repositories[0].shared).toBe(FACTS);
    expect([child.exitCode, status.lastSync.kind]).toEqual([0, 'done']);
  });
});

function made(index: number, repository: string): NewFact {
  const said = `error ${index}: ${'so long a line that it takes room '.repeat(8).trim()}`;
  const body = {
    ...{ key: said, said, sessions: 1, failed: 1, helped: 1 },
    remedy: { kind: 'command' as const, failing: `a ${index}`, use: `b ${index}` },
  };
  const about = contentId({ kind: 'lesson', repository, body });
  return { id: about, about, repository, kind: 'lesson', body };
}
