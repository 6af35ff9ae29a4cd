import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { fingerprint } from '../../src/core/fingerprint.ts';
import type { Db } from '../../src/store/connection.ts';
import { copyDatabase, type MergeResult, mergeDatabase } from '../../src/store/merge-database.ts';
import { decideSuggestion, findSuggestions, saveProposals } from '../../src/store/suggestions.ts';
import { writeDatabase } from '../../src/store/use-database.ts';
import { type Home, readRows, temporaryHome } from '../support/home.ts';
import { withDatabase } from '../support/seed.ts';

const OPTIONS = {
  notBefore: '2026-01-01',
  adopted: { from: '2027-01-01', until: '2027-01-02' },
  inTurn: <T>(work: () => T) => work(),
};
const TS = '2026-11-20T09:00:00.000Z';

type Rows = Record<string, Record<string, string | number | null>[]>;

function put(home: Home, rows: Rows): void {
  withDatabase(home.paths, ({ sqlite }) => {
    for (const [table, list] of Object.entries(rows)) {
      for (const row of list) {
        const columns = Object.keys(row);
        const places = columns.map(() => '?').join(', ');
        sqlite.run(`INSERT INTO ${table}(${columns.join(', ')}) VALUES (${places})`, ...Object.values(row));
      }
    }
  });
}

function merge(source: Home, target: Home, changes: Partial<typeof OPTIONS> = {}): MergeResult {
  return writeDatabase(source.paths, (from) =>
    writeDatabase(target.paths, (db) => mergeDatabase(from, { ...OPTIONS, ...changes }, db)),
  );
}

const event = (changes: Record<string, string | null> = {}) => ({
  type: 'prompt',
  ts: TS,
  session_id: 's1',
  project: 'app',
  project_path: '/home/dev/app',
  data: '{"text":"x","charCount":1}',
  ...changes,
});

const error = (changes: Record<string, string | number | null> = {}) => ({
  ts: TS,
  error_normalized: 'Error: a',
  resolution: '{"summary":"theirs"}',
  resolved_by: 'success_after_error',
  tool_sequence: '["Bash"]',
  use_count: 3,
  last_used: TS,
  project_path: '/home/dev/app',
  seen_count: 4,
  shown_count: 5,
  ...changes,
});

