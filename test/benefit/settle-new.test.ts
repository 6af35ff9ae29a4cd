import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { settleNew } from '../../src/benefit/settle-new.ts';
import { lessonRate, listLessons } from '../../src/benefit/store/lesson-list.ts';
import { treesToSettle } from '../../src/benefit/store/outcomes.ts';
import type { Db } from '../../src/database/connection.ts';
import { linkSession, readLedger, verifyLedger } from '../../src/database/ledger.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { noteRepository, saveLearnt } from '../../src/lessons/store/lesson-log.ts';
import { withdrawLesson } from '../../src/lessons/store/model-lessons.ts';
import { listWithdrawals, restoreLesson, setPinned } from '../../src/lessons/store/withdrawals.ts';
import { temporaryHome } from '../support/home.ts';
import { FAILING, KEY, learnt, ran, SAYS, tell, USE } from '../support/ledger.ts';
import { PROJECT } from '../support/payloads.ts';

const DAY = 86_400_000;
const START = Date.parse('2026-11-10T09:00:00.000Z');
/** Minutes behind the start, on a day. */
const at = (minutes: number, day = 0) => new Date(START + day * DAY + minutes * 60_000).toISOString();
const NOW = new Date(START + 60_000 * 60);
const LATER = new Date(START + 40 * DAY);
const NO_SCRIPT = 'npm error Missing script: "lint"';

function inDatabase<T>(work: (db: Db, id: number) => T): T {
  using home = temporaryHome();
  return writeDatabase(home.paths, (db) => work(db, learnt(db)));
}

const settled = (db: Db, now = NOW) => {
  settleNew({ now }, db);
  return readLedger(db);
};
const stateOf = (db: Db) =>
  db.sqlite.get(
    'SELECT resolution IS NOT NULL AS told, state, quiet FROM error_kb WHERE error_normalized = ?',
    KEY,
  );

