import assert from 'node:assert/strict';
import type { Db } from '../../../src/database/connection.ts';
import { pruneOldEvents } from '../../../src/database/retention.ts';
import { column, insertRow } from '../../support/rows.ts';
import { checkIntegrity, count, failure, prompt, success, test } from './context.ts';

/** Forgetting. */

const NOW = new Date('2026-05-01T00:00:00.000Z');
const DAYS = 10;

function daysAgo(days: number): string {
  return new Date(NOW.getTime() - days * 86_400_000).toISOString();
}

type Row = Readonly<Record<string, string | number>>;

/** How many times the retention a table is kept, and the nth row of it. */
const TABLES: readonly [table: string, factor: number, row: (n: number) => Row][] = [
  ['events', 1, () => ({ type: 'prompt', session_id: 's', data: '{"text":"words here"}' })],
  ['spool_taken', 1, (n) => ({ name: `${n}.json` })],
  ['error_kb', 4, (n) => ({ error_normalized: `error number ${n}` })],
  ['analysis_cache', 4, () => ({ analysis: '{}' })],
  ['suggestions', 12, (n) => suggestion(`s${n}`, n % 2 === 0 ? 'new' : 'expired')],
  ['analysis_runs', 4, () => ({ trigger: 'command', status: 'done', project: 'a', days: 7, cli: 'claude' })],
  ['given_contexts', 1, (n) => ({ session_id: 's', agent_id: `a${n}`, text: 't' })],
  ['feedback', 12, () => ({ suggestion_id: 'x', action: 'accepted' })],
];

function suggestion(id: string, status: string): Row {
  return { id, status, origin: 'analysis', type: 'claude_md', summary: 's', text: 't' };
}

function insert(db: Db, table: string, row: Row, days: number): void {
  const ts = daysAgo(days);
  insertRow(db.sqlite, table, { ts, ...(table === 'suggestions' && { last_ts: ts }), ...row });
}

for (const [table, factor, rowOf] of TABLES)
  test(`pruneOldEvents() keeps ${table} for ${factor} times the retention`, ({ db }) => {
    const days = [0, 1, DAYS * factor, DAYS * factor + 1, 9999];
    for (const [index, ago] of days.entries()) insert(db, table, rowOf(index + 1), ago);
    assert.deepEqual(pruneOldEvents(DAYS, NOW, db), { removed: 2, isComplete: true });
    assert.equal(count(db, table), 3);
    assert.equal(count(db, table, `ts < '${daysAgo(DAYS * factor)}'`), 0);
    assert.deepEqual(pruneOldEvents(DAYS, NOW, db), { removed: 0, isComplete: true });
    checkIntegrity(db);
  });
test('pruneOldEvents() counts the age of a fix from its last use, and clears the search index', ({ db }) => {
  insert(db, 'error_kb', { error_normalized: 'used again lately', last_used: daysAgo(3) }, 500);
  insert(db, 'error_kb', { error_normalized: 'long forgotten', last_used: daysAgo(400) }, 500);
  assert.equal(pruneOldEvents(DAYS, NOW, db).removed, 1);
  assert.deepEqual(column(db.sqlite, 'SELECT rowid FROM error_kb_text'), [1]);
  checkIntegrity(db);
});
test('pruneOldEvents() never forgets what the user decided', ({ db }) => {
  for (const status of ['applied', 'dismissed', 'shown'])
    insert(db, 'suggestions', suggestion(status, status), 9999);
  assert.deepEqual(pruneOldEvents(DAYS, NOW, db), { removed: 1, isComplete: true });
  assert.deepEqual(column(db.sqlite, 'SELECT status FROM suggestions ORDER BY id'), ['applied', 'dismissed']);
});
test('pruneOldEvents() works in bounded steps and says whether it is done', ({ db }) => {
  for (const [table, , rowOf] of TABLES) for (let n = 1; n <= 25; n++) insert(db, table, rowOf(n), 9000 + n);
  const steps = [1, 2, 3].map(() => pruneOldEvents(DAYS, NOW, db, 10));
  assert.deepEqual(steps, [
    { removed: 80, isComplete: false },
    { removed: 80, isComplete: false },
    { removed: 40, isComplete: true },
  ]);
  for (const [table] of TABLES) assert.equal(count(db, table), 0, table);
  checkIntegrity(db);
});
test('pruneOldEvents() leaves a database in which recording and learning go on', ({ db, tell }) => {
  const old = { ts: daysAgo(200), command: 'npm test' };
  tell(prompt('old words', { ts: old.ts }), failure('Bash', 'Error: old trouble', old));
  tell(failure('Bash', 'Error: old and solved', { ...old, command: 'make all' }));
  tell(success('Bash', { ...old, command: 'make all' }));
  pruneOldEvents(DAYS, NOW, db);
  for (const table of ['events', 'event_text', 'error_kb', 'error_kb_text']) {
    assert.equal(count(db, table), 0, table);
  }
  tell(failure('Bash', 'Error: new trouble', { command: 'npm test' }));
  tell(success('Bash', { command: 'npm test' }));
  assert.equal(count(db, 'error_kb'), 1);
  checkIntegrity(db);
});
test('pruneOldEvents() is not held up by a foreign table that refers to ours', ({ db }) => {
  db.sqlite.exec('CREATE TABLE notes(event_id INTEGER REFERENCES events(id))');
  insertRow(db.sqlite, 'events', { type: 'prompt', ts: daysAgo(99), session_id: 's', data: '{}' });
  db.sqlite.exec('INSERT INTO notes VALUES (1)');
  assert.equal(pruneOldEvents(DAYS, NOW, db).removed, 1);
  assert.equal(count(db, 'notes'), 1);
});
