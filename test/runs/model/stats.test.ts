import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  formatAge,
  formatCount,
  formatDuration,
  formatUsd,
  ordinal,
  parseSeconds,
  priced,
  type Stats,
  statsLine,
} from '../../../src/runs/model/stats.ts';
import { NO_USAGE, type Usage } from '../../../src/runs/model/turn.ts';
import type { ModelPrice } from '../../../src/settings/run-settings.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const ages: [ms: number, text: string][] = [
  [Number.NaN, 'just now'],
  [-HOUR, 'just now'],
  [MINUTE - 1, 'just now'],
  [MINUTE, '1m ago'],
  [HOUR - 1, '59m ago'],
  [HOUR, '1h ago'],
  [48 * HOUR - 1, '47h ago'],
  [48 * HOUR, '2d ago'],
];
for (const [ms, text] of ages)
  test(`formatAge() of ${ms} ms is ${text}`, () => {
    expect(formatAge(ms)).toBe(text);
  });

const spans: [text: string, seconds: number | undefined][] = [
  ['0', 0],
  ['90', 90],
  [' 90s ', 90],
  ['10m', 600],
  ['2h', 7200],
  ['8760h', 31_536_000],
  ['8761h', undefined],
  ['', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['1d', undefined],
  ['m', undefined],
  ['9999999999', undefined],
];
for (const [text, seconds] of spans)
  test(`parseSeconds() of ${JSON.stringify(text)} is ${seconds}`, () => {
    expect(parseSeconds(text)).toBe(seconds);
  });

test('ordinal() has the endings of English', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 101, 111].map(ordinal).join(' ')).toBe(
    '1st 2nd 3rd 4th 11th 12th 13th 21st 101st 111th',
  );
});

const PRICE: ModelPrice = { model: 'made-1', input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const USAGE: Usage = { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 100_000, model: 'made-1' };

type Case = { readonly title: string; readonly usage?: Partial<Usage>; readonly price?: Partial<ModelPrice> };

function check({ title, usage, price }: Case, costUsd: number | null): void {
  test(`priced() ${title}`, () => {
    const given = { ...USAGE, ...usage };
    const answer = priced(given, [
      { ...PRICE, model: 'another' },
      { ...PRICE, ...price },
    ]);
    expect(answer).toEqual({ ...given, costUsd, costSource: costUsd === null ? null : 'priced' });
  });
}

describe('what a turn cost', () => {
  check({ title: 'reckons input and output' }, 4.5);
  check(
    {
      title: 'prices what came from a cache as such',
      usage: { cacheReadTokens: 800_000, cacheWriteTokens: 100_000 },
    },
    0.3 + 0.24 + 0.375 + 1.5,
  );
  check(
    {
      title: 'prices a cache as input when it has no price',
      usage: { cacheReadTokens: 800_000, cacheWriteTokens: 100_000 },
      price: { cacheRead: null, cacheWrite: null },
    },
    4.5,
  );
  check(
    { title: 'counts no more from the cache than there was', usage: { cacheReadTokens: 3_000_000 } },
    0.3 + 1.5,
  );
  check({ title: 'knows the model behind a provider', usage: { model: 'Maker/made-1' } }, 4.5);
  check({ title: 'knows the model of a certain day', usage: { model: 'made-1-20260101' } }, 4.5);
  check({ title: 'knows nothing of another model', usage: { model: 'made-10' } }, null);
  check({ title: 'knows nothing without a model', usage: { model: null } }, null);
  check({ title: 'knows nothing when the input is unknown', usage: { inputTokens: null } }, null);
  check({ title: 'knows nothing when the output is unknown', usage: { outputTokens: null } }, null);

  test("priced() leaves the client's own cost", () => {
    const own: Usage = { ...USAGE, costUsd: 0, costSource: 'client' };
    expect(priced(own, [PRICE])).toBe(own);
  });

  test('priced() prefers the price of exactly this model', () => {
    const prices = [PRICE, { ...PRICE, model: 'made-1-20260101', input: 0, output: 0 }];
    expect(priced({ ...USAGE, model: 'made-1-20260101' }, prices).costUsd).toBe(0);
  });
});

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
for (const [ms, text] of durations)
  test(`formatDuration() of ${ms} ms is ${text}`, () => {
    expect(formatDuration(ms)).toBe(text);
  });

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
for (const [count, text] of counts)
  test(`formatCount() of ${count} is ${text}`, () => {
    expect(formatCount(count)).toBe(text);
  });

const amounts: [usd: number, text: string][] = [
  [0, '$0.0000'],
  [0.0034, '$0.0034'],
  [0.00999, '$0.0100'],
  [0.01, '$0.01'],
  [12.345, '$12.35'],
];
for (const [usd, text] of amounts)
  test(`formatUsd() of ${usd} is ${text}`, () => {
    expect(formatUsd(usd)).toBe(text);
  });
