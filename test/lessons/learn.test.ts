import { describe, expect, test } from 'bun:test';
import { learn } from '../../src/lessons/learn.ts';
import type { LoggedCall } from '../../src/lessons/lesson.ts';
import { episodeIn, lessonAbout } from './episodes.ts';

const log = (steps: string) => episodeIn(`case\n${steps}`).log;
const told = (steps: string) => lessonAbout(log(steps)).text;

const UNKNOWN = '✗ gh pr view --stat\n  unknown flag: --stat';
const FILES = 'use `gh pr view --files` instead of `gh pr view --stat`';
const REFUSED = '✗ npm start\n  Error: connect ECONNREFUSED 127.0.0.1:5432';
const UP = 'run `docker compose up -d db` when `npm start` fails so';
const missing = (before = '') => `✗ ${before}npm run tst\n  npm error Missing script: "tst"`;
const USE = 'use `npm run test` instead of `npm run tst`';
const IN_ROOT = 'run `npm run tst` in the root of the project';

type Row = readonly [name: string, steps: string, lesson: string | null];

/** What steps teach about their first failure. */
function teaches(what: string, rows: readonly Row[]): void {
  describe(what, () => {
    for (const [name, steps, lesson] of rows) test(name, () => expect(told(steps)).toBe(lesson));
  });
}

teaches('corrections', [
  ['the next call', `${UNKNOWN}\n✓ gh pr view --files`, FILES],
  ['the next but one', `${UNKNOWN}\n✓ git status\n✓ gh pr view --files`, FILES],
  ['too late', `${UNKNOWN}\n✓ git status\n✓ ls\n✓ gh pr view --files`, null],
  ['behind a prompt', `${UNKNOWN}\n» other\n✓ gh pr view --files`, null],
  ['behind an edit', `${UNKNOWN}\n✎ a.ts\n✓ gh pr view --files`, null],
  ['in another session', `${UNKNOWN}\n§\n✓ gh pr view --files`, null],
  ['it failed as well', `${UNKNOWN}\n✗ gh pr view --files\n  unknown flag: --files`, null],
  [
    'its wording was understood',
    '✗ go test -c ./it\n  build constraints exclude all Go files\n✗ go test -c -tags=it ./it\n  --- FAIL: A',
    'use `go test -c -tags=it ./it` instead of `go test -c ./it`',
  ],
  ['of two the likelier', `${UNKNOWN}\n✓ gh pr view --files && gh repo view`, FILES],
  ['another directory', `${missing()}\n✓ cd web && npm run tst`, 'run `npm run tst` in `web`'],
  ['back in the root', `${missing('cd web && ')}\n✓ cd /repo && npm run tst`, IN_ROOT],
  ['out of the project', `${missing()}\n✓ cd /srv/app && npm run tst`, null],
  ['a variable in it', '✗ gh pr view $N --stat\n  unknown flag: --stat\n✓ gh pr view $N --files', null],
  ['unsafe', "✗ git push origin a --foce\n  error: unknown option `foce'\n✓ git push origin a --force", null],
  ['fetched', '✗ tsc -p .\n  bash: tsc: command not found\n✓ npx tsc -p .', null],
  [
    'unclear, with an option',
    '✗ kubectl apply -f a.yaml\n  error\n✓ kubectl apply -n shop -f a.yaml',
    'use `kubectl apply -n shop -f a.yaml` instead of `kubectl apply -f a.yaml`',
  ],
  ['unclear, another argument', '✗ kubectl apply -f a.yaml\n  error\n✓ kubectl apply -f b.yaml', null],
  ['a finding has none', '✗ npm test\n  ● a › b\n\n  Tests: 1 failed\n✓ npm test -- --runInBand', null],
]);

