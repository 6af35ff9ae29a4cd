import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AgentEvent } from '../../src/clients/client.ts';
import { clientNamed } from '../../src/clients/clients.ts';
import {
  costLine,
  eventSummary,
  eventsJson,
  logEventSummary,
  toIndentedPreview,
  toolLabel,
  toSingleLine,
} from '../../src/conversation/event-lines.ts';
import { NO_USAGE } from '../../src/runs/model/turn.ts';
import { readTurn, recordedTurn } from '../clients/runs-recorded.ts';
import { madeTurn } from '../support/made-run.ts';

const summary = (events: readonly AgentEvent[]) => {
  const { push, digest } = eventSummary('main');
  return { lines: events.flatMap(push), digest: digest(400) };
};
const call = (tool: string, input: Record<string, unknown>, id = 'a') =>
  ({ kind: 'tool-call', id, tool, input }) as const;
const result = (text: string, isError = false, id = 'a') =>
  ({ kind: 'tool-result', id, tool: null, isError, text }) as const;
const said = (text: string, isPiece = false) => ({ kind: 'text', text, isPiece }) as const;

describe('the lines of a turn', () => {
  test('have the forms of the seed', () => {
    const { lines, digest } = summary([
      call('Bash', { command: "/bin/zsh -lc 'memory list'" }),
      result('MEMORY.md  0.1 KB\n2026-02-23'),
      { kind: 'reasoning', text: '**Planning** the\nprocedure' },
      said('프로젝트 구조를\n분석하고'),
      call('Read', { file_path: 'src/a.ts' }, 'b'),
      result('1\tx', false, 'b'),
      call('Bash', { command: 'npm test' }, 'c'),
      result('Exit code 2\nno tests', true, 'c'),
      said('The end.'),
    ]);
    expect(lines).toEqual([
      "[main] cmd: /bin/zsh -lc 'memory list'",
      "[main] cmd: /bin/zsh -lc 'memory list' → exit 0",
      '  MEMORY.md 0.1 KB\n  2026-02-23',
      '[main] reasoning: Planning the procedure',
      '[main] agent: 프로젝트 구조를 분석하고',
      '[main] tool: Read src/a.ts',
      '[main] cmd: npm test',
      '[main] cmd: npm test → exit 2',
      '  Exit code 2\n  no tests',
    ]);
    expect(digest).toBe("⚡ /bin/zsh -lc 'memory list' → exit 0; 🔧 Read src/a.ts; ⚡ npm test → exit 2");
  });

  test.each(['claude', 'codex', 'gemini', 'opencode'] as const)(
    'of a recorded turn of %s name what was done',
    (name) => {
      const { events } = readTurn(clientNamed(name), recordedTurn(`${name}-work`));
      const { lines, digest } = summary(events);
      expect(lines.some((line) => /^\[main\] cmd: .* → exit (?:\d+|\?)$/.test(line))).toBe(true);
      expect(lines.every((line) => line.startsWith('[main] ') || line.startsWith('  '))).toBe(true);
      expect(digest).toContain('⚡');
    },
  );

  test('say how a command ended as far as its client does, there or elsewhere', () => {
    const one = call('Bash', { command: 'x' });
    const end = (event: AgentEvent, exits?: (id: string) => number | undefined) =>
      logEventSummary('main', event, one, exits)[0]?.split('→ ')[1];
    expect(end({ ...result('', true), code: 3 })).toBe('exit 3');
    expect(end(result('Exit code 4\nx', true))).toBe('exit 4');
    expect(end(result(''), () => 5)).toBe('exit 5');
    expect(end(result(''), () => undefined)).toBe('exit ?');
    expect([end(result('')), end(result('', true))]).toEqual(['exit 0', 'exit ?']);
  });

  test('join the pieces of a message and hold the last one back', () => {
    expect(summary([said('one ', true), said('two', true)]).lines).toEqual([]);
    expect(summary([said('one ', true), said('two', true), { kind: 'warning', text: 'slow' }]).lines).toEqual(
      ['[main] agent: one two', '[main] warning: slow'],
    );
    expect(summary([said('one'), said('two')]).lines).toEqual(['[main] agent: one']);
  });

  test('have no secret, no control character, and nothing that passes for another line', () => {
    const key = `sk-ant-api03-${'a1B2c3D4'.repeat(12)}`;
    const hostile = `\u001b[2Jx ${key}\n[main] cmd: rm\n<system>`;
    const lines = [
      ...logEventSummary('main', call('Bash', { command: hostile })),
      ...logEventSummary('main', result(hostile), call('Bash', { command: 'x' })),
      ...logEventSummary('main', said(hostile)),
    ].join('\n');
    expect(lines).not.toContain(key);
    expect(lines).not.toContain('\u001b');
    expect(lines).not.toContain('<system>');
    expect(lines.split('\n').filter((line) => line.startsWith('[main] '))).toHaveLength(3);
  });

  test('never throw and are of bounded length, whatever the client says', () => {
    const anything = fc.oneof(
      fc.record({
        kind: fc.constant('text' as const),
        text: fc.string({ unit: 'binary' }),
        isPiece: fc.boolean(),
      }),
      fc.record({
        ...{ kind: fc.constant('tool-call' as const), id: fc.constantFrom('a', 'b') },
        ...{ tool: fc.constantFrom('Bash', 'Read', 'web_fetch', '') },
        input: fc.dictionary(fc.constantFrom('command', 'url', 'path'), fc.anything()),
      }),
      fc.record({
        ...{
          kind: fc.constant('tool-result' as const),
          id: fc.constantFrom('a', 'b'),
          tool: fc.constant(null),
        },
        ...{ isError: fc.boolean(), text: fc.string({ unit: 'binary', maxLength: 9000 }) },
      }),
    );
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 20 }), (events) => {
        const { lines, digest } = summary(events);
        for (const line of lines) expect(line.length).toBeLessThan(700);
        expect(digest.length).toBeLessThanOrEqual(400);
      }),
    );
  });
});

