import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isAssignment, parseShell, programOf, unquoted } from '../../src/lessons/shell.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';

const words = (line: string) => parseShell(line).map((command) => command.words.join(' '));

describe('simple commands', () => {
  const cases: [line: string, commands: string[]][] = [
    ['npm test', ['npm test']],
    ['a && b || c; d & e | f |& g', ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
    ['a\nb\r\nc', ['a', 'b', 'c']],
    ['echo "a && b" \'c | d\' e\\;f', ['echo "a && b" \'c | d\' e\\;f']],
    ['echo "$(date; id)" `id; date` $(a | b)', ['echo "$(date; id)" `id; date` $(a | b)']],
    ['cat <<EOF\na && b\nEOF\nnpm test', ['cat', 'npm test']],
    ["cat <<-'EOF' > out.txt && ls\n\ta; b\n\tEOF\npwd", ['cat', 'ls', 'pwd']],
    ['(cd a && make) && make', ['make', 'make']],
    ['npm test 2>&1 | tail -5 > out.txt', ['npm test', 'tail -5']],
    ['sort < in.txt >> out.txt 2>/dev/null', ['sort']],
    ['npm test # run; everything', ['npm test']],
    ['git log \\\n  --oneline', ['git log --oneline']],
    ['for f in *.ts; do eslint $f; done', ['eslint $f']],
    ['if true; then make; else ninja; fi', ['make', 'ninja']],
    ['export A=b; npm test', ['npm test']],
    ['time ! npm test', ['npm test']],
    ['time -p npm test', ['npm test']],
    ['# npm ci; npm run x\nnpm test', ['npm test']],
    ['npm run a#b', ['npm run a#b']],
    ['{ npm ci; npm test; }', ['npm ci', 'npm test']],
    ['(npm ci; (npm test))', ['npm ci', 'npm test']],
    ['while read a; do echo $a; done; ls', ['echo $a', 'ls']],
    ['case $1 in a) make a;; b) make b;; esac; ls', ['make a', 'make b', 'ls']],
    ['f() { make; }; f', ['make', 'f']],
    ['echo done; echo if', ['echo done', 'echo if']],
    ['diff <(sort a) <(sort b)', ['diff <(sort a) <(sort b)']],
    ['echo "안녕; 하세요" && npm run 빌드', ['echo "안녕; 하세요"', 'npm run 빌드']],
    [
      'Get-ChildItem -Path C:\\src | Select-Object -First 5',
      ['Get-ChildItem -Path C:\\src', 'Select-Object -First 5'],
    ],
    [
      'git commit -m "$(cat <<\'EOF\'\nAdds (a; b)\nEOF\n)" && git push',
      ['git commit -m "$(cat <<\'EOF\'\nAdds (a; b)\nEOF\n)"', 'git push'],
    ],
    ['', []],
    ['   # nothing', []],
  ];
  for (const [line, commands] of cases)
    test(JSON.stringify(line), () => expect(words(line)).toEqual(commands));
});

describe('where they run', () => {
  const cases: [line: string, directories: (string | null)[]][] = [
    ['make', ['']],
    ['cd web && make', ['web']],
    ['cd web && cd src && make; ls', ['web/src', 'web/src']],
    ['cd web/../api && make', ['api']],
    ['(cd web && make); make', ['web', '']],
    ['cd /srv/app && make', ['/srv/app']],
    ['cd "my app" && make', ['my app']],
    ['cd "$DIR" && make', [null]],
    ['cd "$(git rev-parse --show-toplevel)" && make; cd web && ls', [null, null]],
    ['cd - && make; cd /srv && ls', [null, '/srv']],
    ['cd && make', ['~']],
    ['cd -P web && make', ['web']],
    ['cd ../api && make', ['../api']],
    ['cd web && cd ../.. && make', ['..']],
    ['pushd web; make', ['web']],
    ['pushd web && make && popd && make', ['web', '']],
    ['pushd a; pushd b; make; popd; make; popd; make; popd; make', ['a/b', 'a', '', null]],
    ['pushd a; (popd; ls); popd; make', ['', '']],
    ['{ cd web; make; }; make', ['web', 'web']],
    ['if true; then cd web; make; fi; make', ['web', null]],
    ['cd a || cd b; make', [null]],
    ['cd web || exit 1; make', ['web', 'web']],
    ['cd web && make & make', ['web', '']],
    ['cd web | cat; make', ['', '']],
    ['Set-Location -Path web; npm test', ['web']],
  ];
  for (const [line, directories] of cases)
    test(line, () => expect(parseShell(line).map(({ directory }) => directory)).toEqual(directories));
});

describe('what a good end of the line says about its commands', () => {
  const cases: [line: string, certain: string][] = [
    ['a', 'a'],
    ['a && b && c', 'a b c'],
    ['a; b', 'b'],
    ['a\nb\n', 'b'],
    ['a; b && c;', 'b c'],
    ['a | b', 'a b'],
    ['a | b; c', 'c'],
    ['a || b', ''],
    ['a && b || c', ''],
    ['a || b && c', 'c'],
    ['a || b | c', ''],
    ['a &', ''],
    ['a & b', 'b'],
    ['a && b &', ''],
    ['! a', ''],
    ['time a', 'a'],
    ['(a; b) && c', 'b c'],
    ['{ a && b; }; c', 'c'],
    ['{ a; b; } | c', 'b c'],
    ['if x; then a; else b; fi', ''],
    ['for i in 1 2; do a; done && b', 'b'],
    ['while true; do a; done', ''],
    ['f() { a; }; b', 'b'],
    ['f() { a; }', ''],
    [`${'('.repeat(40)}a`, ''],
    ['set -euo pipefail; a; b && c; d', 'a d'],
    ['cd x && a', 'a'],
    ['cd x; a', 'a'],
    ['export A=b; a', 'a'],
    ['a; echo "exit $?"', 'echo'],
    [`${'a; '.repeat(40)}b`, ''],
  ];
  for (const [line, certain] of cases)
    test(line.slice(0, 60), () =>
      expect(
        parseShell(line)
          .filter(({ isCertain }) => isCertain)
          .map(programOf)
          .join(' '),
      ).toBe(certain),
    );
});

test('what ends a command, and what reads a pipe', () => {
  expect(parseShell('a | b && c || d; e').map(({ endedBy, readsPipe }) => [endedBy, readsPipe])).toEqual([
    ['|', false],
    ['&&', true],
    ['||', false],
    [';', false],
    ['', false],
  ]);
});

test('the program has neither path nor ending nor assignments in front', () => {
  const program = (line: string) => programOf(parseShell(line)[0] ?? { words: [] });
  expect(program('A=1 B="2 3" ./node_modules/.bin/tsc -p .')).toBe('tsc');
  expect(program('C:\\tools\\npm.cmd run build')).toBe('npm');
  expect(program("'C:\\tools\\npm.cmd' run build")).toBe('npm');
  expect(program('A=1')).toBe('');
  expect([isAssignment('A=1'), isAssignment('--a=1'), isAssignment('1A=')]).toEqual([true, false, false]);
});

test('quotes are taken off', () => {
  expect(unquoted('a"b c"\'d $e\'\\ f')).toBe('ab cd $e f');
  expect(unquoted('"a \\"b\\" \\$c"')).toBe('a "b" $c');
});

test('any text: ends, throws nothing, and every word stands in it', () => {
  const piece = fc.constantFrom(
    ...'a§cd b§&&§|§;§(§)§"§\'§`§$(§<<EOF§\nEOF\n§<(§\\§#§>§2>&1§ §한글§\n'.split('§'),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(piece).map((all) => all.join('')),
      ),
      (text) => {
        const joined = text.slice(0, 4096).replace(/\\\r?\n/g, ' ');
        for (const command of parseShell(text)) {
          expect(command.words.length).toBeGreaterThan(0);
          for (const word of command.words) expect(joined).toContain(word);
        }
      },
    ),
    { numRuns: 400 },
  );
});

test('long lines are read up to a bound, and at once', () => {
  for (const text of ['$('.repeat(4000), '"$('.repeat(3000), 'a;'.repeat(5000), '<<A '.repeat(3000)]) {
    expect(cpuTimeMs(() => expect(parseShell(text).length).toBeLessThanOrEqual(32))).toBeLessThan(500);
  }
});
