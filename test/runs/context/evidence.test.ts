import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { clientNamed } from '../../../src/clients/clients.ts';
import {
  evidenceReader,
  markUnverified,
  type SeenFile,
  seenText,
} from '../../../src/runs/context/evidence.ts';
import { readTurn, recordedTurn } from '../../clients/runs-recorded.ts';
import { cpuTimeMs } from '../../support/cpu-time.ts';

const CWD = '/home/dev/app';

type Call = { tool: string; input: Record<string, unknown>; text?: string; isError?: boolean };

function seen(...calls: Call[]): string[] {
  const reader = evidenceReader(CWD);
  for (const [index, { tool, input }] of calls.entries())
    reader.push({ kind: 'tool-call', id: `${index}`, tool, input });
  for (const [index, { tool, text = '', isError = false }] of calls.entries())
    reader.push({ kind: 'tool-result', id: `${index}`, tool, isError, text });
  return reader.files().map((file) => seenText(file, CWD));
}

describe('what a run has read', () => {
  const rows: [title: string, calls: Call[], read: string[]][] = [
    ['Claude Code: a whole file', [{ tool: 'Read', input: { file_path: `${CWD}/a.ts` } }], ['a.ts:1-']],
    [
      'Claude Code: the numbered lines that it was shown',
      [{ tool: 'Read', input: { file_path: `${CWD}/a.ts` }, text: '1\tone\n2\ttwo\n3\t' }],
      ['a.ts:1-3'],
    ],
    [
      'Claude Code: from an offset on',
      [{ tool: 'Read', input: { file_path: `${CWD}/a.ts`, offset: 10, limit: 5 } }],
      ['a.ts:10-14'],
    ],
    [
      'Claude Code: hits of a search, not the files that it only lists',
      [
        { tool: 'Grep', input: { pattern: 'x' }, text: 'src/a.ts:3:x\nsrc/b.ts:9:x' },
        { tool: 'Grep', input: { pattern: 'x' }, text: 'Found 1 file\nsrc/c.ts' },
        { tool: 'Glob', input: { pattern: '*' }, text: 'src/d.ts' },
      ],
      ['src/a.ts:3', 'src/b.ts:9'],
    ],
    [
      'Gemini CLI: the lines that it asked for',
      [{ tool: 'read_file', input: { file_path: 'a.ts', start_line: 3, end_line: 8 } }],
      ['a.ts:3-8'],
    ],
    [
      'OpenCode: the lines that it was shown',
      [
        {
          tool: 'read',
          input: { filePath: `${CWD}/a.ts` },
          text: '<content>\n5: five\n6: six\n\n(End of file)\n</content>',
        },
      ],
      ['a.ts:5-6'],
    ],
    [
      'OpenCode: hits of a search below the path of their file',
      [{ tool: 'grep', input: {}, text: `Found 2 matches\n${CWD}/src/a.ts:\n  Line 4: x\n  Line 9: x` }],
      ['src/a.ts:4,9'],
    ],
    [
      'Codex: what its commands have shown',
      [{ tool: 'Bash', input: { command: "cat a.ts && sed -n '3,4p' b.ts" } }],
      ['a.ts:1-', 'b.ts:3-4'],
    ],
    [
      'Codex: a command as a list of words',
      [{ tool: 'exec_command', input: { cmd: ['cat', 'a.ts'] } }],
      ['a.ts:1-'],
    ],
    [
      'not what a call failed to read',
      [{ tool: 'Read', input: { file_path: '/etc/shadow' }, text: 'denied', isError: true }],
      [],
    ],
    [
      'what touches and overlaps as one range',
      [
        { tool: 'Read', input: { file_path: 'a.ts', offset: 10, limit: 5 } },
        { tool: 'Read', input: { file_path: 'src/../a.ts', offset: 1, limit: 9 } },
        { tool: 'Read', input: { file_path: './a.ts', offset: 30, limit: 1 } },
      ],
      ['a.ts:1-14,30'],
    ],
    [
      'what an exploring agent has read that it asked',
      [
        {
          tool: 'mcp__self-generation__explore',
          input: { query: 'x' },
          text: JSON.stringify({
            result: { artifacts: { filesRead: [{ path: `${CWD}/a.ts`, lines: [{ from: 2, to: null }] }] } },
          }),
        },
      ],
      ['a.ts:2-'],
    ],
    [
      'no lines where some were shown that nobody can name',
      [{ tool: 'Bash', input: { command: "sed -n '1,2p' a.ts; tail -n 3 a.ts" } }],
      ['a.ts'],
    ],
    ['nothing of a call whose result never came', [], []],
  ];
  for (const [title, calls, read] of rows) test(title, () => expect(seen(...calls)).toEqual(read));

  test('an id that another turn uses again stands for the call of that turn', () => {
    const reader = evidenceReader(CWD);
    const read = (path: string) =>
      reader.push({ kind: 'tool-call', id: 'item_0', tool: 'Read', input: { file_path: path } });
    const done = (text: string) =>
      reader.push({ kind: 'tool-result', id: 'item_0', tool: null, isError: false, text });
    read('a.ts');
    done('1\tone');
    done('9\tnine');
    read('b.ts');
    done('2\ttwo');
    expect(reader.files().map((file) => seenText(file, CWD))).toEqual(['a.ts:1', 'b.ts:2']);
  });

  for (const [name, file] of [
    ['claude', 'notes.txt:1-3'],
    ['codex', 'a.txt:1-'],
    ['gemini', 'a.txt:1-'],
    ['opencode', 'notes.txt:1-2'],
  ] as const) {
    test(`in a recorded turn of ${name}, and nothing that was refused`, () => {
      const reader = evidenceReader('/home/dev/project');
      for (const event of readTurn(clientNamed(name), recordedTurn(`${name}-work`)).events)
        if (event.kind === 'tool-call' || event.kind === 'tool-result') reader.push(event);
      expect(reader.files().map((one) => seenText(one, '/home/dev/project'))).toEqual([file]);
    });
  }
});