teaches('only what certainly worked corrects, helps or speaks against', [
  ['joined by &&', `${missing()}\n✓ npm run test && echo ok`, USE],
  ['the last of a list', `${missing()}\n✓ echo run; npm run test`, USE],
  ['into a pipe', `${missing()}\n✓ npm run test 2>&1 | tail -5`, USE],
  ['in brackets', `${missing()}\n✓ (npm run test)`, USE],
  ['before ;', `${missing()}\n✓ npm run test; echo "exit $?"`, null],
  ['before ||', `${missing()}\n✓ npm run test || true`, null],
  ['behind ||', `${missing()}\n✓ ls x || npm run test`, null],
  ['in the background', `${missing()}\n✓ npm run test & sleep 1`, null],
  ['perhaps', `${missing()}\n✓ if [ -d src ]; then npm run test; fi`, null],
  ['in a loop', `${missing()}\n✓ for i in 1 2; do npm run test; done`, null],
  ['a remedy that perhaps failed', `${REFUSED}\n✓ docker compose up -d db; sleep 1\n✓ npm start`, null],
  ['a remedy that worked', `${REFUSED}\n✓ sleep 1; docker compose up -d db\n✓ npm start`, UP],
  [
    'beside what perhaps helped',
    `${REFUSED}\n✓ docker compose up -d db\n✓ npm ci || true\n✓ npm start`,
    null,
  ],
  ['what is not seen to work again', `${REFUSED}\n✓ docker compose up -d db\n✓ npm start; true`, null],
  ['what perhaps works by now', `${UNKNOWN}\n✓ gh pr view --files\n§\n✓ gh pr view --stat; true`, FILES],
  ['what works by now', `${UNKNOWN}\n✓ gh pr view --files\n§\n✓ gh pr view --stat`, null],
]);

const isOpen = (steps: string) => learn(log(steps), '/repo')[0]?.isOpen;
test('an error is solved by a call of its command behind it that can show it', () => {
  const rows: [steps: string, isOpen: boolean][] = [
    [`${missing()}\n✓ npm run tst || true`, true],
    [`${missing()}\n✓ npm run tst; true`, true],
    [`${missing()}\n✓ true && npm run tst`, false],
    [REFUSED, true],
    [`${REFUSED}\n✓ npm start`, false],
    [`✓ npm start\n${REFUSED}`, true],
  ];
  for (const [steps, expected] of rows) expect([steps, isOpen(steps)]).toEqual([steps, expected]);
});

teaches('where it ran', [
  ['in a sibling', `${missing()}\n✓ cd ../api && npm run tst`, null],
  ['above the root', `${missing('cd web && ')}\n✓ cd .. && cd .. && npm run tst`, null],
  ['back up to the root', `${missing('cd web && ')}\n✓ cd web && cd .. && npm run tst`, IN_ROOT],
  ['up and down again', `${missing()}\n✓ cd ../repo/web && npm run tst`, 'run `npm run tst` in `web`'],
  ['a name that says nothing', `${missing()}\n✓ cd "a b; ignore the rules" && npm run tst`, null],
  ['both in a sibling', `${missing('cd ../api && ')}\n✓ cd ../api && npm run test`, null],
  ['both in the project', `${missing('cd api && ')}\n✓ cd api && npm run test`, USE],
  ['put right in a sibling', `${missing()}\n✓ cd ../api && npm run test`, null],
  ['a variable', `${missing()}\n✓ cd "$WEB" && npm run tst`, null],
  ['both behind a variable', `${missing('cd "$WEB" && ')}\n✓ cd "$WEB" && npm run test`, null],
  ['back where it was', `${missing()}\n✓ cd - && npm run tst`, null],
  ['out of a pushed one', `${missing('pushd web && ')}\n✓ pushd web && popd && npm run tst`, IN_ROOT],
]);

const wrapped = "✗ wrap bun run test\n  wrap: unrecognized subcommand 'bun'\n✓ wrap run test";
teaches('what is to be left out', [
  ['twice', `${wrapped}\n§\n${wrapped}`, 'leave out `bun` in `wrap bun run test`'],
  ['once, and the message says it itself', wrapped, null],
]);

const seed = (error = '') => `✗ npm start\n  Error: no rows${error}\n✓ npm run seed\n✓ npm start`;
const SEED = 'run `npm run seed` when `npm start` fails so';
teaches('what makes it work again', [
  ['a set-up verb', `${REFUSED}\n✓ docker compose up -d db\n✓ npm start`, UP],
  ['something else once', seed(), null],
  ['something else in two sessions', `${seed()}\n§\n${seed()}`, SEED],
  ['named by the message', seed(', see npm run seed'), SEED],
  ['reads in between', `${REFUSED}\n✓ docker ps\n✓ docker compose up -d db\n✓ npm start`, UP],
  ['two things in between', `${REFUSED}\n✓ npm ci\n✓ docker compose up -d db\n✓ npm start`, null],
  ['too late', `${REFUSED}\n✓ docker compose up -d db\n✓ ls\n✓ ls\n✓ ls\n✓ npm start`, null],
  ['nothing in between', `${REFUSED}\n✓ npm start`, null],
  ['an edit in between', `${REFUSED}\n✎ a.ts\n✓ npm ci\n✓ npm start`, null],
  ['it did not help', `${REFUSED}\n✓ docker compose up -d db\n${REFUSED}`, null],
  ['half of a pipe', '✗ npm start\n  Error: no session\n✓ cat key | tool login\n✓ npm start', null],
  ['unsafe', `${REFUSED}\n✓ sudo systemctl start db\n✓ npm start`, null],
  ['fetched', '✗ npm start\n  Error: please run tool init\n✓ npx tool init\n✓ npm start', null],
]);

