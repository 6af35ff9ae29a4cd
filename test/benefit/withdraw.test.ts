import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Files, goneIn } from '../../src/benefit/gone.ts';
import { type LessonFacts, stateOf } from '../../src/benefit/state.ts';
import { judge, type Record, type SettledTelling } from '../../src/benefit/withdraw.ts';
import { PROJECT } from '../support/payloads.ts';

const NONE: Record = {
  ...{ isPersons: false, isQuiet: false, tellings: [], worked: 0, failed: 0, formWorked: 0, failures: 0 },
  gone: undefined,
};
const told = (count: number, changes: Partial<SettledTelling> = {}): SettledTelling[] =>
  Array.from({ length: count }, () => ({
    ...{ channel: 'start', isHeld: false, p: 0, hasFailed: false, isOver: true },
    ...changes,
  }));
const kindOf = (changes: Partial<Record>) => judge({ ...NONE, ...changes }).kind;

describe('judge()', () => {
  test('withdraws by contradiction: what is advised fails at least as often as it works', () => {
    expect(judge({ ...NONE, worked: 2, failed: 2 })).toMatchObject({
      kind: 'withdraw',
      reason: 'contradiction',
      detail: 'what it advises failed 2 times since it is told, and worked 2 times',
    });
    expect(kindOf({ worked: 3, failed: 2 })).toBe('keep');
  });

  test('or what is said to fail works at least as often since', () => {
    expect(kindOf({ formWorked: 2, failures: 2 })).toBe('withdraw');
    expect(kindOf({ formWorked: 1, failures: 2 })).toBe('keep');
  });

  test('or what it names is gone', () =>
    expect(judge({ ...NONE, gone: 'file "a.sh"' })).toMatchObject({
      reason: 'gone',
      detail: 'it names the file "a.sh", which is not there any more',
    }));

  test('by statistics only of five failures and more, where a coin was thrown and some were told', () => {
    const failed = (count: number, p = 0.5, isHeld = false) => told(count, { p, isHeld, hasFailed: true });
    expect(kindOf({ failures: 9, tellings: failed(9) })).toBe('withdraw');
    expect(kindOf({ failures: 4, tellings: failed(4) })).toBe('keep');
    expect(kindOf({ failures: 9, tellings: failed(9, 0) })).toBe('keep');
    expect(kindOf({ failures: 9, tellings: failed(9, 0.5, true) })).toBe('keep');
    expect(kindOf({ failures: 9, tellings: told(9, { p: 0.5, hasFailed: true, channel: 'failure' }) })).toBe(
      'keep',
    );
  });

  test('quiets what ten sessions that are over did not see, and wakes it when it fails', () => {
    expect(kindOf({ tellings: told(10) })).toBe('quiet');
    expect(kindOf({ tellings: [...told(9), ...told(1, { isOver: false })] })).toBe('keep');
    expect(kindOf({ tellings: [...told(9), ...told(5, { channel: 'failure' })] })).toBe('keep');
    expect(kindOf({ tellings: told(10), failures: 1 })).toBe('keep');
    expect(kindOf({ tellings: told(10), isQuiet: true })).toBe('keep');
    expect(kindOf({ tellings: told(10), isQuiet: true, failures: 1 })).toBe('wake');
  });

  const records = fc.record({
    isPersons: fc.constant(true),
    isQuiet: fc.boolean(),
    tellings: fc.nat(20).map((count) => told(count, { p: 0.5, hasFailed: true })),
    ...{ worked: fc.nat(5), failed: fc.nat(5), formWorked: fc.nat(5), failures: fc.nat(5) },
    gone: fc.constantFrom(undefined, 'file "a"'),
  });
  test('never takes anything from a person', () =>
    fc.assert(fc.property(records, (record) => expect(['keep', 'wake']).toContain(judge(record).kind))));
});

describe('goneIn()', () => {
  const files = (...paths: string[]): Files => ({
    exists: (path) => path === PROJECT || paths.includes(path),
    read: (path) => (path === `${PROJECT}/package.json` ? '{"scripts":{"lint":"x"}}' : undefined),
  });
  const gone = (use: string, ...there: string[]) =>
    goneIn({ use: [use], failing: [], places: [''] }, PROJECT, files(...there));

  test.each([
    ['npm run lint:all', 'script "lint:all" of package.json'],
    ['CI=1 pnpm run test', 'script "test" of package.json'],
    ['./scripts/check.sh --all', 'file "./scripts/check.sh"'],
    ['node scripts/check.mjs', 'file "scripts/check.mjs"'],
    ['cd web && npm test', 'directory "web"'],
  ])('of %j finds the %s', (use, what) => expect(gone(use)).toBe(what));

  test.each([
    'npm run lint',
    'npm test',
    'node dist/cli.js',
    'git push origin/main',
    'node -e 1',
    'npm run …',
    'ls',
    '',
  ])('finds nothing of %j', (use) => expect(gone(use)).toBeUndefined());

  test('finds nothing where all is there, or the project is not', () => {
    expect(gone('node scripts/check.mjs', `${PROJECT}/scripts/check.mjs`)).toBeUndefined();
    expect(gone('cd web && npm test', `${PROJECT}/web`)).toBeUndefined();
    const nowhere = { exists: () => false, read: () => undefined };
    expect(goneIn({ use: ['./a.sh'], failing: [], places: [] }, PROJECT, nowhere)).toBeUndefined();
  });

  test('never throws, whatever is advised', () =>
    fc.assert(fc.property(fc.string(), (use) => void gone(use))));
});

describe('stateOf()', () => {
  const facts: LessonFacts = {
    ...{ withdrawnFor: null, isPinned: false, isPersons: false, isQuiet: false, isProven: false },
    ...{ evidence: 1.25, perWeek: 3 },
  };
  test.each<[Partial<LessonFacts>, string, string]>([
    [{}, 'trial', 'fails in 3 sessions a week, evidence 1.3 of 20'],
    [{ perWeek: 1 }, 'too-rare', 'fails in 1 session a week: too rare to know of this one alone'],
    [{ isProven: true, evidence: 123.4 }, 'proven', 'evidence 123, with all other lessons looked at'],
    [
      { isQuiet: true, isProven: true },
      'quiet',
      'did not happen again: told only when it fails, and not at starts',
    ],
    [{ isPersons: true, isQuiet: true }, 'pinned', 'written by a person: always told'],
    [{ isPinned: true }, 'pinned', 'pinned by a person: always told'],
    [{ withdrawnFor: 'gone: x', isPinned: true }, 'withdrawn', 'gone: x'],
  ])('%j is %s', (changes, state, reason) =>
    expect(stateOf({ ...facts, ...changes })).toEqual({ state, reason } as never),
  );
});
