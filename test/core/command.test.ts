import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type Command,
  coversCommand,
  describeCommand,
  onlyReads,
  parseCommand,
} from '../../src/core/command.ts';

type Expected = Partial<Command>;
const rows: [text: string, expected: Expected][] = [
  ['npm test', { program: 'npm', family: 'npm test', targets: [], hidesFailure: false }],
  ['npm test | tail', { family: 'npm test', hidesFailure: true }],
  ['npm test 2>&1 | tail -5', { family: 'npm test', targets: [], hidesFailure: true }],
  ['set -o pipefail; npm test | tail', { family: 'npm test', hidesFailure: false }],
  ['set -eo pipefail; npm test | tail', { family: 'npm test', hidesFailure: false }],
  ['cd x && npm test', { program: 'npm', family: 'npm test', hidesFailure: false }],
  ['cd x; npm test', { family: 'npm test', hidesFailure: false }],
  ['npm test; ls', { family: 'npm test', hidesFailure: true }],
  ['npm test && echo ok; ls', { family: 'npm test', hidesFailure: true }],
  ['npm test && echo ok;', { family: 'npm test', hidesFailure: false }],
  ['(cd x; npm test) && echo ok', { family: 'npm test', hidesFailure: false }],
  ['(npm test) | tail', { family: 'npm test', hidesFailure: true }],
  ['echo $(npm test)', { family: 'npm test', hidesFailure: true }],
  ['npm test 2>/dev/null', { targets: [], hidesFailure: false }],
  ['npm test > "a b.log"; ls', { targets: [], hidesFailure: true }],
  ['npm test || true', { family: 'npm test', hidesFailure: true }],
  ['npm test &', { family: 'npm test', hidesFailure: true }],
  ['set -e; npm test; ls', { family: 'npm test', hidesFailure: false }],
  ['npm test && echo ok', { family: 'npm test', hidesFailure: false }],
  ['npm test && echo ok || echo bad', { family: 'npm test', hidesFailure: true }],
  ['echo start; npm test', { family: 'npm test', hidesFailure: false }],
  ['npm run build && npm test', { family: 'npm run build && npm test', hidesFailure: false }],
  ['npm run build; npm test', { family: 'npm run build && npm test', hidesFailure: true }],
  ['(cd x && npm test)', { family: 'npm test', hidesFailure: false }],
  ['npm test > out.log 2>&1', { family: 'npm test', targets: [], hidesFailure: false }],
  ['npm test &> out.log', { family: 'npm test', targets: [], hidesFailure: false }],
  ['npm test < input.txt', { family: 'npm test', targets: [] }],
  ['CI=1 npm test', { program: 'npm', family: 'npm test' }],
  ['CI=1 FOO="a b" npm test', { program: 'npm', family: 'npm test' }],
  ['env CI=1 npm test', { family: 'npm test' }],
  ['sudo npm test', { family: 'npm test' }],
  ['time npm test', { family: 'npm test' }],
  ['timeout 60 npm test', { family: 'npm test' }],
  ['timeout -k 5 60s npm test', { family: 'npm test' }],
  ['npx vitest run', { program: 'vitest' }],
  ['npx -y tsc --noEmit', { program: 'tsc', family: 'tsc' }],
  ['bunx tsc', { family: 'tsc' }],
  ['npm test -- --bail', { family: 'npm test', targets: [] }],
  ['npm --silent test', { family: 'npm test' }],
  ['npm run test src/a.ts', { family: 'npm run test', targets: ['src/a.ts'] }],
  ['npm install lodash react', { family: 'npm install', targets: ['lodash', 'react'] }],
  ['pytest tests/b.py tests/a.py -x', { family: 'pytest', targets: ['tests/a.py', 'tests/b.py'] }],
  ['python -m pytest tests/a.py', { program: 'python', family: 'python -m pytest', targets: ['tests/a.py'] }],
  ['python3 a.py', { family: 'python3', targets: ['a.py'] }],
  ['/usr/bin/git status', { program: 'git', family: 'git status' }],
  ['C:\\tools\\git.exe status', { program: 'git', family: 'git status' }],
  ['"C:\\Program Files\\nodejs\\npm.cmd" test', { program: 'npm', family: 'npm test' }],
  ['./gradlew build', { program: 'gradlew', family: 'gradlew build' }],
  ['git commit -m "fix: a; b && c | d"', { family: 'git commit', hidesFailure: false }],
  ["echo 'npm test; x'", { program: 'echo', family: '' }],
  ['cat <<EOF > a.txt\nnpm test\nEOF', { program: 'cat' }],
  ['node - <<EOF\nrequire("x")\nEOF', { program: 'node', family: 'node', targets: [] }],
  ['python3 <<< "print(1)"', { program: 'python3', family: 'python3' }],
  ['make\nmake test', { program: 'make', hidesFailure: true }],
  ['npm \\\n  test', { family: 'npm test' }],
  ['ls', { program: 'ls', family: '' }],
  ['cd x', { program: 'cd', family: '' }],
  ['  npm test  ', { family: 'npm test', hidesFailure: false }],
  ['npm test # all of them', { family: 'npm test', targets: [] }],
  ['# a comment\nnpm test', { program: 'npm', family: 'npm test', hidesFailure: false }],
  ['npm test;', { family: 'npm test', hidesFailure: false }],
  ['npm test\n', { family: 'npm test', hidesFailure: false }],
  ['! npm test', { family: 'npm test', hidesFailure: true }],
  ['API_KEY=[REDACTED] curl https://a.io', { program: 'curl', family: 'curl', targets: ['https://a.io'] }],
  ['FOO=1', { program: '', family: '' }],
  ['', { program: '', family: '', targets: [], hidesFailure: false }],
  ['&& ||', { program: '', family: '' }],
  ['"unclosed npm test', { hidesFailure: false }],
];
for (const [text, expected] of rows) {
  test(`parseCommand() gives ${JSON.stringify(expected)} when it reads ${JSON.stringify(text)}`, () => {
    expect(parseCommand(text)).toMatchObject(expected);
  });
}

