/** What a question to a model costs, roughly: to be said before it is asked. */

const BYTES_PER_TOKEN = 3.6;
/** USD for a million tokens that are read; an answer costs five times as much. */
const PRICES: readonly (readonly [part: string, usd: number])[] = [
  ['haiku', 1],
  ['sonnet', 3],
  ['opus', 5],
];
const ANSWER_FACTOR = 5;
const PER_MILLION = 1e-6;

/** About how many tokens a text of so many bytes is. */
export function tokensIn(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** In USD, what a model of this name takes for so many tokens read and written; undefined where its price is not known. */
export function estimatedUsd(read: number, written: number, model: string): number | undefined {
  const [, usd] = PRICES.find(([part]) => model.includes(part)) ?? [];
  return usd === undefined ? undefined : (read + written * ANSWER_FACTOR) * usd * PER_MILLION;
}
