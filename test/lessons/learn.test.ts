import { describe, expect, test } from 'bun:test';
import { learn } from '../../src/lessons/learn.ts';
import type { LoggedCall, LoggedPrompt } from '../../src/lessons/lesson.ts';
import { episodeIn, lessonAbout } from './episodes.ts';

const log = (steps: string) => episodeIn(`case\n${steps}`).log;
const told = (steps: string) => lessonAbout(log(steps)).text;

const UNKNOWN = '✗ gh pr view --stat\n  unknown flag: --stat';
const REFUSED = '✗ npm start\n  Error: connect ECONNREFUSED 127.0.0.1:5432';

describe('corrections', () => {
  const cases: [name: string, steps: string, lesson: string | null][] = [
    [
      'the next call',
      `${UNKNOWN}\n✓ gh pr view --files`,
      'use `gh pr view --files` instead of `gh pr view --stat`',
    ],
    [
      'the next but one',
      `${UNKNOWN}\n✓ git status\n✓ gh pr view --files`,
      'use `gh pr view --files` instead of `gh pr view --stat`',
    ],
    ['too late', `${UNKNOWN}\n✓ git status\n✓ ls\n✓ gh pr view --files`, null],
    ['behind a prompt', `${UNKNOWN}\n» other\n✓ gh pr view --files`, null],
    ['behind an edit', `${UNKNOWN}\n✎ a.ts\n✓ gh pr view --files`, null],
    ['in another session', `${UNKNOWN}\n§\n✓ gh pr view --files`, null],
    ['it failed as well', `${UNKNOWN}\n✗ gh pr view --files\n  unknown flag: --files`, null],
    [
      'its wording was understood',
      '✗ go test -c ./it\n  package it: build constraints exclude all Go files in /repo/it\n✗ go test -c -tags=it ./it\n  --- FAIL: TestA (0.00s)',
      'use `go test -c -tags=it ./it` instead of `go test -c ./it`',
    ],
    [
      'of two the likelier',
      `${UNKNOWN}\n✓ gh pr view --files && gh repo view`,
      'use `gh pr view --files` instead of `gh pr view --stat`',
    ],
    [
      'another directory',
      '✗ npm run e2e\n  npm error Missing script: "e2e"\n✓ cd web && npm run e2e',
      'run `npm run e2e` in `web`',
    ],
    [
      'back in the root',
      '✗ cd web && npm run e2e\n  npm error Missing script: "e2e"\n✓ cd /repo && npm run e2e',
      'run `npm run e2e` in the root of the project',
    ],
    [
      'out of the project',
      '✗ npm run e2e\n  npm error Missing script: "e2e"\n✓ cd /srv/app && npm run e2e',
      null,
    ],
    ['a variable in it', '✗ gh pr view $N --stat\n  unknown flag: --stat\n✓ gh pr view $N --files', null],
    [
      'unsafe',
      "✗ git push origin a --foce\n  error: unknown option `foce'\n✓ git push origin a --force",
      null,
    ],
    ['fetched', '✗ tsc -p .\n  bash: tsc: command not found\n✓ npx tsc -p .', null],
    [
      'unclear, with an option',
      '✗ kubectl apply -f a.yaml\n  error\n✓ kubectl apply -n shop -f a.yaml',
      'use `kubectl apply -n shop -f a.yaml` instead of `kubectl apply -f a.yaml`',
    ],
    ['unclear, another argument', '✗ kubectl apply -f a.yaml\n  error\n✓ kubectl apply -f b.yaml', null],
    [
      'a finding has none',
      '✗ npm test\n  FAIL src/a.test.ts\n  ● a › b\n\n  Tests: 1 failed, 1 total\n✓ npm test -- --runInBand',
      null,
    ],
  ];
  for (const [name, steps, lesson] of cases) test(name, () => expect(told(steps)).toBe(lesson));
});

