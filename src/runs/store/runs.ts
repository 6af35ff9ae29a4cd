import { redactSecrets } from '../../core/redact.ts';
import { type Row, type Sqlite, textIn } from '../../database/sqlite.ts';
import type { AnnounceState } from '../model/announcement.ts';
import { type Part, partKey } from '../model/part.ts';
import type { Run, RunWithMessages, RunWithTurn } from '../model/run.ts';
import { isTerminal, type Usage } from '../model/turn.ts';
import { checkLimits, type SpawnLimits, type SpawnRefusal } from './limits.ts';
import {
  ACTIVE_TURNS,
  assigned,
  type Columns,
  IS_ACTIVE,
  IS_STARTED,
  readRun,
  readTurn,
  readUsage,
  runColumns,
} from './rows.ts';

export type NewRun = Omit<
  Run,
  'number' | 'model' | 'worktree' | 'sessionId' | 'archiveAtMs' | 'archivedAtMs'
> & { readonly model: Pick<Run['model'], 'requested' | 'resolved'> };

export type Insertion =
  | (RunWithTurn & { readonly kind: 'inserted'; readonly warnings: readonly string[] })
  | (RunWithTurn & { readonly kind: 'duplicate' })
  | SpawnRefusal;

/** A run as a list shows it. */
export type RunListing = RunWithMessages & {
  /** The state of its announcement; of several, the one that matters most. */
  readonly delivery: 'none' | AnnounceState;
  /** Of all its turns but the announce steps. A cost is null unless it is known of every turn. */
  readonly usage: Usage;
  /** When something last happened to one of these turns. */
  readonly changedAtMs: number;
};

export type RunFilter = {
  readonly requester?: string | undefined;
  readonly includeArchived?: boolean | undefined;
  /** Also parts of conversations and orchestrations, not only sub-agents. */
  readonly includeParts?: boolean | undefined;
  readonly limit: number;
};

/** What may change of a run. Secrets in warnings are redacted, because they quote clients. */
type RunChanges = Partial<Pick<Run, 'sessionId' | 'warning' | 'worktree' | 'cwd'>> & {
  readonly model?: Partial<Run['model']>;
};

/** Inserts a run with its first turn, which is queued, unless it is a repetition of another call or a limit is reached. */
export function insertRun(run: NewRun, spawnKey: string, limits: SpawnLimits, db: Sqlite): Insertion {
  return db.transaction(() => {
    const same = run.part === null ? sameCall(run, spawnKey, limits, db) : runOfPart(run.part, db);
    if (same !== undefined) return { kind: 'duplicate', ...same };
    const answer = checkLimits(run, limits, db);
    if (answer.kind === 'refused') return answer;
    insertRow(run, spawnKey, db);
    db.run(
      `INSERT INTO turns(run_id, number, kind, state, message, queued_at) VALUES (?, 1, 'task', 'queued', ?, ?)`,
      ...[run.id, run.task, run.createdAtMs],
    );
    return { ...answer, ...knownRun(run.id, db), kind: 'inserted' };
  });
}

/** Which of these sessions of clients are background runs' own. */
export function sessionsOfRuns(ids: readonly string[], db: Sqlite): ReadonlySet<string> {
  const sql = 'SELECT session_id FROM runs WHERE session_id IN (SELECT value FROM json_each(?))';
  return new Set(db.all(sql, JSON.stringify(ids)).map((row) => String(row.session_id)));
}

/**
 * The run of the same call before. A call without a key is repeated only by the same session, since the result goes to
 * that session, and only if the run has not failed or been stopped: then a new try is wanted.
 */
function sameCall(
  { requester, createdAtMs }: NewRun,
  spawnKey: string,
  { dedupeMs, dedupesFailed: isNamed }: SpawnLimits,
  db: Sqlite,
): RunWithTurn | undefined {
  const row = db.get(
    `SELECT id FROM runs WHERE requester = ? AND spawn_key = ? AND created_at > ?
       AND (? = 1 OR requester_session IS ?) ORDER BY created_at DESC LIMIT 1`,
    ...[requester.key, spawnKey, createdAtMs - dedupeMs, isNamed ? 1 : 0, requester.session],
  );
  if (row === undefined) return undefined;
  const known = knownRun(String(row.id), db);
  const { state } = known.turn;
  return isNamed || !isTerminal(state) || state === 'success' ? known : undefined;
}