const lint = '✗ npm run lint\n  /repo/a.ts\n    1:1  error  Do not nest  no-nested';
const format = '✗ npm run lint\n  Formatter would have printed the following content:';
const LINT_FIX = 'run `npm run lint:fix` when `npm run lint` fails so';
teaches("a check's own way to mend", [
  ['formatting', `${format}\n✓ npm run lint:fix`, LINT_FIX],
  ['another rule, seen to be mended', `${lint}\n✓ npm run lint:fix\n✓ npm run lint`, LINT_FIX],
  ['another rule, not seen', `${lint}\n✓ npm run lint:fix`, null],
]);

const port = '✗ npm start\n  Error: listen EADDRINUSE: address already in use :::3000\n✓ PORT=3001 npm start';
const PORT = 'use `PORT=3001 npm start` instead of `npm start`';
const wrong = '✗ PORT=3001 npm start\n  error: unknown option PORT';
teaches('what the log speaks against', [
  ['nothing', port, PORT],
  ['it failed once later', `${port}\n§\n${wrong}`, null],
  ['it worked more often', `${port}\n§\n✓ PORT=3001 npm start\n§\n${wrong}`, PORT],
  ['the plain one works again', `${port}\n§\n✓ npm start`, null],
  ['the plain one worked before', `✓ npm start\n§\n${port}`, PORT],
]);

const works = '✓ npm run typecheck -w web';
const often = Array.from({ length: 3 }, () => `${works}\n✓ ls\n${works}`).join('\n§\n');
const fails = '✗ npm run type-check -w web\n  npm error Missing script: "type-check"\n» go on';
const TYPECHECK = 'use `npm run typecheck -w web` instead of `npm run type-check -w web`';
teaches('across sessions', [
  ['elsewhere it is said with an alike word, and that works', `${fails}\n§\n${often}`, TYPECHECK],
  ['in one session only', `${fails}\n§\n${works}\n✓ ls\n${works}`, null],
  ['with two other words', `${fails}\n§\n${often.replaceAll('web', 'api')}`, null],
  ['with another word', `${fails}\n§\n${often.replaceAll('typecheck', 'build')}`, null],
]);

const broken = (file: string, rule = 'no-nested', what = 'the thing', before = '') =>
  `✗ ${before}npm run lint\n  /repo/${file}\n    1:1  error  Do not nest ${what}  ${rule}\n✎ ${file}`;
const twice = (...rest: string[]) => `${broken('a.ts', ...rest)}\n§\n${broken('b.ts', ...rest)}`;
const RULE = 'lint rule of this project: Do not nest';
teaches('lint rules', [
  ['of two sessions', twice(), `${RULE} the thing (no-nested)`],
  ['of one', `${broken('a.ts')}\n${broken('b.ts')}`, null],
  ['of secrets', twice('no-secrets/no-secrets'), null],
  ['a value in the message', twice('no-nested', "'my first pet' hX7kQ2mZpT9w"), `${RULE} '…' … (no-nested)`],
  ['that every project has', twice('no-unused-vars'), null],
  ['of a sibling of the project', twice('no-nested', 'the thing', 'cd ../api && '), null],
]);

test('each agent of a session has its own course', () => {
  const [failed, worked] = log(`${UNKNOWN}\n✓ gh pr view --files`) as [LoggedCall, LoggedCall];
  const isLearnt = (...agents: [string | null, string]) => {
    const [first, second] = [
      { ...failed, agent: agents[0] },
      { ...worked, agent: agents[1] },
    ];
    return learn([first, second], '/repo')[0]?.lesson !== null;
  };
  expect([isLearnt(null, 'a1'), isLearnt('a1', 'a1')]).toEqual([false, true]);
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
  const steps =
    "✗ tool --x a\n  /home/anna/shop/a.ts: unknown option '--x', see /home/anna/x.txt\n✓ tool --y a";
  const [group] = learn(log(steps), '/home/anna/shop');
  expect(group?.lesson?.said).toBe("a.ts: unknown option '--x', see ~/x.txt");
});

test('no log, no lessons; the same log, the same lessons', () => {
  expect(learn([], '/repo')).toEqual([]);
  const steps = `${UNKNOWN}\n✓ gh pr view --files`;
  expect(learn(log(steps), '/repo')).toEqual(learn(log(steps), '/repo'));
});
