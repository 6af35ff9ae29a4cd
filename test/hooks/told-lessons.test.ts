import { describe, expect, test } from 'bun:test';
import { messagesIn } from '../../src/core/told-texts.ts';
import { type Reading, type ToldLesson, toldLessons } from '../../src/hooks/subagent-context.ts';
import { APP, bench } from '../support/hook-context.ts';
import { PROJECT } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';
import { type FixSeed, seedFixes } from '../support/seed.ts';

const home = homePerTest();

type Options = { readonly task?: string; readonly most?: number } & Partial<Omit<Reading, 'db'>>;

function told({ task = '', most = 9, ...reading }: Options = {}): ToldLesson[] {
  using work = bench(home);
  const db = work.context.knowledge();
  if (db === undefined) throw new Error('Cannot read the knowledge base: there is none');
  const plain = { project: APP, messages: messagesIn('en'), keep: () => true, clean: (text: string) => text };
  return toldLessons({ ...plain, ...reading, db }, task, most).lessons;
}

const said = (lessons: readonly ToldLesson[]) => lessons.map((lesson) => lesson.said);

/** A lesson that `use` helps with what is `name`. */
function lesson(name: string, sessions = 2, more: Partial<FixSeed> = {}): FixSeed {
  return {
    error: `key of ${name}`,
    said: `${name} failed`,
    resolution: { kind: 'command', failing: 'make old', use: `make ${name}` },
    resolvedBy: 'lesson',
    sessions,
    ...more,
  };
}

function lint(rule: string, message: string, sessions = 2): FixSeed {
  return {
    error: `${rule} · eslint`,
    said: message,
    resolution: { kind: 'lint', rule, message },
    resolvedBy: 'lesson',
    sessions,
  };
}

const LINT = 'Lint rules of this project:';

