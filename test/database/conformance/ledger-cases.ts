import assert from 'node:assert/strict';
import type { Telling } from '../../../src/benefit/model/telling.ts';
import { readTree, toss } from '../../../src/database/hold-out.ts';
import {
  ensureCoin,
  linkSession,
  readLedger,
  recordTellings,
  rootOf,
  saveOutcomes,
  verifyLedger,
} from '../../../src/database/ledger.ts';
import { test, time } from './context.ts';

/** The ledger of what was told or held out. */

const TELLABLE = {
  ...{ group: { place: '/home/dev/shop', key: 'no port given · npm test' }, callId: 'toolu_1' },
  kind: 'rule',
  text: 'use `npm run serve`',
  isPinned: false,
} as const;

test('the ledger: what was tossed is assigned to the whole tree, and stays so', ({ db }) => {
  const arms = new Set<boolean>();
  for (let index = 0; index < 20; index++) {
    const [main, fork] = [`main ${index}`, `fork ${index}`];
    ensureCoin(db, new Date(time(0)));
    linkSession(fork, main, db);
    assert.equal(rootOf(fork, db), main);
    const first: Telling = toss(TELLABLE, 'trial', readTree(main, 'failure', db));
    recordTellings({ ts: time(index), sessionId: main, agentId: null, tellings: [first] }, db);
    const tree = readTree(fork, 'failure', db);
    assert.equal(tree.root, main);
    assert.deepEqual([...tree.assigned.values()], [{ holdPercent: 50, isHeld: first.isHeld }]);
    assert.deepEqual(toss(TELLABLE, 'low', tree), first);
    assert.equal(readTree(main, 'start', db).assigned.size, 0);
    arms.add(first.isHeld);
  }
  assert.equal(arms.size, 2);
  assert.deepEqual(verifyLedger(db), []);
});

test('the ledger: outcomes are written, and a change by hand is named', ({ db }) => {
  const telling = toss(TELLABLE, 'off', readTree('main', 'failure', db));
  recordTellings({ ts: time(1), sessionId: 'main', agentId: 'a1', tellings: [telling] }, db);
  const [row] = readLedger(db);
  assert.ok(row);
  assert.equal(row.failedCall, 'toolu_1');
  saveOutcomes([{ ...row, failedAt: 5, calls: 2, ended: 'passed', leaked: true, settledAt: 7 }], db);
  assert.deepEqual(verifyLedger(db), []);
  db.sqlite.exec('UPDATE exposures SET calls = 3');
  assert.deepEqual(
    verifyLedger(db).map(({ what }) => what),
    ['outcome'],
  );
});
