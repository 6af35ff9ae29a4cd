import { isRecord, parseJson, readString } from '../core/guards.ts';
import type { Db } from '../database/connection.ts';
import type { Row, Value } from '../database/sqlite.ts';
import type { CallRecord } from '../hooks/decision.ts';
import type { Failure, Noise } from '../lessons/failure.ts';
import { identityIn, identityText, type ProcessIdentity } from '../system/process-identity.ts';

/**
 * What is kept of analyses: a ledger in which each attempt is a row, with its cost or the reason why it failed, and the
 * answers.
 */

/** One attempt. */
export type AnalysisRun = {
  readonly id: number;
  readonly ts: string;
  readonly endedTs: string | null;
  /** `replay`: questions of `proof --replay`, with a budget of their own. */
  readonly trigger: 'command' | 'session-end' | 'replay';
  readonly status: 'running' | 'done' | 'failed';
  readonly reason: string | null;
  readonly project: string;
  readonly days: number;
  readonly cli: string;
  readonly model: string | null;
  readonly promptBytes: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Null: not known, which counts as what was granted. 0 when no client was started. */
  readonly costUsd: number | null;
  readonly suggestionCount: number | null;
};

export type RunRequest = Pick<AnalysisRun, 'ts' | 'trigger' | 'project' | 'days' | 'cli' | 'model'> & {
  /** The process that holds the lock as long as it lives. */
  readonly process: ProcessIdentity;
  readonly projectPath: string;
};

/** When an analysis may start. Dates are ISO times. */
export type RunLimits = {
  /** No other run of this project may have begun since; null: does not count. */
  readonly notSince: string | null;
  /** From when on costs are added up, and how much they may come to. */
  readonly budgetSince: string;
  readonly budgetUsd: number;
  readonly runsMax: number;
  /** The most that this run is granted; without it, all that is left of the budget. */
  readonly grantUsdMax?: number;
};

type RunClaim = { kind: 'claimed'; id: number; grantedUsd: number; budgetLeftUsd: number } | RunRefusal;

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
    const refusal = refusedRun(request, limits, db);
    if (refusal !== undefined) return refusal;
    const budgetLeftUsd = limits.budgetUsd - spentSince(limits.budgetSince, db).spentUsd;
    const grantedUsd = Math.min(limits.grantUsdMax ?? budgetLeftUsd, budgetLeftUsd);
    const { ts, process, trigger, project, projectPath, days, cli, model } = request;
    const id = db.sqlite.run(
      `INSERT INTO analysis_runs(ts, pid, trigger, status, project, project_path, days, cli, model, budget_usd)
       VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?)`,
      ...[ts, identityText(process), trigger, project, projectPath, days, cli, model, grantedUsd],
    ).lastInsertRowid;
    return { kind: 'claimed', id, grantedUsd, budgetLeftUsd };
  });
}

/** Why claimRun() would refuse now; for a caller that has much to do before the claim. */
export function refusedRun(request: RunRequest, limits: RunLimits, db: Db): RunRefusal | undefined {
  const { runs, spentUsd, assumedUsd } = spentSince(limits.budgetSince, db);
  const refuse = (why: RunRefusal['why']): RunRefusal => ({ kind: 'refused', why, spentUsd, assumedUsd });
  if (db.sqlite.get("SELECT 1 FROM analysis_runs WHERE status = 'running'")) return refuse('running');
  const others = "SELECT 1 FROM analysis_runs WHERE project_path = ? AND ts > ? AND trigger <> 'replay'";
  if (limits.notSince !== null && db.sqlite.get(others, request.projectPath, limits.notSince))
    return refuse('too-soon');
  if (limits.budgetUsd - spentUsd < BUDGET_USD_MIN) return refuse('budget');
  return runs >= limits.runsMax ? refuse('runs') : undefined;
}

/** A cost that is not known counts as all that the run was granted. */
function spentSince(since: string, db: Db): { runs: number; spentUsd: number; assumedUsd: number } {
  const row = db.sqlite.get(
    `SELECT COUNT(*) AS runs, COALESCE(SUM(COALESCE(cost_usd, budget_usd)), 0) AS spent,
       COALESCE(SUM(CASE WHEN cost_usd IS NULL THEN budget_usd END), 0) AS assumed
     FROM analysis_runs WHERE ts >= ? AND trigger <> 'replay'`,
    since,
  );
  const [runs = 0, spentUsd = 0, assumedUsd = 0] = [row?.runs, row?.spent, row?.assumed].map(Number);
  return { runs, spentUsd, assumedUsd };
}

