import { describe, expect, test } from 'bun:test';
import { isWholeFile, resolvedPath } from '../../src/prune/files.ts';
import { call } from './history.ts';

describe('a reading shows the whole file', () => {
  const opencode = (lines: string, end: string) =>
    `<path>/p/a.ts</path>\n<type>file</type>\n<content>\n${lines}\n\n${end}\n</content>`;
  const whole = '(End of file - total 2 lines)';
  const gemini =
    '\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-2 of 9 total lines.\n';
  const rows: [string, boolean, string, object, string][] = [
    ['OpenCode to its end', true, 'read', {}, opencode('1: a\n2: b', whole)],
    [
      'OpenCode to its end with a reminder behind it',
      true,
      'read',
      {},
      `${opencode('1: a', whole)}\n\nx\n</content>`,
    ],
    ['OpenCode to its end, with a limit beyond it', true, 'read', { limit: 90 }, opencode('1: a', whole)],
    [
      'OpenCode in its older form',
      true,
      'read',
      {},
      '<file>\n00001| a\n00002| b\n\n(End of file - total 2 lines)\n</file>',
    ],
    ['OpenCode from the middle', false, 'read', { offset: 2 }, opencode('2: b', whole)],
    [
      'OpenCode to a limit',
      false,
      'read',
      {},
      opencode('1: a', '(Showing lines 1-1 of 2. Use offset=2 to continue.)'),
    ],
    [
      'OpenCode to a size',
      false,
      'read',
      {},
      opencode('1: a', '(Output capped at 50 KB. Showing lines 1-1. Use offset=2 to continue.)'),
    ],
    [
      'OpenCode to a limit, of a file that speaks of ends',
      false,
      'read',
      {},
      opencode(`1: a\n2: ${whole}`, '(Showing lines 1-2 of 9. Use offset=3 to continue.)'),
    ],
    [
      'OpenCode to a limit, with a reminder that speaks of ends',
      false,
      'read',
      {},
      `${opencode('1: a', '(Showing lines 1-1 of 2. Use offset=2 to continue.)')}\n${whole}\n</content>`,
    ],
    [
      'OpenCode with a line that is cut',
      false,
      'read',
      {},
      opencode('1: a... (line truncated to 2000 chars)', whole),
    ],
    ['Claude Code', true, 'Read', {}, '     1→a\n     2→b\n     3→'],
    ['Claude Code with tabs', true, 'Read', {}, '1\ta\n2\tb\n'],
    ['Claude Code with a limit', false, 'Read', { limit: 2 }, '1\ta\n2\tb'],
    ['Claude Code from the middle', false, 'Read', {}, '7\ta\n8\tb'],
    ['Claude Code of a file without changes', false, 'Read', {}, 'File unchanged since last read.'],
    ['Claude Code in part', false, 'Read', {}, '[Truncated: PARTIAL view — 2 of 9]\n1\ta\n2\tb'],
    ['Claude Code to its limit', false, 'Read', {}, `     1→a\n${'x\n'.repeat(1998)}  2000→b`],
    ['Claude Code with a line that is cut', false, 'Read', {}, `     1→${'x'.repeat(2000)}`],
    ['Gemini CLI', true, 'read_file', {}, 'a\nb'],
    ['Gemini CLI in part', false, 'read_file', {}, `${gemini}\n--- FILE CONTENT (truncated) ---\na`],
    ['Gemini CLI from a line', false, 'read_file', { start_line: 2 }, 'b'],
    ['Gemini CLI with a line that is cut', false, 'read_file', {}, 'a... [truncated]'],
    ['Gemini CLI of a picture', false, 'read_file', {}, 'Cannot display content of binary file: a.png'],
    ['another tool', false, 'readfile', {}, 'a'],
  ];
  for (const [what, isWhole, tool, asked, output] of rows)
    test(`${isWhole ? 'by' : 'not by'} ${what}`, () => {
      expect(isWholeFile(call('1', { tool, input: { filePath: '/p/a.ts', ...asked }, output }))).toBe(
        isWhole,
      );
    });
});

test('a file has one name, however it is written', () => {
  const names = ['a.ts', './a.ts', 'b/../a.ts', '/p/x/a.ts', '/p//x/./a.ts', '.\\a.ts'];
  expect([...new Set(names.map((name) => resolvedPath(name, '/p/x')))]).toEqual(['/p/x/a.ts']);
  expect(resolvedPath('src\\a.ts', 'C:\\p')).toBe(resolvedPath('C:/p/src/a.ts', 'C:\\p'));
  expect(resolvedPath('/a.ts', '/p')).not.toBe(resolvedPath('a.ts', '/p'));
});
