import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  formatCount,
  formatDuration,
  formatUsd,
  localTime,
  ordinal,
  parseSeconds,
  priced,
  type Stats,
  statsLine,
  timeAgo,
} from '../../../src/runs/model/stats.ts';
import { NO_USAGE, type Usage } from '../../../src/runs/model/turn.ts';
import type { ModelPrice } from '../../../src/settings/run-settings.ts';

const [MINUTE, HOUR] = [60_000, 3_600_000];

test('timeAgo() counts whole seconds, minutes, hours, and days from the second on, and then names the day', () => {
  const now = Date.parse('2026-11-20T12:00:00');
  const passed = [
    -HOUR,
    999,
    1000,
    MINUTE - 1,
    MINUTE,
    HOUR - 1,
    HOUR,
    48 * HOUR - 1,
    48 * HOUR,
    336 * HOUR - 1,
  ];
  expect(passed.map((ms) => timeAgo(now - ms, now)).join()).toBe(
    'just now,just now,1 s ago,59 s ago,1 min ago,59 min ago,1 h ago,47 h ago,2 d ago,13 d ago',
  );
  expect(timeAgo(now - 336 * HOUR, now)).toBe('2026-11-06');
  expect(timeAgo(Number.NaN, now)).toBe('at an unknown time');
});

test('localTime() is the time of the clock of this machine', () => {
  expect(localTime(Date.parse('2026-11-20T09:47:09'))).toBe('2026-11-20 09:47:09');
});

test('parseSeconds() knows seconds, minutes and hours up to a year, and nothing else', () => {
  const good = ['0', '90', ' 90s ', '10m', '2h', '8760h'].map(parseSeconds);
  expect(good).toEqual([0, 90, 90, 600, 7200, 31_536_000]);
  for (const bad of ['8761h', '', '-1', '1.5', '1d', 'm', '9999999999'])
    expect([bad, parseSeconds(bad)]).toEqual([bad, undefined]);
});

test('ordinal() has the endings of English', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 101, 111].map(ordinal).join(' ')).toBe(
    '1st 2nd 3rd 4th 11th 12th 13th 21st 101st 111th',
  );
});

test('formatDuration() rounds to seconds, from an hour on to minutes, and knows no time of nothing', () => {
  expect([null, 0, -5, Number.NaN].map(formatDuration)).toEqual(['n/a', 'n/a', 'n/a', 'n/a']);
  const spans = [400, 500, 12_000, 59_499, 59_500, 312_000, 3_599_600, 3_900_000, 360_000_000];
  expect(spans.map(formatDuration).join()).toBe('0s,1s,12s,59s,1m0s,5m12s,1h0m,1h5m,100h0m');
});

test('formatCount() shortens thousands and millions', () => {
  const counts = [null, Number.POSITIVE_INFINITY, 0, 999, 1000, 12_345, 999_999, 1_000_000, 12_345_678];
  expect(counts.map(formatCount).join()).toBe('n/a,n/a,0,999,1.0k,12.3k,1000.0k,1.0m,12.3m');
});

test('formatUsd() has four digits below a cent', () => {
  const amounts = [0, 0.0034, 0.00999, 0.01, 12.345].map(formatUsd);
  expect(amounts.join()).toBe('$0.0000,$0.0034,$0.0100,$0.01,$12.35');
});

const PRICE: ModelPrice = { model: 'made-1', input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const USAGE: Usage = { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 100_000, model: 'made-1' };

describe('what a turn cost', () => {
  const cached = { cacheReadTokens: 800_000, cacheWriteTokens: 100_000 };
  const uncached = { cacheRead: null, cacheWrite: null };
  const rows: [title: string, usage: Partial<Usage>, price: Partial<ModelPrice>, costUsd: number | null][] = [
    ['reckons input and output', {}, {}, 4.5],
    ['prices what came from a cache as such', cached, {}, 0.3 + 0.24 + 0.375 + 1.5],
    ['prices a cache as input when it has no price', cached, uncached, 4.5],
    ['counts no more from the cache than there was', { cacheReadTokens: 3_000_000 }, {}, 0.3 + 1.5],
    ['knows the model behind a provider', { model: 'Maker/made-1' }, {}, 4.5],
    ['knows the model of a certain day', { model: 'made-1-20260101' }, {}, 4.5],
    ['knows nothing of another model', { model: 'made-10' }, {}, null],
    ['knows nothing without a model', { model: null }, {}, null],
    ['knows nothing when the input is unknown', { inputTokens: null }, {}, null],
    ['knows nothing when the output is unknown', { outputTokens: null }, {}, null],
  ];
  for (const [title, usage, price, costUsd] of rows)
    test(`priced() ${title}`, () => {
      const given = { ...USAGE, ...usage };
      const costSource = costUsd === null ? null : 'priced';
      const prices = [
        { ...PRICE, model: 'another' },
        { ...PRICE, ...price },
      ];
      expect(priced(given, prices)).toEqual({ ...given, costUsd, costSource });
    });

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
  usage: { ...USAGE, inputTokens: 10_100, outputTokens: 2200, costUsd: 0.0412, costSource: 'client' },
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
        const parts = line.split(' • ').map((part) => part.split(' ')[0]);
        expect(parts.join()).toBe('Stats:,tokens,sessionKey,sessionId,transcript,model');
      }),
    );
  });
});
