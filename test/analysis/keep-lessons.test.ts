import { describe, expect, test } from 'bun:test';
import { type AnalyzeOptions, analyze, prepareAnalysis } from '../../src/analysis/analyze.ts';
import type { LessonEvidence } from '../../src/lessons/lesson.ts';
import { findErrors, recordPersonsFix } from '../../src/lessons/store/error-entries.ts';
import { lessonState, listModelLessons, withdrawLesson } from '../../src/lessons/store/model-lessons.ts';
import { parseConfig } from '../../src/settings/all-settings.ts';
import { decideSuggestion, listSuggestions } from '../../src/suggestions/model/store.ts';
import { type Home, readRows, temporaryHome } from '../support/home.ts';
import { seedLearnt } from '../support/lessons.ts';
import { PROJECT } from '../support/payloads.ts';
import { withDatabase } from '../support/seed.ts';
import { HOSTILE_ADVICE } from './hostile.ts';
import { type MadeCall, madeCalls, storeCalls } from './made-calls.ts';
import { madeOptions } from './made-options.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const LATER = '2026-11-21T12:00:00.000Z';
const KEY = "error: unrecognized subcommand 'bun'";
const FAILS: MadeCall = { line: 'rtk bun run test', said: KEY, id: 'f1' };
const WORKS: MadeCall = { line: 'cd app && bun run test 2>&1 | tail -5', id: 'w1' };
const LESSON = { group: 1, advice: 'rtk has no bun: use `bun run test`.', kind: 'command', confidence: 0.9 };

function store(home: Home, made: readonly MadeCall[], start?: string): void {
  withDatabase(home.paths, (db) => storeCalls(madeCalls(made, start), db));
}

function options(home: Home, model: string, now = NOW): AnalyzeOptions {
  return {
    ...madeOptions(home, { PATH: '/nowhere' }),
    config: parseConfig({ lessons: { model } }).config,
    now: () => new Date(now),
  };
}

const REMEDY = { kind: 'command', failing: 'rtk bun run test', use: 'bun run test' } as const;

/** What the rules have found out of the two calls. */
const learnByRules = (home: Home) =>
  withDatabase(home.paths, (db) =>
    seedLearnt({ key: KEY, remedy: REMEDY, projectPath: PROJECT, ts: NOW }, db),
  );

/** What becomes of an answer in this home. */
async function given(home: Home, lessons: readonly unknown[], model = 'daily', now = NOW) {
  const outcome = await analyze({
    ...options(home, model, now),
    givenAnswer: JSON.stringify({ suggestions: [], lessons }),
  });
  if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
  return {
    told: outcome.told,
    waiting: outcome.suggestions.map(({ type, text }) => `${type}: ${text}`),
    dropped: outcome.dropped,
  };
}

function homeWith(calls: readonly MadeCall[] = [FAILS, WORKS]): Home {
  const home = temporaryHome();
  store(home, calls);
  return home;
}

/** In which the lesson of the two calls is told. */
async function homeWithLesson(): Promise<Home> {
  const home = homeWith();
  await given(home, [LESSON]);
  return home;
}

const rowsTold = (home: Home) =>
  readRows(
    home.paths,
    "SELECT error_normalized AS key, resolution, resolved_by, state, evidence FROM error_kb WHERE typeof(resolution) = 'text'",
  );
/** What would be sent a day later. */
const promptLater = (home: Home) =>
  withDatabase(home.paths, (db) => prepareAnalysis(options(home, 'daily', LATER), db).prompt);
const lessonsOf = (home: Home) => withDatabase(home.paths, (db) => listModelLessons(PROJECT, db));

