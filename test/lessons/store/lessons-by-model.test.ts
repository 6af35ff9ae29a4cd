import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { countCalls, shellLines } from '../../../src/analysis/analysis-store.ts';
import type { Db } from '../../../src/database/connection.ts';
import { getDb } from '../../../src/database/db.ts';
import { recordPersonsFix } from '../../../src/lessons/store/error-entries.ts';
import { forgetError } from '../../../src/lessons/store/forget-error.ts';
import {
  doubtLesson,
  lessonState,
  listModelLessons,
  type NewModelLesson,
  releaseLesson,
  saveModelLesson,
  takeBackLesson,
  wasDoubted,
  withdrawLesson,
} from '../../../src/lessons/store/model-lessons.ts';
import { recordSeen } from '../../../src/lessons/store/seen-errors.ts';
import { listSuggestions, saveProposals } from '../../../src/suggestions/model/store.ts';
import { readProposal } from '../../../src/suggestions/model/suggestion.ts';
import { madeCalls, storeCalls } from '../../analysis/made-calls.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { seedLearnt } from '../../support/lessons.ts';
import { PROJECT } from '../../support/payloads.ts';
import { LESSON, LESSON_ERROR } from '../../support/suggestions.ts';

const TS = '2026-11-20T09:00:00.000Z';
const TOLD: NewModelLesson = {
  key: LESSON_ERROR,
  said: LESSON_ERROR,
  projectPath: PROJECT,
  advice: LESSON.advice,
  kind: 'command',
  confidence: 0.9,
  ts: TS,
  evidence: LESSON.lesson.evidence,
  by: 'model',
};

let home: Home;
let db: Db;
beforeEach(() => {
  home = temporaryHome();
  db = getDb(home.paths, { mode: 'write', busyTimeoutMs: 1000 });
});
afterEach(() => {
  db.sqlite.close();
  home[Symbol.dispose]();
});

const row = () => db.sqlite.get('SELECT * FROM error_kb WHERE error_normalized = ?', LESSON_ERROR);
const idOf = () => Number(row()?.id);

describe('saveModelLesson()', () => {
  test('makes the row of an error that has none, such as a finding', () => {
    expect(saveModelLesson(TOLD, db)).toBe(true);
    expect(row()).toMatchObject({ said: LESSON_ERROR, sessions: 1, seen_count: 1, resolved_by: 'model' });
    expect(listModelLessons(PROJECT, db)).toMatchObject([{ advice: LESSON.advice, counterExamples: null }]);
    expect(listModelLessons('/elsewhere', db)).toEqual([]);
    expect(listModelLessons(undefined, db)).toHaveLength(1);
  });

  test('keeps the counts of the row and other evidence', () => {
    const seen = { ts: TS, projectPath: PROJECT, said: 'as printed', errorRaw: 'raw' };
    for (let n = 0; n < 3; n++) recordSeen(LESSON_ERROR, seen, db);
    db.sqlite.run('UPDATE error_kb SET evidence = ?', JSON.stringify({ other: 1 }));
    saveModelLesson(TOLD, db);
    expect(row()).toMatchObject({ seen_count: 3, said: 'as printed', error_raw: 'raw' });
    expect(JSON.parse(String(row()?.evidence))).toMatchObject({ other: 1, model: { ran: ['w1'] } });
  });

  test('never replaces what a person wrote or agreed to', () => {
    recordPersonsFix(LESSON_ERROR, { ts: TS, projectPath: PROJECT, summary: 'mine' }, db);
    expect(saveModelLesson(TOLD, db)).toBe(false);
    expect(saveModelLesson({ ...TOLD, by: 'user' }, db)).toBe(false);
    expect(lessonState(LESSON_ERROR, PROJECT, db)).toEqual({
      state: 'written-by-user',
      text: expect.stringContaining('mine'),
    });
    expect(listModelLessons(PROJECT, db)).toEqual([]);
  });
});

test('a doubted lesson is not told, and stays known as doubted', () => {
  saveModelLesson(TOLD, db);
  doubtLesson(idOf(), ['failed: bun run test'], db);
  expect(row()).toMatchObject({ resolution: null, state: 'doubted' });
  expect(listModelLessons(PROJECT, db)).toMatchObject([{ counterExamples: ['failed: bun run test'] }]);
  releaseLesson(idOf(), db);
  expect(listModelLessons(PROJECT, db)).toEqual([]);
  saveModelLesson({ ...TOLD, by: 'user' }, db);
  expect(wasDoubted(LESSON_ERROR, PROJECT, db)).toBe(true);
});

