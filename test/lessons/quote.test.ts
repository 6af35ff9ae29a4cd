import { describe, expect, test } from 'bun:test';
import {
  explainsItself,
  leftOut,
  quoteCommand,
  quoteFinding,
  quoteMessage,
  quotePair,
  quotePaths,
  quotePlace,
} from '../../src/lessons/quote.ts';
import { parseShell, type SimpleCommand } from '../../src/lessons/shell.ts';

const command = (line: string) => parseShell(line)[0] as SimpleCommand;

describe('a command as others read it', () => {
  const whole = [
    'npm run lint:fix',
    'docker compose up -d db',
    'npx playwright install chromium',
    'pip install -r requirements-dev.txt',
    'pip install typing-extensions',
    'npm install -D @types/node',
    'go test -tags=integration ./internal/it/',
    'cargo build --features http',
    'NODE_OPTIONS=--max-old-space-size=4096 npm run build',
    'PORT=3001 npm run dev',
    'NODE_ENV=test LANG=C.UTF-8 npm test',
    'CI=true DEBUG= npm test',
    'GOFLAGS="-mod=mod -count=1" go test',
    'PYTHONPATH=src:tests pytest',
    'PYTHONPATH=./src pytest',
    'terraform plan -var-file=envs/dev.tfvars',
    'make -C services/api build',
    'git worktree add --detach ../wt main',
    'bundle exec rubocop -a',
    "cat 'app/[locale]/page.tsx'",
    'eslint src/*.ts',
  ];
  for (const line of whole) test(line, () => expect(quoteCommand(command(line))).toBe(line));

  const cases: [line: string, told: string | undefined][] = [
    ['OPENER=correcthorse npm test', 'OPENER=… npm test'],
    ['JAVA_OPTS=-Ddb=tiger npm test', 'JAVA_OPTS=… npm test'],
    ['JAVA_OPTS="-Xmx2g --pin=1234" npm test', 'JAVA_OPTS=… npm test'],
    ['DATABASE_URL=postgres://db/shop npm test', 'DATABASE_URL=… npm test'],
    ['API_TOKEN=tiger npm test', 'API_TOKEN=… npm test'],
    ['tool --password=tiger run', 'tool --password=… run'],
    ['tool --password tiger run', 'tool --password … run'],
    ['git commit -m "use tiger as password"', 'git commit -m …'],
    ['cat /home/anna/notes.txt', 'cat …'],
    ['cat api/v1/2048/items.json', 'cat api/v1/…/items.json'],
    ['"$TOOL" run', undefined],
    [`echo ${'word '.repeat(40)}`, 'echo word …'],
  ];
  for (const [line, told] of cases) test(line, () => expect(quoteCommand(command(line))).toBe(told));
});

describe('two commands as others read them', () => {
  test('with the quotes without which the shell would take them for something else', () => {
    const use = 'gh api "repos/acme/shop/pulls?state=open"';
    expect(quotePair(command(use.replaceAll('"', '')), command(use))?.use).toBe(use);
  });

  const whole: [failing: string, use: string][] = [
    ['cat -A a.txt', 'cat -vet a.txt'],
    ['make tests', 'make test'],
    ['cat app/[id]/page.tsx', "cat 'app/[id]/page.tsx'"],
    ['docker-compose up -d', 'docker compose up -d'],
    ['celery worker -A proj', 'celery -A proj worker'],
    ['npm run', 'npm run build'],
    ['npx jest', 'npx jest cart'],
    ['mycli status', 'mycli app status'],
  ];
  const none: typeof whole = [
    ['mysql -u root -ptiger', 'mysql -u root -phorse'],
    ['mycli connect prod', 'mycli connect prod correcthorsebattery'],
    ['mycli connect prod correcthorsebattery', 'mycli connect prod'],
    ['mycli connect', 'mycli connect prod tiger'],
    ['npx mycli connect prod', 'npx mycli connect prod tiger'],
    ['python tools/run.py prod', 'python tools/run.py prod tiger'],
    ['API_KEY=tiger npm test', 'API_KEY=horse npm test'],
  ];
  const told = (failing: string, use: string) => quotePair(command(failing), command(use));
  for (const [failing, use] of whole)
    test(`${failing} → ${use}`, () => expect(told(failing, use)).toEqual({ failing, use }));
  for (const [failing, use] of none)
    test(`not ${failing} → ${use}`, () => expect(told(failing, use)).toBeUndefined());

  test('without an argument that both have', () =>
    expect(told('gh pr view 12 --stat', 'gh pr view 12 --files')).toEqual({
      failing: 'gh pr view … --stat',
      use: 'gh pr view … --files',
    }));

  test('of long words the part around the first difference', () => {
    const filter = (end: string) =>
      `jq '[.items[] | select(.state == "open") | {number, title, author: .user.login${end}'`;
    const pair = quotePair(command(filter('}')), command(filter('}]')));
    expect(pair?.use).toContain('}]');
    expect(pair?.use.length).toBeLessThan(80);
  });
});

