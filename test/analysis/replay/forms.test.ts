import { describe, expect, test } from 'bun:test';
import { isJudgeable, judge, lessonForms, type Verdict } from '../../../src/analysis/replay/forms.ts';

const inRoot = (line: string) => ({ line, directory: '' });
const COMMAND = lessonForms({ kind: 'command', use: 'pnpm test', failing: 'npm test' }, '', {});
const WITHOUT = lessonForms({ kind: 'without', failing: 'jest … --watch', leaveOut: '--watch' }, '', {});
const DIRECTORY = lessonForms({ kind: 'directory', use: 'make build', directory: 'server' }, '', {});
const MODEL = lessonForms(
  { kind: 'model', summary: 'Run `docker compose up -d db` before `npm run e2e`' },
  'Run `docker compose up -d db` before the tests',
  { model: { failingLines: ['npm run e2e'] } },
);

describe('judge()', () => {
  const rows: [string, string, string, ReturnType<typeof lessonForms>, Verdict][] = [
    ['the advice', 'pnpm test 2>&1 | tail -5', 'npm test', COMMAND, 'advised'],
    ['the advice behind a change of directory', 'cd web && pnpm test', 'npm test', COMMAND, 'advised'],
    ['what failed, in other words', 'npm test -- --bail', 'npm test', COMMAND, 'repeats'],
    ['what really failed', 'npm t -w app', 'npm t -w app | head', COMMAND, 'repeats'],
    ['something else', 'cat package.json', 'npm test', COMMAND, 'other'],
    ['what failed as an argument', 'grep -r "npm test" docs', 'npm test', COMMAND, 'other'],
    ['the option that fails', 'jest src --watch', 'jest --watch', WITHOUT, 'repeats'],
    ['the same without it', 'jest src', 'jest --watch', WITHOUT, 'advised'],
    ['another program', 'ls', 'jest --watch', WITHOUT, 'other'],
    ['the right directory', 'cd server && make build', 'make build', DIRECTORY, 'advised'],
    ['the wrong one', 'make build', 'make build', DIRECTORY, 'repeats'],
    ['what a model wrote', 'docker compose up -d db && npm run e2e', 'npm run e2e', MODEL, 'advised'],
    ['what a model saw fail', 'npm run e2e', 'npm run e2e', MODEL, 'repeats'],
  ];
  for (const [what, line, failed, forms, verdict] of rows)
    test(`recognises ${what}: ${verdict}`, () => {
      expect(judge(line, inRoot(failed), forms)).toBe(verdict);
    });

  test('knows that the shell stands in a directory already', () => {
    const failed = { line: 'make build', directory: 'server' };
    expect(judge('make build', failed, DIRECTORY)).toBe('advised');
    expect(judge('cd .. && make build', failed, DIRECTORY)).toBe('repeats');
  });
});

test('a lesson that names no command cannot be judged', () => {
  expect(isJudgeable(lessonForms({ summary: 'set the port first' }, 'set the port first', {}))).toBe(false);
  expect([COMMAND, WITHOUT, DIRECTORY, MODEL].every(isJudgeable)).toBe(true);
});
