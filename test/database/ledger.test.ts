import { describe, expect, test } from 'bun:test';
import { armOf } from '../../src/benefit/model/coin.ts';
import { groupFingerprint, type Telling } from '../../src/benefit/model/telling.ts';
import type { Db } from '../../src/database/connection.ts';
import {
  ensureCoin,
  linkSession,
  type Outcome,
  readCoin,
  readLedger,
  recordTellings,
  rootOf,
  saveOutcomes,
  type ToldNote,
  verifyLedger,
} from '../../src/database/ledger.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { temporaryHome } from '../support/home.ts';

const NOW = new Date('2026-11-20T09:00:00.000Z');
const GROUP = { place: '/home/dev/app', key: 'no port given · npm test' };
const TELLING: Telling = {
  ...{ group: GROUP, kind: 'rule', channel: 'start', text: 'npm run test:unit works' },
  ...{ holdPercent: 0, isHeld: false, callId: null },
};
const OUTCOME: Outcome = {
  ...{ id: 1, failedAt: 5, failedCall: 'toolu_1', calls: 3, ms: 4000, chars: 900, ended: 'passed' },
  ...{ adviceFailed: false, formWorked: null, leaked: true, settledAt: 9 },
};

/** Works on a database in one transaction. */
function inDatabase<T>(work: (db: Db) => T): T {
  using home = temporaryHome();
  return writeDatabase(home.paths, (db) => db.sqlite.transaction(() => work(db)));
}

function tell(db: Db, of: Partial<Telling> = {}, note: Partial<ToldNote> = {}): void {
  const tellings = [{ ...TELLING, ...of }];
  recordTellings({ ts: NOW.toISOString(), sessionId: 'main', agentId: null, tellings, ...note }, db);
}

/** The telling as this database's coin decides on it. */
function tossed(db: Db, of: Partial<Telling>, root = 'main'): Telling {
  const telling = { ...TELLING, holdPercent: 50, ...of };
  const { key } = ensureCoin(db, NOW);
  return { ...telling, isHeld: armOf({ ...telling, key, root, group: groupFingerprint(telling.group) }) };
}

const group = (name: string) => ({ ...GROUP, key: name });

const KEY = '0123456789abcdef'.repeat(4);
const commitmentOf = (key: string) => new Bun.CryptoHasher('sha256').update(key).digest('hex');

/** A ledger of so many rows, some of them held out, the first with an outcome. The coin always falls alike. */
function fill(db: Db, rows = 6): void {
  const coin = [KEY, commitmentOf(KEY), NOW.toISOString()];
  db.sqlite.run('INSERT INTO coin(id, key, commitment, since) VALUES (1, ?, ?, ?)', ...coin);
  for (let index = 0; index < rows; index++) tell(db, tossed(db, { group: group(`error ${index}`) }));
  saveOutcomes([OUTCOME], db);
}

describe('recordTellings()', () => {
  test('writes one row for each group, tree and channel, the first, whoever is told', () => {
    inDatabase((db) => {
      const at = (second: number) => `2026-11-20T09:00:0${second}.000Z`;
      tell(db, {}, { ts: at(0), agentId: 'a1', client: 'claude' });
      tell(db, { text: 'other words' }, { ts: at(1), agentId: 'a2' });
      tell(db, { channel: 'failure', callId: 'toolu_1' }, { ts: at(2) });
      tell(db, { group: group('other') }, { ts: at(3) });
      tell(db, {}, { ts: at(4), sessionId: 'second' });
      const rows = readLedger(db);
      expect(rows.map(({ id, root, key, channel, agent }) => [id, root, key, channel, agent])).toEqual([
        [1, 'main', GROUP.key, 'start', 'a1'],
        [2, 'main', GROUP.key, 'failure', null],
        [3, 'main', 'other', 'start', null],
        [4, 'second', GROUP.key, 'start', null],
      ]);
      expect(rows[0]).toMatchObject({
        ...{ ts: NOW.getTime(), place: GROUP.place, group: groupFingerprint(GROUP), client: 'claude' },
        ...{ kind: 'rule', text: TELLING.text, holdPercent: 0, isHeld: false, settledAt: null },
      });
    });
  });

  test('keeps each wording of a lesson once', () => {
    inDatabase((db) => {
      for (const sessionId of ['one', 'two', 'three']) tell(db, {}, { sessionId });
      tell(db, { text: 'other words' }, { sessionId: 'four' });
      expect(new Set(readLedger(db).map(({ version }) => version)).size).toBe(2);
      expect(db.sqlite.get('SELECT count(*) AS count FROM lesson_versions')).toEqual({ count: 2 });
    });
  });

  test('writes which arm the coin gave, and leaves out what it cannot have given', () => {
    inDatabase((db) => {
      for (let index = 0; index < 40; index++) {
        const telling = tossed(db, { group: group(`error ${index}`) });
        tell(db, { ...telling, isHeld: !telling.isHeld });
        tell(db, telling);
      }
      const rows = readLedger(db);
      expect(rows).toHaveLength(40);
      expect(new Set(rows.map(({ isHeld }) => isHeld)).size).toBe(2);
      expect(verifyLedger(db)).toEqual([]);
    });
  });
});

