import { resolutionText } from '../../core/told-texts.ts';
import type { Db } from '../../database/connection.ts';
import { textIn } from '../../database/sqlite.ts';
import { MAY_BE_TOLD, readToldLessons } from '../../lessons/store/told-lessons.ts';
import { listWithdrawals } from '../../lessons/store/withdrawals.ts';
import { prevention } from '../evidence/prevention.ts';
import { eBh } from '../evidence/several.ts';
import { type LessonState, stateOf } from '../state.ts';

/** The lessons as a person looks at them, and how often they would be needed. */

/**
 * A lesson with where it stands. Counts are of sessions with their sub-agents and forks; where a coin was thrown for it, of those alone:
 * others were told at another time.
 */
export type ListedLesson = {
  /** The number of its error. */
  readonly id: number;
  readonly said: string;
  readonly fix: string;
  readonly project: string;
  readonly state: LessonState;
  readonly reason: string;
  readonly told: number;
  readonly held: number;
  /** Of those, in how many it failed after a start. */
  readonly toldFailed: number;
  readonly heldFailed: number;
  readonly evidence: number;
};

const FALSE_SHARE = 0.05;

/** The lessons of these projects, of all when undefined: those that are told, then those that are withdrawn. */
export function listLessons(projects: readonly string[] | undefined, now: Date, db: Db): ListedLesson[] {
  const rows = db.sqlite.all(
    `SELECT error_kb.id, error_normalized, said, resolution, resolved_by, quiet, pinned, error_kb.project_path AS path,
         COALESCE(repository, error_kb.project_path) AS place
       FROM error_kb LEFT JOIN repositories ON repositories.project_path = error_kb.project_path
     WHERE ${MAY_BE_TOLD} ORDER BY sessions DESC, error_kb.id`,
  );
  const ledger = countsByGroup(db);
  const weekly = failuresPerWeek(now, db);
  const counts = (place: string, key: string) => {
    const { isTossed: _, ...found } = ledger.get(`${place}\n${key}`) ?? NO_COUNTS;
    return found;
  };
  const proven = new Set(
    eBh(
      [...ledger].flatMap(([id, { evidence, isTossed }]) => (isTossed ? [{ id, evidence }] : [])),
      FALSE_SHARE,
    ),
  );
  const told = rows.map((row) => {
    const [key, place, path] = [String(row.error_normalized), String(row.place), String(row.path)];
    const { evidence, ...trees } = counts(place, key);
    const facts = { withdrawnFor: null, isPinned: row.pinned === 1, isPersons: row.resolved_by === 'user' };
    const isProven = proven.has(`${place}\n${key}`);
    const perWeek = weekly.counts.get(`${path}\n${key}`) ?? 0;
    return {
      id: Number(row.id),
      said: textIn(row.said) || key,
      fix: resolutionText(String(row.resolution)),
      project: path,
      ...stateOf({ ...facts, isQuiet: row.quiet === 1, isProven, evidence, perWeek }),
      ...{ ...trees, evidence },
    };
  });
  const withdrawn = listWithdrawals(projects, db).map(
    ({ id, said, resolution, project, reason, detail, place, key }) => ({
      ...{ id, said, project, fix: resolutionText(resolution) },
      ...{ state: 'withdrawn' as const, reason: `${detail} (${reason})`, ...counts(place, key) },
    }),
  );
  return [...told.filter(({ project }) => projects?.includes(project) !== false), ...withdrawn];
}

const NO_COUNTS = { isTossed: false, told: 0, held: 0, toldFailed: 0, heldFailed: 0, evidence: 1 };

