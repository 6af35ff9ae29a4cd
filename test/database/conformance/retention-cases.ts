import assert from 'node:assert/strict';
import type { Db } from '../../../src/database/connection.ts';
import { pruneOldEvents } from '../../../src/database/retention.ts';
import { type Case, checkIntegrity, count, failure, prompt, success, tell } from './context.ts';

/** Forgetting. */

const NOW = new Date('2026-05-01T00:00:00.000Z');
const DAYS = 10;

function daysAgo(days: number): string {
  return new Date(NOW.getTime() - days * 86_400_000).toISOString();
}

type Row = {
  readonly table: string;
  readonly factor: number;
  readonly insert: (db: Db, ts: string, n: number) => void;
};

type SuggestionRow = { readonly id: string; readonly ts: string; readonly status: string };

function insertSuggestion(db: Db, { id, ts, status }: SuggestionRow): void {
  db.sqlite.run(
    `INSERT INTO suggestions(id, ts, last_ts, origin, type, status, summary, text)
     VALUES (?, ?, ?, 'analysis', 'claude_md', ?, 's', 't')`,
    id,
    ts,
    ts,
    status,
  );
}

const ROWS: readonly Row[] = [
  {
    table: 'events',
    factor: 1,
    insert: (db, ts) =>
      db.sqlite.run(
        "INSERT INTO events(type, ts, session_id, data) VALUES ('prompt', ?, 's', ?)",
        ts,
        '{"text":"words here"}',
      ),
  },
  {
    table: 'spool_taken',
    factor: 1,
    insert: (db, ts, n) => db.sqlite.run('INSERT INTO spool_taken(name, ts) VALUES (?, ?)', `${n}.json`, ts),
  },
  {
    table: 'error_kb',
    factor: 4,
    insert: (db, ts, n) =>
      db.sqlite.run('INSERT INTO error_kb(ts, error_normalized) VALUES (?, ?)', ts, `error number ${n}`),
  },
  {
    table: 'analysis_cache',
    factor: 4,
    insert: (db, ts) => db.sqlite.run("INSERT INTO analysis_cache(ts, analysis) VALUES (?, '{}')", ts),
  },
  {
    table: 'suggestions',
    factor: 12,
    insert: (db, ts, n) => insertSuggestion(db, { id: `s${n}`, ts, status: n % 2 === 0 ? 'new' : 'expired' }),
  },
  {
    table: 'analysis_runs',
    factor: 4,
    insert: (db, ts) =>
      db.sqlite.run(
        "INSERT INTO analysis_runs(ts, trigger, status, project, days, cli) VALUES (?, 'command', 'done', 'a', 7, 'claude')",
        ts,
      ),
  },
  {
    table: 'given_contexts',
    factor: 1,
    insert: (db, ts, n) =>
      db.sqlite.run(
        "INSERT INTO given_contexts(ts, session_id, agent_id, text) VALUES (?, 's', ?, 't')",
        ts,
        `a${n}`,
      ),
  },
  {
    table: 'feedback',
    factor: 12,
    insert: (db, ts) =>
      db.sqlite.run("INSERT INTO feedback(ts, suggestion_id, action) VALUES (?, 'x', 'accepted')", ts),
  },
];

export const RETENTION_CASES: readonly Case[] = [
  ...ROWS.map(
    ({ table, factor, insert }): Case => ({
      title: `pruneOldEvents() keeps ${table} for ${factor} times the retention`,
      run: ({ open }) => {
        const db = open();
        const days = [0, 1, DAYS * factor, DAYS * factor + 1, 9999];
        for (const [index, ago] of days.entries()) insert(db, daysAgo(ago), index + 1);
        assert.deepEqual(pruneOldEvents(DAYS, NOW, db), { removed: 2, isComplete: true });
        assert.equal(count(db, table), 3);
        assert.equal(count(db, table, `ts < '${daysAgo(DAYS * factor)}'`), 0);
        assert.deepEqual(pruneOldEvents(DAYS, NOW, db), { removed: 0, isComplete: true });
        checkIntegrity(db);
      },
    }),
  ),
  {
    title: 'pruneOldEvents() counts the age of a fix from its last use and takes it out of the search index',
    run: ({ open }) => {
      const db = open();
      db.sqlite.exec(`INSERT INTO error_kb(ts, last_used, error_normalized) VALUES
        ('${daysAgo(500)}', '${daysAgo(3)}', 'used again lately'), ('${daysAgo(500)}', '${daysAgo(400)}', 'long forgotten')`);
      assert.equal(pruneOldEvents(DAYS, NOW, db).removed, 1);
      assert.deepEqual(
        db.sqlite.all('SELECT rowid AS id FROM error_kb_text').map((row) => row.id),
        [1],
      );
      checkIntegrity(db);
    },
  },
  {
    title: 'pruneOldEvents() never forgets what the user decided',
    run: ({ open }) => {
      const db = open();
      for (const status of ['applied', 'dismissed', 'shown'])
        insertSuggestion(db, { id: status, ts: daysAgo(9999), status });
      assert.deepEqual(pruneOldEvents(DAYS, NOW, db), { removed: 1, isComplete: true });
      assert.deepEqual(
        db.sqlite.all('SELECT status FROM suggestions ORDER BY id').map((row) => row.status),
        ['applied', 'dismissed'],
      );
    },
  },
  {
    title: 'pruneOldEvents() works in bounded steps and says whether it is done',
    run: ({ open }) => {
      const db = open();
      for (const { insert } of ROWS) for (let n = 1; n <= 25; n++) insert(db, daysAgo(9000 + n), n);
      const steps = [1, 2, 3].map(() => pruneOldEvents(DAYS, NOW, db, 10));
      assert.deepEqual(steps, [
        { removed: 80, isComplete: false },
        { removed: 80, isComplete: false },
        { removed: 40, isComplete: true },
      ]);
      for (const { table } of ROWS) assert.equal(count(db, table), 0, table);
      checkIntegrity(db);
    },
  },
  {
    title: 'pruneOldEvents() leaves a database in which recording and learning go on',
    run: (context) => {
      const db = context.open();
      const old = { ts: daysAgo(200), command: 'npm test' };
      tell(context, db, prompt('old words', { ts: old.ts }), failure('Bash', 'Error: old trouble', old));
      tell(context, db, failure('Bash', 'Error: old and solved', { ...old, command: 'make all' }));
      tell(context, db, success('Bash', { ...old, command: 'make all' }));
      pruneOldEvents(DAYS, NOW, db);
      for (const table of ['events', 'event_text', 'error_kb', 'error_kb_text']) {
        assert.equal(count(db, table), 0, table);
      }
      tell(context, db, failure('Bash', 'Error: new trouble', { command: 'npm test' }));
      tell(context, db, success('Bash', { command: 'npm test' }));
      assert.equal(count(db, 'error_kb'), 1);
      checkIntegrity(db);
    },
  },
  {
    title: 'pruneOldEvents() is not held up by a foreign table that refers to ours',
    run: ({ open }) => {
      const db = open();
      db.sqlite.exec('CREATE TABLE notes(event_id INTEGER REFERENCES events(id))');
      ROWS[0]?.insert(db, daysAgo(99), 1);
      db.sqlite.exec('INSERT INTO notes VALUES (1)');
      assert.equal(pruneOldEvents(DAYS, NOW, db).removed, 1);
      assert.equal(count(db, 'notes'), 1);
    },
  },
];
