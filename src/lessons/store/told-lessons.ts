import type { LessonKind } from '../../benefit/model/telling.ts';
import { type Json, readString } from '../../core/guards.ts';
import { inertText } from '../../core/inert-text.ts';
import { getProjectName } from '../../core/project.ts';
import type { Db } from '../../database/connection.ts';
import { type Row, recordIn, textIn } from '../../database/sqlite.ts';
import type { NamesThatDiffer } from '../errors/names-in-errors.ts';

/** What of the knowledge base a project may be told: what its own repository taught, and what a person shares. */

/** A condition on rows of error_kb, with the one value that it takes. */
export type Scope = {
  readonly isOwn: boolean;
  readonly sql: string;
  readonly value: string;
  /** Of the asking project, as its failure groups have it: its repository, else its path. */
  readonly place: string;
};

/** Mostly returns no row; the one additional query that SubagentStart makes. */
const BEYOND = `SELECT project_path AS path, NULL AS id, repository FROM repositories
  WHERE repository = (SELECT repository FROM repositories WHERE project_path = ?)
  UNION ALL SELECT project_path, id, NULL FROM error_kb WHERE shared = resolution LIMIT 64`;

/**
 * What a project with these spellings of its path may be told beyond what stands under them: the paths of other clones of
 * its repository, and the rows that a person shares of other repositories. `place`: the repository, else the path.
 */
function beyondOwn(spellings: readonly string[], db: Db) {
  const clones: string[] = [];
  const shared: number[] = [];
  let place = spellings[0] ?? '';
  for (const { path, id, repository } of db.sqlite.all(BEYOND, place)) {
    if (typeof repository === 'string') place = repository;
    const clone = String(path);
    if (spellings.includes(clone) || clones.includes(clone)) continue;
    if (id === null) clones.push(clone);
    else shared.push(Number(id));
  }
  return { clones, shared, place };
}

const NAME_LENGTH_MAX = 60;

/** The name of a project, by its path in a row, as it may stand in a context. */
const originOf = (projectPath: unknown) => inertText(getProjectName(String(projectPath)), NAME_LENGTH_MAX);

/** What a project may be told, its own first. Without a project its own is what no project has taught. */
export function tellableScopes(projectPath: string | null, db: Db): Scope[] {
  const own = projectPath ?? '';
  const { clones, shared, place } = beyondOwn([own], db);
  const among = 'IN (SELECT value FROM json_each(?))';
  const scopes = [
    { isOwn: true, sql: `project_path ${among}`, value: JSON.stringify([own, ...clones]), place },
  ];
  if (shared.length > 0)
    scopes.push({ isOwn: false, sql: `+id ${among}`, value: JSON.stringify(shared), place });
  return scopes;
}

/** What SubagentStart reads of the knowledge base: nothing else of it is loaded there. */

export type StoredLesson = Readonly<ReturnType<typeof readStored>>;

const LESSONS_MAX = 24;
/** A person's word counts as much as what several sessions have shown. */
const PERSONS_SESSIONS = 2;

/** What a project is told, and its place: the repository, else the path. */
export type StoredLessons = { readonly lessons: StoredLesson[]; readonly place: string };

/**
 * The lessons of a project's repository: what a person wrote first, then the one of the most sessions, then the newest;
 * and what a person shares of other projects. Those that are quiet are not among them.
 */
export function readToldLessons(spellings: readonly string[], db: Db): StoredLessons {
  if (!db.isOwn) return { lessons: [], place: spellings[0] ?? '' };
  const { clones, shared, place } = beyondOwn(spellings, db);
  const lessons: StoredLesson[] = [];
  const read = (which: string, value: string | number) => {
    const columns = 'error_normalized, said, resolution, resolved_by, sessions, project_path, pinned';
    const sql = `SELECT ${columns} FROM error_kb WHERE ${which} LIMIT ?`;
    for (const row of db.sqlite.all(sql, value, LESSONS_MAX)) lessons.push(readStored(row, which === SHARED));
  };
  for (const path of [...spellings, ...clones]) read(OF_PROJECT, path);
  for (const id of shared) read(SHARED, id);
  return { lessons, place };
}

/** Which rows of error_kb say something that agents are told. */
export const MAY_BE_TOLD = "typeof(resolution) = 'text' AND resolved_by IN ('user', 'lesson', 'model')";
const IS_LOUD = 'quiet <= pinned';
const OF_PROJECT = `project_path = ? AND ${MAY_BE_TOLD} AND ${IS_LOUD}
  ORDER BY resolved_by = 'user' DESC, sessions DESC, last_used DESC`;
