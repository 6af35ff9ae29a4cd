import { describe, expect, test } from 'bun:test';
import { fingerprint } from '../../src/core/text.ts';
import { record } from '../../src/hooks/store/record.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { learnProject } from '../../src/lessons/learn-project.ts';
import { resolveError } from '../../src/lessons/store/error-entries.ts';
import { recordSeen } from '../../src/lessons/store/seen-errors.ts';
import { type Home, readRows, temporaryHome } from '../support/home.ts';
import { insertRow } from '../support/rows.ts';
import { seedFixes, withDatabase } from '../support/seed.ts';
import { failure, success, time } from './conformance/context.ts';

const ERROR = 'Error: no port given';
const SHOP = '/home/dev/shop';
const BANK = '/home/dev/bank';

const failed = (projectPath: string | null = SHOP) =>
  failure('Bash', ERROR, { command: 'npm test', projectPath });
function tell(home: Home, ...recordings: Parameters<typeof record>[0][number][]): void {
  writeDatabase(home.paths, (db) => record(recordings, home.paths, db));
}

function resolve(home: Home, summary: string, id = 1): boolean {
  return writeDatabase(home.paths, (db) => resolveError(id, { summary, ts: time(1000) }, db));
}

function row(home: Home, id = 1): Record<string, unknown> {
  const [found] = readRows(home.paths, 'SELECT * FROM error_kb WHERE id = ?', id);
  const { summary, resolvedBy } = JSON.parse(String(found?.resolution));
  return { ...found, summary, resolvedBy };
}

describe('resolveError()', () => {
  test('stores the text as the fix of a person, and counts one solution', () => {
    using home = temporaryHome();
    tell(home, failed());
    expect(resolve(home, 'set PORT')).toBe(true);
    expect(row(home)).toMatchObject({
      error_normalized: ERROR,
      error_raw: ERROR,
      said: ERROR,
      summary: 'set PORT',
      resolvedBy: 'user',
      resolved_by: 'user',
      use_count: 1,
      seen_count: 1,
      shown_count: 0,
      project_path: SHOP,
      ts: time(1000),
    });
  });

  test('replaces a lesson, whose solutions stay counted, and does not count again', () => {
    using home = temporaryHome();
    seedFixes(home.paths, [
      { error: ERROR, resolution: { kind: 'command' }, resolvedBy: 'lesson', useCount: 2, state: 'open' },
    ]);
    for (const text of ['set PORT', 'set PORT in .env.local']) resolve(home, text);
    expect(row(home)).toMatchObject({
      use_count: 2,
      summary: 'set PORT in .env.local',
      resolved_by: 'user',
      state: null,
    });
  });

  test('stays when the error happens again and something else helps then', () => {
    using home = temporaryHome();
    tell(home, failed());
    resolve(home, 'set PORT');
    tell(home, failed(), success('Bash', { command: 'npm test -- --port', projectPath: SHOP }));
    writeDatabase(home.paths, (db) => learnProject(SHOP, db));
    expect(row(home)).toMatchObject({ summary: 'set PORT', resolved_by: 'user', seen_count: 2 });
  });

  test('solves the error in its project, and in no other', () => {
    using home = temporaryHome();
    tell(home, failed(), failed(BANK), failed(null));
    resolve(home, 'set PORT');
    const solved = 'SELECT project_path FROM error_kb WHERE resolution IS NOT NULL ORDER BY id';
    expect(readRows(home.paths, solved)).toEqual([{ project_path: SHOP }]);
    resolve(home, 'set PORT', 3);
    expect(readRows(home.paths, solved)).toEqual([{ project_path: SHOP }, { project_path: '' }]);
  });

  test('is stored also when the clock has been set back', () => {
    using home = temporaryHome();
    tell(home, failed());
    withDatabase(home.paths, (db) => db.sqlite.run('UPDATE error_kb SET last_used = ?', time(9000)));
    resolve(home, 'set PORT');
    expect(row(home)).toMatchObject({ summary: 'set PORT', last_used: time(9000) });
  });

  test('ends that the error is forgotten', () => {
    using home = temporaryHome();
    withDatabase(home.paths, (db) => {
      recordSeen(ERROR, { ts: time(0), projectPath: SHOP, said: ERROR, errorRaw: ERROR }, db);
      insertRow(db.sqlite, 'forgotten_errors', { fingerprint: fingerprint(ERROR), ts: time(0) });
    });
    resolve(home, 'set PORT');
    expect(readRows(home.paths, 'SELECT * FROM forgotten_errors')).toEqual([]);
    expect(row(home)).toMatchObject({ summary: 'set PORT' });
  });

  test('says so when there is no such error, and changes nothing', () => {
    using home = temporaryHome();
    tell(home, failed());
    expect(resolve(home, 'set PORT', 99)).toBe(false);
    expect(readRows(home.paths, 'SELECT resolution FROM error_kb')).toEqual([{ resolution: null }]);
  });
});