describe('an answer marks what was never read', () => {
  const READ: SeenFile[] = [
    { path: `${CWD}/src/a.ts`, lines: [{ from: 1, to: 40 }] },
    { path: `${CWD}/src/deep/b.ts`, lines: [{ from: 5, to: null }] },
    { path: `${CWD}/notes.md`, lines: [] },
    { path: `${CWD}/one/c.ts`, lines: [{ from: 1, to: 9 }] },
    { path: `${CWD}/two/c.ts`, lines: [{ from: 30, to: 30 }] },
  ];
  const there = [`${CWD}/src/a.ts`, `${CWD}/src/other.ts`, `${CWD}/Makefile`, `${CWD}/b.ts`];
  const marked = (answer: string) =>
    markUnverified(answer, READ, CWD, (path) => there.find((one) => one === path));

  const kept = [
    'src/a.ts does it',
    '- `src/a.ts:10-20` parses (see /home/dev/app/src/a.ts#L3).',
    './src/a.ts, a.ts:12 and deep/b.ts.',
    '/src/deep/b.ts:7 and .../deep/b.ts:7',
    'notes.md, and c.ts:30 of two files with that name',
    'notes.md:500',
    'Node.js, D3.js, e.g. version 1.2.3, and/or, client/server, console.log() and `process.env`',
    'https://example.com/src/x.ts and user@example.com',
    'src/gone.ts (unverified) is said so already',
    'a/b c: 10-20',
    '',
  ];
  for (const answer of kept) test(`keeps "${answer}"`, () => expect(marked(answer)).toBe(answer));

  const changed: [string, string][] = [
    ['src/other.ts has it.', 'src/other.ts (unverified) has it.'],
    ['see src/made-up.ts.', 'see src/made-up.ts (unverified).'],
    ['`src/made-up.ts:10`', '`src/made-up.ts:10 (unverified)`'],
    ['**gone.ts** (new)', '**gone.ts (unverified)** (new)'],
    ['c.ts:20', 'c.ts:20 (unverified)'],
    ['- gone.yaml: settings', '- gone.yaml (unverified): settings'],
    ['the Makefile', 'the Makefile (unverified)'],
    ['src/a.ts:50-60', 'src/a.ts:50-60 (unverified)'],
    ['deep/b.ts:2', 'deep/b.ts:2 (unverified)'],
    ['b.ts is another file', 'b.ts (unverified) is another file'],
    ['/etc/passwd.bak', '/etc/passwd.bak (unverified)'],
    ['app/[id]/page.tsx', 'app/[id]/page.tsx (unverified)'],
  ];
  for (const [answer, expected] of changed) test(`"${answer}"`, () => expect(marked(answer)).toBe(expected));

  test('leaves the rest of any text as it is, and marks nothing twice', () => {
    const text = fc.array(fc.constantFrom('src/x.ts', ' ', '\n', ':12', '`', 'a', '(', ')', '.', '한', '😀'));
    fc.assert(
      fc.property(text, (parts) => {
        const answer = parts.join('');
        const once = marked(answer);
        expect(once.replaceAll(' (unverified)', '')).toBe(answer);
        expect(marked(once)).toBe(once);
      }),
    );
  });

  test('takes a long answer in no time', () => {
    const answer = `${'a.'.repeat(50_000)} ${'x/'.repeat(50_000)} ${'['.repeat(50_000)}`;
    expect(cpuTimeMs(() => marked(answer))).toBeLessThan(1000);
  });
});