const SHARED = `id = ? AND ${IS_LOUD}`;

function readStored(row: Row, isShared: boolean) {
  const { error_normalized, said, resolution, resolved_by, sessions, project_path, pinned } = row;
  const remedy = recordIn(resolution);
  const message = remedy.kind === 'lint' ? readString(remedy, 'message') : undefined;
  const rule = readString(remedy, 'rule') ?? '';
  let about = String(said ?? '');
  for (const key of ABOUT) about += ` ${readString(remedy, key) ?? ''}`;
  return {
    key: String(error_normalized),
    said: String(said ?? error_normalized),
    tool: readString(remedy, 'tool') ?? 'Bash',
    /** The resolution column. */
    remedy: String(resolution),
    /** What the lesson is about: its commands and words. */
    about,
    /** It says itself when it helps: a model wrote it so. */
    isWhole: remedy.kind === 'model',
    /** A linter's rule in words; undefined for other lessons. */
    rule: message === undefined || message.includes(rule) ? message : `${message} (${rule})`,
    sessions: resolved_by === 'user' ? PERSONS_SESSIONS : Number(sessions),
    /** The project that taught it, where a person shares it; null for what the own repository taught. */
    origin: isShared ? originOf(project_path) : null,
    kind: kindOf(resolved_by, remedy),
    /** A person wants it told in any case: here, or wherever they share it. */
    isPinned: pinned === 1 || isShared,
  };
}

/** Who wrote a lesson. */
function kindOf(resolvedBy: unknown, remedy: Json): LessonKind {
  if (resolvedBy === 'user' || resolvedBy === 'model') return resolvedBy;
  return remedy.kind === 'lint' ? 'lint' : 'rule';
}

/** What of a remedy is about the work. */
const ABOUT = ['use', 'failing', 'leaveOut', 'summary'];

export type KnownError = Readonly<ReturnType<typeof knownError>> & {
  /** The names in which it differs from the error that was asked about: then it is only alike. */
  readonly differing?: NamesThatDiffer | undefined;
};

/**
 * The resolution that is known for exactly this error, the most used one (RA-402): what this repository has learnt, else
 * what a person shares of another. Undefined when there is none.
 */
export function findResolution(
  normalizedError: string,
  projectPath: string | null,
  db: Db,
): KnownError | undefined {
  if (!db.shape.has('error_kb', 'resolution') || !db.shape.has('error_kb', 'error_normalized'))
    return undefined;
  const scopes = db.isOwn ? tellableScopes(projectPath, db) : [foreignScope(projectPath, db)];
  const most = db.shape.has('error_kb', 'use_count') ? 'use_count' : 'NULL';
  for (const scope of scopes) {
    const row = db.sqlite.get(
      `SELECT *, rowid AS id, ${most} AS use_count FROM error_kb
       WHERE error_normalized = ? AND typeof(resolution) = 'text' AND ${scope.sql} ORDER BY ${most} DESC LIMIT 1`,
      normalizedError,
      scope.value,
    );
    if (row !== undefined) return knownError(row, scope);
  }
  return undefined;
}

/** What an earlier implementation left and nobody has taken over yet may not say of which project it is. */
function foreignScope(projectPath: string | null, db: Db): Scope {
  const sql = db.shape.has('error_kb', 'project_path')
    ? "COALESCE(project_path, '') IN (?, '')"
    : '? IS NOT NULL';
  return { isOwn: true, sql, value: projectPath ?? '', place: projectPath ?? '' };
}

/** A row of error_kb within this scope. */
export function knownError(row: Row, { isOwn, place }: Scope) {
  return {
    id: Number(row.id),
    errorNormalized: String(row.error_normalized),
    /** The telling line as it was printed, when that is known. */
    said: textIn(row.said),
    resolution: String(row.resolution),
    useCount: Number(row.use_count ?? 0),
    /** The project that taught it, where a person shares it; null for the own project's. */
    origin: isOwn ? null : originOf(row.project_path),
    kind: kindOf(row.resolved_by, recordIn(row.resolution)),
    /** A person wants it told in any case: here, or wherever they share it. */
    isPinned: row.pinned === 1 || !isOwn,
    /** Of the asking project: its repository, else its path. */
    place,
  };
}
