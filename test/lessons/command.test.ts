import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  commandFamily,
  isAgentTool,
  isEditingTool,
  isFileTool,
  isOwnCommand,
} from '../../src/lessons/command.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';

const rows: [text: string, family: string][] = [
  ['npm test', 'npm test'],
  ['npm test | tail', 'npm test'],
  ['npm test 2>&1 | tail -5', 'npm test'],
  ['set -o pipefail; npm test | tail', 'npm test'],
  ['set -eo pipefail; npm test | tail', 'npm test'],
  ['cd x && npm test', 'npm test'],
  ['cd x; npm test', 'npm test'],
  ['npm test; ls', 'npm test'],
  ['npm test && echo ok; ls', 'npm test'],
  ['npm test && echo ok;', 'npm test'],
  ['(cd x; npm test) && echo ok', 'npm test'],
  ['(npm test) | tail', 'npm test'],
  ['echo $(npm test)', 'npm test'],
  ['npm test || true', 'npm test'],
  ['npm test &', 'npm test'],
  ['set -e; npm test; ls', 'npm test'],
  ['npm test && echo ok', 'npm test'],
  ['npm test && echo ok || echo bad', 'npm test'],
  ['echo start; npm test', 'npm test'],
  ['npm run build && npm test', 'npm run build && npm test'],
  ['npm run build; npm test', 'npm run build && npm test'],
  ['(cd x && npm test)', 'npm test'],
  ['npm test > out.log 2>&1', 'npm test'],
  ['npm test &> out.log', 'npm test'],
  ['npm test < input.txt', 'npm test'],
  ['CI=1 npm test', 'npm test'],
  ['CI=1 FOO="a b" npm test', 'npm test'],
  ['env CI=1 npm test', 'npm test'],
  ['sudo npm test', 'npm test'],
  ['time npm test', 'npm test'],
  ['timeout 60 npm test', 'npm test'],
  ['timeout -k 5 60s npm test', 'npm test'],
  ['npx -y tsc --noEmit', 'tsc'],
  ['bunx tsc', 'tsc'],
  ['npm test -- --bail', 'npm test'],
  ['npm --silent test', 'npm test'],
  ['npm run test src/a.ts', 'npm run test'],
  ['npm install lodash react', 'npm install'],
  ['pytest tests/b.py tests/a.py -x', 'pytest'],
  ['python -m pytest tests/a.py', 'python -m pytest'],
  ['python3 a.py', 'python3'],
  ['/usr/bin/git status', 'git status'],
  ['C:\\tools\\git.exe status', 'git status'],
  ['"C:\\Program Files\\nodejs\\npm.cmd" test', 'npm test'],
  ['./gradlew build', 'gradlew build'],
  ['git commit -m "fix: a; b && c | d"', 'git commit'],
  ["echo 'npm test; x'", ''],
  ['node - <<EOF\nrequire("x")\nEOF', 'node'],
  ['python3 <<< "print(1)"', 'python3'],
  ['npm \\\n  test', 'npm test'],
  ['ls', ''],
  ['cd x', ''],
  ['  npm test  ', 'npm test'],
  ['npm test # all of them', 'npm test'],
  ['# a comment\nnpm test', 'npm test'],
  ['npm test;', 'npm test'],
  ['npm test\n', 'npm test'],
  ['! npm test', 'npm test'],
  ['API_KEY=[REDACTED] curl https://a.io', 'curl'],
  ['FOO=1', ''],
  ['', ''],
  ['&& ||', ''],
  ['npx vitest run', 'vitest'],
  ['cat <<EOF > a.txt\nnpm test\nEOF', 'cat'],
  ['make\nmake test', 'make && make test'],
  ['cat a.txt | grep x | node b.js', 'cat && node'],
  ['ls -la | grep x && pwd', ''],
  ['"unclosed npm test', 'unclosed npm test'],
];
for (const [text, family] of rows) {
  test(`commandFamily() gives ${JSON.stringify(family)} when it reads ${JSON.stringify(text)}`, () => {
    expect(commandFamily(text)).toBe(family);
  });
}

test('commandFamily() keeps to its limits when the command is long', () => {
  const long = 'x'.repeat(500);
  const many = commandFamily(Array.from({ length: 100 }, () => `npm ${long}`).join(' && '));
  expect(many.split(' && ').length).toBeLessThanOrEqual(16);
  for (const part of many.split(' && ')) expect(part.length).toBeLessThanOrEqual(120);
  expect(commandFamily(`npm test ${'a'.repeat(5000)} ; make`)).toBe('npm test');
});

test('commandFamily() gives bounded and equal values when the text is arbitrary', () => {
  const signs = 'npm§ §test§&&§|§;§"§\'§\\§<<§\n§$(§)§>§2>&1§A=§-§#§!'.split('§');
  const piece = fc.oneof(fc.string(), fc.constantFrom(...signs));
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const family = commandFamily(pieces.join(''));
      expect(family).toBe(commandFamily(pieces.join('')));
      expect(family.length).toBeLessThanOrEqual(16 * 124);
    }),
    { numRuns: 2000 },
  );
});

for (const unit of 'a§ §"§\'§\\§<§<<§&§|§2>&1§\n§A=1 §sudo §(§\\\n§#'.split('§')) {
  test(`commandFamily() ends soon when it is given a mebibyte of ${JSON.stringify(unit)}`, () => {
    const took = cpuTimeMs(() => {
      commandFamily(unit.repeat(Math.ceil((1024 * 1024) / unit.length)));
    });
    expect(took).toBeLessThan(500);
  });
}

const own: [family: string | null, expected: boolean][] = [
  [commandFamily('self-generation status'), true],
  [commandFamily('cd app && ~/.self-generation/hooks/self-generation apply s1'), true],
  [commandFamily('npm test && self-generation status'), true],
  [commandFamily('self-generation-tests'), false],
  [commandFamily('cat self-generation'), false],
  ['', false],
  [null, false],
];
for (const [family, expected] of own) {
  test(`isOwnCommand() is ${expected} of ${JSON.stringify(family)}`, () => {
    expect(isOwnCommand(family)).toBe(expected);
  });
}

const OTHER_TOOLS = ['Bash', 'Grep', 'TaskCreate', 'edit', 'mcp__files__Edit', '', 'constructor'];
const ALL_TOOLS = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'Read', 'Agent', 'Task', ...OTHER_TOOLS];
const tools: [name: string, is: (tool: string) => boolean, of: string[]][] = [
  ['isEditingTool', isEditingTool, ['Edit', 'Write', 'MultiEdit', 'NotebookEdit']],
  ['isFileTool', isFileTool, ['Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'Read']],
  ['isAgentTool', isAgentTool, ['Agent', 'Task']],
];
for (const [name, is, of] of tools) {
  test(`${name}() is true of ${of.join(', ')}, and of no other tool`, () =>
    expect(ALL_TOOLS.filter(is)).toEqual(of));
}
