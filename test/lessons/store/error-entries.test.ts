import { describe, expect, test } from 'bun:test';
import { record } from '../../../src/hooks/store/record.ts';
import { readDatabase, writeDatabase } from '../../../src/hooks/store/use-database.ts';
import {
  type ErrorFilter,
  findErrors,
  listErrors,
  recordPersonsFix,
  tellError,
} from '../../../src/lessons/store/error-entries.ts';
import { failure, time } from '../../database/conformance/context.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { seedLearnt } from '../../support/lessons.ts';
import { seedFixes, withDatabase } from '../../support/seed.ts';

const SHOP = '/home/dev/shop';
const BANK = '/home/dev/bank';
const [SOLVED, OPEN] = ['Error: no port', 'String to replace not found'];
const [IN_BANK, NOWHERE] = ['Error: in the bank', 'Error: nowhere'];
const ANY: ErrorFilter = { projects: undefined, state: 'any' };

type Told = Parameters<typeof record>[0][number];

function tell(home: Home, ...recordings: Told[]): void {
  writeDatabase(home.paths, (db) => record(recordings, home.paths, db));
}

const at = (seconds: number, projectPath: string | null = SHOP) => ({ ts: time(seconds), projectPath });

/** One with a lesson, one that is open and came again, one of another project and one of none. */
function learned(home: Home): void {
  const command = 'npm test';
  tell(
    home,
    failure('Bash', SOLVED, { command, ...at(1) }),
    failure('mcp__files__edit', OPEN, at(4)),
    failure('mcp__files__read', IN_BANK, at(5, BANK)),
    failure('mcp__files__edit', OPEN, at(6)),
    failure('Bash', NOWHERE, { command, ...at(7, null) }),
  );
  const remedy = { kind: 'without', failing: 'npm test', leaveOut: '--bail' } as const;
  writeDatabase(home.paths, (db) => seedLearnt({ key: SOLVED, remedy, projectPath: SHOP, ts: time(3) }, db));
}

const FIX = 'leave out `--bail` in `npm test`';
/** What is known of an error that happened once in the shop. */
const entry = (error: string) => ({
  ...{
    id: expect.any(Number),
    error,
    said: error,
    raw: error,
    project: SHOP,
    tool: null,
    seen: 1,
    solved: 0,
    told: 0,
  },
  ...{ fix: null, resolvedBy: null, isShared: false, state: null, evidence: null, clients: [] },
});
/** With what seedLearnt() says that it rests on. */
const ENTRY_SOLVED = {
  ...entry(SOLVED),
  ...{ id: 1, solved: 1, fix: FIX, resolvedBy: 'lesson', state: 'open', ts: time(1) },
  evidence: { sessions: 1, agents: 1, helped: 1, first: time(3), last: time(3) },
};

function list(home: Home, filter: Partial<ErrorFilter> = {}, limit = 20): string[] {
  const entries = readDatabase(home.paths, (db) => listErrors({ ...ANY, ...filter }, limit, db));
  return (entries ?? []).map(({ error }) => error);
}

describe('listErrors()', () => {
  const rows: [what: string, filter: Partial<ErrorFilter>, limit: number, found: string[]][] = [
    ['everything, the newest first', {}, 20, [NOWHERE, OPEN, IN_BANK, SOLVED]],
    ['as many as asked for', {}, 2, [NOWHERE, OPEN]],
    ['one project', { projects: [SHOP] }, 20, [OPEN, SOLVED]],
    ['a project by any of its spellings', { projects: ['/x', BANK] }, 20, [IN_BANK]],
    ['what belongs to no project', { projects: [''] }, 20, [NOWHERE]],
    ['open errors', { state: 'open' }, 20, [NOWHERE, OPEN, IN_BANK]],
    ['solved errors', { state: 'solved' }, 20, [SOLVED]],
    ['open errors of a project', { projects: [SHOP], state: 'open' }, 20, [OPEN]],
    ['nothing', { projects: [] }, 20, []],
  ];
  for (const [what, filter, limit, found] of rows) {
    test(`lists ${what}`, () => {
      using home = temporaryHome();
      learned(home);
      expect(list(home, filter, limit)).toEqual(found);
    });
  }

  test('says what is known of each', () => {
    using home = temporaryHome();
    learned(home);
    const entries = readDatabase(home.paths, (db) => listErrors({ ...ANY, projects: [SHOP] }, 20, db));
    expect(entries).toEqual([{ ...entry(OPEN), seen: 2, ts: time(6) }, ENTRY_SOLVED]);
  });

  test('reads rows that another implementation stored', () => {
    using home = temporaryHome();
    const path = '{"resolvedBy":"success_after_error","tool":"Edit","toolSequence":["Edit","Bash"]}';
    const resolutions = [path, 'check the port', '[7', null];
    seedFixes(
      home.paths,
      resolutions.map((resolution, index) => ({ error: `Error: ${index}`, resolution })),
    );
    const entries = readDatabase(home.paths, (db) => findErrors([4, 3, 2, 1], db));
    expect(entries?.map(({ fix, tool }) => [fix, tool])).toEqual([
      [null, null],
      ['[7', null],
      ['check the port', null],
      ['success_after_error: Edit → Bash', 'Edit'],
    ]);
  });
});

