import type { ModelPrice } from './settings.ts';
import type { Usage } from './usage.ts';

const TOKENS_PER_PRICE = 1_000_000;

/** The usage with a cost: the client's own where it names one, else by the configured price; unknown stays unknown. */
export function priced(usage: Usage, prices: readonly ModelPrice[]): Usage {
  if (usage.costUsd !== null || usage.model === null) return usage;
  const price = priceOf(usage.model, prices);
  const costUsd = price === undefined ? null : costOf(usage, price);
  return costUsd === null ? usage : { ...usage, costUsd, costSource: 'priced' };
}

function priceOf(model: string, prices: readonly ModelPrice[]): ModelPrice | undefined {
  return (
    prices.find((price) => price.model === model) ??
    prices.find((price) => family(price.model) === family(model))
  );
}

/** Clients put their provider before a model's name, and the day of its release behind it. */
function family(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return name.replace(/-\d{8}$/, '');
}

/** Null unless both counts are known. What a cache held is part of the input, at a price of its own where there is one. */
function costOf(usage: Usage, price: ModelPrice): number | null {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens === null || outputTokens === null) return null;
  const read = Math.min(usage.cacheReadTokens ?? 0, inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, inputTokens - read);
  const sum =
    (inputTokens - read - written) * price.input +
    read * (price.cacheRead ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    outputTokens * price.output;
  return sum / TOKENS_PER_PRICE;
}
