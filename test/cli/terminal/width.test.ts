import { describe, expect, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import { cutToWidth, tableLines, wrapped } from '../../../src/cli/terminal/width.ts';

const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => Bun.stringWidth(line)));

describe('cutToWidth()', () => {
  test('counts wide characters as two, and leaves what fits', () => {
    expect(cutToWidth('한글', 4)).toBe('한글');
    expect(cutToWidth('한글이다', 6)).toBe('한글…');
  });
});

describe('wrapped()', () => {
  test('breaks a line between words, each as far from the left as the line, and no word', () => {
    const text = `short\n  a line of seven words or so\n  ${'x'.repeat(30)} end`;
    const lines = ['short', '  a line of seven', '  words or so', `  ${'x'.repeat(30)}`, '  end'];
    expect(wrapped(text, 20)).toBe(lines.join('\n'));
  });

  test('counts wide characters as two, and colours as nothing', () => {
    expect(widest(wrapped('한글 한글 한글 한글', 10).split('\n'))).toBeLessThanOrEqual(10);
    const bold = pc.createColors(true).bold('1234567890');
    expect(wrapped(bold, 10)).toBe(bold);
  });
});

describe('tableLines()', () => {
  const rows = [
    ['setting', 'value', 'meaning'],
    ['language', '"ko"', 'the language of what agents are told, and of a rather long text beside it'],
    ['한글 설정의 긴 이름', '12', 'of the other'],
  ];

  test('has a line for each row where there is room, with columns at the right', () => {
    const [heading, , last] = tableLines({ rows, right: [1] }, Number.POSITIVE_INFINITY);
    expect(heading).toBe('setting              value  meaning');
    expect(last).toBe('한글 설정의 긴 이름     12  of the other');
  });

  for (const columns of [20, 30, 40, 60, 80]) {
    test(`is not wider than ${columns} columns, and leaves nothing out`, () => {
      const lines = tableLines({ rows }, columns);
      expect(widest(lines)).toBeLessThanOrEqual(columns);
      const letters = (text: string) => [...text.replace(/\s/g, '')].sort().join('');
      if (columns > 30) expect(letters(lines.join(''))).toBe(letters(rows.flat().join('')));
      for (const word of rows.slice(1).flat().join(' ').split(' ')) expect(lines.join(' ')).toContain(word);
    });
  }

  test('makes a block of each row where columns would be too narrow', () => {
    const lines = tableLines(
      {
        rows: [
          ['a', 'b', 'c'],
          ['1', 'two', ''],
          ['3', '4', '5'],
        ].map((row) => [...row, ...row, ...row]),
      },
      12,
    );
    expect(lines.slice(0, 3)).toEqual(['a: 1', 'b: two', 'a: 1']);
    expect(lines).toContain('');
  });

  test('keeps colours in broken cells', () => {
    const coloured = pc.createColors(true).green('one two three four five six seven');
    const lines = tableLines({ rows: [['x', coloured]] }, 20);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.map(stripVTControlCharacters).join(' ')).toContain('one two');
    for (const line of lines) expect(line).toEndWith('\x1b[39m');
  });
});