/** What the ledger says of each failure group, by place and key. */
function countsByGroup(db: Db): Map<string, typeof NO_COUNTS> {
  const rows = db.sqlite.all(
    `SELECT place, key, held, hold_percent, failed_at, tree FROM exposures
       JOIN failure_groups ON failure_groups.id = grp
     WHERE key IS NOT NULL AND channel = 0 ORDER BY COALESCE(failed_at, exposures.ts), exposures.id`,
  );
  const groups = Map.groupBy(rows, ({ place, key }) => `${place}\n${key}`);
  return new Map(
    [...groups].map(([group, all]) => {
      const tossed = all.filter((row) => Number(row.hold_percent) > 0);
      const isTossed = tossed.length > 0;
      const those = isTossed ? tossed : all;
      const held = those.filter((row) => row.held === 1);
      const failed = those.filter((row) => row.failed_at !== null);
      const heldFailed = failed.filter((row) => row.held === 1).length;
      const events = failed.map((row) => ({ isHeld: row.held === 1, p: Number(row.hold_percent) / 100 }));
      const told = those.length - held.length;
      const toldFailed = failed.length - heldFailed;
      const { evidence } = prevention(events);
      return [group, { isTossed, told, held: held.length, toldFailed, heldFailed, evidence }];
    }),
  );
}

const WEEKS = 4;
const MS_PER_WEEK = 7 * 86_400_000;
/** So many lessons are told at a start. */
const TOLD_AT_START = 3;

export type LessonRate = {
  /** In how many sessions a week something fails that a start would have told of. */
  readonly startPerWeek: number;
  /** And something of which any lesson is known. */
  readonly failurePerWeek: number;
  /** On how many weeks that rests, at most four. */
  readonly weeksSeen: number;
};

/** How often lessons would be needed: failures by group and session of the last 28 days, where an earlier session had it already. */
export function lessonRate(now: Date, db: Db): LessonRate {
  const { counts, weeksSeen } = failuresPerWeek(now, db);
  const paths = [...new Set([...counts.keys()].map((id) => id.slice(0, id.indexOf('\n'))))];
  const atStart = new Set(
    paths.flatMap((path) =>
      readToldLessons([path], db)
        .lessons.slice(0, TOLD_AT_START)
        .map(({ key }) => `${path}\n${key}`),
    ),
  );
  const sum = (ids: Iterable<string>) => [...ids].reduce((all, id) => all + (counts.get(id) ?? 0), 0);
  return { startPerWeek: sum(atStart), failurePerWeek: sum(counts.keys()), weeksSeen };
}

/** In how many sessions a week each told lesson's failure happens, by path and key. */
function failuresPerWeek(now: Date, db: Db): { counts: Map<string, number>; weeksSeen: number } {
  const first = textIn(db.sqlite.get('SELECT MIN(ts) AS ts FROM events')?.ts) || now.toISOString();
  const fromMs = Math.max(Date.parse(first), now.getTime() - WEEKS * MS_PER_WEEK);
  const weeksSeen = (now.getTime() - fromMs) / MS_PER_WEEK;
  // The first session of a failure is the one that it was learnt in.
  const rows = db.sqlite.all(
    `SELECT project_path AS path, error, COUNT(*) FILTER (WHERE failed.ts >= ? AND place > 1) AS sessions FROM (
       SELECT project_path, json_extract(data, '$.error') AS error, MIN(ts) AS ts,
         ROW_NUMBER() OVER (PARTITION BY project_path, json_extract(data, '$.error') ORDER BY MIN(ts)) AS place
       FROM events WHERE type = 'tool_error' AND json_valid(data)
         AND COALESCE(json_extract(data, '$.noise'), 'finding') IN ('finding', 'unclear')
       GROUP BY project_path, error, session_id) AS failed
     JOIN error_kb USING (project_path) WHERE error_normalized = error AND ${MAY_BE_TOLD} GROUP BY project_path, error`,
    new Date(fromMs).toISOString(),
  );
  // Less than a week would say too much of a busy day.
  const weeks = Math.max(1, weeksSeen);
  const counts = new Map(
    rows.map(({ path, error, sessions }) => [`${path}\n${error}`, Number(sessions) / weeks]),
  );
  return { counts, weeksSeen };
}