describe('mergeDatabase() and events', () => {
  test('takes each event once, however often it is called', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    const events = [event(), event({ type: 'tool_use', data: '{"tool":"Read","toolUseId":"t1"}' })];
    put(source, { events: [...events, event({ session_id: 's2' })] });
    expect(merge(source, target)).toMatchObject({ added: { prompt: 2, tool_use: 1 }, known: 0, leftOut: 0 });
    expect(merge(source, target)).toMatchObject({ added: {}, known: 3 });
    const sql = 'SELECT type, ts, session_id, project, project_path, data FROM events ORDER BY id';
    expect(readRows(target.paths, sql)).toEqual(readRows(source.paths, sql));
    expect(readRows(target.paths, 'SELECT COUNT(*) AS count FROM event_text')).toEqual([{ count: 2 }]);
  });

  const pairs: [string, Record<string, string | null>, Record<string, string | null>, boolean][] = [
    [
      'the same call at a slightly other time',
      { data: '{"toolUseId":"t1"}' },
      { ts: '2026-11-20T09:00:01.900Z', data: '{"toolUseId":"t1","more":1}' },
      true,
    ],
    ['the same prompt at a slightly other time', {}, { ts: '2026-11-20T09:00:01.000Z' }, true],
    ['the same prompt at another time', {}, { ts: '2026-11-20T09:00:05.000Z' }, false],
    [
      'equal calls without an id',
      { type: 'tool_use', data: '{"tool":"Read"}' },
      { type: 'tool_use', ts: '2026-11-20T09:00:01.000Z', data: '{"tool":"Read"}' },
      false,
    ],
    ['the same event of another session', {}, { session_id: 's2' }, false],
    [
      'a call that has an id only there',
      { type: 'tool_use', ts: '2026-11-20T09:00:08.000Z', data: '{"tool":"Read"}' },
      { type: 'tool_use', data: '{"tool":"Read","toolUseId":"t1"}' },
      true,
    ],
    [
      'a call that has an id only here',
      { type: 'tool_use', data: '{"tool":"Read","toolUseId":"t1"}' },
      { type: 'tool_use', ts: '2026-11-20T09:00:08.000Z', data: '{"tool":"Read"}' },
      true,
    ],
    [
      'a call of another time that has an id only here',
      { type: 'tool_use', ts: '2026-11-20T09:00:08.000Z', data: '{"tool":"Read","toolUseId":"t1"}' },
      { type: 'tool_use', data: '{"tool":"Read"}' },
      false,
    ],
    [
      'an error that has an id only there',
      { type: 'tool_error', data: '{"tool":"Bash","error":"Error: a"}' },
      { type: 'tool_error', data: '{"tool":"Bash","error":"Error: a","toolUseId":"t1"}' },
      true,
    ],
    ['an event with a time of another form', { ts: 'then' }, { ts: 'then' }, true],
  ];
  for (const [what, one, other, isSame] of pairs) {
    test(`${isSame ? 'knows' : 'keeps'} ${what}`, () => {
      using source = temporaryHome();
      using target = temporaryHome();
      put(target, { events: [event(one)] });
      put(source, { events: [event(other)] });
      expect(merge(source, target).known).toBe(isSame ? 1 : 0);
    });
  }

  test('takes a call without an id for one call only', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    const call = (second: number, data: string) =>
      event({ type: 'tool_use', ts: `2026-11-20T09:00:0${second}.000Z`, data });
    put(target, { events: [call(1, '{"tool":"Read","toolUseId":"t1"}')] });
    put(source, { events: [call(2, '{"tool":"Read"}'), call(3, '{"tool":"Read"}')] });
    for (const known of [1, 2]) expect(merge(source, target).known).toBe(known);
    expect(readRows(target.paths, 'SELECT COUNT(*) AS count FROM events')).toEqual([{ count: 2 }]);
    for (const _ of [1, 2]) merge(target, source);
    expect(readRows(source.paths, 'SELECT COUNT(*) AS count FROM events')).toEqual([{ count: 2 }]);
  });

  test('keeps equal events of a clock that is ahead of ours', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    put(source, {
      events: [event({ ts: '2027-02-01T09:00:00.000Z' }), event({ ts: '2027-02-01T10:00:00.000Z' })],
    });
    expect(merge(source, target)).toMatchObject({ added: { prompt: 2 }, known: 0 });
  });

  test('leaves out events of a type that there is not', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    put(source, { events: [event({ type: '\x1b[2Jprompt' }), event({ type: 'unknown' }), event()] });
    expect(merge(source, target)).toMatchObject({ added: { prompt: 1 }, leftOut: 2 });
  });

  test('takes no error that is to be forgotten out of a summary', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    put(target, { forgotten_errors: [{ fingerprint: fingerprint('Error: a'), ts: TS }] });
    const data = '{"uniqueErrors":["Error: a","Error: b"],"toolCounts":{}}';
    put(source, { events: [event({ type: 'session_summary', data })] });
    expect(merge(source, target).added).toEqual({ session_summary: 1 });
    expect(merge(source, target)).toMatchObject({ added: {}, known: 1 });
    expect(readRows(target.paths, 'SELECT data FROM events')).toEqual([
      { data: '{"uniqueErrors":["Error: b"],"toolCounts":{}}' },
    ]);
  });

  test('knows events that got their time only now by what they say', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    put(target, { events: [event({ ts: '2026-11-21T09:00:00.000Z' })] });
    put(source, { events: [event({ ts: '2026-11-22T09:00:00.000Z' })] });
    expect(merge(source, target, { adopted: { from: '2026-11-22', until: '2026-11-23' } })).toMatchObject({
      added: {},
      known: 1,
    });
  });

  test('leaves out what is too old, damaged, or to be forgotten', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    put(target, { forgotten_errors: [{ fingerprint: fingerprint('Error: a'), ts: TS }] });
    put(source, {
      events: [
        event({ ts: '2025-12-31T23:59:59.999Z' }),
        event({ data: '{"text":' }),
        event({ type: 'tool_error', data: '{"tool":"Bash","error":"Error: a"}' }),
        event({ type: 'tool_error', data: '{"tool":"Bash","error":"Error: b"}' }),
      ],
      error_kb: [error(), error({ error_normalized: 'Error: b' })],
    });
    expect(merge(source, target)).toMatchObject({ added: { tool_error: 1 }, leftOut: 3 });
    expect(readRows(target.paths, 'SELECT error_normalized FROM error_kb')).toEqual([
      { error_normalized: 'Error: b' },
    ]);
  });

  test('takes few rows at once, and all of them', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    put(source, {
      events: Array.from({ length: 450 }, (_, index) =>
        event({ data: `{"text":"${index}"}`, session_id: `s${index}` }),
      ),
    });
    let turns = 0;
    const inTurn = <T>(work: () => T) => {
      turns++;
      return work();
    };
    expect(merge(source, target, { inTurn }).added).toEqual({ prompt: 450 });
    expect(turns).toBe(4); // The last one is for the suggestions, which are few.
  });
});

