import { type Json, readRecord, readString, readTexts } from '../../core/guards.ts';
import type { Db } from '../../database/connection.ts';
import { type Row, recordIn, textIn } from '../../database/sqlite.ts';
import { type LessonEvidence, readLessonEvidence } from '../lesson.ts';
import { noteWithdrawal, type WithdrawalNote } from './withdrawals.ts';

/**
 * Lessons that a model wrote, in the row of the error that they are about. Beside the states of knowledge.sql: a
 * 'doubted' one has been contradicted; it is not told, and goes back to the model until the next analysis. What the model
 * lets go then is withdrawn for the model alone, as the evidence says: the rules may learn something of that error.
 */

type LessonRow = {
  readonly key: string;
  /** Empty: of no project. */
  readonly projectPath: string;
  /** Of the model alone nothing but commands that ran here, each in backticks. */
  readonly advice: string;
  readonly kind: string;
  readonly confidence: number;
  readonly ts: string;
  readonly evidence: LessonEvidence;
};

export type NewModelLesson = LessonRow & {
  /** Who stands for it: the user who applied it, or nobody but the model. */
  readonly by: 'model' | 'user';
  /** The telling line of the error. */
  readonly said: string;
};

/**
 * Tells a lesson from now on. False when a person has written what helps, which is never replaced, or when the rules have
 * learnt it and nobody but the model stands for the new one.
 */
