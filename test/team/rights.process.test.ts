import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connectServer, type Server } from '../../src/database/postgres.ts';
import { readServerAddress } from '../../src/database/server-address.ts';
import { keyCheck } from '../../src/team/membership.ts';
import { contentId, idOf, type NewFact, NO_REPOSITORY } from '../../src/team/model/fact.ts';
import { migrateTeam } from '../../src/team/store/migrate.ts';
import {
  createTeam,
  membersOf,
  pullFacts,
  pushFacts,
  removeMember,
  seatIn,
  setMember,
  teamsOf,
} from '../../src/team/store/server.ts';
import { ADMIN, startPostgres, type TestServer } from '../support/postgres-server.ts';
import { asAdmin, HAS_POSTGRES, open } from './team-world.ts';

/** Who is connected. `stranger`: a login of the server without any role of ours; `other`: an owner, of another team. */
const WHO = ['stranger', 'gone', 'other', 'member', 'reviewer', 'owner'] as const;
type Who = (typeof WHO)[number];

const REPOSITORY = idOf('repository');
const OURS = 1;
const THEIRS = 2;

let server: TestServer;
const connections = new Map<Who, Server>();
const as = (who: Who): Server => connections.get(who) as Server;

const factOf = (name: string, changes: Partial<NewFact> = {}): NewFact => {
  const body = {
    ...{ key: name, said: name, sessions: 1, failed: 1, helped: 1 },
    remedy: { kind: 'words' as const, summary: name },
  };
  const about = contentId({ kind: 'lesson', repository: REPOSITORY, body });
  return { id: about, about, repository: REPOSITORY, kind: 'lesson', body, ...changes } as NewFact;
};

beforeAll(async () => {
  if (!HAS_POSTGRES) return;
  server = await startPostgres();
  const admin = await open(server, ADMIN);
  await migrateTeam(admin);
  await admin.close();
  const roles = { gone: 'member', other: 'owner', member: 'member', reviewer: 'reviewer', owner: 'owner' };
  await asAdmin(
    server,
    WHO.map((who) => `CREATE ROLE ${who} LOGIN;`).join('') +
      Object.entries(roles)
        .map(([who, role]) => `GRANT self_generation_${role} TO ${who};`)
        .join(''),
  );
  for (const who of WHO) connections.set(who, await open(server, who));
  const check = keyCheck('0'.repeat(64), 'ours');
  await createTeam('ours', check, as('owner'));
  await createTeam('theirs', check, as('other'));
  await setMember(OURS, 'member', 'member', as('owner'));
  await setMember(OURS, 'reviewer', 'reviewer', as('owner'));
  await setMember(OURS, 'gone', 'reviewer', as('owner'));
  await pushFacts(OURS, [factOf('of one who has left')], as('gone'));
  await removeMember(OURS, 'gone', as('owner'));
  await pushFacts(OURS, [factOf('of a member')], as('member'));
  await pushFacts(THEIRS, [factOf('of another team')], as('other'));
});
afterAll(async () => {
  for (const one of connections.values()) await one.close();
  await server?.remove();
});

/** What a statement comes to: its number of rows, or that it was refused. */
async function outcome(who: Who, sql: string, values: unknown[] = []): Promise<number | 'refused'> {
  try {
    const rows = await as(who).all(sql, values);
    return rows.length;
  } catch (error) {
    expect((error as { code?: string }).code).toBe('42501');
    return 'refused';
  }
}

