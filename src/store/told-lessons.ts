import { isRecord, parseJson, readString } from '../core/guards.ts';
import { getProjectName } from '../core/project.ts';
import type { Db } from './connection.ts';
import { otherClones } from './repositories.ts';
import type { Row } from './sqlite.ts';

/** What SubagentStart reads of the knowledge base: nothing else of it is loaded there. */

export type StoredLesson = {
  readonly key: string;
  readonly said: string;
  readonly tool: string;
  /** The resolution column. */
  readonly remedy: string;
  /** What the lesson is about: its commands and words. */
  readonly about: string;
  /** It says itself when it helps: a model wrote it so. */
  readonly isWhole: boolean;
  /** A linter's rule in words; undefined for other lessons. */
  readonly rule: string | undefined;
  readonly sessions: number;
  /** The project that taught it, where a person shares it; undefined for what the own repository taught. */
  readonly origin: string | undefined;
};

const LESSONS_MAX = 24;
const SHARED_MAX = 8;
/** A person's word counts as much as what several sessions have shown. */
const PERSONS_SESSIONS = 2;

/**
 * The lessons of a project's repository: what a person wrote first, then the one of the most sessions, then the newest;
 * and behind them what a person shares of other projects. Of one error only the first.
 */
export function readToldLessons(spellings: readonly string[], db: Db): StoredLesson[] {
  const lessons: StoredLesson[] = [];
  if (!db.isOwn) return lessons;
  const [own] = spellings;
  const clones = own === undefined ? [] : otherClones(own, db);
  for (const path of spellings) add(readLessons(path, db), undefined, lessons);
  for (const path of clones) add(readLessons(path, db), undefined, lessons);
  for (const row of readShared(db)) {
    const path = String(row.project_path);
    if (!spellings.includes(path) && !clones.includes(path)) add([row], getProjectName(path), lessons);
  }
  return lessons;
}

const COLUMNS = 'error_normalized, said, resolution, resolved_by, sessions, project_path';

function readLessons(path: string, db: Db): Row[] {
  return db.sqlite.all(
    `SELECT ${COLUMNS} FROM error_kb
       WHERE project_path = ? AND typeof(resolution) = 'text' AND resolved_by IN ('user', 'lesson', 'model')
       ORDER BY resolved_by = 'user' DESC, sessions DESC, last_used DESC LIMIT ?`,
    path,
    LESSONS_MAX,
  );
}

function readShared(db: Db): Row[] {
  const sql = `SELECT ${COLUMNS} FROM error_kb WHERE shared = resolution ORDER BY last_used DESC LIMIT ?`;
  return db.sqlite.all(sql, SHARED_MAX);
}

function add(rows: readonly Row[], origin: string | undefined, lessons: StoredLesson[]): void {
  for (const { error_normalized, said, resolution, resolved_by, sessions } of rows) {
    if (isAmong(String(error_normalized), lessons)) continue;
    const remedy = parseJson(String(resolution));
    const message = isRecord(remedy) && remedy.kind === 'lint' ? readString(remedy, 'message') : undefined;
    const rule = isRecord(remedy) ? (readString(remedy, 'rule') ?? '') : '';
    lessons.push({
      key: String(error_normalized),
      said: String(said ?? error_normalized),
      tool: (isRecord(remedy) ? readString(remedy, 'tool') : undefined) ?? 'Bash',
      remedy: String(resolution),
      about: aboutOf(remedy, String(said ?? '')),
      isWhole: isRecord(remedy) && remedy.kind === 'model',
      rule: message === undefined || message.includes(rule) ? message : `${message} (${rule})`,
      sessions: resolved_by === 'user' ? PERSONS_SESSIONS : Number(sessions),
      origin,
    });
  }
}

function isAmong(key: string, lessons: readonly StoredLesson[]): boolean {
  for (const lesson of lessons) if (lesson.key === key) return true;
  return false;
}

const ABOUT = ['use', 'failing', 'leaveOut', 'summary'];

function aboutOf(remedy: unknown, said: string): string {
  let about = said;
  for (const key of ABOUT) if (isRecord(remedy)) about += ` ${readString(remedy, key) ?? ''}`;
  return about;
}
