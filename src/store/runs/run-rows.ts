import type { ClientName } from '../../core/client-name.ts';
import { parseJson } from '../../core/guards.ts';
import { readPermissions } from '../../core/runs/permissions.ts';
import type {
  ChildSessionKey,
  Run,
  Terminal,
  Thinking,
  Worktree,
  WorktreeMode,
} from '../../core/runs/run.ts';
import type { ToolPolicy } from '../../core/runs/tool-policy.ts';
import type { ProcessIdentity, Stop, StopReason, Turn, TurnKind, TurnState } from '../../core/runs/turn.ts';
import type { Usage } from '../../core/runs/usage.ts';
import { numberIn, type Row, textIn } from '../sqlite.ts';

/** Rows of runs and turns as values. The schema's checks hold, since nobody else writes this database. */

/** As the partial index on turns says it, word for word. */
export const IS_ACTIVE = "state IN ('queued', 'starting', 'running', 'stopping')";

/**
 * The turns that have not ended, with their runs. However many there have been, only these are looked at: the planner
 * would now and then rather go through all runs of a requester. For `FROM`; a condition may follow.
 */
export const ACTIVE_TURNS = `turns INDEXED BY turns_active CROSS JOIN runs ON runs.id = turns.run_id
  WHERE turns.${IS_ACTIVE}`;

/** The run of a row of `runs`. */
export function readRun(row: Row): Run {
  return {
    id: String(row.id),
    number: Number(row.number),
    requester: {
      key: String(row.requester),
      session: textIn(row.requester_session),
      client: textIn(row.requester_client) as ClientName | null,
      cwd: String(row.requester_cwd),
    },
    childKey: String(row.child_key) as ChildSessionKey,
    agentId: String(row.agent_id),
    client: String(row.client) as ClientName,
    label: textIn(row.label),
    task: String(row.task),
    model: {
      requested: textIn(row.model_requested),
      resolved: textIn(row.model_resolved),
      observed: textIn(row.model_observed),
    },
    thinking: textIn(row.thinking) as Thinking | null,
    cleanup: row.cleanup === 'delete' ? 'delete' : 'keep',
    runTimeoutMs: Number(row.run_timeout_ms),
    cwd: String(row.cwd),
    worktreeMode: String(row.worktree_mode) as WorktreeMode,
    worktree: json(row.worktree) as Worktree | null,
    policy: json(row.policy) as ToolPolicy,
    permissions: readPermissions(json(row.permissions)),
    gaps: json(row.gaps) as readonly string[],
    agentDir: textIn(row.agent_dir),
    sessionId: textIn(row.session_id),
    warning: textIn(row.warning),
    terminal: json(row.terminal) as Terminal | null,
    archiveAfterMs: Number(row.archive_after_ms),
    createdAtMs: Number(row.created_at),
    archiveAtMs: numberIn(row.archive_at),
    archivedAtMs: numberIn(row.archived_at),
  };
}

/** Who looks after a turn, as a row of `turns` says it. */
export function readWatch(row: Row) {
  return {
    runId: String(row.run_id),
    number: Number(row.number),
    state: String(row.state) as TurnState,
    queuedAtMs: Number(row.queued_at),
    claimedAtMs: numberIn(row.claimed_at),
    owner: readIdentity(row.owner_pid, row.owner_start, row.owner_boot),
    process: readIdentity(row.pid, row.pid_start, row.pid_boot),
    version: Number(row.version),
  };
}

/** The turn of a row of `turns`. */
export function readTurn(row: Row): Turn {
  return {
    ...readWatch(row),
    kind: String(row.kind) as TurnKind,
    announces: numberIn(row.announces),
    message: String(row.message),
    permissions: typeof row.permissions === 'string' ? readPermissions(json(row.permissions)) : null,
    startedAtMs: numberIn(row.started_at),
    endedAtMs: numberIn(row.ended_at),
    deadlineAtMs: numberIn(row.deadline_at),
    stop: readStop(row),
    launchedAtMs: numberIn(row.launched_at),
    usage: readUsage(row),
    result: textIn(row.result),
    error: textIn(row.error),
    notes: json(row.notes) as readonly string[],
    exit:
      row.exit_code === null && row.exit_signal === null
        ? null
        : { code: numberIn(row.exit_code), signal: textIn(row.exit_signal) },
  };
}

/** The usage in a row of `turns`. */
function readUsage(row: Row): Usage {
  return {
    inputTokens: numberIn(row.tokens_in),
    outputTokens: numberIn(row.tokens_out),
    cacheReadTokens: numberIn(row.tokens_cache_read),
    cacheWriteTokens: numberIn(row.tokens_cache_write),
    costUsd: numberIn(row.cost_usd),
    costSource: textIn(row.cost_source) as Usage['costSource'],
    model: textIn(row.model),
  };
}

function readStop(row: Row): Stop | null {
  if (typeof row.stop_reason !== 'string') return null;
  return { reason: row.stop_reason as StopReason, by: String(row.stop_by), atMs: Number(row.stop_at) };
}

function readIdentity(pid: unknown, start: unknown, boot: unknown): ProcessIdentity | null {
  return typeof pid === 'number' ? { pid, start: String(start), boot: String(boot) } : null;
}

function json(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : null;
}
