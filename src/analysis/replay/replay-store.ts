import type { Json } from '../../core/guards.ts';
import { resolutionText } from '../../core/told-texts.ts';
import type { Db } from '../../database/connection.ts';
import { recordIn, textIn } from '../../database/sqlite.ts';
import { sameInClones } from '../../lessons/store/lesson-log.ts';
import type { FailedCommand, Verdict } from './forms.ts';

/** What a replay reads of the log, and what it keeps: each pair of answers, which is asked for once. */

export type ReplayedLesson = {
  readonly said: string;
  readonly resolution: Json;
  readonly evidence: Json;
  /** What solves it, in words. */
  readonly fix: string;
  /** Empty: of no project. */
  readonly projectPath: string;
};

/** The lesson of this number; undefined where there is none, or nothing to tell. */
export function readReplayed(id: number, db: Db): ReplayedLesson | undefined {
  const row = db.sqlite.get(
    `SELECT error_normalized, said, resolution, evidence, project_path FROM error_kb
     WHERE id = ? AND typeof(resolution) = 'text'`,
    id,
  );
  if (row === undefined) return undefined;
  return {
    said: textIn(row.said) ?? String(row.error_normalized),
    resolution: recordIn(row.resolution),
    evidence: recordIn(row.evidence),
    fix: resolutionText(String(row.resolution)),
    projectPath: String(row.project_path),
  };
}

/** A real failure of a shell command. */
export type PastFailure = FailedCommand & {
  readonly callId: string;
  readonly sessionId: string;
  readonly agentId: string | null;
};

const FAILURES_MAX = 500;

/**
 * How often an error failed a shell command for the first time in a session or in one of its sub-agents, newest first, in all clones of the
 * repository: what comes after the first is done by an agent that has just seen it.
 */
export function firstFailures(id: number, db: Db): PastFailure[] {
  const rows = db.sqlite.all(
    `SELECT MIN(e.id), e.session_id AS session, json_extract(e.data, '$.toolUseId') AS call, json_extract(e.data, '$.agentId') AS agent,
       json_extract(e.data, '$.line') AS line, json_extract(e.data, '$.directory') AS directory
     FROM json_each(?) AS one JOIN error_kb AS kb ON kb.id = one.value
     JOIN events AS e ON e.project_path = kb.project_path AND e.type = 'tool_error'
     WHERE CASE WHEN json_valid(e.data) THEN json_extract(e.data, '$.error') END = kb.error_normalized
     GROUP BY session, agent HAVING line IS NOT NULL AND call IS NOT NULL ORDER BY MIN(e.id) DESC LIMIT ?`,
    JSON.stringify(sameInClones(id, db)),
    FAILURES_MAX,
  );
  return rows.map(({ session, call, agent, line, directory }) => ({
    callId: String(call),
    sessionId: String(session),
    agentId: textIn(agent),
    line: String(line),
    directory: textIn(directory) ?? '',
  }));
}

/** Of whom a pair of answers was asked, about which words of a lesson. */
export type ReplayKey = {
  /** Fingerprint of what was told. */
  readonly lesson: string;
  readonly client: string;
  /** Empty: the client's own choice. */
  readonly model: string;
};

/** What was answered without the lesson and with it; null: the answer could not be used. */
export type AnsweredPair = {
  readonly callId: string;
  readonly without: Verdict | null;
  readonly told: Verdict | null;
};

/** The pairs that were answered, in this replay or an earlier one. */
export function answeredPairs({ lesson, client, model }: ReplayKey, db: Db): AnsweredPair[] {
  const sql = `SELECT call, without, told FROM replay_pairs WHERE lesson = ? AND client = ? AND model = ? ORDER BY ts, call`;
  return db.sqlite.all(sql, lesson, client, model).map(({ call, without, told }) => ({
    callId: String(call),
    without: textIn(without) as Verdict | null,
    told: textIn(told) as Verdict | null,
  }));
}

/** Keeps a pair; the first answer to a question stays. */
export function keepPair(
  { lesson, client, model }: ReplayKey,
  { callId, without, told }: AnsweredPair,
  ts: string,
  db: Db,
): void {
  const sql = `INSERT OR IGNORE INTO replay_pairs(lesson, client, model, call, ts, without, told) VALUES (?, ?, ?, ?, ?, ?, ?)`;
  db.sqlite.run(sql, lesson, client, model, callId, ts, without, told);
}