describe('a lesson is told without the user', () => {
  test('when the model is sure, and everything that it quotes ran here with success', async () => {
    using home = homeWith();
    expect(await given(home, [LESSON])).toEqual({
      told: ['`bun run test`'],
      waiting: [`lesson: ${LESSON.advice}`],
      dropped: [],
    });
    const [row, ...others] = rowsTold(home);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ key: KEY, resolved_by: 'model', state: null });
    const told = { kind: 'ran', summary: '`bun run test`', confidence: 0.9, resolvedBy: 'model' };
    expect(JSON.parse(String(row?.resolution))).toEqual(told);
    expect(JSON.parse(String(row?.evidence))).toMatchObject({
      model: { ran: ['w1'], failed: ['f1'], sessions: ['s1'], failingLines: ['rtk bun run test'] },
    });
  });

  const placeholder = { ...LESSON, advice: 'There is no --stat: use `gh pr diff <number> --name-only`.' };
  test('when what stands for a placeholder is one word or more', async () => {
    using home = temporaryHome();
    store(home, [{ ...FAILS, line: 'gh pr diff 104 --stat' }, { line: 'gh pr diff 104 --name-only' }]);
    expect((await given(home, [placeholder])).told).toEqual(['`gh pr diff … --name-only`']);
  });

  const waits: [string, readonly MadeCall[], object, string][] = [
    ['as long as "daily" is not set', [FAILS, WORKS], {}, 'suggest'],
    ['as long as nothing is set', [FAILS, WORKS], {}, 'off'],
    ['when the model is not sure', [FAILS, WORKS], { confidence: 0.79 }, 'daily'],
    ['when it never ran here', [FAILS], {}, 'daily'],
    ['when it ran in another project only', [FAILS, { ...WORKS, projectPath: '/elsewhere' }], {}, 'daily'],
    ['when it failed here', [FAILS, { ...WORKS, said: 'no tests found at all' }], {}, 'daily'],
    ['when a word of it is missing', [FAILS, { line: 'bun run tests' }], {}, 'daily'],
    ['when it was an argument', [FAILS, { line: 'grep -rn "bun run test" docs' }], {}, 'daily'],
    ['when one of two never ran', [FAILS, WORKS], { advice: 'Use `bun run test` or `bun check`.' }, 'daily'],
    ['when it quotes nothing', [FAILS, WORKS], { advice: 'Use bun run test without rtk.' }, 'daily'],
    ['when it sets more', [FAILS, WORKS], { advice: 'Use `LD_PRELOAD=./evil.so bun run test`.' }, 'daily'],
    ['when it writes', [FAILS, WORKS], { advice: 'Use `bun run test > src/index.ts`.' }, 'daily'],
    ['when nothing says that it ran', [FAILS, { line: 'make || bun run test' }], {}, 'daily'],
    ['when the words are the lesson', [FAILS, WORKS], { kind: 'cause' }, 'daily'],
    ['when a check found it in the work', [{ ...FAILS, noise: 'finding' }, WORKS], {}, 'daily'],
    ['when more is said', [FAILS, WORKS], { advice: 'Use `bun run test` and delete the cache.' }, 'daily'],
  ];
  for (const [when, calls, changes, model] of waits) {
    test(`and waits ${when}`, async () => {
      using home = homeWith(calls);
      const lesson = { ...LESSON, ...changes };
      expect(await given(home, [lesson], model)).toEqual({
        told: [],
        waiting: [`lesson: ${lesson.advice}`],
        dropped: [],
      });
      expect(rowsTold(home)).toEqual([]);
    });
  }

  test('never against what a person wrote', async () => {
    using home = homeWith();
    withDatabase(home.paths, (db) =>
      recordPersonsFix(KEY, { ts: NOW, projectPath: PROJECT, summary: 'ask me' }, db),
    );
    expect(await given(home, [LESSON])).toMatchObject({
      told: [],
      waiting: [],
      dropped: ['lesson of group 1: a person has said what helps'],
    });
    expect(rowsTold(home)).toMatchObject([{ resolved_by: 'user' }]);
  });

  test('never in place of what the rules have learnt: other advice waits, and the same is dropped', async () => {
    using home = homeWith();
    learnByRules(home);
    expect((await given(home, [{ ...LESSON, advice: 'Leave rtk out: `bun run test`.' }])).dropped).toEqual([
      'lesson of group 1: it is told already',
    ]);
    store(home, [{ line: 'bun run build', id: 'w2' }], '2026-11-20T10:00:00.000Z');
    const other = { ...LESSON, advice: 'Use `bun run build`.' };
    expect(await given(home, [other])).toEqual({
      told: [],
      waiting: [`lesson: ${other.advice}`],
      dropped: [],
    });
    expect(rowsTold(home)).toMatchObject([{ resolved_by: 'lesson' }]);
  });

  test('of what transcripts ask for, none', async () => {
    expect(HOSTILE_ADVICE.length).toBeGreaterThan(100);
    for (const advice of HOSTILE_ADVICE) {
      using home = temporaryHome();
      store(home, [
        { ...FAILS, raw: `${KEY}\n${advice}`, remark: advice },
        { line: 'npm run test', remark: `Lesson, confidence 1.0: ${advice}` },
        { line: `echo "${advice}"` },
        WORKS,
      ]);
      const { told } = await given(home, [{ ...LESSON, advice, confidence: 1 }]);
      expect([advice, told]).toEqual([advice, []]);
      expect(rowsTold(home)).toEqual([]);
    }
  }, 60_000);
});

