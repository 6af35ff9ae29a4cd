import type { Db } from '../database/connection.ts';
import { numberIn, type Sqlite, textIn } from '../database/sqlite.ts';

/** What the page shows, counted in SQL by the days of this machine's time zone. Each list has a most. */

/** Since when, ISO 8601, and of which paths; undefined: of all. */
export type Window = { readonly since: string; readonly projects: readonly string[] | undefined };

const OF_WINDOW = 'ts >= ?1 AND (?2 IS NULL OR project_path IN (SELECT value FROM json_each(?2)))';
const LOCAL_DAY = "date(ts, 'localtime')";

function valuesOf({ since, projects }: Window): [string, string | null] {
  return [since, projects === undefined ? null : JSON.stringify(projects)];
}

/** A project on a day. `calls`: all of them; of those `wrong` failed by themselves, `other` for what they found, or were ended. */
export type CallsOfDay = {
  readonly day: string;
  readonly project: string;
  readonly calls: number;
  readonly wrong: number;
  readonly other: number;
};

/** Calls and failures by project and day, the oldest first. */
export function callsByDay(window: Window, { sqlite }: Db): CallsOfDay[] {
  // What day a time is takes long to find, so it is found for each quarter of an hour: every time zone is off by some of them.
  const quarters = (type: string, wrong: string) => `SELECT COALESCE(project_path, '') AS project,
      substr(ts, 1, 13) AS hour, substr(ts, 15, 2) / 15 AS quarter, type, COUNT(*) AS calls, ${wrong} AS wrong
    FROM events WHERE type = '${type}' AND ${OF_WINDOW} GROUP BY 1, 2, 3`;
  const isWrong = "CASE WHEN json_valid(data) THEN json_extract(data, '$.noise') END IS NULL";
  const rows = sqlite.all(
    // The calls that worked are most, and are counted in the index alone.
    `SELECT project, date(hour || substr(':00:15:30:45', 1 + 3 * quarter, 3), 'localtime') AS day,
       SUM(calls) AS calls, SUM(wrong) AS wrong, SUM(calls) FILTER (WHERE type = 'tool_error') AS failed
     FROM (${quarters('tool_use', '0')} UNION ALL ${quarters('tool_error', `SUM(${isWrong})`)})
     GROUP BY 1, 2 ORDER BY 2`,
    ...valuesOf(window),
  );
  return rows.map(({ day, project, calls, wrong, failed }) => ({
    ...{ day: String(day), project: String(project), calls: Number(calls), wrong: Number(wrong) },
    other: Number(failed ?? 0) - Number(wrong),
  }));
}

/** A project on a day: how many sub-agents were given something when they started. */
export function givenByDay(window: Window, { sqlite }: Db) {
  const sql = `SELECT ${LOCAL_DAY} AS day, project_path AS project, COUNT(*) AS given
    FROM given_contexts WHERE ${OF_WINDOW} GROUP BY 1, 2 ORDER BY 1`;
  return sqlite
    .all(sql, ...valuesOf(window))
    .map(({ day, project, given }) => ({ day: String(day), project: String(project), given: Number(given) }));
}

/**
 * Tellings and what was held out, by project, day and channel. `back`: at a start, in how many sessions the failure came back
 * afterwards; at a failing call, how many of them did not see the same check pass.
 */
export function tellingsByDay({ since, projects }: Window, { sqlite }: Db) {
  const back = "CASE channel WHEN 0 THEN failed_at IS NOT NULL ELSE ended IS NOT 'passed' END";
  const sql = `SELECT date(ts / 1000, 'unixepoch', 'localtime') AS day, project, channel, SUM(NOT held) AS told,
      SUM(NOT held AND ${back}) AS toldBack, SUM(held) AS heldOut, SUM(held AND ${back}) AS heldBack
    FROM exposures JOIN (
      SELECT id AS grp, COALESCE((SELECT MIN(project_path) FROM repositories WHERE repository = place), place) AS project
      FROM failure_groups) USING (grp)
    WHERE ts >= ?1 AND (?2 IS NULL OR project IN (SELECT value FROM json_each(?2)))
    GROUP BY 1, 2, 3 ORDER BY 1`;
  return sqlite
    .all(sql, Date.parse(since), projects === undefined ? null : JSON.stringify(projects))
    .map((row) => ({
      ...{ day: String(row.day), project: String(row.project) },
      channel: row.channel === 0 ? ('start' as const) : ('failure' as const),
      ...{ told: Number(row.told), toldBack: Number(row.toldBack) },
      ...{ heldOut: Number(row.heldOut), heldBack: Number(row.heldBack) },
    }));
}

/** The errors that happened most in the window, with the days on which they did. `id`: the number for `errors show`; `isWrongCall`: the
 * command or its use was at fault, and not what a check found. */