test('parseCommand() does not take a failure as shown when the command is longer than it reads', () => {
  const long = parseCommand(`npm test ${'a'.repeat(5000)} | tail`);
  expect(long).toMatchObject({ program: 'npm', family: 'npm test', hidesFailure: true });
});

test('parseCommand() keeps to its limits when the command is long', () => {
  const many = parseCommand(
    Array.from({ length: 100 }, (_, index) => `tool${index} target${index}`).join(' && '),
  );
  expect(many.targets.length).toBeLessThanOrEqual(16);
  expect(many.family.split(' && ').length).toBeLessThanOrEqual(16);
  expect(many.hidesFailure).toBe(true);
});

test('parseCommand() gives bounded and equal values when the text is arbitrary', () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      'npm',
      ' ',
      'test',
      '&&',
      '|',
      ';',
      '"',
      "'",
      '\\',
      '<<',
      '\n',
      '$(',
      ')',
      '>',
      '2>&1',
      'A=',
      '-',
      '#',
      '!',
    ),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const command = parseCommand(pieces.join(''));
      expect(command).toEqual(parseCommand(pieces.join('')));
      expect(command.targets.every((target) => target.length <= 120)).toBe(true);
      expect(describeCommand(command).length).toBeLessThanOrEqual(80);
    }),
    { numRuns: 2000 },
  );
});

for (const unit of [
  'a',
  ' ',
  '"',
  "'",
  '\\',
  '<',
  '<<',
  '&',
  '|',
  '2>&1',
  '\n',
  'A=1 ',
  'sudo ',
  '(',
  '\\\n',
  '#',
]) {
  test(`parseCommand() ends soon when it is given a mebibyte of ${JSON.stringify(unit)}`, () => {
    const start = performance.now();
    parseCommand(unit.repeat(Math.ceil((1024 * 1024) / unit.length)));
    expect(performance.now() - start).toBeLessThan(500);
  });
}

