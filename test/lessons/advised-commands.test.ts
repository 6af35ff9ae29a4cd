import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  callsCommand,
  commandWords,
  isCommand,
  mentionsCommand,
  plainLine,
  provesCommand,
  quotedCommands,
  tellingWord,
} from '../../src/lessons/advised-commands.ts';
import { parseShell } from '../../src/lessons/shell.ts';

describe('commandWords()', () => {
  const rows: [string, string[][]][] = [
    ['npm test', [['npm', 'test']]],
    ['cd app && CI=1 npm test 2>&1 | tail -5', ['npm test', 'tail -5'].map((words) => words.split(' '))],
    ['echo "npm run evil && rm x"', [['echo', 'npm run evil && rm x']]],
    ['a > out.txt; b < in.txt', [['a'], ['b']]],
    ['x=$(git log) && echo `date`', [['echo', '`date`']]],
    ["cat <<'EOF'\nnpm test\nEOF", [['cat']]],
    ['', []],
  ];
  test.each(rows)('reads %j', (line, expected) => expect(commandWords(line)).toEqual(expected));
});

test('plainLine() leaves out what only moves and reports', () => {
  expect(plainLine('cd app && bun run lint 2>&1 | tail -5')).toBe('bun run lint');
  expect(plainLine('echo done')).toBe('');
});

test('quotedCommands() gives what stands in backticks', () =>
  expect(quotedCommands('not that: run `a b`, then `c`')).toEqual(['a b', 'c']));