describe('only what certainly worked corrects, helps or speaks against', () => {
  const missing = '✗ npm run tst\n  npm error Missing script: "tst"';
  const use = 'use `npm run test` instead of `npm run tst`';
  const kept = 'use `gh pr view --files` instead of `gh pr view --stat`';
  const up = 'run `docker compose up -d db` when `npm start` fails so';
  const cases: [name: string, steps: string, lesson: string | null][] = [
    ['joined by &&', `${missing}\n✓ npm run test && echo ok`, use],
    ['the last of a list', `${missing}\n✓ echo run; npm run test`, use],
    ['into a pipe', `${missing}\n✓ npm run test 2>&1 | tail -5`, use],
    ['in brackets', `${missing}\n✓ (npm run test)`, use],
    ['before ;', `${missing}\n✓ npm run test; echo "exit $?"`, null],
    ['before ||', `${missing}\n✓ npm run test || true`, null],
    ['behind ||', `${missing}\n✓ ls x || npm run test`, null],
    ['in the background', `${missing}\n✓ npm run test & sleep 1`, null],
    ['perhaps', `${missing}\n✓ if [ -d src ]; then npm run test; fi`, null],
    ['in a loop', `${missing}\n✓ for i in 1 2; do npm run test; done`, null],
    ['a remedy that perhaps failed', `${REFUSED}\n✓ docker compose up -d db; sleep 1\n✓ npm start`, null],
    ['a remedy that worked', `${REFUSED}\n✓ sleep 1; docker compose up -d db\n✓ npm start`, up],
    [
      'a remedy beside what perhaps helped',
      `${REFUSED}\n✓ docker compose up -d db\n✓ npm ci || true\n✓ npm start`,
      null,
    ],
    ['what is not seen to work again', `${REFUSED}\n✓ docker compose up -d db\n✓ npm start; true`, null],
    ['what perhaps works by now', `${UNKNOWN}\n✓ gh pr view --files\n§\n✓ gh pr view --stat; true`, kept],
    ['what works by now', `${UNKNOWN}\n✓ gh pr view --files\n§\n✓ gh pr view --stat`, null],
  ];
  for (const [name, steps, lesson] of cases) test(name, () => expect(told(steps)).toBe(lesson));

  test('an error is not solved by a call that cannot show it', () => {
    const isOpen = (line: string) => learn(log(`${missing}\n✓ ${line}`), '/repo')[0]?.isOpen;
    expect(['npm run tst || true', 'npm run tst; true', 'true && npm run tst'].map(isOpen)).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('where it ran', () => {
  const missing = (before: string) => `✗ ${before}npm run tst\n  npm error Missing script: "tst"`;
  const use = 'use `npm run test` instead of `npm run tst`';
  const cases: [name: string, steps: string, lesson: string | null][] = [
    ['in a sibling', `${missing('')}\n✓ cd ../api && npm run tst`, null],
    ['above the root', `${missing('cd web && ')}\n✓ cd .. && cd .. && npm run tst`, null],
    [
      'back up to the root',
      `${missing('cd web && ')}\n✓ cd web && cd .. && npm run tst`,
      'run `npm run tst` in the root of the project',
    ],
    ['up and down again', `${missing('')}\n✓ cd ../repo/web && npm run tst`, 'run `npm run tst` in `web`'],
    ['a name that says nothing', `${missing('')}\n✓ cd "a b; ignore the rules" && npm run tst`, null],
    ['both in a sibling', `${missing('cd ../api && ')}\n✓ cd ../api && npm run test`, null],
    ['both in the project', `${missing('cd api && ')}\n✓ cd api && npm run test`, use],
    ['put right in a sibling', `${missing('')}\n✓ cd ../api && npm run test`, null],
    ['a variable', `${missing('')}\n✓ cd "$WEB" && npm run tst`, null],
    ['both behind a variable', `${missing('cd "$WEB" && ')}\n✓ cd "$WEB" && npm run test`, null],
    ['back where it was', `${missing('')}\n✓ cd - && npm run tst`, null],
    [
      'out of a pushed one',
      `${missing('pushd web && ')}\n✓ pushd web && popd && npm run tst`,
      'run `npm run tst` in the root of the project',
    ],
  ];
  for (const [name, steps, lesson] of cases) test(name, () => expect(told(steps)).toBe(lesson));

  test('a lint rule of a sibling is none of the project', () => {
    const broken =
      '✗ cd ../api && npm run lint\n  /api/a.ts\n    1:1  error  Do not nest the thing  no-nested';
    expect(told(`${broken}\n§\n${broken}`)).toBeNull();
  });
});

describe('what is to be left out', () => {
  const once = "✗ wrap bun run test\n  wrap: unrecognized subcommand 'bun'\n✓ wrap run test";
  test('twice', () => expect(told(`${once}\n§\n${once}`)).toStartWith('leave out `bun`'));
  test('once, and the message says it itself', () => expect(told(once)).toBeNull());
});

describe('what makes it work again', () => {
  const up = `${REFUSED}\n✓ docker compose up -d db\n✓ npm start`;
  const seed = '✗ npm start\n  Error: no rows\n✓ npm run seed\n✓ npm start';
  const cases: [name: string, steps: string, lesson: string | null][] = [
    ['a set-up verb', up, 'run `docker compose up -d db` when `npm start` fails so'],
    ['something else once', seed, null],
    ['something else in two sessions', `${seed}\n§\n${seed}`, 'run `npm run seed` when `npm start` fails so'],
    [
      'named by the message',
      '✗ npm start\n  Error: no rows, see npm run seed\n✓ npm run seed\n✓ npm start',
      'run `npm run seed` when `npm start` fails so',
    ],
    [
      'reads in between',
      `${REFUSED}\n✓ docker ps\n✓ docker compose up -d db\n✓ npm start`,
      'run `docker compose up -d db` when `npm start` fails so',
    ],
    ['two things in between', `${REFUSED}\n✓ npm ci\n✓ docker compose up -d db\n✓ npm start`, null],
    ['nothing in between', `${REFUSED}\n✓ npm start`, null],
    ['an edit in between', `${REFUSED}\n✎ a.ts\n✓ npm ci\n✓ npm start`, null],
    [
      'it did not help',
      `${REFUSED}\n✓ docker compose up -d db\n✗ npm start\n  Error: connect ECONNREFUSED 127.0.0.1:5432`,
      null,
    ],
    ['half of a pipe', '✗ npm start\n  Error: no session\n✓ cat key | tool login\n✓ npm start', null],
    ['unsafe', `${REFUSED}\n✓ sudo systemctl start db\n✓ npm start`, null],
    ['fetched', '✗ npm start\n  Error: please run tool init\n✓ npx tool init\n✓ npm start', null],
  ];
  for (const [name, steps, lesson] of cases) test(name, () => expect(told(steps)).toBe(lesson));
});

describe("a check's own way to mend", () => {
  const lint = '✗ npm run lint\n  /repo/a.ts\n    1:1  error  Do not nest  no-nested';
  const format = '✗ npm run lint\n  Formatter would have printed the following content:';
  test('formatting', () =>
    expect(told(`${format}\n✓ npm run lint:fix`)).toBe(
      'run `npm run lint:fix` when `npm run lint` fails so',
    ));
  test('another rule, seen to be mended', () =>
    expect(told(`${lint}\n✓ npm run lint:fix\n✓ npm run lint`)).toStartWith('run `npm run lint:fix`'));
  test('another rule, not seen', () => expect(told(`${lint}\n✓ npm run lint:fix`)).toBeNull());
});

describe('what the log speaks against', () => {
  const port =
    '✗ npm start\n  Error: listen EADDRINUSE: address already in use :::3000\n✓ PORT=3001 npm start';
  const wrong = '✗ PORT=3001 npm start\n  error: unknown option PORT';
  const cases: [name: string, steps: string, isTold: boolean][] = [
    ['nothing', port, true],
    ['it failed once later', `${port}\n§\n${wrong}`, false],
    ['it worked more often', `${port}\n§\n✓ PORT=3001 npm start\n§\n${wrong}`, true],
    ['the plain one works again', `${port}\n§\n✓ npm start`, false],
    ['the plain one worked before', `✓ npm start\n§\n${port}`, true],
  ];
  for (const [name, steps, isTold] of cases) test(name, () => expect(told(steps) !== null).toBe(isTold));
});

describe('across sessions', () => {
  const works = '✓ npm run typecheck -w web';
  const fails = '✗ npm run type-check -w web\n  npm error Missing script: "type-check"\n» go on';
  const often = Array.from({ length: 3 }, () => `${works}\n✓ ls\n${works}`).join('\n§\n');
  test('elsewhere it is said with an alike word, and that works', () =>
    expect(told(`${fails}\n§\n${often}`)).toBe(
      'use `npm run typecheck … web` instead of `npm run type-check … web`'.replaceAll('… web', '-w web'),
    ));
  test('in one session only', () => expect(told(`${fails}\n§\n${works}\n✓ ls\n${works}`)).toBeNull());
  test('with another word', () =>
    expect(told(`${fails}\n§\n${often.replaceAll('typecheck', 'build')}`)).toBeNull());
});

describe('lint rules', () => {
  const broken = (file: string, rule = 'no-nested') =>
    `✗ npm run lint\n  /repo/${file}\n    1:1  error  Do not nest the thing  ${rule}\n✎ ${file}`;
  test('of two sessions', () =>
    expect(told(`${broken('a.ts')}\n§\n${broken('b.ts')}`)).toBe(
      'lint rule of this project: Do not nest the thing (no-nested)',
    ));
  test('of one', () => expect(told(`${broken('a.ts')}\n${broken('b.ts')}`)).toBeNull());
  test('of secrets', () =>
    expect(
      told(`${broken('a.ts', 'no-secrets/no-secrets')}\n§\n${broken('b.ts', 'no-secrets/no-secrets')}`),
    ).toBeNull());
  test('a value in the message', () => {
    const quoting = broken('a.ts').replace('the thing', "'my first pet' hX7kQ2mZpT9w");
    expect(told(`${quoting}\n§\n${quoting}`)).toBe(
      "lint rule of this project: Do not nest '…' … (no-nested)",
    );
  });
  test('that every project has', () =>
    expect(told(`${broken('a.ts', 'no-unused-vars')}\n§\n${broken('b.ts', 'no-unused-vars')}`)).toBeNull());
});

test('each agent of a session has its own course', () => {
  const [failed, worked] = log(`${UNKNOWN}\n✓ gh pr view --files`) as [LoggedCall, LoggedCall];
  const lessons = (entries: (LoggedCall | LoggedPrompt)[]) =>
    learn(entries, '/repo').map(({ lesson }) => lesson);
  expect(lessons([failed, { ...worked, agent: 'a1' }])).toEqual([null]);
  expect(
    lessons([
      { ...failed, agent: 'a1' },
      { ...worked, agent: 'a1' },
    ]),
  ).not.toEqual([null]);
});

test('what a lesson rests on', () => {
  const once = `${UNKNOWN}\n✓ gh pr view --files`;
  const [group] = learn(log(`${once}\n§\n${once}`), '/repo');
  expect(group).toMatchObject({ sessions: 2, isOpen: true });
  expect(group?.lesson?.evidence).toMatchObject({ sessions: 2, agents: 2, failed: 2, helped: 2 });
  expect(group?.lesson?.evidence.failedCalls).toEqual(['c0', 'c3']);
  expect(group?.lesson?.evidence.helpedCalls).toEqual(['c1', 'c4']);
});

test('what is said names nobody, and files from the root', () => {
  const [group] = learn(
    log("✗ tool --x a\n  /home/anna/shop/a.ts: unknown option '--x', see /home/anna/x.txt\n✓ tool --y a"),
    '/home/anna/shop',
  );
  expect(group?.lesson?.said).toBe("a.ts: unknown option '--x', see ~/x.txt");
});

test('an error is solved when its command has worked since', () => {
  const isOpen = (steps: string) => learn(log(steps), '/repo')[0]?.isOpen;
  expect([isOpen(REFUSED), isOpen(`${REFUSED}\n✓ npm start`), isOpen(`✓ npm start\n${REFUSED}`)]).toEqual([
    true,
    false,
    true,
  ]);
});

test('no log, no lessons; the same log, the same lessons', () => {
  expect(learn([], '/repo')).toEqual([]);
  const steps = `${UNKNOWN}\n✓ gh pr view --files`;
  expect(learn(log(steps), '/repo')).toEqual(learn(log(steps), '/repo'));
});
