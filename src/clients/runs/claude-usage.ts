import { type Json, readRecord, readString } from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../core/runs/usage.ts';
import { readAmount, sum } from '../answer.ts';
import { addUsage, cutWord, mainModel, sinceBefore } from './reading.ts';

/** What Claude Code says of the tokens and the cost of a turn. */

/** Of a message. Its output is counted at its start, so it is next to nothing; the result knows better. */
export function usageOf(message: Json): Usage {
  const model = readString(message, 'model');
  return {
    ...tokensOf(readRecord(message, 'usage'), MESSAGE_KEYS),
    model: model === undefined ? null : cutWord(model),
  };
}

export type Known = {
  /** By the messages of the turn. */
  readonly said: Usage;
  /** By earlier results of the turn. */
  readonly reported: Usage;
  /** By the turns before, of the same session. */
  readonly before: Usage;
};

/**
 * Of the turn, by its result. What models took since the last result is in a record of its own, by model, those asked on
 * the side included; the client's totals go on over the whole session. Releases without that record say less.
 */
export function turnUsage(result: Json, { said, reported, before }: Known): Usage {
  const byModel = readRecord(result, 'model_usage_since_last_result');
  const models = Object.keys(byModel);
  if (models.length > 0) {
    const parts = models.map((model) => modelUsage(readRecord(byModel, model)));
    const all = addUsage(reported, parts.reduce(addUsage, NO_USAGE));
    return { ...all, model: mainModel(byModel, MODEL_KEYS.output) ?? said.model };
  }
  const costUsd = sinceBefore(readAmount(result, 'total_cost_usd'), before.costUsd);
  const tokens = tokensOf(readRecord(result, 'usage'), MESSAGE_KEYS);
  return {
    // After an error the client may say zero where the messages say more.
    ...((tokens.inputTokens ?? -1) >= (said.inputTokens ?? -1) ? tokens : said),
    costUsd,
    costSource: costUsd === null ? null : 'client',
    model: mainModel(readRecord(result, 'modelUsage'), MODEL_KEYS.output) ?? said.model,
  };
}

const MESSAGE_KEYS = {
  ...{ input: 'input_tokens', output: 'output_tokens' },
  ...{ cacheRead: 'cache_read_input_tokens', cacheWrite: 'cache_creation_input_tokens' },
} as const;

const MODEL_KEYS = {
  ...{ input: 'inputTokens', output: 'outputTokens' },
  ...{ cacheRead: 'cacheReadInputTokens', cacheWrite: 'cacheCreationInputTokens' },
} as const;

function tokensOf(counts: Json, keys: Readonly<Record<keyof typeof MESSAGE_KEYS, string>>): Usage {
  const cacheReadTokens = readAmount(counts, keys.cacheRead);
  const cacheWriteTokens = readAmount(counts, keys.cacheWrite);
  return {
    ...NO_USAGE,
    inputTokens: sum([readAmount(counts, keys.input), cacheReadTokens, cacheWriteTokens]),
    outputTokens: readAmount(counts, keys.output),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

function modelUsage(counts: Json): Usage {
  const costUsd = readAmount(counts, 'costUSD');
  return { ...tokensOf(counts, MODEL_KEYS), costUsd, costSource: costUsd === null ? null : 'client' };
}