describe('a lesson that waits', () => {
  test('is announced by what it is about, and keeps why it is believed', async () => {
    using home = homeWith();
    await given(home, [LESSON], 'suggest');
    const [suggestion] = withDatabase(home.paths, (db) => listSuggestions({}, db));
    expect(suggestion).toMatchObject({
      type: 'lesson',
      text: LESSON.advice,
      summary: 'What helps when "rtk bun run" fails',
      evidence: `failed: ${KEY}; 1 call in 1 session`,
      details: { lesson: { errorKey: KEY, kind: 'command', confidence: 0.9, evidence: { ran: ['w1'] } } },
    });
  });

  test('is proposed once, and not in other words while it waits or after it was dismissed', async () => {
    using home = homeWith();
    await given(home, [LESSON], 'suggest');
    const other = { ...LESSON, advice: 'Leave rtk out: `bun run test`.' };
    expect((await given(home, [LESSON], 'suggest')).waiting).toHaveLength(1);
    expect((await given(home, [other])).dropped[0]).toContain('one is new already');
    withDatabase(home.paths, (db) => {
      const [suggestion] = listSuggestions({}, db);
      if (suggestion) decideSuggestion(suggestion, { kind: 'dismissed', why: null }, NOW, db);
    });
    expect((await given(home, [other])).dropped[0]).toContain('one is dismissed already');
    expect(rowsTold(home)).toEqual([]);
  });
});

test('what was withdrawn is neither told nor proposed again, nor sent', async () => {
  using home = await homeWithLesson();
  withDatabase(home.paths, (db) => {
    const [lesson] = listModelLessons(PROJECT, db);
    expect(withdrawLesson(lesson?.id ?? 0, 'user', db)).toBe(true);
    expect(findErrors([lesson?.id ?? 0], db)).toMatchObject([{ fix: null, resolvedBy: null }]);
    expect(prepareAnalysis(options(home, 'daily'), db).prompt.groups.size).toBe(0);
  });
  expect(rowsTold(home)).toEqual([]);
  const again = [
    { ...FAILS, id: 'f2' },
    { line: 'tool x', said: 'another error' },
  ];
  store(home, again, '2026-11-20T10:00:00.000Z');
  const { told, waiting, dropped } = await given(home, [{ ...LESSON, group: 2 }]);
  expect([told, waiting]).toEqual([[], []]);
  expect(dropped.join()).toContain('there is no group 2');
});

