import { expect } from 'bun:test';
import { addRunEvent, runEvents } from '../../../src/runs/store/rows.ts';
import { test } from '../in-home.ts';
import { NOW_MS } from './made-up.ts';

const EVENT = { runId: 'r1', turn: 1, atMs: NOW_MS, actor: 'supervisor', type: 'launched', detail: 'pid 7' };

test('runEvents() gives the newest events of a run in the order in which they happened', ({ db }) => {
  addRunEvent(EVENT, db);
  addRunEvent({ ...EVENT, runId: 'r2' }, db);
  addRunEvent({ ...EVENT, runId: null, turn: null }, db);
  addRunEvent({ ...EVENT, type: 'ended' }, db);
  expect(runEvents('r1', 9, db)).toEqual([EVENT, { ...EVENT, type: 'ended' }]);
  expect(runEvents('r1', 1, db)).toEqual([{ ...EVENT, type: 'ended' }]);
  expect(runEvents(null, 9, db)).toEqual([{ ...EVENT, runId: null, turn: null }]);
});

test('addRunEvent() keeps a bounded number for each run, the newest, and bounded details on one line', ({
  db,
}) => {
  addRunEvent({ ...EVENT, runId: 'r2' }, db);
  addRunEvent({ ...EVENT, runId: null }, db);
  db.transaction(() => {
    for (let index = 0; index < 450; index++) {
      addRunEvent({ ...EVENT, detail: `${index}` }, db);
      addRunEvent({ ...EVENT, runId: null, detail: `${index}` }, db);
    }
  });
  for (const runId of ['r1', null]) {
    const kept = runEvents(runId, 999, db);
    expect(kept).toHaveLength(200);
    expect([kept[0]?.detail, kept.at(-1)?.detail]).toEqual(['250', '449']);
  }
  expect(runEvents('r2', 9, db)).toHaveLength(1);
  addRunEvent({ ...EVENT, detail: `a\n\x1b[31m${'한'.repeat(5000)}` }, db);
  const detail = runEvents('r1', 1, db)[0]?.detail ?? '';
  expect(detail).toStartWith('a 한');
  expect(detail.length).toBe(1000);
});

test('addRunEvent() adds once what was not noted of the turn before, also when it was cut', ({ db }) => {
  const long = { ...EVENT, detail: `line\n${'x'.repeat(9000)}` };
  for (const event of [EVENT, EVENT, long, long, { ...EVENT, turn: 2 }])
    addRunEvent(event, db, { once: true });
  expect(runEvents('r1', 9, db).map(({ turn, detail }) => [turn, detail.length])).toEqual([
    [1, 5],
    [1, 1000],
    [2, 5],
  ]);
});