describe('mergeDatabase() and errors', () => {
  const columns = 'resolution, resolved_by, tool_sequence, use_count, last_used, seen_count, shown_count';

  test('takes an error that is not known, with its files', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    put(source, { error_kb: [error({ error_normalized: 'Error: z' }), error()] });
    put(source, { error_files: [{ project_path: '/home/dev/app', file: 'src/a.ts', kb_id: 2 }] });
    for (const _ of [1, 2]) merge(source, target);
    expect(readRows(target.paths, `SELECT ${columns} FROM error_kb`)).toEqual(
      readRows(source.paths, `SELECT ${columns} FROM error_kb`),
    );
    const files = readRows(
      target.paths,
      'SELECT error_normalized, file FROM error_files JOIN error_kb ON id = kb_id',
    );
    expect(files).toEqual([{ error_normalized: 'Error: a', file: 'src/a.ts' }]);
  });

  test('keeps our own fix and the larger counts', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    const ours = { resolution: '{"summary":"ours"}', resolved_by: 'user', tool_sequence: '[]' };
    put(target, { error_kb: [error({ ...ours, use_count: 9, seen_count: 1, last_used: '2026-01-01' })] });
    put(source, { error_kb: [error({ resolution: '{"summary":"theirs"}' })] });
    for (const _ of [1, 2]) merge(source, target);
    expect(readRows(target.paths, `SELECT ${columns} FROM error_kb`)).toEqual([
      { ...ours, use_count: 9, last_used: TS, seen_count: 4, shown_count: 5 },
    ]);
  });

  test('takes the fix of an error that is only seen here', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    const nothing = {
      resolution: null,
      resolved_by: null,
      tool_sequence: null,
      use_count: null,
      last_used: null,
    };
    put(target, { error_kb: [error({ ...nothing, seen_count: 7, shown_count: 0 })] });
    put(source, { error_kb: [error()] });
    merge(source, target);
    expect(
      readRows(
        target.paths,
        'SELECT resolution, resolved_by, seen_count, use_count, last_used FROM error_kb',
      ),
    ).toEqual([
      {
        resolution: '{"summary":"theirs"}',
        resolved_by: 'success_after_error',
        seen_count: 7,
        use_count: 3,
        last_used: TS,
      },
    ]);
    put(source, { error_kb: [error({ ...nothing, error_normalized: 'Error: b' })] });
    merge(source, target);
    expect(
      readRows(
        target.paths,
        "SELECT resolution, last_used FROM error_kb WHERE error_normalized = 'Error: b'",
      ),
    ).toEqual([{ resolution: null, last_used: null }]);
  });
});