export function saveModelLesson(lesson: NewModelLesson, db: Db): boolean {
  const { key, projectPath, advice, confidence, ts, evidence, by, said } = lesson;
  const row = findRow(key, projectPath, db);
  const isTold = typeof row?.resolution === 'string';
  if (isTold && (row?.resolved_by === 'user' || (row?.resolved_by === 'lesson' && by === 'model')))
    return false;
  const kind = by === 'model' ? 'ran' : 'model';
  const resolution = JSON.stringify({ kind, summary: advice, confidence, resolvedBy: 'model' });
  const known = recordIn(row?.evidence);
  db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, said, project_path, sessions, seen_count, last_used, resolution, resolved_by,
       evidence) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT(error_normalized, project_path) DO UPDATE SET ts = MAX(ts, excluded.ts), last_used = excluded.last_used,
       said = COALESCE(said, excluded.said), sessions = MAX(sessions, excluded.sessions), resolution = excluded.resolution,
       resolved_by = excluded.resolved_by, evidence = excluded.evidence, state = NULL, tool_sequence = NULL`,
    ...[ts, key, said, projectPath, evidence.sessions.length, evidence.failed.length, ts, resolution, by],
    JSON.stringify({ ...withoutWithdrawal(known), model: storedModel(lesson, known) }),
  );
  return true;
}

/** Once doubted, always known to have been. */
function storedModel({ advice, kind, confidence, ts, evidence }: LessonRow, known: Json): Json {
  const { isDoubted } = readRecord(known, 'model');
  return { advice, kind, confidence, ts, ...evidence, ...(isDoubted === true ? { isDoubted } : {}) };
}

const withoutWithdrawal = ({ withdrawnBy: _, ...evidence }: Json): Json => evidence;

export type StoredModelLesson = Readonly<NonNullable<ReturnType<typeof readLesson>>>;

/** The lessons that are told without a person's word, and those that are in doubt. Undefined: of every project. */
export function listModelLessons(projectPath: string | undefined, db: Db): StoredModelLesson[] {
  const sql = `SELECT * FROM error_kb WHERE ${projectPath === undefined ? '?1 IS NULL' : 'project_path = ?1'}
    AND ((typeof(resolution) = 'text' AND resolved_by = 'model') OR state = 'doubted') ORDER BY id`;
  return db.sqlite.all(sql, projectPath ?? null).flatMap((row) => readLesson(row) ?? []);
}

function readLesson(row: Row) {
  const model = readRecord(recordIn(row.evidence), 'model');
  const advice = readString(model, 'advice');
  if (advice === undefined) return undefined;
  return {
    id: Number(row.id),
    key: String(row.error_normalized),
    projectPath: String(row.project_path),
    advice,
    kind: readString(model, 'kind') ?? '',
    confidence: Number(model.confidence ?? 0),
    ts: readString(model, 'ts') ?? String(row.ts),
    evidence: readLessonEvidence(model),
    /** Null as long as it is told; otherwise what contradicted it. */
    counterExamples: row.state === 'doubted' ? readTexts(model.counterExamples) : null,
  };
}

/** Puts a contradicted lesson in doubt: it is not told until the model repeats it or the user decides on it. */
export function doubtLesson(id: number, counterExamples: readonly string[], db: Db): void {
  noteWithdrawal(
    id,
    { reason: 'model', detail: `calls speak against it: ${counterExamples.join('; ')}` },
    db,
  );
  changeModel(id, 'doubted', { isDoubted: true, counterExamples }, db);
}

/** Ends the doubt: the model has repeated the lesson, and the user decides on it. */
export function releaseLesson(id: number, db: Db): void {
  changeModel(id, 'open', {}, db);
}

function changeModel(id: number, state: 'doubted' | 'open', model: Json, db: Db): void {
  const row = db.sqlite.get(`SELECT evidence FROM error_kb WHERE id = ? AND ${IS_MODELS}`, id);
  if (row === undefined) return;
  const evidence = withoutWithdrawal(recordIn(row.evidence));
  db.sqlite.run(
    'UPDATE error_kb SET resolution = NULL, resolved_by = NULL, state = ?, evidence = ? WHERE id = ?',
    state,
    JSON.stringify({ ...evidence, model: { ...readRecord(evidence, 'model'), ...model } }),
    id,
  );
}

/** Neither a person nor the rules have said meanwhile what helps. */
const IS_MODELS = "(resolution IS NULL OR resolved_by IS NULL OR resolved_by = 'model')";

/** Returns true if a lesson of this error has been contradicted before: then none is told without the user. */
export function wasDoubted(key: string, projectPath: string, db: Db): boolean {
  return readRecord(recordIn(findRow(key, projectPath, db)?.evidence), 'model').isDoubted === true;
}

const WITHDRAWN_FOR = {
  user: { reason: 'user', detail: 'a person has withdrawn it' },
  model: { reason: 'model', detail: 'the model did not repeat it when calls spoke against it' },
  proof: { reason: 'contradiction', detail: 'calls speak against it' },
} satisfies Record<string, WithdrawalNote>;

/**
 * What is told of an error is told no more, and no lesson of it is proposed again. By the user, and by what was proven, it is
 * withdrawn whoever wrote it, and until it is restored; by the model only what the model wrote, and the rules may learn anew.
 * False: there is no such row.
 */
export function withdrawLesson(
  id: number,
  by: keyof typeof WITHDRAWN_FOR,
  db: Db,
  why: WithdrawalNote = WITHDRAWN_FOR[by],
): boolean {
  const isAllowed = by === 'model' ? IS_MODELS : '1';
  const row = db.sqlite.get(`SELECT evidence FROM error_kb WHERE id = ? AND ${isAllowed}`, id);
  if (row === undefined) return false;
  noteWithdrawal(id, why, db);
  db.sqlite.run(
    `UPDATE error_kb SET resolution = NULL, resolved_by = NULL, tool_sequence = NULL, use_count = 0,
       state = ?, evidence = ? WHERE id = ?`,
    by === 'model' ? null : 'withdrawn',
    JSON.stringify({ ...recordIn(row.evidence), withdrawnBy: by }),
    id,
  );
  return true;
}

type AdviceOn = Pick<LessonRow, 'key' | 'projectPath' | 'advice'>;

/** What was stored when the user applied it is no longer told, unless something else is by now. */
export function takeBackLesson({ key, projectPath, advice }: AdviceOn, db: Db): void {
  db.sqlite.run(
    `UPDATE error_kb SET resolution = NULL, resolved_by = NULL, state = NULL
     WHERE error_normalized = ? AND project_path = ? AND json_valid(resolution)
       AND json_extract(resolution, '$.kind') = 'model' AND json_extract(resolution, '$.summary') = ?`,
    ...[key, projectPath, advice],
  );
}

/** What is known of an error, as far as it decides on a lesson of it. `learnt`: told by the rules. */
type LessonState = 'none' | 'withdrawn' | 'written-by-user' | 'learnt' | 'told';

/** What is told of an error, and whether the model may say anything of it. */
export function lessonState(
  key: string,
  projectPath: string,
  db: Db,
): { state: LessonState; text: string | null } {
  const row = findRow(key, projectPath, db);
  const text = textIn(row?.resolution);
  const { withdrawnBy } = recordIn(row?.evidence);
  const isByModel = withdrawnBy === 'model' && text === null;
  if (isByModel || (withdrawnBy !== undefined && row?.state === 'withdrawn'))
    return { state: 'withdrawn', text };
  if (text === null) return { state: 'none', text };
  if (row?.resolved_by === 'user') return { state: 'written-by-user', text };
  return { state: row?.resolved_by === 'lesson' ? 'learnt' : 'told', text };
}

function findRow(key: string, projectPath: string, db: Db): Row | undefined {
  const sql = 'SELECT * FROM error_kb WHERE error_normalized = ? AND project_path = ?';
  return db.sqlite.get(sql, key, projectPath);
}
