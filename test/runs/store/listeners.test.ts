import { expect } from 'bun:test';
import { newsOf } from '../../../src/runs/store/outbox.ts';
import { appendTurn, endTurn } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import { A, ending, NOW_MS, started } from './made-up.ts';

test('newsOf() says that something comes to the session that asked for a turn, whoever asked for its run', ({
  db,
}) => {
  const work = started(db, { session: 's1' });
  const isComing = () =>
    ['s1', 's2'].map((session) => newsOf({ session, requester: A }, NOW_MS, db).isComing);
  expect(isComing()).toEqual([true, false]);
  const message = {
    runId: work.runId,
    kind: 'send',
    announces: null,
    message: 'x',
    nowMs: NOW_MS,
  } as const;
  appendTurn({ ...message, session: 's2', state: 'queued' }, db);
  expect(isComing()).toEqual([true, true]);
  endTurn(work, ending(), null, db);
  expect(isComing()).toEqual([false, true]);
});