const covers: [later: string, earlier: string, expected: boolean][] = [
  ['npm test', 'npm test', true],
  ['cd app && CI=1 npm test -- --bail', 'npm test', true],
  ['npm test', 'npm test | tail', true],
  ['npm test | tail', 'npm test', false],
  ['npm test; ls', 'npm test', false],
  ['npm test', 'npm run build', false],
  ['npm install', 'npm test', false],
  ['ls', 'npm test', false],
  ['ls', 'ls', false],
  ['pytest tests/a.py', 'pytest tests/a.py', true],
  ['pytest tests/b.py', 'pytest tests/a.py', false],
  ['pytest tests/a.py tests/b.py', 'pytest tests/a.py', true],
  ['pytest', 'pytest tests/a.py', true],
  ['pytest tests/a.py', 'pytest', false],
  ['node b.js', 'node a.js', false],
  ['node', 'node a.js', false],
  ['git push', 'git push origin main', false],
  ['npm run build && npm test', 'npm run build && npm test', true],
];
for (const [later, earlier, expected] of covers) {
  test(`coversCommand() is ${expected} when ${later} follows ${earlier}`, () => {
    expect(coversCommand(parseCommand(later), parseCommand(earlier))).toBe(expected);
  });
}

const described: [text: string, expected: string][] = [
  ['npm test', 'npm test'],
  ['CI=1 npm test a b c d', 'npm test a b c'],
  ['ls -la', 'ls'],
  ['node "a b.js"', 'node a b.js'],
  ['', ''],
];
for (const [text, expected] of described) {
  test(`describeCommand() gives ${expected} when the command is ${text}`, () => {
    expect(describeCommand(parseCommand(text))).toBe(expected);
  });
}

const reading: [text: string, expected: boolean][] = [
  ['git status', true],
  ['git status --short src/a.ts', true],
  ['git log -5 --oneline', true],
  ['git diff HEAD~1 | head -50', true],
  ['cd app && git show HEAD', true],
  ['cat a.ts', true],
  ['cat a.ts | grep port | sort', true],
  ['find . -name "*.ts"', false],
  ['jq .scripts package.json', true],
  ['npm ls --depth=0', true],
  ['npm view react version', true],
  ['pnpm why lodash', true],
  ['yarn list', true],
  ['docker ps -a', true],
  ['docker logs shop', true],
  ['kubectl get pods', true],
  ['node --version', false],
  ['python3 --version && cargo --version', false],
  ['env', false], // a wrapper without a command
  ['git status && npm ls', true],
  ['git status; cat a.ts', true],
  ['git checkout main', false],
  ['git stash', false],
  ['git pull', false],
  ['git statusx', false],
  ['npm install', false],
  ['npm ci', false],
  ['npm test', false],
  ['npm lsx', false],
  ['yarn add react', false],
  ['docker run shop', false],
  ['docker compose up', false],
  ['kubectl apply -f a.yaml', false],
  ['cargo build', false],
  ['go mod tidy', false],
  ['sed -i s/a/b/ a.ts', false],
  ['mkdir build', false],
  ['catx a.ts', false],
  ['cat a.ts && npm install', false],
  ['npm install && cat a.ts', false],
  ['echo x', false], // No family: nothing is known of it.
  ['', false],
];
for (const [text, expected] of reading) {
  test(`onlyReads() is ${expected} when the command is ${JSON.stringify(text)}`, () => {
    expect(onlyReads(parseCommand(text).family)).toBe(expected);
  });
}

test('onlyReads() ends soon when the family is a mebibyte', () => {
  const start = performance.now();
  expect(onlyReads('git status && '.repeat(75_000))).toBe(false);
  expect(onlyReads('git '.repeat(262_144))).toBe(false);
  expect(performance.now() - start).toBeLessThan(500);
});