test('withdrawLesson() clears what is told, whoever wrote it, and the rules tell nothing again', () => {
  expect(withdrawLesson(1, 'user', db)).toBe(false);
  recordPersonsFix(LESSON_ERROR, { ts: TS, projectPath: PROJECT, summary: 'mine' }, db);
  expect(withdrawLesson(idOf(), 'user', db)).toBe(true);
  const remedy = { kind: 'fixer', failing: 'npm test', use: 'npm ci' } as const;
  seedLearnt({ key: LESSON_ERROR, remedy, projectPath: PROJECT, ts: TS }, db);
  expect(lessonState(LESSON_ERROR, PROJECT, db)).toEqual({ state: 'withdrawn', text: null });
  expect(lessonState('another', PROJECT, db)).toEqual({ state: 'none', text: null });
});

test('what the model withdraws is withdrawn for the model alone, and only what it wrote', () => {
  saveModelLesson(TOLD, db);
  expect(withdrawLesson(idOf(), 'model', db)).toBe(true);
  expect(row()).toMatchObject({ resolution: null, state: null });
  expect(JSON.parse(String(row()?.evidence))).toMatchObject({ withdrawnBy: 'model' });
  expect(lessonState(LESSON_ERROR, PROJECT, db)).toEqual({ state: 'withdrawn', text: null });
  releaseLesson(idOf(), db);
  expect(lessonState(LESSON_ERROR, PROJECT, db)).toEqual({ state: 'none', text: null });
  db.sqlite.run("UPDATE error_kb SET resolution = '{}', resolved_by = 'lesson'");
  expect(withdrawLesson(idOf(), 'model', db)).toBe(false);
  doubtLesson(idOf(), ['x'], db);
  expect(saveModelLesson(TOLD, db)).toBe(false);
  expect(row()).toMatchObject({ resolution: '{}', resolved_by: 'lesson' });
  expect(lessonState(LESSON_ERROR, PROJECT, db).state).toBe('learnt');
  expect(saveModelLesson({ ...TOLD, by: 'user' }, db)).toBe(true);
});

test('takeBackLesson() takes only what was applied', () => {
  saveModelLesson({ ...TOLD, by: 'user' }, db);
  takeBackLesson({ ...TOLD, advice: 'Other advice.' }, db);
  expect(row()).toMatchObject({ resolved_by: 'user' });
  takeBackLesson(TOLD, db);
  expect(row()).toMatchObject({ resolution: null, resolved_by: null });
});

test('forgetting an error takes the lessons that were suggested of it along', () => {
  const proposal = readProposal(LESSON);
  if (proposal === undefined) throw new Error('the lesson is no proposal');
  saveProposals([proposal], { ts: TS, project: 'app', projectPath: PROJECT, origin: 'analysis' }, db);
  expect(forgetError('another error', TS, db)).toMatchObject({ analyses: 0 });
  expect(forgetError(LESSON_ERROR, TS, db)).toMatchObject({ analyses: 1 });
  expect(listSuggestions({}, db)).toEqual([]);
});

describe('calls of the log', () => {
  test('countCalls() counts sessions and failing calls since a time', () => {
    const calls = [
      { line: 'a', said: 'error of a' },
      { line: 'b', session: 's2' },
    ];
    storeCalls(madeCalls(calls, TS), db);
    expect(countCalls('', db)).toEqual({ sessions: 2, failed: 1 });
    expect(countCalls('2027-01-01', db)).toEqual({ sessions: 0, failed: 0 });
  });

  test('shellLines() gives what ran, and neither findings nor what is no shell command', () => {
    const calls = madeCalls([
      { line: 'make it' },
      { line: 'make it', said: 'no rule' },
      { line: 'make it', said: 'two tests failed', noise: 'finding' },
      { line: '{"text":"make it"}', tool: 'mcp__x__y' },
      { line: 'make other' },
    ]);
    storeCalls(calls, db);
    const found = (outcome: 'worked' | 'failed') =>
      shellLines({ projectPath: PROJECT, text: 'make it', outcome }, db).map(({ id }) => id);
    expect(found('worked')).toEqual(['call-1']);
    expect(found('failed')).toEqual(['call-2']);
  });
});