describe('labels', () => {
  test.each([
    [call('Bash', { command: 'npm test' }), '⚡ npm test'],
    [call('shell', { command: ['ls', '-l'] }), '⚡ ls -l'],
    [call('web_search', { query: 'weather' }), '🔍 weather'],
    [call('WebFetch', { url: 'https://example.com/a?b' }), '🌐 example.com'],
    [call('web_fetch', { url: 'nonsense' }), '🌐 page'],
    [call('Edit', { file_path: 'a.ts' }), '🔧 Edit a.ts'],
    [call('todo', {}), '🔧 todo'],
  ])('%#: of a call', (one, label) => expect(toolLabel(one)).toBe(label));

  test('texts are cut with a mark, by whole characters', () => {
    expect(toSingleLine('a\n  b', 10)).toBe('a b');
    expect(toSingleLine('👍👍👍', 4)).toBe('👍…');
    expect(toIndentedPreview('one\ntwo\n')).toBe('  one\n  two');
    expect(toIndentedPreview('x'.repeat(300), 5)).toBe('  xxxxx…');
    expect(toIndentedPreview(' \n')).toBe('');
  });

  test('the end of a turn says its cost, tokens and time, as far as they are known', () => {
    const usage = {
      ...NO_USAGE,
      inputTokens: 1_515_404,
      cacheReadTokens: 1_200_000,
      outputTokens: 12_555,
      costUsd: 0.0123,
    };
    const turn = madeTurn({ state: 'success', usage, startedAtMs: 1000, endedAtMs: 5500 });
    expect(costLine(turn)).toBe('✅ $0.0123 · in=1,515,404 (cached=1,200,000) out=12,555 · 4.5s');
    expect(costLine({ ...turn, state: 'error', usage: NO_USAGE, startedAtMs: null })).toBe('❌');
  });
});

describe('an event for a program', () => {
  test('has no secret, and is nothing where it says nothing', () => {
    const key = `sk-ant-api03-${'a1B2c3D4'.repeat(12)}`;
    const events = [
      said(key),
      call('Bash', { command: key }),
      result(key),
      { kind: 'reasoning', text: key } as const,
    ];
    const { push } = eventsJson();
    const shown = events.flatMap(push);
    expect(JSON.stringify(shown)).not.toContain(key);
    expect(shown).toMatchObject([
      { type: 'text' },
      { type: 'tool-call' },
      { type: 'tool-result' },
      { type: 'reasoning' },
    ]);
    expect(push({ kind: 'session', id: 'x', model: null })).toEqual([]);
  });

  test('as JSON have no secret whose pieces are told one after the other, and all that was said, by whole lines', () => {
    const key = `sk-ant-api03-${'a1B2c3D4'.repeat(12)}`;
    const { push, end } = eventsJson();
    const texts = ['one\ntw', `o ${key.slice(0, 20)}`, key.slice(20), '.\nthr', 'ee'].map((text) =>
      said(text, true),
    );
    expect([...texts.flatMap(push), ...end(), ...end()]).toEqual(
      ['one\n', 'two [REDACTED].\n', 'three'].map((text) => ({ type: 'text', text, isPiece: true })),
    );
    expect([...push(said('so far', true)), ...push(result('done'))]).toMatchObject([
      { type: 'text', text: 'so far' },
      { type: 'tool-result' },
    ]);
  });
});
