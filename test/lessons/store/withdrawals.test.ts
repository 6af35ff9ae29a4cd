import { describe, expect, test } from 'bun:test';
import {
  doubtLesson,
  listModelLessons,
  releaseLesson,
  saveModelLesson,
  withdrawLesson,
} from '../../../src/lessons/store/model-lessons.ts';
import { listWithdrawals, restoreLesson, setPinned } from '../../../src/lessons/store/withdrawals.ts';
import { PROJECT } from '../../support/payloads.ts';
import { databasePerTest, homePerTest } from '../../support/per-test.ts';
import { LESSON, LESSON_ERROR } from '../../support/suggestions.ts';

const home = homePerTest();
const db = databasePerTest(home);
const LATER = '2026-11-21T09:00:00.000Z';

/** A lesson of a model that is told; its number. */
function told(projectPath = PROJECT): number {
  const { kind, confidence, evidence } = LESSON.lesson;
  const names = { key: LESSON_ERROR, said: LESSON_ERROR, projectPath, advice: '`npm run test`' };
  const ts = '2026-11-20T09:00:00.000Z';
  saveModelLesson({ ...names, kind, confidence, evidence, ts, by: 'model' }, db);
  return listModelLessons(projectPath, db)[0]?.id ?? 0;
}

const row = (id: number) =>
  db.sqlite.get('SELECT resolution, resolved_by, state, pinned, quiet FROM error_kb WHERE id = ?', id);

describe('every way in which a lesson goes is a row', () => {
  test('of the user', () => {
    const id = told();
    withdrawLesson(id, 'user', db);
    expect(listWithdrawals([PROJECT], db)).toMatchObject([{ id, reason: 'user', project: PROJECT }]);
    expect(listWithdrawals(['/home/dev/other'], db)).toEqual([]);
  });

  test('of the model, with what speaks against it, once', () => {
    const id = told();
    doubtLesson(id, ['npm run test: no such script'], db);
    withdrawLesson(id, 'model', db);
    const detail = 'calls speak against it: npm run test: no such script';
    expect(listWithdrawals(undefined, db)).toMatchObject([{ id, reason: 'model', detail }]);
    expect(db.sqlite.all('SELECT 1 FROM withdrawals')).toHaveLength(1);
  });

  test('where nothing is told there is none', () => {
    const id = told();
    doubtLesson(id, [], db);
    releaseLesson(id, db);
    withdrawLesson(id, 'user', db);
    expect(db.sqlite.all('SELECT reason FROM withdrawals')).toEqual([{ reason: 'model' }]);
  });
});

describe('restoreLesson()', () => {
  test('puts back what was told, whoever took it away', () => {
    const id = told();
    const before = row(id);
    for (const by of ['user', 'model', 'proof'] as const) {
      withdrawLesson(id, by, db);
      expect(row(id)).toMatchObject({ resolution: null });
      expect(restoreLesson(id, LATER, db)).toBe(true);
      expect(row(id)).toEqual({ ...before, state: 'open' });
      expect(listWithdrawals(undefined, db)).toEqual([]);
    }
  });

  test('a lesson of a model is contradicted only by what comes after', () => {
    const id = told();
    doubtLesson(id, ['x'], db);
    restoreLesson(id, LATER, db);
    expect(listModelLessons(PROJECT, db)).toMatchObject([{ id, ts: LATER, counterExamples: null }]);
  });

  test('leaves what is told by now, and what is not there', () => {
    const id = told();
    withdrawLesson(id, 'model', db);
    told();
    expect(listWithdrawals(undefined, db)).toEqual([]);
    expect(restoreLesson(id, LATER, db)).toBe(false);
    expect(restoreLesson(99, LATER, db)).toBe(false);
  });
});

test('setPinned() ends silence, and says whether there is such an error', () => {
  const id = told();
  db.sqlite.run('UPDATE error_kb SET quiet = 1');
  expect(setPinned(id, true, db)).toBe(true);
  expect(row(id)).toMatchObject({ pinned: 1, quiet: 0 });
  setPinned(id, false, db);
  expect(row(id)).toMatchObject({ pinned: 0 });
  expect(setPinned(99, true, db)).toBe(false);
});
