import { expect } from 'bun:test';
import type { Sqlite, Value } from '../../../src/database/sqlite.ts';
import { spent } from '../../../src/runs/store/limits.ts';
import * as outbox from '../../../src/runs/store/outbox.ts';
import * as queue from '../../../src/runs/store/queue.ts';
import * as rows from '../../../src/runs/store/rows.ts';
import * as runs from '../../../src/runs/store/runs.ts';
import * as turns from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import {
  A,
  accepted,
  announcement,
  appended,
  ending,
  LANE,
  LIMITS,
  NOW_MS,
  spawn,
  started,
} from './made-up.ts';

/** However many runs there have been, nothing of ours goes through all of them. */

const RUNS = 10_000;
/** Tables that stay small, and lists and values that come in with the query. */
const SMALL = ['lane', 'json_each', 'newest', 'CONSTANT'];

/** Those steps of the plan that read a whole table. A partial index on what is active or undelivered is no table. */
function fullScans(plan: readonly string[]): string[] {
  return plan.filter((step) => {
    const [, table, index] = /^SCAN (\S+)(?: USING (?:COVERING )?INDEX (\S+))?/.exec(step) ?? [];
    if (table === undefined || SMALL.includes(table)) return false;
    // What has not ended or not been told; the order of a list, up to its limit.
    const isBounded = [
      'turns_active',
      'outbox_waiting',
      'run_times',
      'runs_kept_times',
      'orchestrations_owned',
    ].includes(index ?? '');
    return !isBounded;
  });
}

/** As `db`, with the plan of each of its statements. */
function explaining(db: Sqlite, explainer: Sqlite) {
  const plans = new Map<string, string[]>();
  const noting =
    <T>(action: (sql: string, ...values: Value[]) => T) =>
    (sql: string, ...values: Value[]): T => {
      if (!plans.has(sql) && !sql.startsWith('PRAGMA')) {
        const steps = explainer.all(`EXPLAIN QUERY PLAN ${sql}`, ...values);
        const details = steps.map(({ detail }) => String(detail));
        plans.set(sql, details);
      }
      return action(sql, ...values);
    };
  return { plans, db: { ...db, run: noting(db.run), get: noting(db.get), all: noting(db.all) } };
}

/** Old runs, ended, announced and partly archived, by one statement for each table. */
function fill(db: Sqlite): void {
  const template = accepted(db);
  const columns = db
    .all("SELECT name FROM pragma_table_info('runs')")
    .map((row) => String(row.name))
    .filter((name) => !['id', 'number', 'child_key', 'spawn_key', 'archived_at'].includes(name));
  db.transaction(() => {
    db.run(
      `WITH RECURSIVE n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO runs(id, number, child_key, spawn_key, archived_at, ${columns.join(', ')})
       SELECT 'run-' || i, i, 'key-' || i, 'spawn-' || i, CASE WHEN i % 2 THEN 5 END, ${columns.join(', ')}
       FROM n, runs WHERE runs.id = ?`,
      RUNS,
      template.runId,
    );
    db.exec(`INSERT INTO turns(run_id, number, kind, state, message, queued_at, ended_at)
      SELECT id, 1, 'task', 'success', '', created_at, created_at FROM runs WHERE id LIKE 'run-%'`);
    db.exec(`INSERT INTO outbox(id, position, run_id, turn, requester, status, result, notes, stats, state, created_at, ready_at)
      SELECT 'a' || number, number, id, 1, requester, 'success', '', '', '', 'acked', created_at, created_at
      FROM runs WHERE id LIKE 'run-%'`);
    turns.requestStop(template.runId, { reason: 'requested', by: 'x', atMs: NOW_MS }, db);
  });
}

/** Everything that the store does, once. */
function doAll(db: Sqlite): void {
  const stop = { reason: 'requested', by: 'x', atMs: NOW_MS } as const;
  const limit = { tokens: 10, usd: 10 };
  spawn(db, { session: 's' }, { ...LIMITS, budget: { run: limit, requester: limit, day: limit } });
  const turn = started(db, { session: 's' });
  for (const requester of [A, undefined]) {
    for (const includeArchived of [true, false]) runs.listRuns({ requester, includeArchived, limit: 20 }, db);
  }
  runs.countRuns({ requester: A }, db);
  queue.queuePosition(turn.runId, db);
  turns.activeTurns(db);
  runs.runsIn('/home/dev/shop', 'queued', db);
  runs.runsIn('/home/dev/shop', 'started', db);
  queue.claimOrphans(turns.activeLiveness(db).slice(-1), NOW_MS, db);
  turns.changeTurn(turn, { notes: [] }, db);
  runs.changeRun(turn.runId, { warning: 'w' }, db);
  turns.endTurn(turn, ending(), announcement({ readyAtMs: NOW_MS + 9999 }), db);
  appended(db, turn.runId);
  queue.claimTurns(LANE, NOW_MS, db);
  turns.turnsOf(turn.runId, db);
  outbox.reword(turn.runId, 1, { result: '', notes: '', nowMs: NOW_MS }, db);
  outbox.hasWaiting(A, NOW_MS, db);
  outbox.undelivered(A, db);
  outbox.waitingRequesters(NOW_MS, db);
  outbox.waitingAnnouncements(A, db);
  const options = { nowMs: NOW_MS, leaseMs: 1, limit: 9 };
  outbox.takeAnnouncements({ requester: A, session: 's', owner: 'o', isPerson: false }, options, db);
  outbox.leaseTurn({ runId: 'r', turn: 1 }, { owner: 'o', untilMs: NOW_MS, session: null }, db);
  outbox.moveLeases('h', { owner: 'o', untilMs: NOW_MS }, db);
  rows.postponeArchive('r', NOW_MS, db);
  outbox.acknowledge('o', NOW_MS, db);
  outbox.dismissAnnouncements(['a'], A, NOW_MS, db);
  outbox.dismissAnnouncements('all', A, NOW_MS, db);
  turns.requestStop(turn.runId, stop, db);
  turns.requestStopAll(A, 's', stop, db);
  turns.requestStopAll(A, turns.WHOLE_PROJECT, stop, db);
  turns.unstoppedRuns(A, db);
  turns.awaitedTurns(A, db);
  rows.dueArchives(NOW_MS, 9, db);
  rows.setArchived(turn.runId, NOW_MS, db);
  spent({ runId: turn.runId }, db);
  spent({ sinceMs: NOW_MS }, db);
  const event = { runId: turn.runId, turn: 1, atMs: NOW_MS, actor: 'a', type: 't', detail: '' };
  rows.addRunEvent(event, db, { once: true });
  rows.addRunEvent(event, db);
  rows.runEvents(turn.runId, 9, db);
}

test('the store finds what it looks for by an index, with ten thousand runs as with one', ({ db, open }) => {
  fill(db);
  const explained = explaining(db, open());
  doAll(explained.db);
  const scans = [...explained.plans].flatMap(([sql, plan]) =>
    fullScans(plan).map((step) => `${step}: ${sql}`),
  );
  expect(scans).toEqual([]);
  expect(explained.plans.size).toBeGreaterThan(40);
  const joined = [...explained.plans.values()].flat().join('\n');
  expect(joined).toContain('SCAN turns USING INDEX turns_active');
  expect(joined).toContain('SEARCH runs USING INDEX runs_kept (requester=?)');
  expect(joined).toContain('SEARCH outbox USING INDEX outbox_waiting (requester=?)');
  expect(joined).toContain('SEARCH runs USING INDEX run_archives');
});
