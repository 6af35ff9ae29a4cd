import { type Json, readRecord } from '../core/guards.ts';
import { NO_USAGE, type Usage } from '../runs/model/turn.ts';
import { cutWord } from './reading.ts';

/** What turns use, as the clients count it. */

/** The property when it is a count or an amount, else null. */
export function readAmount(record: Json, key: string): number | null {
  const value = record[key];
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** The sum of what is known of these; null when nothing is. */
export function sum(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((total, amount) => total + amount, 0);
}

const AMOUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const;

function usageBy(amount: (name: (typeof AMOUNTS)[number], index: number) => number | null): Usage {
  const amounts = AMOUNTS.map((name, index) => [name, amount(name, index)]);
  const usage: Usage = { ...NO_USAGE, ...Object.fromEntries(amounts) };
  return priced(usage, usage.costUsd);
}

/** What a record counts, by the client's names for AMOUNTS, in their order; what it has no name for is not known. */
export function usageIn(counts: Json, names: readonly string[]): Usage {
  return usageBy((_amount, index) => (index < names.length ? readAmount(counts, names[index] ?? '') : null));
}

/** The same amounts, where the client counts what comes from its cache and goes to it apart from the input. */
export function withCache(usage: Usage): Usage {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { ...usage, inputTokens: sum([inputTokens, cacheReadTokens, cacheWriteTokens]) };
}

/** The same with what the client says that it cost, if it says that. */
export function priced(usage: Usage, costUsd: number | null): Usage {
  return { ...usage, costUsd, costSource: costUsd === null ? null : 'client' };
}

/** Both together. What only one of them knows is taken from that one; the model is the later one's. */
export function addUsage(earlier: Usage, later: Usage): Usage {
  const both = usageBy((name) => sum([earlier[name], later[name]]));
  return { ...both, costSource: later.costSource ?? earlier.costSource, model: later.model ?? earlier.model };
}

/** The model that wrote most, by the counts of each: the client may ask a small one on the side. */
export function mainModel(counts: Json, outputKey: string): string | null {
  const written = (model: string) => readAmount(readRecord(counts, model), outputKey) ?? 0;
  const [most] = Object.keys(counts).sort((left, right) => written(right) - written(left));
  return most === undefined ? null : cutWord(most);
}

/** What came on top, for a client that counts over the whole session; never less than nothing. */
export function sinceBefore(total: number | null, before: number | null): number | null {
  // Less than before: the client has begun to count anew, so all of it is this turn's.
  if (total === null || before === null || total < before) return total;
  return total - before;
}

/** The same for each amount. */
export function usageSince(before: Usage, total: Usage): Usage {
  return usageBy((name) => sinceBefore(total[name], before[name]));
}