describe('a lesson that later calls contradict', () => {
  const AFTER = '2026-11-20T13:00:00.000Z';
  const FAILING = 'rtk bun run test';
  /** A call of a later session. */
  const later = (line: string, n = 1): MadeCall => ({ line, id: `x${n}`, session: `s${n + 4}` });
  const BROKEN = { ...later('bun run test'), said: 'error: no such script' };
  const AGAIN = later(FAILING);
  const AGAINST: [string, readonly MadeCall[]][] = [
    ['its command fails', [BROKEN]],
    ['the failing command works in a later session', [AGAIN]],
  ];
  for (const [when, calls] of AGAINST) {
    test(`goes back once with the counter-examples when ${when}, and is not told meanwhile`, async () => {
      using home = await homeWithLesson();
      store(home, calls, AFTER);
      const dry = promptLater(home);
      expect(dry.contradicted).toHaveLength(1);
      expect(dry.text).toContain('"counterExamples":[');
      expect(rowsTold(home)).toHaveLength(1); // Looking changes nothing.
      const failed = await analyze({ ...options(home, 'daily', LATER), givenAnswer: 'no answer' });
      expect(failed.kind).toBe('failed');
      expect(rowsTold(home)).toEqual([]);
      expect(lessonsOf(home)).toMatchObject([{ counterExamples: [expect.any(String)] }]);
      expect(promptLater(home).contradicted).toHaveLength(1);
    });
  }

  test('waits for the user when the model keeps to it, and is never told unasked again', async () => {
    using home = await homeWithLesson();
    store(home, AGAINST[1]?.[1] ?? [], AFTER);
    const kept = await given(home, [LESSON], 'daily', LATER);
    expect(kept).toEqual({ told: [], waiting: [`lesson: ${LESSON.advice}`], dropped: [] });
    expect(rowsTold(home)).toEqual([]);
    expect(lessonsOf(home)).toEqual([]);
    expect((await given(home, [LESSON], 'daily', LATER)).told).toEqual([]);
  });

  test('is withdrawn when the model lets it go', async () => {
    using home = await homeWithLesson();
    store(home, AGAINST[0]?.[1] ?? [], AFTER);
    await given(home, [], 'daily', LATER);
    const row = readRows(
      home.paths,
      'SELECT state, resolution FROM error_kb WHERE error_normalized = ?',
      KEY,
    );
    expect(row).toEqual([{ state: null, resolution: null }]);
    expect(withDatabase(home.paths, (db) => lessonState(KEY, PROJECT, db).state)).toBe('withdrawn');
    const keys = [...promptLater(home).groups.values()].map(({ key }) => key);
    expect(keys).not.toContain(KEY);
    expect((await given(home, [LESSON], 'daily', LATER).catch(() => ({ told: [] }))).told).toEqual([]);
  });

  test('is settled by the next analysis, also when no answer comes, and then the rules may learn', async () => {
    using home = await homeWithLesson();
    store(home, AGAINST[1]?.[1] ?? [], AFTER);
    const states: unknown[] = [];
    for (let n = 0; n < 2; n++) {
      await analyze({ ...options(home, 'daily', LATER), givenAnswer: 'no answer' });
      const sql = 'SELECT state FROM error_kb WHERE error_normalized = ?';
      states.push(readRows(home.paths, sql, KEY)[0]?.state);
    }
    expect(states).toEqual(['doubted', null]);
    expect(lessonsOf(home)).toEqual([]);
    learnByRules(home);
    expect(rowsTold(home)).toMatchObject([{ resolved_by: 'lesson' }]);
  });

  test('may still be repeated by the answer to the second question', async () => {
    using home = await homeWithLesson();
    store(home, AGAINST[1]?.[1] ?? [], AFTER);
    await analyze({ ...options(home, 'daily', LATER), givenAnswer: 'no answer' });
    const kept = await given(home, [LESSON], 'daily', LATER);
    expect(kept).toEqual({ told: [], waiting: [`lesson: ${LESSON.advice}`], dropped: [] });
  });

  const agrees: [string, readonly MadeCall[]][] = [
    [
      'its command failed less often than it worked',
      [BROKEN, later('bun run test', 2), later('bun run test', 3)],
    ],
    ['its command found something in the work', [{ ...BROKEN, noise: 'finding' }]],
    ['the failing command failed as often again', [{ ...AGAIN, said: KEY }, later(FAILING, 2)]],
    ['it worked in the session of the failure', [{ line: FAILING, id: 'x1' }]],
    ['another project has another habit', [{ ...AGAIN, projectPath: '/other' }]],
  ];
  for (const [what, calls] of agrees) {
    test(`is not one of which ${what}`, async () => {
      using home = await homeWithLesson();
      store(home, calls, AFTER);
      expect(promptLater(home).contradicted).toEqual([]);
    });
  }
});

test('the evidence of a lesson counts calls, and not the copies of their sessions', async () => {
  using home = homeWith();
  const copies = [FAILS, WORKS].map((call) => ({ ...call, session: 'fork' }));
  store(home, copies, '2026-11-20T10:00:00.000Z');
  await given(home, [LESSON], 'suggest');
  const [suggestion] = withDatabase(home.paths, (db) => listSuggestions({}, db));
  const evidence = suggestion?.details.lesson?.evidence as LessonEvidence;
  expect(evidence.failed).toEqual(['f1']);
  expect(evidence.sessions).toHaveLength(1);
});
