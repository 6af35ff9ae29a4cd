import { describe, expect, test } from 'bun:test';
import { areAlike, correctness, isSameWork, likeness, sharedInOrder } from '../../src/lessons/likeness.ts';
import { parseShell, type SimpleCommand } from '../../src/lessons/shell.ts';

const command = (line: string) => parseShell(line)[0] as SimpleCommand;
const like = (left: string, right: string) => likeness(command(left), command(right));

describe('another way to say the same', () => {
  const alike: [string, string][] = [
    ['npm run build', 'npm run build --workspaces'],
    ['wrap bun run test', 'bun run test'],
    ['pytest', 'python -m pytest'],
    ['ctest', 'ctest --test-dir build'],
    ['python3 a.py x', 'python a.py x'],
    ['docker-compose up -d', 'docker compose up -d'],
    ['celery worker -A proj', 'celery -A proj worker'],
    ['gh pr view 1 --json a', 'gh pr view 1 --json b'],
    ['npm test', 'cd web && npm test'],
    ["jq '.items[] | .meta-data.name' a.json", 'jq \'.items[] | ."meta-data".name\' a.json'],
  ];
  for (const [left, right] of alike)
    test(`${left} ~ ${right}`, () =>
      expect(like(left, parseShell(right).at(-1)?.words.join(' ') ?? '')).toBeGreaterThanOrEqual(0.6));

  const unlike: [string, string][] = [
    ['npm test', 'git status'],
    ['docker ps', 'docker info'],
    ['make a', 'make b'],
    ['pytest', 'ruff check'],
    ["sqlite3 a.db 'select count(*) from user'", "sqlite3 a.db '.tables'"],
    [
      "python3 -c 'import yaml; print(yaml.safe_load(open(1)))'",
      "python3 -c 'print(open(2).read()[:400]) or exit(1)'",
    ],
  ];
  for (const [left, right] of unlike)
    test(`${left} ≁ ${right}`, () => expect(like(left, right)).toBeLessThan(0.6));
});

describe('what puts a call right, by what was said about it', () => {
  const cases: [failing: string, use: string, said: string, blamed: string[], isRight: boolean][] = [
    ['make tests', 'make test', "No rule to make target 'tests'", ['tests'], true],
    ['date -d yesterday +%F', 'date -v-1d +%F', 'illegal option -- d', ['-d'], true],
    ['glab pr list', 'glab mr list', 'unknown command "pr"', ['pr'], true],
    ['git checkout master', 'git checkout main', "pathspec 'master' did not match", ['master'], false],
    ['npm run test:e2e', 'npm run test:unit', 'connect ECONNREFUSED', [], false],
    ['npm run typo', 'npm run', 'Missing script: "typo"', ['typo'], false],
    ['node cli.js --nope', 'node cli.js list', "unknown option '--nope'", ['--nope'], false],
    ['make tests', 'git status', "No rule to make target 'tests'", ['tests'], false],
  ];
  for (const [failing, use, said, blamed, isRight] of cases)
    test(`${failing} → ${use}`, () =>
      expect(correctness(command(failing), command(use), { said, blamed }) >= 0.6).toBe(isRight));
});

test('alike words, shared words, the same work', () => {
  expect([
    areAlike('typecheck', 'type-check'),
    areAlike('Test', 'unitTest'),
    areAlike('main', 'master'),
  ]).toEqual([true, true, false]);
  expect(sharedInOrder(['a', 'b', 'c'], ['b', 'a', 'c'])).toBe(2);
  expect(isSameWork(command('npm "test"'), command('npm test'))).toBe(true);
});