describe('mergeDatabase() and the rest', () => {
  test('takes verdicts and analyses once', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    const verdict = { ts: TS, suggestion_id: 'a', action: 'accepted' };
    const analysis = { ts: TS, project: 'app', days: 7, input_hash: 'h', analysis: '{"suggestions":[]}' };
    put(source, {
      feedback: [verdict, { ...verdict, action: 'undone' }],
      analysis_cache: [analysis, { ...analysis, input_hash: null, analysis: '{"suggestions":[1]}' }],
    });
    expect(merge(source, target)).toMatchObject({ feedback: 2, analyses: 2 });
    expect(merge(source, target)).toMatchObject({ feedback: 0, analyses: 0 });
    const later = [{ ...verdict, ts: '2026-11-25' }];
    put(source, { feedback: later });
    expect(merge(source, target, { adopted: { from: '2026-11-24', until: '2026-11-26' } })).toMatchObject({
      feedback: 0,
    });
    expect(merge(source, target)).toMatchObject({ feedback: 1 });
  });
});

describe('copyDatabase()', () => {
  const copy = (source: Home, file = source.paths.database) => {
    using target = temporaryHome();
    const path = `${target.path}/copy.db`;
    copyDatabase(file, path, target.paths);
    return existsSync(path);
  };

  test('copies a database that somebody has open', () => {
    using source = temporaryHome();
    writeDatabase(source.paths, ({ sqlite }) => {
      sqlite.exec('BEGIN IMMEDIATE');
      expect(copy(source)).toBe(true);
      sqlite.exec('ROLLBACK');
    });
  });

  test('refuses what is none of ours', () => {
    using home = temporaryHome();
    expect(() => copy(home, '/nowhere/at/all.db')).toThrow('it cannot be opened');
    expect(() => copy(home, home.put('text.db', 'This is no database. '.repeat(200)))).toThrow(
      'not a database',
    );
    expect(() => copy(home, home.put('empty.db', ''))).toThrow('none of the tables');
  });

  test('refuses one of a later version', () => {
    using source = temporaryHome();
    writeDatabase(source.paths, ({ sqlite }) => sqlite.exec('PRAGMA user_version = 99'));
    expect(() => copy(source)).toThrow('its schema version is 99');
  });
});

describe('mergeDatabase() and suggestions', () => {
  test('keeps refused what was refused there, and lets what was applied there wait for a decision', () => {
    using source = temporaryHome();
    using target = temporaryHome();
    const ids = writeDatabase(source.paths, (db) => propose(['a', 'b', 'c'], db));
    writeDatabase(source.paths, (db) => {
      const [applied, dismissed] = ids.slice(0, 2).map((id) => findSuggestions(id, db)[0]);
      if (applied) decideSuggestion(applied, { kind: 'applied', applied: { file: 'x' } }, TS, db);
      if (dismissed) decideSuggestion(dismissed, { kind: 'dismissed', why: 'no' }, TS, db);
    });
    writeDatabase(target.paths, (db) => propose(['b'], db));
    for (const _ of [1, 2]) merge(source, target);
    expect(
      readRows(target.paths, 'SELECT text, status, why, applied FROM suggestions ORDER BY text'),
    ).toEqual([
      { text: 'a', status: 'shown', why: null, applied: null },
      { text: 'b', status: 'dismissed', why: 'no', applied: null },
      { text: 'c', status: 'new', why: null, applied: null },
    ]);
  });
});

function propose(texts: readonly string[], db: Db): string[] {
  const proposals = texts.map(
    (text) => ({ type: 'claude_md', summary: text, evidence: '', text, priority: 0, details: {} }) as const,
  );
  return saveProposals(
    proposals,
    { ts: TS, project: 'app', projectPath: '/home/dev/app', origin: 'analysis' },
    db,
  );
}