/** The run for a part. */
export function runOfPart(part: Part, db: Sqlite): RunWithMessages | undefined {
  const row = db.get('SELECT id FROM runs WHERE part = ?', partKey(part));
  return row && getRun(String(row.id), db);
}

/** A run with the turn that it is shown with. */
export function getRun(runId: string, db: Sqlite): RunWithMessages | undefined {
  const run = db.get('SELECT * FROM runs WHERE id = ?', runId);
  const turn = db.get(
    `SELECT *, (SELECT COUNT(*) FROM turns AS sent WHERE sent.run_id = turns.run_id AND ${IS_WAITING}) AS waiting
     FROM turns WHERE run_id = ? AND kind <> 'announce' ORDER BY ${IS_STARTED} DESC, number LIMIT 1`,
    runId,
  );
  return run && turn && { run: readRun(run), turn: readTurn(turn), waiting: Number(turn.waiting) };
}

/** The newest runs first. A fixed number of queries, each by an index. */
export function listRuns(filter: RunFilter, db: Sqlite): RunListing[] {
  const { requester, includeArchived, includeParts, limit } = filter;
  const kept = includeArchived === true ? [] : ['archived_at IS NULL'];
  const meant = includeParts === true ? [] : ['part IS NULL'];
  const [own, values] = requester === undefined ? [[], []] : [['requester = ?'], [requester]];
  const conditions = [...kept, ...meant, ...own].join(' AND ');
  const rows = db.all(
    `SELECT * FROM runs ${conditions && `WHERE ${conditions}`}
     ORDER BY ${requester === undefined ? 'created_at' : 'number'} DESC LIMIT ?`,
    ...[...values, limit],
  );
  const ids = JSON.stringify(rows.map((row) => row.id));
  const byRun = (sql: string) => new Map(db.all(sql, ids).map((row) => [String(row.run_id), row]));
  const turns = byRun(SHOWN_TURNS);
  const sums = byRun(USAGE_SUMS);
  const deliveries = byRun(DELIVERIES);
  return rows.flatMap((row) => {
    const shown = turns.get(String(row.id));
    const sum = sums.get(String(row.id));
    if (shown === undefined) return [];
    const turn = readTurn(shown);
    return {
      run: readRun(row),
      turn,
      waiting: Number(sum?.waiting),
      changedAtMs: Number(sum?.changed_at),
      delivery: (deliveries.get(String(row.id))?.state ?? 'none') as RunListing['delivery'],
      usage: readSums(sum ?? {}, turn.usage.model),
    };
  });
}

/** How many runs of the requester, or of all, are at work or wait, and how many are done and not archived. */
export function countRuns(
  { requester, includeParts }: Omit<RunFilter, 'limit'>,
  db: Sqlite,
): { active: number; done: number } {
  const [ofRequester, values] = requester === undefined ? ['', []] : ['AND requester = ?', [requester]];
  const meant = includeParts === true ? '' : 'AND part IS NULL';
  const count = (sql: string) => Number(db.get(`${sql} ${ofRequester} ${meant}`, ...values)?.n);
  const active = count(`SELECT COUNT(DISTINCT turns.run_id) AS n FROM ${ACTIVE_TURNS}`);
  const kept = count('SELECT COUNT(*) AS n FROM runs WHERE archived_at IS NULL');
  return { active, done: Math.max(0, kept - active) };
}

/** Of all projects: how many runs are active, how many of those only wait, and how many results are not delivered. */
export function countEverywhere(db: Sqlite) {
  const runs = db.get(
    `SELECT COUNT(*) AS active, TOTAL(waits) AS waiting
     FROM (SELECT MIN(state = 'queued') AS waits FROM turns WHERE ${IS_ACTIVE} GROUP BY run_id)`,
  );
  const results = db.get("SELECT COUNT(*) AS n FROM outbox WHERE state IN ('pending', 'leased')");
  return { active: Number(runs?.active), waiting: Number(runs?.waiting), undelivered: Number(results?.n) };
}

