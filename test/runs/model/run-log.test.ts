import { describe, expect, test } from 'bun:test';
import type { AgentEvent } from '../../../src/clients/client.ts';
import {
  entryLabel,
  type LogEntry,
  lastEntries,
  logLimit,
  toLogEntries,
} from '../../../src/runs/model/run-log.ts';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';

const EVENTS: readonly AgentEvent[] = [
  { kind: 'session', id: 's', model: 'made-1' },
  { kind: 'user', text: 'do it' },
  { kind: 'text', text: 'I lo', isPiece: true },
  { kind: 'usage', usage: NO_USAGE },
  { kind: 'text', text: 'ok.', isPiece: true },
  { kind: 'tool-call', id: '1', tool: 'exec', input: { command: 'ls' } },
  { kind: 'tool-call', id: '2', tool: 'read', input: {} },
  { kind: 'tool-result', id: '2', tool: null, isError: true, text: 'no such file' },
  { kind: 'tool-result', id: '1', tool: 'exec', isError: false, text: 'a.ts' },
  { kind: 'tool-result', id: '3', tool: null, isError: false, text: '' },
  { kind: 'warning', text: 'mind' },
  { kind: 'text', text: 'whole', isPiece: false },
  { kind: 'text', text: 'next', isPiece: true },
  { kind: 'result', isError: false, text: 'next' },
];

describe('toLogEntries()', () => {
  test('makes entries of what was said and done, a message of its pieces', () => {
    expect(toLogEntries(EVENTS).map((entry) => `${entryLabel(entry)}: ${entry.text}`)).toEqual([
      'User: do it',
      'Assistant: I look.',
      'Tool call exec: {"command":"ls"}',
      'Tool call read: {}',
      'Tool result read (error): no such file',
      'Tool result exec: a.ts',
      'Tool result unknown: ',
      'Assistant: whole',
      'Assistant: next',
    ]);
  });

  test('begins a new message behind a whole one and behind a result', () => {
    const piece = (text: string): AgentEvent => ({ kind: 'text', text, isPiece: true });
    const events: AgentEvent[] = [
      piece('a'),
      { kind: 'text', text: 'b', isPiece: false },
      piece('c'),
      { kind: 'result', isError: false, text: null },
      piece('d'),
    ];
    expect(toLogEntries(events).map(({ text }) => text)).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('lastEntries()', () => {
  /** Twice as many tool entries as messages. */
  const entries: LogEntry[] = Array.from({ length: 300 }, (_, index) => [
    { kind: index % 2 === 0 ? 'user' : 'assistant', text: `said ${index}` } as const,
    { kind: 'tool-call', tool: 'exec', text: '{}' } as const,
    { kind: 'tool-result', tool: 'exec', isError: false, text: 'done' } as const,
  ]).flat();

  for (const [asked, shown] of [
    [undefined, 20],
    [0, 1],
    [1, 1],
    [20, 20],
    [200, 200],
    [500, 200],
  ] as const) {
    for (const withTools of [false, true])
      test(`gives ${shown} entries when ${asked} are asked for, ${withTools ? 'with' : 'without'} tools`, () => {
        const last = lastEntries(entries, { limit: logLimit(asked), withTools });
        expect(last).toHaveLength(shown);
        expect(last.some(({ kind }) => kind === 'tool-call')).toBe(withTools && shown > 1);
        expect(last.at(-1)).toEqual(
          withTools
            ? { kind: 'tool-result', tool: 'exec', isError: false, text: 'done' }
            : { kind: 'assistant', text: 'said 299' },
        );
      });
  }
});