describe('provesCommand() and callsCommand()', () => {
  const ran: [string, string][] = [
    ['cd app && bun run test 2>&1 | tail -5', 'bun run test'],
    ['CI=1 bun run test --bail', 'bun run test'],
    ['go test -tags=it ./cmd/x/it_test/', 'go test -tags=it ./…/it_test/'],
    ['gh pr diff 104 --name-only', 'gh pr diff <number> --name-only'],
    ['gh api repos/a/b --jq .x --paginate', 'gh api … --paginate'],
    ['cd web && bun run lint', 'cd web && bun run lint'],
  ];
  const found = (line: string, command: string) => [
    provesCommand(line, command),
    callsCommand(line, command),
  ];
  test.each(ran)('of %s finds %s', (line, command) => expect(found(line, command)).toEqual([true, true]));
  const others: [string, string][] = [
    ['bun run test:unit', 'bun run test'],
    ['rtk bun run test', 'bun run test'],
    ['echo "bun run test"', 'bun run test'],
    ['grep -r "make deploy" .', 'make deploy'],
    ['echo make deploy', 'make deploy'],
    ["cat <<'EOF'\nmake deploy\nEOF", 'make deploy'],
    ['gh pr diff --name-only', 'gh pr diff <number> --name-only'],
    ['anything at all', '…'],
    ['anything at all', '… all'],
    ['bun run test', ''],
  ];
  test.each(others)('of %s does not find %s', (line, command) =>
    expect(found(line, command)).toEqual([false, false]),
  );

  const RUN = 'npm run test';
  const unproven: [string, string][] = [
    ['npm run test', 'LD_PRELOAD=./evil.so npm run test'],
    ['CI=1 npm run test', 'NODE_ENV=production npm run test'],
    ['npm run test', 'npm run test > src/index.ts'],
    ['npm run test > out', 'npm run test > out'],
    ['npm run test', 'npm run test < /dev/null'],
    ['npm run test', 'npm run test $(make wipedb)'],
    ['npm run test', 'npm run test & make wipedb'],
    ['npm run test', 'npm run test &'],
    ['npm run test; make wipedb', 'npm run test; make wipedb'],
    ['npm run test || make wipedb', 'npm run test || make wipedb'],
    ['npm run test', 'npm run test | sh'],
    ['npm run test | tail -5', 'npm run test | tail'],
    ['npm run test | tail -5', 'npm run test | tail -5 | sh'],
    ['cat x | npm run test', RUN],
    ['npm run test', '! npm run test'],
    ['npm run test', 'time npm run test'],
    ['npm run test', 'export A=1 && npm run test'],
    ['npm run test', 'cd elsewhere && npm run test'],
    ['npm run test', 'cd $HOME/x && npm run test'],
    ['npm run test', 'cd - && npm run test'],
    ['npm run test', 'npm run test # and more'],
    ['npm run test || make wipedb', 'make wipedb'],
    ['npm run test || make wipedb', RUN],
    ['ls # then; make wipedb', 'make wipedb'],
    ['false && make wipedb || true', 'make wipedb'],
    ['false && make wipedb; ls', 'make wipedb'],
    ['false && make wipedb && cd app; ls', 'make wipedb'],
    ['false && make wipedb && export A=1; ls', 'make wipedb'],
    ['cd app || make wipedb', 'make wipedb'],
    ['true || (ls; make wipedb)', 'make wipedb'],
    ['if false; then make wipedb; fi', 'make wipedb'],
    ['for x in $none; do make wipedb; done', 'make wipedb'],
    ['make() { true; }; make wipedb', 'make wipedb'],
    ['exit 0; make wipedb', 'make wipedb'],
    ['! make wipedb', 'make wipedb'],
    ['sleep 1 && make wipedb &', 'make wipedb'],
    ['make wipedb --dry-run', 'make wipedb'],
    ['npm run test; echo done', RUN],
    [`npm run test ${'x '.repeat(1000)}`, RUN],
  ];
  for (const [line, command] of unproven)
    test(`${line.slice(0, 50)} does not prove ${command}`, () =>
      expect(provesCommand(line, command)).toBe(false));
  const proven: [string, string][] = [
    ['CI=1 npm run test', 'CI=1 npm run test'],
    ["CI='1' npm run test", 'CI=1 npm run test'],
    ['npm run build && npm run test', RUN],
    ['npm run build && npm run test', 'npm run build'],
    ['npm run build; npm run test', RUN],
    ['cd app; npm run test', RUN],
    ['export CI=1; npm run test', RUN],
    ['(cd app && npm run test) 2>&1', 'cd app && npm run test'],
    ['cd app && npm run test 2>&1 | tail -5', 'npm run test | tail -5'],
    ['git log -n 5 | cat', 'git log -n 5'],
    ['npm run test # as before', RUN],
    ["git grep 'a; b > c'", "git grep 'a; b > c'"],
  ];
  test.each(proven)('%s proves %s', (line, command) => expect(provesCommand(line, command)).toBe(true));

  test('end with any text', () =>
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => found(text, text).length === 2)));

  test('takes no long time for many placeholders', () => {
    const start = performance.now();
    provesCommand(`a ${'b '.repeat(900)}`, `a ${'… b '.repeat(30)} c`);
    callsCommand(`a ${'b '.repeat(1000)}`, `a ${'… b '.repeat(30)} c`);
    expect(performance.now() - start).toBeLessThan(500);
  });

  test('tellingWord() is one that any such line holds', () => {
    expect(tellingWord('gh pr diff <number> --name-only')).toBe('--name-only');
    expect(tellingWord('… <x>')).toBeUndefined();
  });
});

describe('isCommand()', () => {
  const is = (line: string, command: string) => parseShell(line).some((ran) => isCommand(ran, command));

  test.each([
    ['npm test', 'npm test'],
    ['CI=1 npm test', 'CI=1 npm test'],
    ['cd web && npm test', 'npm test'],
    ['cd web && npm test', 'cd web && npm test'],
    ['npm run x -- a b', 'npm run x -- …'],
    ['gh api "x?n=1"', 'gh api x?n=1'],
  ])('%j is %j', (line, command) => expect(is(line, command)).toBe(true));

  test.each([
    ['npm test -- --bail', 'npm test'],
    ['npm', 'npm test'],
    ['CI=1 npm test', 'npm test'],
    ['npm test', 'CI=1 npm test'],
    ['npm test', 'cd web && npm test'],
    ['npm test --help', 'npm test'],
    ['npm test', 'npm test && npm run lint'],
    ['npm test', '…'],
    ['npm test', ''],
  ])('%j is not %j', (line, command) => expect(is(line, command)).toBe(false));
});

test('mentionsCommand() finds its parts in their order', () => {
  expect(mentionsCommand('Run `npm run x -- a` here.', 'npm run x -- …')).toBe(true);
  expect(mentionsCommand('-- after npm run x', 'npm run x -- …')).toBe(false);
  expect(mentionsCommand('npm test', 'npm run test')).toBe(false);
});
