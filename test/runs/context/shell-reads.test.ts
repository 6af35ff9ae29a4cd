import { describe, expect, test } from 'bun:test';
import { shellReads } from '../../../src/runs/context/shell-reads.ts';

/** `path`, `path:from-to`, or `path:?` where the lines are not known. */
function shown(command: string, output = ''): string {
  const words = shellReads(command, output).map(({ path, lines }) => {
    if (lines === null) return `${path}:?`;
    return `${path}:${lines.from}-${lines.to ?? ''}`;
  });
  return words.join(' ');
}

describe('a command line has read', () => {
  const rows: [command: string, read: string][] = [
    ['cat a.txt', 'a.txt:1-'],
    ['/bin/cat -n a.txt "b c.txt"', 'a.txt:1- b c.txt:1-'],
    ['nl -ba src/a.ts', 'src/a.ts:1-'],
    ["sed -n '10,20p' src/a.ts", 'src/a.ts:10-20'],
    ["sed -n '7p' src/a.ts", 'src/a.ts:7-7'],
    ["sed -n '7,$p' src/a.ts", 'src/a.ts:7-'],
    ["sed 's/a/b/' src/a.ts", 'src/a.ts:?'],
    ['head src/a.ts', 'src/a.ts:1-10'],
    ['head -n 30 src/a.ts', 'src/a.ts:1-30'],
    ['head -30 src/a.ts', 'src/a.ts:1-30'],
    ['tail -n 5 src/a.ts', 'src/a.ts:?'],
    ['tail -n +5 src/a.ts', 'src/a.ts:5-'],
    ["nl -ba a.ts | sed -n '3,9p'", 'a.ts:3-9'],
    ['cat a.ts | head -n 4', 'a.ts:1-4'],
    ['cat a.ts | grep foo', 'a.ts:?'],
    ["sed -n '10,20p' a.ts | head -n 2", 'a.ts:?'],
    ['cd src && cat a.ts; head -2 ../b.ts', 'src/a.ts:1- src/../b.ts:1-2'],
    ["cat it\\'s.txt", "it's.txt:1-"],
    ['cat src/*.ts $HOME/x `ls`', ''],
    ['ls src; wc -l a.ts; find . -name b.ts; echo c.ts', ''],
    ['rm a.txt', ''],
    ['', ''],
    ['"', ''],
  ];
  for (const [command, read] of rows) {
    test(`${read || 'nothing'}: ${command}`, () => expect(shown(command)).toBe(read));
  }
});

describe('a search has shown the lines that it names', () => {
  const rows: [command: string, output: string, read: string][] = [
    ['rg -n foo', 'src/a.ts:3:foo\nsrc/b.ts:7:foo\n', 'src/a.ts:3-3 src/b.ts:7-7'],
    ['grep -rn foo .', './a.ts:3:foo: 4', './a.ts:3-3'],
    ['git grep -n foo', 'a.ts:3:foo', 'a.ts:3-3'],
    ['grep -n foo a.ts', '3:foo\n12:foo', 'a.ts:3-3 a.ts:12-12'],
    ['rg --heading -n foo', 'src/a.ts\n3:foo\n\nsrc/b.ts\n9:foo', 'src/a.ts:3-3 src/b.ts:9-9'],
    [
      'grep -rnC1 foo .',
      'a-1-b.ts-3-x\na-1.ts-2-one\na-1.ts:3:foo\na-1.ts-4-x: 5:',
      'a-1.ts:2-2 a-1.ts:3-3 a-1.ts:4-4',
    ],
    ['rg -l foo', 'src/a.ts\nsrc/b.ts', ''],
    ['rg foo', 'no line numbers here', ''],
  ];
  for (const [command, output, read] of rows) {
    test(`${read || 'nothing'}: ${command}`, () => expect(shown(command, output)).toBe(read));
  }
});
