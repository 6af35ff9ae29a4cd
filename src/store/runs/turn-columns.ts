import { definedOnly } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { Ending, ProcessIdentity, Stop, Turn } from '../../core/runs/turn.ts';
import type { Usage } from '../../core/runs/usage.ts';
import type { Sqlite, Value } from '../sqlite.ts';
import { readTurn } from './run-rows.ts';

/** What may change of a turn, as columns of its row. */

export type TurnChanges = Partial<
  Pick<
    Turn,
    | 'state'
    | 'claimedAtMs'
    | 'startedAtMs'
    | 'deadlineAtMs'
    | 'stop'
    | 'owner'
    | 'launchedAtMs'
    | 'process'
    | 'usage'
    | 'notes'
  >
>;

/** Columns of `turns` and their new values. The names are constants of this program. */
export type Columns = Record<string, Value>;

/** Writes the columns when the turn is still as it was read; undefined when somebody was faster. */
export function writeTurn(turn: Turn, columns: Columns, db: Sqlite): Turn | undefined {
  const assignments = [...Object.keys(columns).map((name) => `${name} = ?`), 'version = version + 1'];
  const row = db.get(
    `UPDATE turns SET ${assignments.join(', ')} WHERE run_id = ? AND number = ? AND version = ? RETURNING *`,
    ...Object.values(columns),
    turn.runId,
    turn.number,
    turn.version,
  );
  return row && readTurn(row);
}

/** The columns of these changes. */
export function columnsOf(changes: TurnChanges): Columns {
  const { stop, owner, process, usage, notes } = changes;
  return definedOnly<Value>({
    state: changes.state,
    claimed_at: changes.claimedAtMs,
    started_at: changes.startedAtMs,
    deadline_at: changes.deadlineAtMs,
    launched_at: changes.launchedAtMs,
    notes: notes && JSON.stringify(notes),
    ...(stop !== undefined && stopColumns(stop)),
    ...(owner !== undefined && identityColumns('owner_', owner)),
    ...(process !== undefined && identityColumns('', process)),
    ...(usage !== undefined && usageColumns(usage)),
  });
}

/** The columns of an end but its state. Where the ending does not know of the usage, what was known before stays. */
export function endingColumns(ending: Ending, before: Usage): Columns {
  const { usage } = ending;
  return {
    ended_at: ending.endedAtMs,
    result: ending.result && redactSecrets(ending.result),
    error: ending.error && redactSecrets(ending.error),
    notes: JSON.stringify(ending.notes.map(redactSecrets)),
    exit_code: ending.exit?.code ?? null,
    exit_signal: ending.exit?.signal ?? null,
    ...usageColumns({
      inputTokens: usage.inputTokens ?? before.inputTokens,
      outputTokens: usage.outputTokens ?? before.outputTokens,
      cacheReadTokens: usage.cacheReadTokens ?? before.cacheReadTokens,
      cacheWriteTokens: usage.cacheWriteTokens ?? before.cacheWriteTokens,
      costUsd: usage.costUsd ?? before.costUsd,
      costSource: usage.costUsd === null ? before.costSource : usage.costSource,
      model: usage.model ?? before.model,
    }),
  };
}

/** The columns of a stop. */
export function stopColumns(stop: Stop | null): Columns {
  return {
    stop_reason: stop?.reason ?? null,
    stop_by: stop?.by ?? null,
    stop_at: stop?.atMs ?? null,
    stop_session: stop?.session ?? null,
  };
}

/** The client's own columns have no prefix. */
function identityColumns(prefix: 'owner_' | '', identity: ProcessIdentity | null): Columns {
  return {
    [`${prefix}pid`]: identity?.pid ?? null,
    [`${prefix || 'pid_'}start`]: identity?.start ?? null,
    [`${prefix || 'pid_'}boot`]: identity?.boot ?? null,
  };
}

function usageColumns(usage: Usage): Columns {
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
