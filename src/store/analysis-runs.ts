import type { ProcessIdentity } from '../core/runs/turn.ts';
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
  /** Who holds the lock as long as it lives. */
  readonly process: ProcessIdentity;
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
  /** Whether this very process has certainly ended. */
  readonly isGone: (process: ProcessIdentity) => boolean;
  /** The most that this run is granted; without it, all that is left of the budget. */
  readonly grantUsdMax?: number;
  /** Whether this very process lives. Without it, no client outlives its run. */
  readonly isClientAlive?: (client: ProcessIdentity) => boolean;
};

export type RunClaim =
  | {
      readonly kind: 'claimed';
      readonly id: number;
      readonly grantedUsd: number;
      readonly budgetLeftUsd: number;
    }
  | RunRefusal;

export type RunRefusal = {
  readonly kind: 'refused';
  readonly why: 'running' | 'too-soon' | 'budget' | 'runs';
  readonly spentUsd: number;
  /** The part of it that no client has reported: what runs of unknown cost were granted. */
  readonly assumedUsd: number;
};

/** Less than this buys nothing; sums of equal parts may fall short of the whole by less. */
const BUDGET_USD_MIN = 0.0001;

/** Enters a run in the ledger, which is also the lock: only one runs at a time. */
export function claimRun(request: RunRequest, limits: RunLimits, db: Db): RunClaim {
  return db.sqlite.transaction(() => {
    endStaleRuns(limits, request.ts, db);
    const refusal = refusalOf(request, limits, db);
    if (refusal !== undefined) return refusal;
    const budgetLeftUsd = limits.budgetUsd - spentSince(limits.budgetSince, db).spentUsd;
    const grantedUsd = Math.min(limits.grantUsdMax ?? budgetLeftUsd, budgetLeftUsd);
    const id = db.sqlite.run(
      `INSERT INTO analysis_runs(ts, pid, trigger, status, project, project_path, days, cli, model, budget_usd)
       VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?)`,
      request.ts,
      textOf(request.process),
      request.trigger,
      request.project,
      request.projectPath,
      request.days,
      request.cli,
      request.model,
      grantedUsd,
    ).lastInsertRowid;
    return { kind: 'claimed', id, grantedUsd, budgetLeftUsd };
  });
}

/** Why claimRun() would refuse now, for whoever has much to do before the claim. */
export function refusedRun(request: RunRequest, limits: RunLimits, db: Db): RunRefusal | undefined {
  return db.sqlite.transaction(() => {
    endStaleRuns(limits, request.ts, db);
    return refusalOf(request, limits, db);
  });
}

function refusalOf(request: RunRequest, limits: RunLimits, db: Db): RunRefusal | undefined {
  const { runs, spentUsd, assumedUsd } = spentSince(limits.budgetSince, db);
  const refuse = (why: RunRefusal['why']): RunRefusal => ({ kind: 'refused', why, spentUsd, assumedUsd });
  if (db.sqlite.get("SELECT 1 FROM analysis_runs WHERE status = 'running'")) return refuse('running');
  const recent =
    limits.notSince !== null &&
    db.sqlite.get(
      'SELECT 1 FROM analysis_runs WHERE project_path = ? AND ts > ?',
      request.projectPath,
      limits.notSince,
    );
  if (recent) return refuse('too-soon');
  if (limits.budgetUsd - spentUsd < BUDGET_USD_MIN) return refuse('budget');
  return runs >= limits.runsMax ? refuse('runs') : undefined;
}

/** A cost that is not known counts as all that the run was granted. */
function spentSince(since: string, db: Db): { runs: number; spentUsd: number; assumedUsd: number } {
  const row = db.sqlite.get(
    `SELECT COUNT(*) AS runs, COALESCE(SUM(COALESCE(cost_usd, budget_usd)), 0) AS spent,
       COALESCE(SUM(CASE WHEN cost_usd IS NULL THEN budget_usd END), 0) AS assumed
     FROM analysis_runs WHERE ts >= ?`,
    since,
  );
  return {
    runs: Number(row?.runs ?? 0),
    spentUsd: Number(row?.spent ?? 0),
    assumedUsd: Number(row?.assumed ?? 0),
  };
}

/** The clients that runs which are no longer running may have left behind; where the start is unknown, none. */
export function abandonedClients(limits: RunLimits, db: Db): ProcessIdentity[] {
  return runningRows(db)
    .filter((row) => isStale(row, limits))
    .flatMap((row) => clientOf(row) ?? []);
}

/** A run whose process was killed never wrote how it ended. It goes on as long as its client does. */
function endStaleRuns(limits: RunLimits, now: string, db: Db): void {
  for (const row of runningRows(db)) {
    const client = clientOf(row);
    if (!isStale(row, limits) || (client && limits.isClientAlive?.(client))) continue;
    // Without a client it has cost nothing.
    db.sqlite.run(
      `UPDATE analysis_runs SET status = 'failed', reason = 'ended without a word', ended_ts = ?,
         cost_usd = CASE WHEN client_pid IS NULL THEN 0 END WHERE id = ?`,
      now,
      Number(row.id),
    );
  }
}

function runningRows(db: Db): Row[] {
  return db.sqlite.all(
    "SELECT id, ts, pid, client_pid, client_started FROM analysis_runs WHERE status = 'running'",
  );
}

function isStale(row: Row, { staleBefore, isGone }: RunLimits): boolean {
  const holder = identityIn(String(row.pid));
  return String(row.ts) < staleBefore || (holder !== undefined && isGone(holder));
}

function clientOf({ client_pid: pid, client_started: started }: Row): ProcessIdentity | undefined {
  return typeof started === 'string' ? identityIn(`${pid} ${started}`) : undefined;
}

/** An id alone is that of any later process as well, so its start goes with it. */
function textOf({ pid, ...process }: ProcessIdentity): string {
  return `${pid} ${startedText(process)}`;
}

function startedText({ boot, start }: Omit<ProcessIdentity, 'pid'>): string {
  return `${boot} ${start}`;
}

/** Undefined for an id alone, as earlier versions wrote it: of such a process nothing is known. */
function identityIn(text: string): ProcessIdentity | undefined {
  const [, pid, boot = '', start = ''] = /^(\d+) (\S*) (.*)$/.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), boot, start };
}

/** Enters that the run's client was started. `client` is undefined when it has ended already. */
export function enterClient(id: number, pid: number, client: ProcessIdentity | undefined, db: Db): void {
  // Where the system does not say when a process started, nobody is to end it by its id.
  const started = client === undefined || client.start === '' ? null : startedText(client);
  db.sqlite.run('UPDATE analysis_runs SET client_pid = ?, client_started = ? WHERE id = ?', pid, started, id);
}

export type RunEnd = {
  readonly ts: string;
  readonly status: 'done' | 'failed';
  readonly reason: string | null;
  readonly model: string | null;
  readonly promptBytes: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Null: not known, which counts as what was granted. 0 when no client was started. */
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