test('what is to be left out, when that is all of the difference', () => {
  const left = (failing: string, use: string) => leftOut(command(failing), command(use));
  expect(left('wrap bun run test', 'bun run test')).toBeUndefined();
  expect(left('npm test --frob', 'npm test')).toBe('--frob');
  expect(left('git add a.ts dist/out.css', 'git add a.ts')).toBe('dist/out.css');
  expect(left('npm test --frob', 'npm run test')).toBeUndefined();
  expect(left('mycli connect prod tiger', 'mycli connect prod')).toBeUndefined();
  expect(left('mysql -u root -ptiger shop', 'mysql -u root shop')).toBeUndefined();
});

describe('paths in messages', () => {
  const cases: [message: string, root: string | null, told: string][] = [
    ["cannot open '/home/anna/shop/a.ts'", null, "cannot open '~/shop/a.ts'"],
    ['/Users/anna/a.ts:3:1: no', null, '~/a.ts:3:1: no'],
    ['open C:\\Users\\anna\\shop\\a.ts failed', null, 'open ~\\shop\\a.ts failed'],
    ['no /home/anna', null, 'no ~'],
    ['open /home/anna/shop/src/a.ts', '/home/anna/shop', 'open src/a.ts'],
    ['open ~/shop/src/a.ts', '/home/anna/shop', 'open src/a.ts'],
    ['open C:\\Users\\anna\\shop\\a.ts', 'C:\\Users\\anna\\shop', 'open a.ts'],
    ['open /home/anna/shop-2/a.ts', '/home/anna/shop', 'open ~/shop-2/a.ts'],
    ['/repo/a.ts is no module', '/repo', 'a.ts is no module'],
    ['open x/repo/a.ts', '/repo', 'open x/repo/a.ts'],
    ['GET api/home/users/1', null, 'GET api/home/users/1'],
    ['src/Users/list.ts', null, 'src/Users/list.ts'],
  ];
  for (const [message, root, told] of cases)
    test(`${message} in ${root}`, () => expect(quotePaths(message, root)).toBe(told));
});

describe("a linter's message without values", () => {
  const cases: [message: string, told: string][] = [
    ['A string with entropy 4.25 : "ZWVTjPQSdhwRgl204Hc51YCsritMIzn8B="', 'A string with entropy 4.25 : "…"'],
    ['Unexpected value "my grandmother\'s name" here', 'Unexpected value "…" here'],
    ["Don't use 'require' of 'fs/promises'", "Don't use 'require' of 'fs/promises'"],
    ["Key 'correct-horse-99' isn't sorted", "Key '…' isn't sorted"],
    ['`session.Action` returns (os/exec.Command)', '`session.Action` returns (os/exec.Command)'],
    ['Use “hunter 2” not ‘os’', 'Use “…” not ‘os’'],
    ['Value hX7kQ2mZpT9w sQ8kR1mZpT0w of anna@acme.example', 'Value … of …'],
    ['Function exceeds 50 lines, see https://lint.example/x', 'Function exceeds 50 lines, see …'],
    ['cut off in "the middle of', 'cut off in "…"'],
  ];
  for (const [message, told] of cases) test(told, () => expect(quoteFinding(message)).toBe(told));
});

test('a directory of plain segments', () => {
  for (const place of ['', 'web', 'services/api-v2/src', 'packages/@acme/ui', '모듈/웹'])
    expect(quotePlace(place)).toBe(place);
  const others = 'my app§a`b§web/hX7kQ2mZpT9w§data/20260101§a\nb§"a"§a$b§web/§../other'.split('§');
  for (const place of [...others, `${'long/'.repeat(13)}a`])
    expect([place, quotePlace(place)]).toEqual([place, undefined]);
});

test('words that explain themselves', () => {
  const clear = 'src/a.test.ts v1.2.3 utf8 sha256 @acme/ui@2.1.0 *.ts {a,b} ES2022 안녕 camelCase '.split(
    ' ',
  );
  expect(clear.filter(explainsItself)).toEqual(clear);
  const others = 'hX7kQ2mZpT9w 9f86d081884c7d65 https://example.test Tiger-4821!x 123456789 [REDACTED]';
  expect(others.split(' ').filter(explainsItself)).toEqual([]);
});

describe('a message without the values that are not told', () => {
  const rows: [line: string, message: string, told: string][] = [
    ['mysql -u root -ptigerhorse', "unknown: 'tigerhorse'", "unknown: '…'"],
    ['tool --password=tigerhorse', 'bad value tigerhorse', 'bad value …'],
    ['curl http://localhost:4000/x', 'no localhost port 4000', 'no localhost port 4000'],
    ['npm run typecheck', 'Missing script: typecheck', 'Missing script: typecheck'],
  ];
  for (const [line, message, told] of rows)
    test(line, () => expect(quoteMessage(message, parseShell(line))).toBe(told));
});
