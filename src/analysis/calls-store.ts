import { isRecord, parseJson, readString } from '../core/guards.ts';
import type { Db } from '../database/connection.ts';
import type { Row, Value } from '../database/sqlite.ts';
import type { Noise } from '../lessons/failure.ts';

/**
 * The calls of the log as a model's analysis needs them: with what was said around them, of every project if need be, and
 * each once. What the rules learn from is read in lessons.ts.
 */

/** A call of a tool, as far as it is analysed. */
export type AnalysedCall = {
  /** The client's id of the call; of one that has none, the event's. */
  readonly id: string;
  readonly ts: string;
  readonly sessionId: string;
  readonly agentId: string | null;
  /** Empty when it belongs to no project. */
  readonly projectPath: string;
  readonly tool: string;
  /** As it was typed; null where earlier versions recorded it, and of tools that are called on a file. */
  readonly line: string | null;
  /** Programs and subcommands. */
  readonly family: string | null;
  /** Relative to the project; empty at its root. */
  readonly directory: string | null;
  readonly remark: string | null;
  readonly file: string | null;
  /** Null when it worked. */
  readonly failure: CallFailure | null;
};

export type CallFailure = {
  /** By which it is recognised again. */
  readonly key: string;
  /** The telling line. */
  readonly said: string;
  readonly raw: string;
  readonly noise: Noise | null;
};

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
    family: text('command'),
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