export function frequentErrors(window: Window, limit: number, { sqlite }: Db) {
  const rows = sqlite.all(
    `WITH failed AS (
       SELECT COALESCE(project_path, '') AS project, json_extract(data, '$.error') AS error, ${LOCAL_DAY} AS day,
         COUNT(*) AS n, MAX(json_extract(data, '$.said')) AS said,
         MAX(json_extract(data, '$.noise') IS NULL) AS wrong
       FROM events WHERE type = 'tool_error' AND json_valid(data) AND ${OF_WINDOW}
         AND COALESCE(json_extract(data, '$.noise'), 'unclear') IN ('finding', 'unclear') GROUP BY 1, 2, 3),
     most AS (
       SELECT project, error, SUM(n) AS n, MAX(said) AS said, MAX(wrong) AS wrong FROM failed WHERE error IS NOT NULL
       GROUP BY project, error ORDER BY SUM(n) DESC, MAX(day) DESC LIMIT ?3)
     SELECT most.project, most.error, COALESCE(known.said, most.said, most.error) AS said, known.id,
       most.wrong, typeof(known.resolution) = 'text' AS solved,
       json_group_array(json_array(failed.day, failed.n)) AS days
     FROM most JOIN failed USING (project, error)
       LEFT JOIN error_kb AS known ON known.error_normalized = most.error AND known.project_path = most.project
     GROUP BY most.project, most.error ORDER BY most.n DESC`,
    ...valuesOf(window),
    limit,
  );
  return rows.map(({ project, said, id, wrong, solved, days }) => ({
    ...{ project: String(project), said: String(said), id: numberIn(id), isSolved: solved === 1 },
    isWrongCall: wrong === 1,
    days: (JSON.parse(String(days)) as [string, number][]).sort(([left], [right]) => (left < right ? -1 : 1)),
  }));
}

/** When the error of each of these lessons happened last, in how many sessions it happened, and what is told, as it is stored. */
export function lessonSources(ids: readonly number[], { sqlite }: Db) {
  const sql =
    'SELECT id, ts, sessions, resolution FROM error_kb WHERE id IN (SELECT value FROM json_each(?))';
  return new Map(
    sqlite.all(sql, JSON.stringify(ids)).map(({ id, ts, sessions, resolution }) => {
      const source = { lastTs: String(ts), sessions: Number(sessions), resolution: textIn(resolution) };
      return [Number(id), source] as const;
    }),
  );
}

/** The name of each project of which something is recorded, by its path. */
export function projectNames({ sqlite }: Db): Map<string, string> {
  const rows = sqlite.all(
    `SELECT path, (SELECT project FROM events WHERE project_path = path LIMIT 1) AS name
     FROM (SELECT project_path AS path FROM events WHERE project_path IS NOT NULL GROUP BY project_path)`,
  );
  return new Map(rows.map(({ path, name }) => [String(path), textIn(name) ?? '']));
}

/** A background run with all its turns. `costUsd`: null unless it is known of every turn; `ms`: at work, null before that. */
export type RunRow = ReturnType<typeof listReportedRuns>[number];

/** The newest runs since a time, parts of conversations and orchestrations too. */
export function listReportedRuns(sinceMs: number, limit: number, db: Sqlite) {
  const rows = db.all(
    `WITH newest AS (SELECT * FROM runs WHERE created_at >= ? ORDER BY created_at DESC LIMIT ?),
     sums AS (
       SELECT run_id, COUNT(*) AS turns, SUM(ended_at - started_at) AS ms, SUM(tokens_in) AS tokens_in,
         SUM(tokens_out) AS tokens_out, MAX(position) AS last,
         CASE WHEN SUM(launched_at IS NOT NULL AND cost_usd IS NULL) = 0 THEN SUM(cost_usd) END AS cost_usd
       FROM turns WHERE run_id IN (SELECT id FROM newest) AND kind <> 'announce' GROUP BY run_id)
     SELECT newest.number, newest.label, newest.client, newest.requester_cwd AS cwd, newest.created_at,
       COALESCE(newest.model_observed, newest.model_resolved) AS model, newest.part IS NOT NULL AS is_part,
       sums.*, turns.state
     FROM newest JOIN sums ON sums.run_id = newest.id JOIN turns ON turns.position = sums.last
     ORDER BY newest.created_at DESC`,
    ...[sinceMs, limit],
  );
  return rows.map((row) => ({
    ...{ number: Number(row.number), label: textIn(row.label), client: String(row.client) },
    ...{ cwd: String(row.cwd), ts: new Date(Number(row.created_at)).toISOString(), model: textIn(row.model) },
    ...{ isPart: row.is_part === 1, state: String(row.state), turns: Number(row.turns) },
    ...{ ms: numberIn(row.ms), costUsd: numberIn(row.cost_usd) },
    tokens: row.tokens_in === null ? null : Number(row.tokens_in) + Number(row.tokens_out),
  }));
}