describe('toldLessons()', () => {
  test('returns what happened, what helped and with which tool', () => {
    const resolution = { kind: 'command', failing: 'make old', use: 'make new', tool: 'PowerShell' };
    seedFixes(home.paths, [lesson('one', 3), lesson('two', 2, { resolution })]);
    const rule = { kind: 'rule', isPinned: false, origin: null } as const;
    const one = { key: 'key of one', said: 'one failed', tool: 'Bash', ...rule };
    const two = { key: 'key of two', said: 'two failed', tool: 'PowerShell', ...rule };
    expect(told()).toEqual([
      { ...one, fix: 'use `make one` instead of `make old`' },
      { ...two, fix: 'use `make new` instead of `make old`' },
    ]);
  });

  test('returns the key where no printed line is known, and a fix in words', () => {
    const resolution = { summary: 'set PORT', resolvedBy: 'user' };
    seedFixes(home.paths, [{ error: 'no port given', resolution, resolvedBy: 'user' }]);
    expect(told()).toMatchObject([{ said: 'no port given', fix: 'set PORT' }]);
  });

  test('puts what most sessions have shown first, then what a person wrote, then the newest, and single sessions last', () => {
    seedFixes(home.paths, [
      lesson('single', 1),
      lesson('old', 2),
      lesson('new', 2),
      lesson('frequent', 5),
      lesson('person', 0, { resolvedBy: 'user' }),
    ]);
    const order = ['frequent', 'person', 'new', 'old', 'single'];
    expect(said(told())).toEqual(order.map((name) => `${name} failed`));
  });

  test('puts what fits the task first, but no single session before several', () => {
    seedFixes(home.paths, [
      lesson('migration', 2),
      lesson('deployment', 4),
      lesson('migration of tables', 1),
      lesson('payment', 1),
    ]);
    const tasks: [task: string, order: string[]][] = [
      ['', ['deployment', 'migration', 'payment', 'migration of tables']],
      ['Write a MIGRATION for two tables', ['migration', 'deployment', 'migration of tables', 'payment']],
      ['mend the payment', ['deployment', 'migration', 'payment', 'migration of tables']],
    ];
    for (const [task, order] of tasks)
      expect(said(told({ task })), task).toEqual(order.map((name) => `${name} failed`));
  });

  test('takes words of the remedy and Korean words for fitting, and short words for none', () => {
    const korean = { ...lesson('x', 2), error: 'k', said: '데이터베이스 오류', resolution: '서버를 켬' };
    seedFixes(home.paths, [korean, lesson('seeds', 2), lesson('a to of', 3)]);
    expect(said(told({ task: '데이터베이스 이전' }))[0]).toBe('데이터베이스 오류');
    expect(said(told({ task: 'plant the seeds' }))[0]).toBe('seeds failed');
    expect(said(told({ task: 'a to of' }))[0]).toBe('a to of failed');
    expect(said(told({ task: 'plant trees' }))[0]).toBe('a to of failed');
  });

  test('returns all lint rules in one line, behind two lessons of several sessions', () => {
    seedFixes(home.paths, [
      lint('no-console', 'No console (no-console)', 9),
      lint('sort-keys', 'Keys in order', 8),
      lesson('one', 5),
      lesson('two', 4),
      lesson('three', 3),
      lesson('single', 1),
    ]);
    const rules = `${LINT} No console (no-console); Keys in order (sort-keys)`;
    const all = ['one failed', 'two failed', rules, 'three failed', 'single failed'];
    expect(said(told())).toEqual(all);
    for (let most = 0; most <= 5; most++) expect(said(told({ most }))).toEqual(all.slice(0, most));
    expect(told()[2]).toMatchObject({ key: '', kind: 'lint', said: rules, tool: '', fix: '', origin: null });
  });

  test('names a lint rule once, and as many as fit into a line', () => {
    const long = (name: string) => lint(name, `${name} ${'word '.repeat(12)}end`);
    seedFixes(home.paths, [
      { ...lint('short', 'Short'), sessions: 1 },
      ...['third', 'second', 'first'].map(long),
      { ...lint('first', `first ${'word '.repeat(12)}end`), error: 'first · biome' },
    ]);
    const [line = ''] = said(told());
    expect(line.length).toBeLessThanOrEqual(190);
    expect(line.match(/first/g)).toHaveLength(1);
    expect(line).toContain('second');
    expect(line).not.toContain('third');
    expect(line).toEndWith('; Short (short)');
  });

  test('returns a rule that is longer than the line by itself', () => {
    seedFixes(home.paths, [lint('long', 'word '.repeat(60))]);
    expect(said(told())).toEqual([`${LINT} ${'word '.repeat(60)} (long)`]);
  });

  test('tells one remedy once, for the error that most sessions have seen', () => {
    const { resolution } = lesson('same');
    seedFixes(home.paths, [
      lesson('single', 1, { resolution }),
      lesson('few', 2, { resolution }),
      lesson('many', 3, { resolution }),
      lesson('other', 1),
    ]);
    expect(said(told())).toEqual(['many failed', 'other failed']);
  });

  test('returns the commands of a model with their mark, and its words where a person stands for them', () => {
    const summary = '`make it`';
    seedFixes(home.paths, [
      lesson('ran', 3, { resolvedBy: 'model', resolution: { kind: 'ran', summary } }),
      lesson('applied', 2, { resolvedBy: 'user', resolution: { kind: 'model', summary: 'Use `make it`.' } }),
    ]);
    expect(told().map(({ said, fix }) => [said, fix])).toEqual([
      ['ran failed', 'worked here (learned by a model): `make it`'],
      ['Use `make it`.', ''],
    ]);
    const inKorean = told({ messages: messagesIn('ko') });
    expect(inKorean[0]?.fix).toBe('여기서 성공함(모델이 학습): `make it`');
  });

  test('returns what a person wrote first, however much else there is', () => {
    const others = Array.from({ length: 40 }, (_, index) => lesson(`other-${index}`, 2));
    seedFixes(home.paths, [...others, lesson('person', 1, { resolvedBy: 'user' })]);
    expect(told().map(({ said }) => said)[0]).toBe('person failed');
  });

  test('returns nothing of other projects, of none, without remedy, or learned by an earlier version', () => {
    seedFixes(home.paths, [
      lesson('elsewhere', 3, { projectPath: '/home/dev/other' }),
      lesson('nowhere', 3, { projectPath: '' }),
      lesson('neighbour', 3, { projectPath: `${PROJECT}2` }),
      lesson('open', 3, { resolution: null }),
      lesson('old', 3, { resolvedBy: 'cross_tool_resolution' }),
      lesson('own', 1),
    ]);
    expect(said(told())).toEqual(['own failed']);
  });

  test('finds the lessons of every spelling of the path', () => {
    seedFixes(home.paths, [lesson('one'), lesson('two', 2, { projectPath: `${PROJECT}/` })]);
    const project = { ...APP, spellings: [PROJECT, `${PROJECT}/`] };
    expect(said(told({ project }))).toEqual(['one failed', 'two failed']);
  });

  test('leaves out what no agent is given, in the error or in the remedy', () => {
    seedFixes(home.paths, [
      lesson('bad'),
      lesson('two', 2, { resolution: 'a bad fix' }),
      lint('rule', 'a bad rule'),
      lesson('good'),
    ]);
    expect(said(told({ keep: (text) => !text.includes('bad') }))).toEqual(['good failed']);
  });

  test('does not fail on a remedy that is none of ours', () => {
    const odd = ['{', '[]', '7', 'null', '{"kind":"lint"}', '{"kind":"command"}'];
    seedFixes(
      home.paths,
      odd.map((resolution, index) => lesson(`n${index}`, 2, { resolution })),
    );
    expect(told()).toHaveLength(odd.length);
  });
});
