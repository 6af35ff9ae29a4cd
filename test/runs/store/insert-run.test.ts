import { describe, expect } from 'bun:test';
import { setArchived } from '../../../src/runs/store/rows.ts';
import { getRun, insertRun, listRuns } from '../../../src/runs/store/runs.ts';
import { endTurn, requestStop } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import {
  A,
  accepted,
  appended,
  B,
  ended,
  ending,
  LIMITS,
  NOW_MS,
  newRun,
  spawn,
  started,
} from './made-up.ts';

const STOP = { reason: 'requested', by: 'subagents stop', atMs: NOW_MS } as const;

describe('insertRun()', () => {
  test('writes the run and its first turn as they are to be read', ({ db, open }) => {
    const run = newRun({
      session: 's1',
      label: 'tests',
      model: { requested: 'big', resolved: 'big-1' },
      thinking: 'high',
      policy: { deny: ['exec'], allow: ['read'] },
      gaps: ['web'],
      agentDir: '/home/dev/agents/a',
      warning: 'odd model',
      worktreeMode: 'auto',
    });
    const answer = insertRun(run, 'key', LIMITS, db);
    if (answer.kind !== 'inserted') throw new Error(answer.kind);
    const fresh = { number: 1, worktree: null, sessionId: null, archiveAtMs: null, archivedAtMs: null };
    expect(answer.run).toEqual({ ...run, ...fresh, model: { ...run.model, observed: null } });
    const first = { number: 1, kind: 'task', state: 'queued', message: run.task, version: 1 } as const;
    expect(answer.turn).toMatchObject(first);
    expect(getRun(answer.run.id, open())).toEqual({ run: answer.run, turn: answer.turn, waiting: 0 });
  });

  test('numbers the runs of each requester for good', ({ db, open }) => {
    const numbers = [A, A, B, A].map((key, index) => {
      const { runId } = accepted(index % 2 === 0 ? db : open(), { key });
      return getRun(runId, db)?.run.number;
    });
    expect(numbers).toEqual([1, 2, 1, 3]);
    const [newest] = listRuns({ requester: A, limit: 1 }, db);
    if (newest !== undefined) requestStop(newest.run.id, STOP, db);
    expect(setArchived(newest?.run.id ?? '', NOW_MS, db)).toBe(true);
    expect(getRun(accepted(db).runId, db)?.run.number).toBe(4);
  });

  test('takes the same call within the window for the same run, and not after it or from another', ({
    db,
    open,
  }) => {
    const first = spawn(db, { spawnKey: 'k' });
    if (first.kind !== 'inserted') throw new Error(first.kind);
    const again = spawn(open(), { spawnKey: 'k', createdAtMs: NOW_MS + LIMITS.dedupeMs - 1 });
    expect(again).toMatchObject({ kind: 'duplicate', run: first.run, turn: first.turn });
    expect(spawn(db, { spawnKey: 'other' }).kind).toBe('inserted');
    expect(spawn(db, { spawnKey: 'k', key: B }).kind).toBe('inserted');
    expect(spawn(db, { spawnKey: 'k', createdAtMs: NOW_MS + LIMITS.dedupeMs }).kind).toBe('inserted');
    expect(listRuns({ requester: A, limit: 9 }, db)).toHaveLength(3);
  });

  test('takes the same call again for a new run once the first was stopped, unless the caller named it', ({
    db,
  }) => {
    const first = accepted(db, { spawnKey: 'k' });
    requestStop(first.runId, STOP, db);
    const named = spawn(db, { spawnKey: 'k' }, { ...LIMITS, dedupesFailed: true });
    expect(named).toMatchObject({ kind: 'duplicate', run: { id: first.runId } });
    expect(spawn(db, { spawnKey: 'k' }).kind).toBe('inserted');
    expect(spawn(db, { spawnKey: 'k' }).kind).toBe('duplicate');
  });

  test('takes the same call for the same run also where a limit is reached meanwhile', ({ db }) => {
    spawn(db, { spawnKey: 'k' });
    expect(spawn(db, { spawnKey: 'k' }, { ...LIMITS, maxQueued: 0 }).kind).toBe('duplicate');
  });

  const queue = { maxQueued: 3, words: '3 turns wait already, the most is 3' };
  const results = '3 results have not been taken in, the most is 3: #1 (id-0), #2 (id-1), #3 (id-2)';
  const undelivered = { undeliveredMax: 3, words: results };
  for (const [why, { words, ...limit }] of Object.entries({ queue, undelivered }))
    for (const count of [2, 3, 4])
      test(`with ${count} of 3 of the limit "${why}" ${count < 3 ? 'accepts one more' : 'refuses, and writes nothing'}`, ({
        db,
      }) => {
        const limits = { ...LIMITS, ...limit };
        for (let index = 0; index < count; index++)
          why === 'queue' ? accepted(db) : ended(db, {}, { id: `id-${index}` });
        const answer = spawn(db, { session: 's1' }, limits);
        expect(answer).toMatchObject(count < 3 ? { kind: 'inserted' } : { kind: 'refused', why });
        if (count === 3) expect(answer).toMatchObject({ words });
        expect(listRuns({ limit: 99 }, db)).toHaveLength(Math.max(3, count));
        expect(spawn(db, { session: 's1', key: B }, limits).kind).toBe('inserted');
      });

  test('counts no announce step and nothing that runs among what waits', ({ db }) => {
    const { runId } = started(db);
    appended(db, runId, { kind: 'announce', announces: 1, state: 'starting' });
    expect(spawn(db, {}, { ...LIMITS, maxQueued: 1 }).kind).toBe('inserted');
    expect(spawn(db, {}, { ...LIMITS, maxQueued: 1 })).toMatchObject({ why: 'queue' });
  });

  test('warns when half of what may wait was not taken in', ({ db }) => {
    ended(db);
    ended(db);
    const warnings = ['2 results have not been taken in: see "subagents inbox"'];
    expect(spawn(db, {}, { ...LIMITS, undeliveredMax: 4 })).toMatchObject({ kind: 'inserted', warnings });
    expect(spawn(db, {}, { ...LIMITS, undeliveredMax: 5 })).toMatchObject({ warnings: [] });
  });

  test('refuses the label of a run that works or waits, and gives it on when that has ended', ({ db }) => {
    const first = started(db, { label: 'tests' });
    expect(spawn(db, { label: 'tests' })).toEqual({
      kind: 'refused',
      why: 'label',
      words:
        'Cannot call a run "tests": run #1 has that label and is running. Choose another label, or stop that run first: subagents stop 1',
    });
    expect(spawn(db, { label: 'tests', key: B }).kind).toBe('inserted');
    endTurn(first, ending(), null, db);
    expect(spawn(db, { label: 'tests' }).kind).toBe('inserted');
  });
});