describe('recordTellings() and what became known meanwhile', () => {
  const OLD = { ts: '2026-11-19T09:00:00.000Z' };

  test('whether a row is written does not depend on its arm, where a fork is found out between hook and ledger', () => {
    inDatabase((db) => {
      const sessions = Array.from({ length: 40 }, (_, index) => `fork ${index}`);
      const arms = sessions.map((sessionId) => {
        const telling = { ...tossed(db, {}, sessionId), root: sessionId };
        linkSession(sessionId, `main of ${sessionId}`, db);
        tell(db, telling, { sessionId });
        return [sessionId, telling.isHeld];
      });
      const rows = readLedger(db);
      expect(rows.map(({ root, isHeld }) => [root, isHeld])).toEqual(arms);
      expect(sessions.map((one) => rootOf(one, db))).toEqual(sessions);
      expect(verifyLedger(db)).toEqual([]);
    });
  });

  test('nothing that was tossed before this coin was made is written, in no arm', () => {
    inDatabase((db) => {
      ensureCoin(db, NOW);
      for (let index = 0; index < 40; index++)
        for (const isHeld of [true, false])
          tell(db, { group: group(`error ${index}`), holdPercent: 10, isHeld }, OLD);
      expect(readLedger(db)).toEqual([]);
      tell(db, {}, OLD);
      expect(readLedger(db)).toHaveLength(1);
    });
  });
});

describe('linkSession()', () => {
  test('a fork, and a fork of it, belong to the first session, in whatever order that is found out', () => {
    inDatabase((db) => {
      linkSession('third', 'second', db);
      linkSession('second', 'first', db);
      linkSession('fourth', 'third', db);
      const sessions = ['first', 'second', 'third', 'fourth'];
      expect(sessions.map((one) => rootOf(one, db))).toEqual(sessions.map(() => 'first'));
      linkSession('first', 'fourth', db);
      linkSession('second', 'another', db);
      expect(rootOf('second', db)).toBe('first');
    });
  });

  test('a fork is told nothing a second time, and one that was told before stays by itself', () => {
    inDatabase((db) => {
      tell(db);
      linkSession('fork', 'main', db);
      tell(db, {}, { sessionId: 'fork' });
      tell(db, {}, { sessionId: 'late' });
      linkSession('late', 'main', db);
      expect(readLedger(db).map(({ root }) => root)).toEqual(['main', 'late']);
      expect(rootOf('late', db)).toBe('late');
    });
  });
});

describe('ensureCoin()', () => {
  test('makes a coin once, with 256 bits and their SHA-256', () => {
    const coins = [1, 2].map(() =>
      inDatabase((db) => {
        expect(readCoin(db)).toBeUndefined();
        const coin = ensureCoin(db, NOW);
        expect(coin.since).toBe(NOW.toISOString());
        expect(coin.key).toMatch(/^[0-9a-f]{64}$/);
        expect(coin.commitment).toBe(commitmentOf(coin.key));
        expect(ensureCoin(db, new Date(0))).toEqual(coin);
        return coin;
      }),
    );
    expect(coins[0]?.key).not.toBe(coins[1]?.key as string);
  });
});

describe('saveOutcomes()', () => {
  test('writes what readLedger() reads, also again', () => {
    inDatabase((db) => {
      fill(db);
      expect(readLedger(db)[0]).toMatchObject(OUTCOME);
      const later: Outcome = { ...OUTCOME, failedCall: null, ended: null, adviceFailed: true, leaked: null };
      saveOutcomes([later], db);
      expect(readLedger(db)[0]).toMatchObject(later);
      expect(verifyLedger(db)).toEqual([]);
    });
  });
});

test('settling hides no change by hand: such a row keeps what it has', () => {
  inDatabase((db) => {
    fill(db);
    db.sqlite.exec('UPDATE exposures SET advice_failed = 1 WHERE id = 1');
    saveOutcomes([{ ...OUTCOME, adviceFailed: true, settledAt: 10 }], db);
    expect(verifyLedger(db)).toMatchObject([{ what: 'outcome', id: 1 }]);
  });
});

