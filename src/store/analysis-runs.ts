import type { Db } from './connection.ts';
import type { Row } from './sqlite.ts';

/** The ledger of analyses: each attempt is a row, with its cost or the reason why it failed. */
export type AnalysisRun = {
  readonly id: number;
  readonly ts: string;
  readonly endedTs: string | null;
  readonly trigger: 'command' | 'session-end';
  readonly status: 'running' | 'done' | 'failed';
  readonly reason: string | null;
  readonly project: string;
  readonly days: number;
  readonly cli: string;
  readonly model: string | null;
  readonly promptBytes: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Null when the client does not say. */
  readonly costUsd: number | null;
  readonly suggestionCount: number | null;
};

export type RunRequest = {
  readonly ts: string;
  readonly pid: number;
  readonly trigger: AnalysisRun['trigger'];
  readonly project: string;
  readonly projectPath: string;
  readonly days: number;
  readonly cli: string;
  readonly model: string | null;
};

/** When an analysis may start. Dates are ISO times. */
export type RunLimits = {
  /** A run that began before this is no longer running, whatever its row says. */
  readonly staleBefore: string;
  /** No other run of this project may have begun since; null: does not count. */
  readonly notSince: string | null;
  /** From when on costs are added up, and how much they may come to. */
  readonly budgetSince: string;
  readonly budgetUsd: number;
  readonly runsMax: number;
  readonly isAlive: (pid: number) => boolean;
};

export type RunClaim =
  | { readonly kind: 'claimed'; readonly id: number; readonly budgetLeftUsd: number }
  | { readonly kind: 'refused'; readonly why: 'running' | 'too-soon' | 'budget'; readonly spentUsd: number };

/** Enters a run in the ledger, which is also the lock: only one runs at a time. */
export function claimRun(request: RunRequest, limits: RunLimits, db: Db): RunClaim {
  return db.sqlite.transaction(() => {
    endStaleRuns(limits, request.ts, db);
    const spent = db.sqlite.get(
      'SELECT COUNT(*) AS runs, COALESCE(SUM(cost_usd), 0) AS usd FROM analysis_runs WHERE ts >= ?',
      limits.budgetSince,
    );
    const spentUsd = Number(spent?.usd ?? 0);
    const refuse = (why: 'running' | 'too-soon' | 'budget'): RunClaim => ({ kind: 'refused', why, spentUsd });
    if (db.sqlite.get("SELECT 1 FROM analysis_runs WHERE status = 'running'")) return refuse('running');
    const recent =
      limits.notSince !== null &&
      db.sqlite.get(
        'SELECT 1 FROM analysis_runs WHERE project_path = ? AND ts > ?',
        request.projectPath,
        limits.notSince,
      );
    if (recent) return refuse('too-soon');
    if (spentUsd >= limits.budgetUsd || Number(spent?.runs ?? 0) >= limits.runsMax) return refuse('budget');
    const id = db.sqlite.run(
      `INSERT INTO analysis_runs(ts, pid, trigger, status, project, project_path, days, cli, model)
       VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?)`,
      request.ts,
      request.pid,
      request.trigger,
      request.project,
      request.projectPath,
      request.days,
      request.cli,
      request.model,
    ).lastInsertRowid;
    return { kind: 'claimed', id, budgetLeftUsd: limits.budgetUsd - spentUsd };
  });
}

/** A run whose process was killed never wrote how it ended. */
function endStaleRuns({ staleBefore, isAlive }: RunLimits, now: string, db: Db): void {
  for (const { id, ts, pid } of db.sqlite.all(
    "SELECT id, ts, pid FROM analysis_runs WHERE status = 'running'",
  )) {
    if (String(ts) >= staleBefore && isAlive(Number(pid))) continue;
    db.sqlite.run(
      "UPDATE analysis_runs SET status = 'failed', reason = 'ended without a word', ended_ts = ? WHERE id = ?",
      now,
      Number(id),
    );
  }
}

export type RunEnd = {
  readonly ts: string;
  readonly status: 'done' | 'failed';
  readonly reason: string | null;
  readonly model: string | null;
  readonly promptBytes: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  readonly suggestionCount: number | null;
};

/** Enters how a run ended. */
export function endRun(id: number, end: RunEnd, db: Db): void {
  db.sqlite.run(
    `UPDATE analysis_runs SET ended_ts = ?, status = ?, reason = ?, model = COALESCE(?, model), prompt_bytes = ?,
       input_tokens = ?, output_tokens = ?, cost_usd = ?, suggestion_count = ? WHERE id = ?`,
    end.ts,
    end.status,
    end.reason,
    end.model,
    end.promptBytes,
    end.inputTokens,
    end.outputTokens,
    end.costUsd,
    end.suggestionCount,
    id,
  );
}

/** The newest runs first. */
export function listRuns(limit: number, db: Db): AnalysisRun[] {
  return db.sqlite.all('SELECT * FROM analysis_runs ORDER BY id DESC LIMIT ?', limit).map(readRun);
}

function readRun(row: Row): AnalysisRun {
  const number = (value: unknown) => (typeof value === 'number' ? value : null);
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return {
    id: Number(row.id),
    ts: String(row.ts),
    endedTs: text(row.ended_ts),
    trigger: row.trigger === 'session-end' ? 'session-end' : 'command',
    status: row.status === 'running' ? 'running' : row.status === 'done' ? 'done' : 'failed',
    reason: text(row.reason),
    project: String(row.project),
    days: Number(row.days),
    cli: String(row.cli),
    model: text(row.model),
    promptBytes: number(row.prompt_bytes),
    inputTokens: number(row.input_tokens),
    outputTokens: number(row.output_tokens),
    costUsd: number(row.cost_usd),
    suggestionCount: number(row.suggestion_count),
  };
}
