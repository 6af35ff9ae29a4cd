import type { Db } from '../../database/connection.ts';
import { recordIn } from '../../database/sqlite.ts';
import { MAY_BE_TOLD, readToldLessons, type StoredLesson } from './told-lessons.ts';

/** The lessons that show a person soonest what is learned, of all projects: never on a hook's path. */
export type BestLesson = StoredLesson & {
  /** The project's path. */
  readonly project: string;
  /** In how many sessions it was seen to help. */
  readonly helpedIn: number;
};

/** The best of this project, of all when undefined: those that helped in most sessions, what only a linter says last. */
export function bestLessons(projectPath: string | undefined, db: Db): BestLesson[] {
  const rows = db.sqlite.all(
    `SELECT DISTINCT project_path AS path FROM error_kb WHERE ${MAY_BE_TOLD} AND project_path IS NOT NULL`,
  );
  const projects = rows.map(({ path }) => String(path));
  const wanted = projectPath === undefined ? projects : projects.filter((path) => path === projectPath);
  const lessons = wanted.flatMap((project) =>
    readToldLessons([project], db)
      .lessons.filter(({ origin }) => origin === null)
      .map((lesson) => ({ ...lesson, project, helpedIn: helpedIn(lesson.key, project, db) })),
  );
  return lessons.sort((left, right) => rankOf(left) - rankOf(right) || right.helpedIn - left.helpedIn);
}

function helpedIn(key: string, project: string, db: Db): number {
  const sql = 'SELECT evidence FROM error_kb WHERE error_normalized = ? AND project_path = ?';
  const { sessions } = recordIn(db.sqlite.get(sql, key, project)?.evidence);
  return typeof sessions === 'number' ? sessions : 1;
}

const RANKS = { repeated: 0, whole: 1, shortened: 2, lint: 3 } as const;

/** What several sessions have shown, then what can be typed as it stands, then what has parts left out. */
function rankOf({ kind, helpedIn: sessions, remedy }: BestLesson): number {
  if (kind === 'lint') return RANKS.lint;
  if (sessions > 1) return RANKS.repeated;
  const { use, failing } = recordIn(remedy);
  return `${use ?? failing}`.includes('…') ? RANKS.shortened : RANKS.whole;
}
