import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  formatCount,
  formatDuration,
  formatUsd,
  type Stats,
  statsLine,
} from '../../../src/runs/model/stats.ts';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';

const STATS: Stats = {
  runtimeMs: 312_000,
  usage: {
    ...NO_USAGE,
    inputTokens: 10_100,
    outputTokens: 2200,
    costUsd: 0.0412,
    costSource: 'client',
    model: 'made-1',
  },
  sessionKey: 'agent:main:subagent:1',
  sessionId: 's-1',
  transcript: '/home/dev/a  b/turn-1.jsonl',
};

describe('statsLine()', () => {
  test('has the parts of the seed in their order, and the model behind them', () => {
    expect(statsLine(STATS)).toBe(
      'Stats: runtime 5m12s • tokens 12.3k (in 10.1k / out 2.2k) • est $0.04 • sessionKey agent:main:subagent:1 • sessionId s-1 • transcript /home/dev/a  b/turn-1.jsonl • model made-1',
    );
  });

  test('leaves out what is not known, and never says 0 for it', () => {
    expect(statsLine({ ...STATS, runtimeMs: null, usage: NO_USAGE, sessionId: null })).toBe(
      'Stats: runtime n/a • tokens n/a • sessionKey agent:main:subagent:1 • transcript /home/dev/a  b/turn-1.jsonl',
    );
  });

  test('knows no total when one side is missing', () => {
    const line = (usage: Partial<typeof NO_USAGE>) =>
      statsLine({ ...STATS, usage: { ...NO_USAGE, ...usage } });
    expect(line({ inputTokens: 10_100 })).toContain(' • tokens n/a (in 10.1k / out n/a) • ');
    expect(line({ outputTokens: 7 })).toContain(' • tokens n/a (in n/a / out 7) • ');
  });

  test('stays one line whose parts are ours, whatever a client calls its session and model', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (sessionId, model) => {
        const line = statsLine({
          ...STATS,
          sessionId: `${sessionId} • est $0\n${sessionId}`,
          usage: { ...NO_USAGE, model: `${model} • transcript /etc\r\n${model}` },
        });
        expect(line).not.toMatch(/[\n\r\u2028\u2029\u0085\u001b]/);
        expect(line.split(' • ').map((part) => part.split(' ')[0])).toEqual([
          'Stats:',
          'tokens',
          'sessionKey',
          'sessionId',
          'transcript',
          'model',
        ]);
      }),
    );
  });
});

const durations: [ms: number | null, text: string][] = [
  [null, 'n/a'],
  [0, 'n/a'],
  [-5, 'n/a'],
  [Number.NaN, 'n/a'],
  [400, '0s'],
  [500, '1s'],
  [12_000, '12s'],
  [59_499, '59s'],
  [59_500, '1m0s'],
  [312_000, '5m12s'],
  [3_599_600, '1h0m'],
  [3_900_000, '1h5m'],
  [360_000_000, '100h0m'],
];
for (const [ms, text] of durations) {
  test(`formatDuration() of ${ms} ms is ${text}`, () => {
    expect(formatDuration(ms)).toBe(text);
  });
}

const counts: [count: number | null, text: string][] = [
  [null, 'n/a'],
  [Number.POSITIVE_INFINITY, 'n/a'],
  [0, '0'],
  [999, '999'],
  [1000, '1.0k'],
  [12_345, '12.3k'],
  [999_999, '1000.0k'],
  [1_000_000, '1.0m'],
  [12_345_678, '12.3m'],
];
for (const [count, text] of counts) {
  test(`formatCount() of ${count} is ${text}`, () => {
    expect(formatCount(count)).toBe(text);
  });
}

const amounts: [usd: number, text: string][] = [
  [0, '$0.0000'],
  [0.0034, '$0.0034'],
  [0.00999, '$0.0100'],
  [0.01, '$0.01'],
  [12.345, '$12.35'],
];
for (const [usd, text] of amounts) {
  test(`formatUsd() of ${usd} is ${text}`, () => {
    expect(formatUsd(usd)).toBe(text);
  });
}
