import { describe, expect, test } from 'bun:test';
import {
  areAlike,
  correctness,
  isSameWork,
  likeness,
  sharedInOrder,
  sharedWords,
} from '../../src/lessons/command-likeness.ts';
import { maskLine } from '../../src/lessons/failure.ts';
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
    ["python3 -c 'import yaml; print(yaml.load(open(1)))'", "python3 -c 'print(open(2).read()) or exit(1)'"],
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
  const areTwo = (pair: string) => areAlike(...(pair.split(' ') as [string, string]));
  expect(['typecheck type-check', 'Test unitTest', 'main master'].map(areTwo)).toEqual([true, true, false]);
  expect(sharedInOrder(['a', 'b', 'c'], ['b', 'a', 'c'])).toBe(2);
  expect(isSameWork(command('npm "test"'), command('npm test'))).toBe(true);
});

test('what differs from one time to the next is masked', () => {
  const cases: [line: string, masked: string][] = [
    ['Error: took 1200ms at line 12', 'took #ms at line #'],
    ['npm error code 404', '#'],
    ['fatal: bad object 3f1c9e0a77', 'bad object #'],
    ['id 77fc0be8-7322-b47a-d485-7c25049dccd4 is gone', 'id # is gone'],
    ['GET https://example.test/a?b=1 failed', 'GET … failed'],
    ['open /home/anna/my app/src/a.ts: no such file', 'open …: no such file'],
    ['open C:\\Users\\anna\\a.ts failed', 'open … failed'],
    ['/repo/build is not a directory', '… is not a directory'],
    [`unknown "${'x'.repeat(60)}"`, 'unknown "…"'],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED #:5432'],
    ['connect ECONNREFUSED 127.0.0.1:51234', 'connect ECONNREFUSED #:#'],
    ['address already in use :::3000', 'address already in use :::3000'],
    ["No module named 'psycopg2'", "No module named 'psycopg2'"],
    ['bash: line 1: tsc: command not found', 'tsc: command not found'],
  ];
  for (const [line, masked] of cases) expect(maskLine(line)).toBe(masked);
});

test('what messages about one rule share', () => {
  expect(sharedWords(['Expect Run to be called', 'Expect Stop to be called'])).toBe('Expect … to be called');
  expect(sharedWords(['Do not nest'])).toBe('Do not nest');
  const nil = [12, 57].map((line) => `error is not nil (line ${line}) but it returns nil`);
  expect(sharedWords(nil)).toBe('error is not nil (line …) but it returns nil');
  const unwrapped = ['agent.Chunk(content []byte, most int)', 'os.Remove(name string)'];
  expect(sharedWords(unwrapped.map((sig) => `error is unwrapped: sig: func ${sig} error`))).toBe(
    'error is unwrapped: sig: func … error',
  );
  expect(sharedWords(['one', 'two'].map((name) => `Wrap it (see ${name} below) first`))).toBe(
    'Wrap it (see … below) first',
  );
  expect(sharedWords([`Never ${'a'.repeat(40)}()`])).toBe('Never …');
  expect(sharedWords([`Avoid ${'a'.repeat(40)} here`])).toBe('Avoid … here');
  expect(sharedWords([])).toBe('');
});
