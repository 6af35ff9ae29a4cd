import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import type { StatePaths } from '../../../src/core/state-paths.ts';
import { type DatabaseReport, importDatabase } from '../../../src/learn/import/import-database.ts';
import { writeDatabase } from '../../../src/store/use-database.ts';
import { PARTIALS, PREDECESSOR, writeOldDatabase } from '../../store/conformance/old-databases.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../../support/home.ts';
import { SECRETS } from '../../support/made-up.ts';
import { seedErrors, seedFixes } from '../../support/seed.ts';
import { leftBehind } from '../../support/transcripts.ts';

const INTERRUPTED = new Error('killed');

type Options = { readonly file?: string; readonly killAt?: number; readonly retentionDays?: number };

/** The old databases here are of a fixed day. */
const FOR_EVER = 36_500;

function take(
  source: Home,
  target: Home,
  { file = source.paths.database, killAt, retentionDays = FOR_EVER }: Options = {},
): DatabaseReport {
  let turns = 0;
  const inTurn = <T>(work: () => T) => {
    if (turns++ === killAt) throw INTERRUPTED;
    return work();
  };
  const options = { file, retentionDays, paths: target.paths, now: () => new Date(), inTurn };
  return writeDatabase(target.paths, (db) => importDatabase(options, db));
}

function rowsOf({ paths }: { paths: StatePaths }): unknown {
  return ['events', 'error_kb', 'feedback', 'analysis_cache'].map((table) =>
    readRows(paths, `SELECT * FROM ${table} ORDER BY id`).map(({ id: _, ...row }) => row),
  );
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

describe('importDatabase() and earlier implementations', () => {
  test('takes everything of a complete one', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    writeOldDatabase(source.paths, PREDECESSOR);
    expect(take(source, target)).toMatchObject({
      kind: 'merged',
      added: { prompt: 1, tool_error: 1, tool_use: 1 },
      known: 0,
      feedback: 1,
      analyses: 1,
    });
    expect(readEvents(target.paths).map(({ type, projectPath }) => [type, projectPath])).toEqual([
      ['prompt', '/home/dev/shop'],
      ['tool_error', '/home/dev/shop'],
      ['tool_use', '/home/dev/shop'],
    ]);
    expect(readRows(target.paths, 'SELECT error_normalized, use_count FROM error_kb')).toEqual([
      { error_normalized: 'Error: old trouble', use_count: 3 },
    ]);
  });

  for (const { what, sql, events, errors } of PARTIALS.filter((one) => one.events + one.errors > 0)) {
    test(`takes what there is of one with ${what}, and nothing twice`, () => {
      using source = temporaryHome();
      using target = temporaryHome();
      writeOldDatabase(source.paths, sql);
      take(source, target);
      const count = (table: string) =>
        readRows(target.paths, `SELECT COUNT(*) AS count FROM ${table}`)[0]?.count;
      const taken = [count('events'), count('error_kb')];
      expect(Number(taken[0])).toBeLessThanOrEqual(events);
      expect(taken[1]).toBe(errors);
      writeDatabase(target.paths, ({ sqlite }) => sqlite.run('DELETE FROM imports'));
      expect(take(source, target)).toMatchObject({ kind: 'merged', added: {} });
      expect([count('events'), count('error_kb')]).toEqual(taken);
    });
  }

  test('takes no secret', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    writeOldDatabase(source.paths, PREDECESSOR);
    const now = new Date().toISOString();
    const database = new Database(source.paths.database);
    for (const [index, { text }] of SECRETS.entries()) {
      database.run("INSERT INTO events(type, ts, session_id, data) VALUES ('prompt', ?, ?, ?)", [
        now,
        `s${index}`,
        JSON.stringify({ text }),
      ]);
      database.run('INSERT INTO error_kb(ts, error_normalized, error_raw, resolution) VALUES (?, ?, ?, ?)', [
        now,
        `Error: ${text}`,
        text,
        text,
      ]);
    }
    database.close();
    take(source, target);
    const stored = ['', '-wal'].map((suffix) => `${target.paths.database}${suffix}`).filter(existsSync);
    const bytes = Buffer.concat(stored.map((path) => readFileSync(path)));
    for (const { secret } of SECRETS) expect([secret, bytes.includes(secret)]).toEqual([secret, false]);
    expect(readEvents(target.paths, 'prompt').length).toBe(SECRETS.length + 1);
  });
});

describe('importDatabase()', () => {
  test('takes in another one of ours', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    seedErrors(source.paths, [{ error: 'Error: a' }]);
    seedFixes(source.paths, [{ error: 'Error: a', resolution: '{"summary":"fix"}', files: ['src/a.ts'] }]);
    expect(take(source, target)).toMatchObject({ kind: 'merged', added: { tool_error: 1 } });
    expect(rowsOf(target)).toEqual(rowsOf(source));
  });

  test('leaves out events that are too old, and takes their fixes', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    writeOldDatabase(source.paths, PREDECESSOR);
    expect(take(source, target, { retentionDays: 1 })).toMatchObject({ added: {}, leftOut: 3 });
    expect(readRows(target.paths, 'SELECT COUNT(*) AS count FROM error_kb')).toEqual([{ count: 1 }]);
  });

  test('leaves the file as it was, and nothing behind', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    writeOldDatabase(source.paths, PREDECESSOR);
    const before = digest(source.paths.database);
    expect(leftBehind(target, () => void take(source, target))).toEqual([]);
    expect(digest(source.paths.database)).toBe(before);
    expect(existsSync(target.paths.backups)).toBe(false);
  });

  test('does not read again what has not changed', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    seedErrors(source.paths, [{ error: 'Error: a' }]);
    take(source, target);
    expect(take(source, target)).toMatchObject({ kind: 'unchanged' });
    symlinkSync(source.paths.database, `${source.path}/link.db`);
    expect(take(source, target, { file: `${source.path}/link.db` })).toMatchObject({ kind: 'unchanged' });
    seedErrors(source.paths, [{ error: 'Error: b' }]);
    expect(take(source, target)).toMatchObject({ kind: 'merged', added: { tool_error: 1 }, known: 1 });
  });

  test('killed before any of its transactions, it ends with the same rows', () => {
    using source = temporaryHome();
    using whole = temporaryHome();
    writeOldDatabase(source.paths, PREDECESSOR);
    take(source, whole);
    for (const killAt of [0, 1, 2, 3]) {
      using target = temporaryHome();
      expect(() => take(source, target, { killAt })).toThrow(INTERRUPTED);
      expect(take(source, target)).toMatchObject({ kind: 'merged' });
      expect(rowsOf(target)).toEqual(rowsOf(whole));
    }
  });

  const refusals: [string, (home: Home) => string, string][] = [
    ['itself', (home) => home.paths.database, 'it is the database to import into'],
    ['a text', (home) => home.put('a.db', 'This is no database. '.repeat(99)), 'it is no SQLite database'],
    ['an empty file', (home) => home.put('a.db', ''), 'it has none of the tables of self-generation'],
    ['nothing', () => '/nowhere/at/all.db', 'it cannot be opened'],
  ];
  for (const [what, make, reason] of refusals) {
    test(`refuses ${what}`, () => {
      using home = temporaryHome();
      expect(() => take(home, home, { file: make(home) })).toThrow(reason);
      expect(readRows(home.paths, 'SELECT * FROM imports')).toEqual([]);
    });
  }
});
