import { describe, expect, test } from 'bun:test';
import { type ErrorFilter, findErrors, listErrors, tellError } from '../../src/store/error-entries.ts';
import { record } from '../../src/store/record.ts';
import { readDatabase, writeDatabase } from '../../src/store/use-database.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { seedFixes, withDatabase } from '../support/seed.ts';
import { failure, prompt, success, time } from './conformance/context.ts';

const SHOP = '/home/dev/shop';
const BANK = '/home/dev/bank';
const [SOLVED, OPEN, IN_BANK, NOWHERE] = [
  'Error: no port',
  'String to replace not found',
  'Error: in the bank',
  'Error: nowhere',
] as const;
const ANY: ErrorFilter = { projects: undefined, state: 'any' };

type Told = Parameters<typeof record>[0][number];

function tell(home: Home, ...recordings: Told[]): void {
  writeDatabase(home.paths, (db) => record(recordings, home.paths, db));
}

const at = (seconds: number, projectPath: string | null = SHOP) => ({ ts: time(seconds), projectPath });

/** One that is solved, one that is open and came again, one of another project and one of none. */
function learned(home: Home): void {
  const command = 'npm test';
  tell(
    home,
    prompt('make it run', at(0)),
    failure('Bash', SOLVED, { command, mentioned: ['src/server.ts'], ...at(1) }),
    success('Edit', { file: 'settings.ini', ...at(2) }),
    success('Bash', { command, ...at(3) }),
    failure('Edit', OPEN, { file: 'src/a.ts', ...at(4) }),
    failure('Read', IN_BANK, { file: 'x', ...at(5, BANK) }),
    failure('Edit', OPEN, { file: 'src/a.ts', ...at(6) }),
    failure('Bash', NOWHERE, { command, ...at(7, null) }),
  );
}

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
    expect(entries).toEqual([
      {
        id: expect.any(Number),
        error: OPEN,
        raw: OPEN,
        project: SHOP,
        tool: 'Edit',
        seen: 2,
        solved: 0,
        told: 0,
        fix: null,
        resolvedBy: null,
        ts: time(6),
      },
      {
        id: 1,
        error: SOLVED,
        raw: SOLVED,
        project: SHOP,
        tool: 'Bash',
        seen: 1,
        solved: 1,
        told: 0,
        fix: 'edited settings.ini, then `npm test` passed',
        resolvedBy: 'cross_tool_resolution',
        ts: time(3),
      },
    ]);
  });

  test('does not take the tool from another project', () => {
    using home = temporaryHome();
    const error = 'Error: the same everywhere';
    tell(home, failure('Read', error, { file: 'x', ...at(1, BANK) }), failure('Bash', error, at(2)));
    const entries = readDatabase(home.paths, (db) => listErrors(ANY, 20, db));
    expect(entries?.map(({ project, tool }) => [project, tool])).toEqual([
      [SHOP, 'Bash'],
      [BANK, 'Read'],
    ]);
  });

  test('reads rows that another implementation stored', () => {
    using home = temporaryHome();
    seedFixes(home.paths, [
      {
        error: 'Error: a',
        resolution: '{"resolvedBy":"success_after_error","tool":"Edit","toolSequence":["Edit","Bash"]}',
      },
      { error: 'Error: b', resolution: 'check the port' },
      { error: 'Error: c', resolution: '[7' },
      { error: 'Error: d', resolution: null },
    ]);
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
      id: 1,
      error: SOLVED,
      raw: SOLVED,
      project: SHOP,
      tool: 'Bash',
      seen: 1,
      solved: 1,
      told: 0,
      fix: 'edited settings.ini, then `npm test` passed',
      resolvedBy: 'cross_tool_resolution',
      ts: time(3),
      files: ['settings.ini', 'src/server.ts'],
      firstSeen: time(1),
      lastSeen: time(1),
      lastSolved: time(3),
      lastUsed: time(3),
      toolSequence: ['Edit', 'Bash'],
      command: 'npm test',
      prompt: 'make it run',
    });
  });

  test('tells since when an open error comes again and again', () => {
    using home = temporaryHome();
    learned(home);
    expect(story(home, OPEN)).toMatchObject({
      tool: 'Edit',
      files: ['src/a.ts'],
      firstSeen: time(4),
      lastSeen: time(6),
      lastSolved: null,
      lastUsed: null,
      toolSequence: [],
      command: null,
      prompt: null,
    });
  });

  test('knows the time and tool of an error without project', () => {
    using home = temporaryHome();
    learned(home);
    withDatabase(home.paths, (db) => db.sqlite.exec('DELETE FROM open_errors'));
    expect(story(home, NOWHERE)).toMatchObject({ project: '', tool: 'Bash', firstSeen: time(7) });
  });

  test('still tells what is left when the events are gone', () => {
    using home = temporaryHome();
    learned(home);
    withDatabase(home.paths, (db) => db.sqlite.exec('DELETE FROM events; DELETE FROM open_errors'));
    expect(story(home, OPEN)).toMatchObject({ tool: null, firstSeen: null, lastSeen: time(6) });
    expect(story(home, SOLVED)).toMatchObject({ tool: 'Bash', firstSeen: null, lastSeen: null });
  });

  test('tells nothing of an error that there is not', () => {
    using home = temporaryHome();
    learned(home);
    expect(story(home, 'Error: never seen')).toBeUndefined();
  });
});