const NO = 'refused';
const FACT = [idOf('x'), 'part', REPOSITORY, '{"takesPart":true}'];
/** Each statement, and what it comes to for each of WHO, in its order. */
const MATRIX: readonly (readonly [string, readonly unknown[], readonly (number | 'refused')[]])[] = [
  ['SELECT id FROM self_generation.teams', [], [NO, 0, 1, 1, 1, 1]],
  ['SELECT login FROM self_generation.members', [], [NO, 0, 1, 4, 4, 4]],
  ['SELECT seq FROM self_generation.facts', [], [NO, 0, 1, 2, 2, 2]],
  ['SELECT version FROM self_generation.versions LIMIT 1', [], [1, 1, 1, 1, 1, 1]],
  [
    `INSERT INTO self_generation.facts (team, id, kind, repository, about, body)
     VALUES (${OURS}, $1, $2, $3, $1, $4) ON CONFLICT DO NOTHING RETURNING id`,
    FACT,
    [NO, NO, NO, 1, 1, 1],
  ],
  [
    `INSERT INTO self_generation.facts (team, id, kind, repository, about, body) VALUES (${OURS}, $1, $2, $3, $1, $4)`,
    [idOf('restore'), 'restore', REPOSITORY, '{}'],
    [NO, NO, NO, NO, 0, 0],
  ],
  ["UPDATE self_generation.facts SET kind = 'rule'", [], [NO, NO, NO, NO, NO, NO]],
  ['DELETE FROM self_generation.facts', [], [NO, NO, NO, NO, NO, NO]],
  ['TRUNCATE self_generation.facts', [], [NO, NO, NO, NO, NO, NO]],
  [
    `INSERT INTO self_generation.members (team, login, role) VALUES (${OURS}, $1, 'owner') RETURNING login`,
    ['friend'],
    [NO, NO, NO, NO, NO, 1],
  ],
  [
    "UPDATE self_generation.members SET role = 'owner' WHERE login = 'member' AND false",
    [],
    [NO, NO, 0, NO, NO, 0],
  ],
  [
    `UPDATE self_generation.members SET removed_at = NULL WHERE team = ${OURS} AND login = 'friend' RETURNING login`,
    [],
    [NO, NO, 0, NO, NO, 1],
  ],
  ['UPDATE self_generation.members SET login = login', [], [NO, NO, NO, NO, NO, NO]],
  ['DELETE FROM self_generation.members', [], [NO, NO, NO, NO, NO, NO]],
  ['TRUNCATE self_generation.members', [], [NO, NO, NO, NO, NO, NO]],
  [
    'INSERT INTO self_generation.teams (name, key_check) VALUES ($1, repeat($2, 64))',
    ['more', 'a'],
    [NO, NO, 0, NO, NO, 0],
  ],
  ["UPDATE self_generation.teams SET name = 'x'", [], [NO, NO, NO, NO, NO, NO]],
  ['DELETE FROM self_generation.teams', [], [NO, NO, NO, NO, NO, NO]],
  ['UPDATE self_generation.versions SET version = 9', [], [NO, NO, NO, NO, NO, NO]],
  ['DELETE FROM self_generation.versions', [], [NO, NO, NO, NO, NO, NO]],
  [
    'INSERT INTO self_generation.versions (version, least_program) VALUES (9, 9)',
    [],
    [NO, NO, NO, NO, NO, NO],
  ],
  ['CREATE TABLE self_generation.own (id int)', [], [NO, NO, NO, NO, NO, NO]],
  ['ALTER TABLE self_generation.facts DISABLE ROW LEVEL SECURITY', [], [NO, NO, NO, NO, NO, NO]],
  ['ALTER TABLE self_generation.facts DISABLE TRIGGER ALL', [], [NO, NO, NO, NO, NO, NO]],
  ['DROP SCHEMA self_generation CASCADE', [], [NO, NO, NO, NO, NO, NO]],
  ['LOCK TABLE self_generation.facts IN ACCESS EXCLUSIVE MODE', [], [NO, NO, NO, NO, NO, NO]],
];