/** A run whose process did not live to write how it ended. */
type AbandonedRun = {
  readonly id: number;
  readonly ts: string;
  /** Its client; null when none was written down. */
  readonly process: ProcessIdentity | null;
  /** The process that held the lock; null for an earlier version's, of which nothing is known. */
  readonly owner: ProcessIdentity | null;
};

export type Abandonment = {
  /** A run that began before this ISO time is no longer running, whatever its row says; a replay may take longer. */
  readonly staleBefore: string;
  /** Returns true if this very process has certainly ended. */
  readonly isGone: (process: ProcessIdentity) => boolean;
};

/** The runs that hold the lock and will never release it. */
export function abandonedRuns({ staleBefore, isGone }: Abandonment, db: Db): AbandonedRun[] {
  return db.sqlite
    .all(
      `SELECT id, ts, pid, client_started, ts < ? AND trigger <> 'replay' AS is_stale FROM analysis_runs
       WHERE status = 'running'`,
      staleBefore,
    )
    .flatMap(({ id, ts, pid, client_started: client, is_stale: isStale }) => {
      const owner = identityIn(String(pid));
      if (isStale !== 1 && (owner === null || !isGone(owner))) return [];
      return [{ id: Number(id), ts: String(ts), process: identityIn(String(client)), owner }];
    });
}

/** Releases the lock of an abandoned run. Without a client it has cost nothing. */
export function endAbandonedRun({ id }: Pick<AbandonedRun, 'id'>, now: string, db: Db): void {
  db.sqlite.run(
    `UPDATE analysis_runs SET status = 'failed', reason = 'ended without a word', ended_ts = ?,
       cost_usd = CASE WHEN client_pid IS NULL THEN 0 END WHERE id = ? AND status = 'running'`,
    now,
    id,
  );
}

/** Enters that the run's client was started. */
export function enterClient(id: number, client: ProcessIdentity, db: Db): void {
  // Where the system does not say when a process started, nobody is to end it by its id.
  const started = client.start === '' ? null : identityText(client);
  const sql = 'UPDATE analysis_runs SET client_pid = ?, client_started = ? WHERE id = ?';
  db.sqlite.run(sql, client.pid, started, id);
}

export type RunEnd = Omit<AnalysisRun, keyof RunRequest | 'id' | 'endedTs' | 'status'> &
  Pick<AnalysisRun, 'ts' | 'model'> & { readonly status: 'done' | 'failed' };

/** Enters how a run ended. */
export function endRun(id: number, end: RunEnd, db: Db): void {
  const { ts, status, reason, model, promptBytes, inputTokens, outputTokens, costUsd, suggestionCount } = end;
  db.sqlite.run(
    `UPDATE analysis_runs SET ended_ts = ?, status = ?, reason = ?, model = COALESCE(?, model), prompt_bytes = ?,
       input_tokens = ?, output_tokens = ?, cost_usd = ?, suggestion_count = ? WHERE id = ?`,
    ...[ts, status, reason, model, promptBytes],
    ...[inputTokens, outputTokens, costUsd, suggestionCount, id],
  );
}

/** The newest runs first. */
export function listAnalysisRuns(limit: number, db: Db): AnalysisRun[] {
  const rows = db.sqlite.all(
    `SELECT id, ts, ended_ts AS endedTs, trigger, status, reason, project, days, cli, model,
       prompt_bytes AS promptBytes, input_tokens AS inputTokens, output_tokens AS outputTokens,
       cost_usd AS costUsd, suggestion_count AS suggestionCount FROM analysis_runs ORDER BY id DESC LIMIT ?`,
    limit,
  );
  return rows as AnalysisRun[];
}

/** What was sent, by which a stored answer is found again. */
export type AnalysisKey = {
  /** The project's display name, or `all`. */
  readonly project: string;
  readonly projectPath: string | null;
  readonly days: number;
  /** Of everything that was sent: two projects of one name never have the same. */
  readonly inputHash: string;
};

/** The stored answer to exactly this question, as JSON text. */
export function findAnswer({ project, days, inputHash }: AnalysisKey, db: Db): string | undefined {
  const row = db.sqlite.get(
    'SELECT analysis FROM analysis_cache WHERE project = ? AND days = ? AND input_hash = ?',
    ...[project, days, inputHash],
  );
  return row === undefined ? undefined : String(row.analysis);
}

/** Stores an answer, or makes the stored one the newest again (REQ-AA-002). */
export function saveAnswer(key: AnalysisKey, answer: string, ts: string, db: Db): void {
  db.sqlite.run(
    `INSERT INTO analysis_cache(ts, project, days, input_hash, analysis, project_path) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT(project, days, input_hash) DO UPDATE SET ts = excluded.ts, analysis = excluded.analysis`,
    ...[ts, key.project, key.days, key.inputHash, answer, key.projectPath],
  );
}