/** The runs that are at work in a directory, in the order in which they came; `queued`: also those that only wait. */
export function runsIn(cwd: string, which: 'queued' | 'started', db: Sqlite): Run[] {
  const started = which === 'started' ? "AND turns.state <> 'queued'" : '';
  return db
    .all(
      `SELECT runs.* FROM ${ACTIVE_TURNS} AND runs.cwd = ? ${started}
       GROUP BY runs.id ORDER BY MIN(turns.position)`,
      cwd,
    )
    .map(readRun);
}

/** Stores what became known of a run. */
export function changeRun(runId: string, changes: RunChanges, db: Sqlite): void {
  const { warning } = changes;
  const changed = { ...changes, ...(warning && { warning: redactSecrets(warning) }) };
  const [assignments, values] = assigned(runColumns(changed));
  if (values.length > 0) db.run(`UPDATE runs SET ${assignments} WHERE id = ?`, ...values, runId);
}

function insertRow(run: NewRun, spawnKey: string, db: Sqlite): void {
  const warning = run.warning && redactSecrets(run.warning);
  const instructions = run.instructions && redactSecrets(run.instructions);
  const columns: Columns = { ...runColumns({ ...run, warning, instructions }), spawn_key: spawnKey };
  const names = Object.keys(columns);
  db.run(
    `INSERT INTO runs(number, ${names.join(', ')})
     SELECT COALESCE(MAX(number), 0) + 1, ${names.map(() => '?').join(', ')} FROM runs WHERE requester = ?`,
    ...Object.values(columns),
    run.requester.key,
  );
}

/** Stores what the run is handed of its requester's conversation, in place of what was stored before. Without secrets. */
export function keepHandover(runId: string, text: string, db: Sqlite): void {
  if (text !== '')
    db.run('INSERT OR REPLACE INTO handovers(run_id, text) VALUES (?, ?)', runId, redactSecrets(text));
}

/** What the run was handed; undefined when that was nothing, or the run is archived. */
export function handoverText(runId: string, db: Sqlite): string | undefined {
  return textIn(db.get('SELECT text FROM handovers WHERE run_id = ?', runId)?.text) ?? undefined;
}

function knownRun(runId: string, db: Sqlite): RunWithTurn {
  const known = getRun(runId, db);
  if (known === undefined) throw new Error(`Cannot read run "${runId}": it has no turn`);
  return known;
}

/** A message that waits. */
const IS_WAITING = "kind = 'send' AND state = 'queued'";
const IS_LISTED = 'run_id IN (SELECT value FROM json_each(?))';

/** The task and the turn that is at work, which comes last and wins. */
const SHOWN_TURNS = `SELECT * FROM turns
  WHERE ${IS_LISTED} AND (kind = 'task' OR kind = 'send' AND ${IS_STARTED}) ORDER BY ${IS_STARTED}`;

const USAGE_SUMS = `SELECT run_id, SUM(tokens_in) AS tokens_in, SUM(tokens_out) AS tokens_out,
    SUM(tokens_cache_read) AS tokens_cache_read, SUM(tokens_cache_write) AS tokens_cache_write,
    CASE WHEN SUM(launched_at IS NOT NULL AND cost_usd IS NULL) = 0 THEN SUM(cost_usd) END AS cost_usd,
    MAX(cost_source) AS cost_source, SUM(${IS_WAITING}) AS waiting,
    MAX(COALESCE(ended_at, started_at, queued_at)) AS changed_at
  FROM turns WHERE ${IS_LISTED} AND kind <> 'announce' GROUP BY run_id`;

/** What waits comes before what is settled; then the newest turn counts. */
const DELIVERIES = `SELECT run_id, state, MIN(CASE state WHEN 'pending' THEN -2 WHEN 'leased' THEN -1 ELSE 1.0 / turn END)
  FROM outbox WHERE ${IS_LISTED} GROUP BY run_id`;

/** If one of the costs was computed from prices, the sum counts as computed. */
function readSums(row: Row, model: string | null): Usage {
  const usage = readUsage(row);
  const source = usage.costSource === 'priced' ? 'priced' : 'client';
  return { ...usage, costSource: usage.costUsd === null ? null : source, model };
}