describe.skipIf(!HAS_POSTGRES)('rights on the server', () => {
  for (const [sql, values, expected] of MATRIX) {
    test(sql.replace(/\s+/g, ' ').slice(0, 110), async () => {
      const found: unknown[] = [];
      for (const who of WHO) {
        // Each in a transaction that is rolled back: what one may do must not change what the next one sees.
        await as(who).all('BEGIN');
        found.push(await outcome(who, sql, [...values]));
        await as(who).all('ROLLBACK');
      }
      if (!sql.startsWith('UPDATE self_generation.members SET removed_at'))
        return expect(Object.fromEntries(WHO.map((who, at) => [who, found[at]]))).toEqual(
          Object.fromEntries(WHO.map((who, at) => [who, expected[at]])),
        );
      // Nobody of this name is there: what counts is that it is not refused.
      expect(found.map((one) => (one === NO ? NO : 'allowed'))).toEqual(
        expected.map((one) => (one === NO ? NO : 'allowed')),
      );
    });
  }

  test('a forged author, role, number or time is refused', async () => {
    for (const column of ['author', 'role', 'seq', 'at']) {
      const value = { author: "'owner'", role: "'owner'", seq: '1', at: "'2020-01-01'" }[column];
      const sql = `INSERT INTO self_generation.facts (team, id, kind, repository, about, body, ${column})
        OVERRIDING SYSTEM VALUE VALUES (${OURS}, $1, $2, $3, $1, $4, ${value})`;
      expect([column, await outcome('member', sql, FACT)]).toEqual([column, NO]);
    }
  });

  test('a role that was taken on or set does not change who one is', async () => {
    const member = as('member');
    for (const sql of ['SET ROLE self_generation_owner', 'SET ROLE owner', 'SET SESSION AUTHORIZATION owner'])
      expect([sql, await outcome('member', sql)]).toEqual([sql, NO]);
    await member.all('SET ROLE self_generation_member');
    await member.all('SET search_path = pg_temp, public');
    expect(await seatIn('ours', member)).toMatchObject({ role: 'member' });
    await member.all('RESET ROLE');
  });

  test('who withdraws has shared it or is a reviewer; by the row alone, or by the group alone, nobody reviews', async () => {
    const theirs = factOf('of one who has left');
    const own = factOf('of a member');
    const withdrawal = ({ about }: NewFact, why: string) =>
      ({
        id: idOf(why, about),
        about,
        repository: REPOSITORY,
        kind: 'withdraw',
        body: { reason: why },
      }) as const;
    const push = (who: Who, fact: NewFact) =>
      pushFacts(OURS, [fact], as(who)).then(String, (error) => error.code);
    expect(await push('member', withdrawal(theirs, 'a'))).toBe('42501');
    expect(await push('member', withdrawal(own, 'a'))).toBe('1');
    expect(await push('reviewer', withdrawal(theirs, 'b'))).toBe('1');
    await setMember(OURS, 'member', 'reviewer', as('owner'));
    expect(await push('member', withdrawal(theirs, 'c'))).toBe('42501');
    await setMember(OURS, 'member', 'member', as('owner'));
    await setMember(OURS, 'reviewer', 'member', as('owner'));
    expect(await push('reviewer', withdrawal(theirs, 'd'))).toBe('42501');
    await setMember(OURS, 'reviewer', 'reviewer', as('owner'));
  });

  test('even who owns the tables changes and removes no history', async () => {
    const admin = await open(server, ADMIN);
    for (const sql of [
      "UPDATE self_generation.facts SET kind = 'rule'",
      'DELETE FROM self_generation.facts',
      'TRUNCATE self_generation.facts',
    ])
      expect(admin.all(sql)).rejects.toMatchObject({ code: '42501' });
    await admin.close();
  });

  test('who has made the tables is bound by them like everybody else', async () => {
    await asAdmin(server, 'CREATE ROLE maker LOGIN CREATEROLE');
    await asAdmin(server, 'CREATE DATABASE made OWNER maker');
    const there = async (login: string) => {
      const read = readServerAddress(server.url(login, 'made'), {});
      return await connectServer(read.kind === 'address' ? read.address : expect.unreachable());
    };
    const maker = await there('maker');
    await migrateTeam(maker);
    await createTeam('made', '0'.repeat(64), maker);
    await pushFacts(1, [factOf('made')], maker);
    for (const sql of [
      'ALTER TABLE self_generation.facts DISABLE TRIGGER USER',
      'ALTER TABLE self_generation.facts DISABLE ROW LEVEL SECURITY',
      'DELETE FROM self_generation.facts',
      'DROP SCHEMA self_generation CASCADE',
      'SET ROLE self_generation_tables',
    ])
      expect(maker.all(sql)).rejects.toMatchObject({ code: '42501' });
    // Bringing the schema up to date once more leaves no more rights behind.
    await migrateTeam(maker);
    expect(maker.all('SET ROLE self_generation_tables')).rejects.toMatchObject({ code: '42501' });
    await maker.close();
  });

  test('a login without any right cannot keep the others from writing, and an old snapshot is no seat', async () => {
    const stranger = as('stranger');
    await stranger.all("SELECT pg_advisory_lock(hashtext('self_generation.facts'))");
    expect(await pushFacts(OURS, [factOf('despite')], as('member'))).toBe(1);
    await stranger.all('SELECT pg_advisory_unlock_all()');
    const member = as('member');
    await member.all('BEGIN ISOLATION LEVEL REPEATABLE READ');
    expect(pushFacts(OURS, [factOf('behind')], member)).rejects.toMatchObject({ code: '42501' });
    await member.all('ROLLBACK');
  });

  test('SQL in a text stays a text', async () => {
    const evil = "'); DROP TABLE self_generation.facts; -- \\' \" $1 %s ";
    const before = (await pullFacts({ team: OURS, repository: REPOSITORY, after: 0 }, as('owner'))).length;
    const fact = factOf(evil);
    expect(await pushFacts(OURS, [fact], as('member'))).toBe(1);
    const after = await pullFacts({ team: OURS, repository: REPOSITORY, after: 0 }, as('owner'));
    expect(after.length).toBe(before + 1);
    expect(JSON.parse(after.at(-1)?.body ?? '')).toEqual(fact.body);
    expect(await seatIn(evil, as('owner'))).toBeUndefined();
    await setMember(OURS, evil.slice(0, 60), 'member', as('owner'));
    expect((await membersOf(OURS, as('owner'))).map(({ login }) => login)).toContain(evil.slice(0, 60));
    expect(await removeMember(OURS, evil.slice(0, 60), as('owner'))).toBe(true);
    expect(createTeam(evil, '0'.repeat(64), as('other'))).rejects.toMatchObject({ code: '23514' });
    for (const field of ['id', 'kind', 'repository', 'about'] as const)
      expect(
        pushFacts(OURS, [{ ...factOf('x'), [field]: evil } as NewFact], as('member')),
      ).rejects.toMatchObject({
        code: '23514',
      });
    expect(await teamsOf(as('other'))).toEqual(['theirs']);
  });

  test('a body that is too large, or no object, is refused', async () => {
    const large = { ...factOf('large'), body: { text: 'x'.repeat(20_000) } } as unknown as NewFact;
    expect(pushFacts(OURS, [large], as('member'))).rejects.toMatchObject({ code: '23514' });
    expect(
      pushFacts(OURS, [{ ...large, body: [] } as unknown as NewFact], as('member')),
    ).rejects.toMatchObject({
      code: '23514',
    });
  });

  test('of another team nothing is seen, and nothing is added to it', async () => {
    expect(await pullFacts({ team: THEIRS, repository: REPOSITORY, after: 0 }, as('owner'))).toEqual([]);
    expect(await membersOf(THEIRS, as('owner'))).toEqual([]);
    expect(pushFacts(THEIRS, [factOf('mine')], as('owner'))).rejects.toMatchObject({ code: '42501' });
    expect(setMember(THEIRS, 'owner', 'owner', as('owner'))).rejects.toMatchObject({ code: '42501' });
    expect(await pullFacts({ team: OURS, repository: NO_REPOSITORY, after: 0 }, as('other'))).toEqual([]);
  });

  test('the same fact of an author is added once', async () => {
    const fact = factOf('once');
    expect(await pushFacts(OURS, [fact, factOf('twice')], as('member'))).toBe(2);
    expect(await pushFacts(OURS, [fact], as('member'))).toBe(0);
    expect(await pushFacts(OURS, [fact], as('reviewer'))).toBe(1);
  });
});