/**
 * The calls of the log as a model's analysis needs them: with what was said around them, of every project if need be, and
 * each once. What the rules learn from is read in lessons/store/lesson-log.ts.
 */

/** A call of a tool, as far as it is analysed; without a line where an earlier version recorded it. */
export type AnalysedCall = Omit<CallRecord, 'toolUseId' | 'chars'> & {
  /** The client's id of the call; of one that has none, the event's. */
  readonly id: string;
  readonly ts: string;
  readonly sessionId: string;
  readonly agentId: string | null;
  /** Empty when it belongs to no project. */
  readonly projectPath: string;
  /** Null when it worked. */
  readonly failure: CallFailure | null;
};

export type CallFailure = Failure & { readonly raw: string };

type CallFilter = {
  /** Undefined: of every project. */
  readonly projectPath: string | undefined;
  /** ISO time; calls at or after it. */
  readonly since: string;
  /** The newest so many. */
  readonly limit: number;
};

/** The calls in their order, each once: a continued or forked session has copies of those before. */
export function loadCalls({ projectPath, since, limit }: CallFilter, db: Db): AnalysedCall[] {
  const ofProject = projectPath === undefined ? '' : 'project_path = ? AND';
  const values: Value[] = projectPath === undefined ? [] : [projectPath];
  const rows = db.sqlite.all(
    `SELECT id, type, ts, session_id AS sessionId, project_path AS projectPath, data FROM events
     WHERE ${ofProject} type IN ('tool_use', 'tool_error') AND ts >= ? ORDER BY ts DESC, id DESC LIMIT ?`,
    ...[...values, since, limit],
  );
  const calls = new Map<string, AnalysedCall>();
  for (const row of rows.toReversed()) {
    const call = readCall(row);
    if (call !== undefined && !calls.has(call.id)) calls.set(call.id, call);
  }
  return [...calls.values()];
}

function readCall(row: Row): AnalysedCall | undefined {
  const data = typeof row.data === 'string' ? parseJson(row.data) : undefined;
  if (!isRecord(data)) return undefined;
  const text = (key: string) => readString(data, key) ?? null;
  const key = text('error') ?? '';
  const noise = text('noise') as Noise | null;
  const failed = { key, said: text('said') ?? '', raw: text('errorRaw') ?? key, noise };
  return {
    id: text('toolUseId') ?? `event:${row.id}`,
    ts: String(row.ts),
    sessionId: String(row.sessionId),
    agentId: text('agentId'),
    projectPath: typeof row.projectPath === 'string' ? row.projectPath : '',
    tool: text('tool') ?? '',
    line: text('line'),
    command: text('command'),
    directory: text('directory'),
    remark: text('remark'),
    file: text('file'),
    failure: row.type === 'tool_error' ? failed : null,
  };
}

const LINES_MAX = 5000;

/**
 * The shell commands of a project that hold a text and worked, or failed for another reason than the work itself, newest
 * first: only those whose call has an id, and none that was started and not waited for.
 */
export function shellLines(
  { projectPath, text, outcome }: { projectPath: string; text: string; outcome: 'worked' | 'failed' },
  db: Db,
): { readonly id: string; readonly line: string }[] {
  const rows = db.sqlite.all(
    `SELECT json_extract(data, '$.toolUseId') AS id, json_extract(data, '$.line') AS line FROM events
     WHERE project_path = ? AND type = ? AND json_valid(data)
       AND json_extract(data, '$.tool') IN ('Bash', 'PowerShell') AND json_extract(data, '$.isUnfinished') IS NULL
       AND json_extract(data, '$.noise') IS NULL AND instr(json_extract(data, '$.line'), ?) > 0
     ORDER BY ts DESC, id DESC LIMIT ?`,
    ...[projectPath, outcome === 'worked' ? 'tool_use' : 'tool_error', text, LINES_MAX],
  );
  return rows.flatMap(({ id, line }) =>
    typeof id === 'string' && typeof line === 'string' ? [{ id, line }] : [],
  );
}

/** How many sessions called tools since a time, and how many of the calls failed. */
export function countCalls(since: string, db: Db): { sessions: number; failed: number } {
  if (!db.shape.has('events', 'session_id')) return { sessions: 0, failed: 0 };
  const row = db.sqlite.get(
    `SELECT COUNT(DISTINCT session_id) AS sessions, COUNT(*) FILTER (WHERE type = 'tool_error') AS failed
     FROM events WHERE type IN ('tool_use', 'tool_error') AND ts >= ?`,
    since,
  );
  return { sessions: Number(row?.sessions ?? 0), failed: Number(row?.failed ?? 0) };
}
