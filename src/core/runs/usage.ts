/** What a turn took. `null`: the client does not say. Input includes what came from a cache, output what was thought. */
export type Usage = {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly costUsd: number | null;
  /** Whether the client named the cost, or it was reckoned from the configured prices. */
  readonly costSource: 'client' | 'priced' | null;
  readonly model: string | null;
};

export const NO_USAGE: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd: null,
  costSource: null,
  model: null,
};
