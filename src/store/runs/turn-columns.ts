import type { ProcessIdentity, Stop } from '../../core/runs/turn.ts';
import type { Usage } from '../../core/runs/usage.ts';
import type { Value } from '../sqlite.ts';

/** Columns of `turns` and their new values. */
export type Columns = Record<string, Value>;

/** The columns of a stop. */
export function stopColumns(stop: Stop | null): Columns {
  return { stop_reason: stop?.reason ?? null, stop_by: stop?.by ?? null, stop_at: stop?.atMs ?? null };
}

/** The columns of a process; the client's have no prefix. */
export function identityColumns(prefix: 'owner_' | '', identity: ProcessIdentity | null): Columns {
  return {
    [`${prefix}pid`]: identity?.pid ?? null,
    [`${prefix || 'pid_'}start`]: identity?.start ?? null,
    [`${prefix || 'pid_'}boot`]: identity?.boot ?? null,
  };
}

/** The columns of what a turn took. */
export function usageColumns(usage: Usage): Columns {
  return {
    tokens_in: usage.inputTokens,
    tokens_out: usage.outputTokens,
    tokens_cache_read: usage.cacheReadTokens,
    tokens_cache_write: usage.cacheWriteTokens,
    cost_usd: usage.costUsd,
    cost_source: usage.costSource,
    model: usage.model,
  };
}
