import { describe, expect, test } from 'bun:test';
import { priced } from '../../../src/runs/model/stats.ts';
import { NO_USAGE, type Usage } from '../../../src/runs/model/turn.ts';
import type { ModelPrice } from '../../../src/settings/run-settings.ts';

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