describe('verifyLedger()', () => {
  const otherKey = "UPDATE coin SET key = replace(key, substr(key, 1, 1), '~')";
  const faults: [what: string, sql: string, found: [what: string, id: number | null][]][] = [
    ['nothing', 'SELECT 1', []],
    ['a time', 'UPDATE exposures SET ts = ts + 1 WHERE id = 3', [['row', 3]]],
    ['a probability', 'UPDATE exposures SET hold_percent = hold_percent + 1 WHERE id = 3', [['row', 3]]],
    ['an agent', "UPDATE exposures SET agent = 'x' WHERE id = 3", [['row', 3]]],
    [
      'a channel',
      'UPDATE exposures SET channel = 1 WHERE id = 3',
      [
        ['row', 3],
        ['arm', 3],
      ],
    ],
    ['a session', 'UPDATE exposures SET tree = 99 WHERE id = 6', [['row', 6]]],
    [
      'which failure it is about',
      'UPDATE exposures SET grp = 1, channel = 1 WHERE id = 3',
      [
        ['row', 3],
        ['arm', 3],
        ['text', 3],
      ],
    ],
    ['the code of a row', 'UPDATE exposures SET chain = 7 WHERE id = 6', [['row', 6]]],
    ['a row, deleted', 'DELETE FROM exposures WHERE id = 3', [['missing', 4]]],
    ['the first row, deleted', 'DELETE FROM exposures WHERE id = 1', [['missing', 2]]],
    ['the last rows, deleted', 'DELETE FROM exposures WHERE id > 4', [['missing', null]]],
    ['all rows, deleted', 'DELETE FROM exposures', [['missing', null]]],
    [
      'a row, added',
      `INSERT INTO exposures(tree, grp, channel, ts, version, hold_percent, held, chain)
       SELECT tree, grp, 1, ts, version, 0, 0, chain FROM exposures WHERE id = 3`,
      [
        ['row', 7],
        ['outcome', 7],
      ],
    ],
    [
      'the last rows, deleted with their number',
      'DELETE FROM exposures WHERE id > 4; UPDATE sqlite_sequence SET seq = 3',
      [['missing', null]],
    ],
    [
      'the failing call of a row that is not settled',
      "UPDATE exposures SET failed_call = 'x' WHERE id = 2",
      [['outcome', 2]],
    ],
    ['a flag of a row that is not settled', 'UPDATE exposures SET leaked = 1 WHERE id = 2', [['outcome', 2]]],
    ['a seal, removed', 'UPDATE exposures SET seal = NULL WHERE id = 1', [['outcome', 1]]],
    [
      'two rows that were swapped',
      'UPDATE exposures SET id = -2 WHERE id = 2; UPDATE exposures SET id = 2 WHERE id = 3; UPDATE exposures SET id = 3 WHERE id = -2',
      [
        ['row', 2],
        ['row', 3],
        ['row', 4],
        ['outcome', 2],
        ['outcome', 3],
      ],
    ],
    ['the first session of a tree', "UPDATE trees SET root = 'x'", [['key', null]]],
    [
      'a key',
      otherKey,
      [
        ['key', null],
        ['key', null],
      ],
    ],
    ['a commitment', "UPDATE coin SET commitment = 'x'", [['key', null]]],
    [
      'the coin, deleted',
      'DELETE FROM coin',
      [
        ['key', null],
        ['key', null],
      ],
    ],
    ['an outcome', 'UPDATE exposures SET calls = 1 WHERE id = 1', [['outcome', 1]]],
    ['a failure that is no more', 'UPDATE exposures SET failed_at = NULL WHERE id = 1', [['outcome', 1]]],
    ['a failure that nobody settled', 'UPDATE exposures SET failed_at = 7 WHERE id = 2', [['outcome', 2]]],
    [
      'the seal of another row',
      'UPDATE exposures SET seal = (SELECT seal FROM exposures WHERE id = 1) WHERE id = 2',
      [['outcome', 2]],
    ],
    ['the place of a failure', "UPDATE failure_groups SET place = '/tmp' WHERE id = 2", [['group', 2]]],
    ['the key of a failure', "UPDATE failure_groups SET key = 'x' WHERE id = 2", [['group', 2]]],
    [
      'a lesson',
      "DROP TRIGGER lesson_versions_no_update; UPDATE lesson_versions SET text = 'x' WHERE id = 2",
      [['text', 2]],
    ],
    [
      'a forgotten lesson, which is no fault',
      "UPDATE lesson_versions SET text = ''; UPDATE failure_groups SET key = NULL",
      [],
    ],
  ];
  for (const [what, sql, found] of faults) {
    test(`names ${what}`, () => {
      inDatabase((db) => {
        fill(db);
        db.sqlite.exec(sql);
        expect(verifyLedger(db).map(({ what, id }): [string, number | null] => [what, id])).toEqual(found);
      });
    });
  }

  test('names an arm that the coin did not give', () => {
    inDatabase((db) => {
      fill(db);
      db.sqlite.exec('UPDATE exposures SET held = 1 - held WHERE id = 6');
      expect(verifyLedger(db).map(({ what, id }) => [what, id])).toEqual([
        ['row', 6],
        ['arm', 6],
      ]);
    });
  });

  test('names a key that was changed together with its commitment', () => {
    inDatabase((db) => {
      fill(db);
      const key = 'f'.repeat(64);
      db.sqlite.run('UPDATE coin SET key = ?, commitment = ?', key, commitmentOf(key));
      expect(verifyLedger(db)).toEqual([
        { what: 'key', id: null, detail: 'none of the 6 rows was written with this key' },
      ]);
    });
  });

  test('has nothing to say of a ledger without rows', () => {
    inDatabase((db) => expect(verifyLedger(db)).toEqual([]));
  });
});