describe('tellError()', () => {
  const story = (home: Home, error: string) =>
    readDatabase(home.paths, (db) => {
      const [entry] = listErrors(ANY, 20, db).filter((one) => one.error === error);
      return tellError(entry?.id ?? 99, db);
    });

  test('tells all of a solved error', () => {
    using home = temporaryHome();
    learned(home);
    expect(story(home, SOLVED)).toEqual({
      ...ENTRY_SOLVED,
      ...{
        tool: 'Bash',
        firstSeen: time(1),
        lastSeen: time(1),
        lastUsed: time(3),
        tellings: [],
        cameBack: 0,
      },
    });
  });

  test('tells since when an open error comes again and again', () => {
    using home = temporaryHome();
    learned(home);
    expect(story(home, OPEN)).toMatchObject({
      tool: 'mcp__files__edit',
      firstSeen: time(4),
      lastSeen: time(6),
      lastUsed: null,
      tellings: [],
      cameBack: 0,
    });
  });

  test('knows the time, the tool and the tellings of an error without project', () => {
    using home = temporaryHome();
    learned(home);
    const shownKbId = Number(story(home, NOWHERE)?.id);
    tell(home, { ...failure('Bash', NOWHERE, { id: 'c9', ...at(8, null) }), shownKbId });
    const told = {
      project: '',
      tool: 'Bash',
      firstSeen: time(7),
      tellings: [{ ts: time(8), where: 'after the error' }],
    };
    expect(story(home, NOWHERE)).toMatchObject(told);
  });

  test('still tells what is left when the events are gone', () => {
    using home = temporaryHome();
    learned(home);
    withDatabase(home.paths, (db) => db.sqlite.exec('DELETE FROM events'));
    expect(story(home, OPEN)).toMatchObject({ tool: null, firstSeen: null, lastSeen: time(6) });
    expect(story(home, SOLVED)).toMatchObject({ tool: null, firstSeen: null, lastSeen: null });
  });

  test('does not take the tool from another project', () => {
    using home = temporaryHome();
    const error = 'Error: the same everywhere';
    tell(home, failure('mcp__files__read', error, at(1, BANK)), failure('Bash', error, at(2)));
    const tools = readDatabase(home.paths, (db) => [1, 2].map((id) => tellError(id, db)?.tool));
    expect(tools).toEqual(['mcp__files__read', 'Bash']);
  });

  test('tells when a person wrote the fix', () => {
    using home = temporaryHome();
    learned(home);
    const fix = { ts: time(50), projectPath: SHOP, summary: 'read it first' };
    writeDatabase(home.paths, (db) => recordPersonsFix(OPEN, fix, db));
    expect(story(home, OPEN)).toMatchObject({
      fix: 'read it first',
      resolvedBy: 'user',
      lastSeen: time(6),
      lastUsed: time(50),
    });
  });

  test('tells to whom a lesson was told, and how often the error came back since', () => {
    using home = temporaryHome();
    learned(home);
    const shown = { ...failure('Bash', SOLVED, { id: 'c9', ...at(8) }), shownKbId: 1 };
    tell(home, shown, failure('Bash', SOLVED, { id: 'c10', ...at(20) }));
    const given = `INSERT INTO given_contexts(ts, session_id, agent_id, agent_type, project_path, text)
      VALUES (?1, 's2', 'a1', 'executor', ?2, ?3), (?1, 's2', 'a2', 'executor', ?2, 'something else')`;
    const text = `errors:\n- ${SOLVED} (Bash)\n  fix`;
    withDatabase(home.paths, (db) => db.sqlite.run(given, time(9), SHOP, text));
    expect(story(home, SOLVED)).toMatchObject({
      tellings: [
        { ts: time(8), where: 'after the error' },
        { ts: time(9), where: 'executor' },
      ],
      cameBack: 1,
    });
  });

  test('tells nothing of an error that there is not', () => {
    using home = temporaryHome();
    learned(home);
    expect(story(home, 'Error: never seen')).toBeUndefined();
  });
});
