import { describe, expect, test } from 'bun:test';
import { fingerprint } from '../../src/core/fingerprint.ts';
import { recordSeen } from '../../src/store/error-kb.ts';
import { record } from '../../src/store/record.ts';
import { resolveError } from '../../src/store/resolve-error.ts';
import { writeDatabase } from '../../src/store/use-database.ts';
import { type Home, readRows, temporaryHome } from '../support/home.ts';
import { withDatabase } from '../support/seed.ts';
import { failure, success, time } from './conformance/context.ts';

const ERROR = 'Error: no port given';
const SHOP = '/home/dev/shop';
const BANK = '/home/dev/bank';

const failed = (projectPath: string | null = SHOP, session = 's1') =>
  failure('Bash', ERROR, { command: 'npm test', projectPath, session });
const passed = (projectPath: string | null = SHOP, session = 's1') =>
  success('Bash', { command: 'npm test', projectPath, session });
const edited = success('Edit', { file: 'settings.ini', projectPath: SHOP });

function tell(home: Home, ...recordings: Parameters<typeof record>[0][number][]): void {
  writeDatabase(home.paths, (db) => record(recordings, home.paths, db));
}

function resolve(home: Home, summary: string, id = 1): boolean {
  return writeDatabase(home.paths, (db) => resolveError(id, { summary, ts: time(1000) }, db));
}

function row(home: Home, id = 1): Record<string, unknown> {
  const [found] = readRows(home.paths, 'SELECT * FROM error_kb WHERE id = ?', id);
  const { summary, tool, resolvedBy } = JSON.parse(String(found?.resolution));
  return { ...found, summary, tool, resolvedBy };
}

describe('resolveError()', () => {
  test('stores the text as the fix of a person, and counts one solution', () => {
    using home = temporaryHome();
    tell(home, failed());
    expect(resolve(home, 'set PORT')).toBe(true);
    expect(row(home)).toMatchObject({
      error_normalized: ERROR,
      error_raw: ERROR,
      summary: 'set PORT',
      tool: 'Bash',
      resolvedBy: 'user',
      resolved_by: 'user',
      use_count: 1,
      seen_count: 1,
      shown_count: 0,
      project_path: SHOP,
      ts: time(1000),
    });
  });

  test('does not count as a solution when there has been one, nor when it is written again', () => {
    using home = temporaryHome();
    tell(home, failed(), edited, passed(), failed(), passed());
    expect(row(home)).toMatchObject({ use_count: 2 });
    for (const text of ['set PORT', 'set PORT in .env.local']) resolve(home, text);
    expect(row(home)).toMatchObject({ use_count: 2, seen_count: 2, summary: 'set PORT in .env.local' });
  });

  test('stays when the error is solved by itself later, which still counts', () => {
    using home = temporaryHome();
    tell(home, failed());
    resolve(home, 'set PORT');
    tell(home, failed(), edited, passed());
    expect(row(home)).toMatchObject({
      summary: 'set PORT',
      resolved_by: 'user',
      use_count: 2,
      seen_count: 2,
    });
  });

  test('closes the error in every session of its project, and in no other', () => {
    using home = temporaryHome();
    tell(home, failed(), failed(SHOP, 's2'), failed(BANK), failed(null));
    resolve(home, 'set PORT');
    expect(readRows(home.paths, 'SELECT project_path FROM open_errors ORDER BY event_id')).toEqual([
      { project_path: BANK },
      { project_path: null },
    ]);
    resolve(
      home,
      'set PORT',
      Number(readRows(home.paths, "SELECT id FROM error_kb WHERE project_path = ''")[0]?.id),
    );
    expect(readRows(home.paths, 'SELECT project_path FROM open_errors')).toEqual([{ project_path: BANK }]);
  });

  test('is stored also when the clock has been set back', () => {
    using home = temporaryHome();
    tell(home, failed(), { ...passed(), at: { ...passed().at, ts: time(9000) } });
    resolve(home, 'set PORT');
    expect(row(home)).toMatchObject({ summary: 'set PORT', last_used: time(9000) });
  });

  test('ends that the error is forgotten', () => {
    using home = temporaryHome();
    withDatabase(home.paths, (db) => {
      recordSeen(ERROR, { ts: time(0), projectPath: SHOP, errorRaw: ERROR, files: [] }, db);
      db.sqlite.run(
        'INSERT INTO forgotten_errors(fingerprint, ts) VALUES (?, ?)',
        fingerprint(ERROR),
        time(0),
      );
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
    expect(readRows(home.paths, 'SELECT 1 FROM open_errors')).toHaveLength(1);
  });
});