describe('settleNew()', () => {
  test('seals what came of each telling', () =>
    inDatabase((db) => {
      for (const session of ['s1', 's2']) tell({ session, ts: at(0) }, db);
      ran(FAILING, { session: 's1', ts: at(1), says: SAYS }, db);
      ran('ls', { session: 's1', ts: at(2) }, db);
      ran(USE, { session: 's1', ts: at(3) }, db);
      ran('ls', { session: 's2', ts: at(3) }, db);
      const cost = { failedAt: START + 60_000, calls: 2, ms: 120_000, chars: 200, ended: 'passed' };
      expect(settled(db)).toMatchObject([
        { ...cost, settledAt: NOW.getTime() },
        { failedAt: null, calls: null, settledAt: NOW.getTime() },
      ]);
      expect(verifyLedger(db)).toEqual([]);
    }));

  test('takes what a forked session did for the work of its tree, and a copied call once', () =>
    inDatabase((db) => {
      linkSession('fork', 's1', db);
      tell({ session: 's1', ts: at(0) }, db);
      ran(FAILING, { session: 'fork', ts: at(1), says: SAYS }, db);
      expect(settled(db)).toMatchObject([{ failedAt: START + 60_000 }]);
    }));

  test('goes on where a cost has not ended, and leaves it when the tree has been silent for a day', () =>
    inDatabase((db) => {
      tell({ session: 's1', ts: at(0) }, db);
      ran(FAILING, { session: 's1', ts: at(1), says: SAYS }, db);
      expect(settled(db)).toMatchObject([{ calls: 0, ended: null }]);
      ran('ls', { session: 's1', ts: at(2) }, db);
      expect(settled(db)).toMatchObject([{ calls: 1, ended: null }]);
      expect(settled(db, new Date(START + 2 * DAY))).toMatchObject([{ calls: 1, ended: 'left' }]);
      ran(USE, { session: 's1', ts: at(0, 3) }, db);
      expect(settled(db, new Date(START + 3 * DAY))).toMatchObject([{ calls: 1, ended: 'left' }]);
    }));

  test('keeps what it has seen when the events are gone', () =>
    inDatabase((db) => {
      tell({ session: 's1', ts: at(0) }, db);
      ran(FAILING, { session: 's1', ts: at(1), says: SAYS }, db);
      ran(USE, { session: 's1', ts: at(2) }, db);
      const before = settled(db);
      db.sqlite.run('DELETE FROM events');
      ran('ls', { session: 's1', ts: at(9) }, db);
      expect(settled(db)).toEqual(before);
    }));

  test('does nothing twice, wherever it was stopped: the same ledger as at once', () => {
    const lines = fc.array(fc.record({ line: fc.constantFrom(FAILING, USE, 'ls'), fails: fc.boolean() }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(lines, fc.array(fc.nat(12)), (calls, stops) => {
        const play = (stopsAt: readonly number[]) =>
          inDatabase((db) => {
            for (const session of ['s0', 's1']) tell({ session, ts: at(0) }, db);
            calls.forEach(({ line, fails }, index) => {
              ran(
                line,
                { session: `s${index % 2}`, ts: at(index + 1), ...(fails ? { says: SAYS } : {}) },
                db,
              );
              if (stopsAt.includes(index)) settleNew({ now: NOW }, db);
            });
            settleNew({ now: NOW }, db);
            const once = settled(db);
            // As if it had been killed before it noted how far it was.
            db.sqlite.run('DELETE FROM settled');
            expect(settled(db)).toEqual(once);
            return once.map(({ chain: _, seal: __, ...row }) => row);
          });
        expect(play(stops)).toEqual(play([]));
      }),
      { numRuns: 25 },
    );
  });

  test('looks at no tree of which nothing is new', () =>
    inDatabase((db) => {
      tell({ session: 's1', ts: at(0) }, db);
      ran('ls', { session: 's1', ts: at(1) }, db);
      settled(db);
      db.sqlite.exec(
        "CREATE TRIGGER t BEFORE UPDATE ON exposures BEGIN SELECT RAISE(ABORT, 'looked at'); END",
      );
      ran('ls', { session: 's2', ts: at(2) }, db);
      expect(settled(db)).toHaveLength(1);
    }));

  test('a failure that a person wanted forgotten is looked for no more', () =>
    inDatabase((db) => {
      tell({ session: 's1', ts: at(0) }, db);
      db.sqlite.run('UPDATE failure_groups SET key = NULL');
      ran(FAILING, { session: 's1', ts: at(1), says: SAYS }, db);
      expect(settled(db, LATER)).toMatchObject([{ failedAt: null, settledAt: null }]);
      expect(treesToSettle(LATER, db)).toEqual([]);
    }));

  test('settles a tree of 20,000 calls in bounded time', () =>
    inDatabase((db) => {
      tell({ session: 's1', ts: at(0) }, db);
      for (let call = 0; call < 20_000; call++)
        ran(
          call % 5 === 0 ? USE : 'ls -la src',
          { session: 's1', ts: new Date(START + 1000 * call).toISOString(), id: `c${call}` },
          db,
        );
      const startedMs = performance.now();
      settled(db);
      expect(performance.now() - startedMs).toBeLessThan(15_000);
    }));
});

describe('a lesson', () => {
  test('is withdrawn when what it advises fails as often as it works, with a row that says so', () =>
    inDatabase((db, id) => {
      tell({ session: 's1', ts: at(0) }, db);
      ran(USE, { session: 's1', ts: at(1), says: NO_SCRIPT }, db);
      settled(db);
      expect(stateOf(db)).toEqual({ told: 0, state: 'withdrawn', quiet: 0 });
      expect(listWithdrawals([PROJECT], db)).toMatchObject([
        {
          id,
          reason: 'contradiction',
          detail: 'what it advises failed 1 time since it is told, and worked 0 times',
        },
      ]);
      expect(listLessons(undefined, NOW, db)).toMatchObject([{ id, state: 'withdrawn', told: 1 }]);
    }));

  test('stays when that worked more often', () =>
    inDatabase((db) => {
      tell({ session: 's1', ts: at(0) }, db);
      ran(USE, { session: 's1', ts: at(1), says: NO_SCRIPT }, db);
      for (const minute of [2, 3]) ran(USE, { session: 's1', ts: at(minute) }, db);
      settled(db);
      expect(stateOf(db)).toMatchObject({ told: 1 });
    }));

  test('is withdrawn when what it warns of works by now', () =>
    inDatabase((db) => {
      tell({ session: 's1', ts: at(0) }, db);
      ran(FAILING, { session: 's1', ts: at(1) }, db);
      settled(db);
      expect(stateOf(db)).toMatchObject({ told: 0, state: 'withdrawn' });
    }));

  test('is withdrawn for nothing when a person has pinned it', () =>
    inDatabase((db, id) => {
      setPinned(id, true, db);
      tell({ session: 's1', ts: at(0) }, db);
      ran(FAILING, { session: 's1', ts: at(1) }, db);
      settled(db);
      expect(stateOf(db)).toMatchObject({ told: 1 });
      expect(listLessons(undefined, NOW, db)).toMatchObject([{ state: 'pinned' }]);
    }));

  test('comes back, and only what happens then withdraws it again', () =>
    inDatabase((db, id) => {
      tell({ session: 's1', ts: at(0) }, db);
      ran(FAILING, { session: 's1', ts: at(1) }, db);
      settled(db);
      expect(restoreLesson(id, at(30), db)).toBe(true);
      expect(restoreLesson(id, at(30), db)).toBe(false);
      ran('ls', { session: 's1', ts: at(31) }, db);
      settled(db);
      expect(stateOf(db)).toEqual({ told: 1, state: 'open', quiet: 0 });
      tell({ session: 's2', ts: at(40) }, db);
      ran(FAILING, { session: 's2', ts: at(41) }, db);
      settled(db);
      expect(stateOf(db)).toMatchObject({ told: 0 });
    }));

  test('that named a file that was not there comes back with it, as on another branch', () => {
    using home = temporaryHome();
    writeDatabase(home.paths, (db) => {
      const id = learnt(db);
      const project = `${home.path}/app`;
      mkdirSync(project);
      const remedy = JSON.stringify({ kind: 'fixer', failing: FAILING, use: 'node scripts/check.mjs' });
      db.sqlite.run('UPDATE error_kb SET project_path = ?, resolution = ? WHERE id = ?', project, remedy, id);
      withdrawLesson(id, 'proof', db, { reason: 'gone', detail: 'it names the file "scripts/check.mjs"' });
      settleNew({ now: NOW }, db);
      expect(listWithdrawals(undefined, db)).toMatchObject([{ id, reason: 'gone' }]);
      mkdirSync(`${project}/scripts`);
      writeFileSync(`${project}/scripts/check.mjs`, '');
      settleNew({ now: NOW }, db);
      expect(listWithdrawals(undefined, db)).toEqual([]);
      expect(stateOf(db)).toMatchObject({ told: 1 });
    });
  });

  test.each([
    ['a day', 1, []],
    ['two weeks', 14, [{ reason: 'gone' }]],
  ])('that names a file that is not there, and worked %s ago', (_, days, withdrawn) => {
    using home = temporaryHome();
    writeDatabase(home.paths, (db) => {
      const id = learnt(db, at(0, -20));
      const use = 'node scripts/check.mjs';
      db.sqlite.run(
        'UPDATE error_kb SET resolution = ? WHERE id = ?',
        JSON.stringify({ kind: 'fixer', use }),
        id,
      );
      // The project is where the ledger says; only a directory that is there can lack a file.
      db.sqlite.run('UPDATE error_kb SET project_path = ? WHERE id = ?', home.path, id);
      noteRepository(home.path, PROJECT, db);
      noteRepository(PROJECT, PROJECT, db);
      ran(use, { session: 'before', ts: new Date(NOW.getTime() - days * DAY).toISOString() }, db);
      tell({ session: 's1', ts: at(0) }, db);
      ran('ls', { session: 's1', ts: at(1) }, db);
      settleNew({ now: NOW }, db);
      expect(listWithdrawals(undefined, db)).toMatchObject(withdrawn);
      expect(listWithdrawals(undefined, db)).toHaveLength(withdrawn.length);
    });
  });

  test('that the rules speak against is withdrawn with a row, and once it is restored not by the same calls', () =>
    inDatabase((db, id) => {
      const group = { key: KEY, sessions: 2, isOpen: false, lesson: null };
      const speak = () => saveLearnt([group], { projectPath: PROJECT, scope: 'project' }, db);
      speak();
      expect(stateOf(db)).toMatchObject({ told: 0, state: 'contradicted' });
      expect(listWithdrawals(undefined, db)).toMatchObject([{ id, reason: 'contradiction' }]);
      restoreLesson(id, at(30), db);
      speak();
      expect(stateOf(db)).toMatchObject({ told: 1 });
    }));

  test('falls silent at starts after ten sessions without the failure, and wakes with it', () =>
    inDatabase((db) => {
      for (let day = 0; day < 10; day++) {
        expect(stateOf(db)).toMatchObject({ quiet: 0 });
        tell({ session: `s${day}`, ts: at(0, day) }, db);
        ran('ls', { session: `s${day}`, ts: at(1, day) }, db);
        settled(db, new Date(START + (day + 2) * DAY));
      }
      expect(stateOf(db)).toEqual({ told: 1, state: null, quiet: 1 });
      ran(FAILING, { session: 's3', ts: at(1, 20), says: SAYS }, db);
      settled(db, LATER);
      expect(stateOf(db)).toMatchObject({ told: 1, quiet: 0 });
    }));

  test('does not fall silent when it fails in a session that was told nothing', () =>
    inDatabase((db) => {
      for (let day = 0; day < 12; day++) {
        tell({ session: `s${day}`, ts: at(0, day) }, db);
        ran('ls', { session: `s${day}`, ts: at(1, day) }, db);
      }
      ran(FAILING, { session: 'other', ts: at(5, 1), says: SAYS }, db);
      settled(db, LATER);
      expect(stateOf(db)).toMatchObject({ quiet: 0 });
    }));

  /** A session a day, half of them held out; where it fails, the check passes after so many calls. */
  function workDaily(fails: (isHeld: boolean) => boolean, calls: (isHeld: boolean) => number, db: Db): void {
    // Always the same coin.
    db.sqlite.run("INSERT INTO coin(id, key, commitment, since) VALUES (1, 'key', '', '')");
    for (let day = 0; day < 39; day++) {
      const session = `s${day}`;
      const isHeld = tell({ session, ts: at(0, day), holdPercent: 50 }, db);
      if (fails(isHeld)) {
        ran(FAILING, { session, ts: at(1, day), says: SAYS }, db);
        for (let call = 1; call < calls(isHeld); call++) ran('ls', { session, ts: at(1 + call, day) }, db);
      }
      ran(USE, { session, ts: at(30, day) }, db);
    }
    settled(db, LATER);
  }
  const answered = (db: Db) => db.sqlite.all('SELECT kind, channel FROM answered');

  test('that does harm is withdrawn by statistics, and its kind is held out as often as before', () =>
    inDatabase((db) => {
      workDaily(
        (isHeld) => !isHeld,
        () => 1,
        db,
      );
      expect(stateOf(db)).toMatchObject({ told: 0, state: 'withdrawn' });
      expect(listWithdrawals(undefined, db)).toMatchObject([{ reason: 'statistics' }]);
      expect(answered(db)).toEqual([]);
    }));

  test('is listed with the sessions of its trial alone, also withdrawn and in a repository', () =>
    inDatabase((db, id) => {
      const arms = [0, 1, 2, 3].map((day) =>
        tell({ session: `s${day}`, ts: at(0, day), holdPercent: 50 }, db),
      );
      const held = arms.filter(Boolean).length;
      for (const day of [4, 5, 6]) tell({ session: `s${day}`, ts: at(0, day) }, db);
      noteRepository(PROJECT, 'example/app', db);
      db.sqlite.run("UPDATE failure_groups SET place = 'example/app'");
      const lesson = () => listLessons([PROJECT], LATER, db);
      expect(lesson()).toMatchObject([{ id, state: 'too-rare', held, told: 4 - held }]);
      withdrawLesson(id, 'user', db);
      expect(lesson()).toMatchObject([{ id, state: 'withdrawn', held, told: 4 - held }]);
    }));

  test('that helps is told on, and the question is answered for its kind', () =>
    inDatabase((db) => {
      workDaily(
        (isHeld) => isHeld,
        () => 1,
        db,
      );
      expect(stateOf(db)).toMatchObject({ told: 1 });
      expect(answered(db)).toEqual([{ kind: 'rule', channel: 0 }]);
    }));

  test('that a start tells of is answered by what comes back, not by how soon it is mended', () =>
    inDatabase((db) => {
      workDaily(
        () => true,
        (isHeld) => (isHeld ? 19 : 1),
        db,
      );
      expect(readLedger(db).filter(({ calls }) => calls === 19).length).toBeGreaterThan(9);
      expect(answered(db)).toEqual([]);
    }));

  test('that has failed once is told at starts for good, also when that event is forgotten', () =>
    inDatabase((db) => {
      tell({ session: 's0', ts: at(0) }, db);
      ran(FAILING, { session: 's0', ts: at(1), says: SAYS }, db);
      settled(db);
      db.sqlite.run("DELETE FROM events WHERE session_id = 's0'");
      for (let day = 1; day < 12; day++) {
        tell({ session: `s${day}`, ts: at(0, day) }, db);
        ran('ls', { session: `s${day}`, ts: at(1, day) }, db);
      }
      settled(db, LATER);
      expect(stateOf(db)).toMatchObject({ told: 1, quiet: 0 });
    }));

  test('outcomes are the same when every arm is another', () => {
    const outcomes = (change: string) =>
      inDatabase((db) => {
        db.sqlite.run("INSERT INTO coin VALUES (1, 'k', '', '')");
        for (let day = 0; day < 9; day++) {
          const session = `s${day}`;
          tell({ session, ts: at(0, day), holdPercent: 50 }, db);
          ran(day % 2 ? FAILING : USE, { session, ts: at(1, day), ...(day % 2 ? { says: SAYS } : {}) }, db);
        }
        db.sqlite.exec(change);
        return settled(db, LATER).map(({ failedAt, calls, ended, formWorked }) => [
          failedAt,
          calls,
          ended,
          formWorked,
        ]);
      });
    expect(outcomes('UPDATE exposures SET held = 1 - held')).toEqual(outcomes('SELECT 1'));
  });
});

describe('lessonRate()', () => {
  test('counts sessions a week in which a known lesson fails, without the one it was learnt in', () =>
    inDatabase((db) => {
      expect(lessonRate(NOW, db)).toMatchObject({ startPerWeek: 0, failurePerWeek: 0 });
      for (const [session, day] of [
        ['s1', 1],
        ['s1', 2],
        ['s2', 3],
        ['s3', 4],
      ] as const)
        ran(FAILING, { session, ts: at(0, day), says: SAYS, id: `${session}${day}` }, db);
      const rate = lessonRate(new Date(Date.parse('2026-11-01T09:00:00.000Z') + 14 * DAY), db);
      expect(rate).toEqual({ startPerWeek: 1.5, failurePerWeek: 1.5, weeksSeen: 2 });
    }));
});
