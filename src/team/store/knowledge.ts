import { readRecord, readString } from '../../core/guards.ts';
import type { Db } from '../../database/connection.ts';
import { isForgotten } from '../../database/forgotten-errors.ts';
import { type Row, recordIn, textIn } from '../../database/sqlite.ts';
import { withdrawLesson } from '../../lessons/store/model-lessons.ts';
import { noteWithdrawal, restoreLesson } from '../../lessons/store/withdrawals.ts';
import { type LessonBody, resolutionOf, type TeamRemedy } from '../model/fact.ts';

/** The team's side of the knowledge base: what this machine could share of it, and what the team puts into it. */

/** A lesson that agents are told here. */
export type LocalLesson = {
  readonly row: number;
  readonly projectPath: string;
  readonly key: string;
  readonly said: string;
  readonly remedy: TeamRemedy;
  readonly support: Pick<LessonBody, 'sessions' | 'failed' | 'helped'>;
  /** The team's own id of it, where it came from the team. */
  readonly fromTeam: string | undefined;
};

const TOLD = "typeof(resolution) = 'text' AND resolved_by IN ('user', 'lesson')";

/** What is told in these projects, by what was learned and by a person's word; what a model alone stands for is not among them. */
export function localLessons(projects: readonly string[], db: Db): LocalLesson[] {
  const rows = db.sqlite.all(
    `SELECT id, project_path, error_normalized, said, resolution, resolved_by, sessions, evidence FROM error_kb
     WHERE project_path IN (SELECT value FROM json_each(?)) AND ${TOLD} ORDER BY id`,
    JSON.stringify(projects),
  );
  return rows.flatMap((row) => {
    const remedy = remedyIn(row.resolution);
    if (remedy === undefined) return [];
    const evidence = recordIn(row.evidence);
    const count = (name: string, otherwise: number) =>
      typeof evidence[name] === 'number' ? Number(evidence[name]) : otherwise;
    const key = String(row.error_normalized);
    return {
      row: Number(row.id),
      projectPath: String(row.project_path),
      key,
      said: textIn(row.said) || key,
      remedy,
      support: {
        sessions: Math.max(1, count('sessions', Number(row.sessions))),
        failed: count('failed', 0),
        helped: count('helped', 0),
      },
      // A person may have written since what helps: that is theirs.
      fromTeam: row.resolved_by === 'lesson' ? teamIdIn(row.evidence) : undefined,
    };
  });
}

function remedyIn(resolution: unknown): TeamRemedy | undefined {
  const remedy = recordIn(resolution);
  if (['command', 'without', 'directory', 'fixer', 'lint'].includes(String(remedy.kind)))
    return remedy as unknown as TeamRemedy;
  const summary = readString(remedy, 'summary');
  return summary === undefined || remedy.kind === 'ran' ? undefined : { kind: 'words', summary };
}

/** These paths, and others of the same repositories. */
export function clonesOf(projects: readonly string[], db: Db): string[] {
  const rows = db.sqlite.all(
    `SELECT b.project_path AS path FROM repositories AS a JOIN repositories AS b ON b.repository = a.repository
     WHERE a.project_path IN (SELECT value FROM json_each(?))`,
    JSON.stringify(projects),
  );
  return [...new Set([...projects, ...rows.map(({ path }) => String(path))])];
}

type TeamLesson = {
  readonly about: string;
  readonly author: string;
  readonly content: LessonBody;
  readonly projectPath: string;
  /** ISO 8601. */
  readonly ts: string;
};

/** Why a lesson of the team is not told here although it was accepted. `known`: something is told of that error already. */
export type Telling = 'told' | 'known' | 'withdrawn-here' | 'forgotten';

/** What one author claims counts up to this, as it does in a standing. */
const SESSIONS_MAX = 50;

/** Why a lesson of the team is not told in a project, whatever others think of it; undefined where nothing is against it. */
export function objectionHere(key: string, about: string, projectPath: string, db: Db): Telling | undefined {
  if (isForgotten(key, db)) return 'forgotten';
  const row = rowOf(key, projectPath, db);
  if (typeof row?.resolution === 'string') return isOfTeam(row, about) ? undefined : 'known';
  if (row?.state !== 'withdrawn' && row?.state !== 'doubted') return undefined;
  // What the team has withdrawn makes room for another one of the same error.
  const withdrawn = readString(recordIn(row.evidence), 'teamWithdrawn');
  return withdrawn === undefined || withdrawn === about ? 'withdrawn-here' : undefined;
}

/** Tells a lesson of the team from now on, where nothing is against it. */
export function tellTeamLesson(lesson: TeamLesson, db: Db): Telling {
  const { about, author, content, projectPath, ts } = lesson;
  const { key, said, remedy, failed, helped } = content;
  const objection = objectionHere(key, about, projectPath, db);
  if (objection !== undefined) return objection;
  const sessions = Math.min(content.sessions, SESSIONS_MAX);
  const { withdrawnBy: _, teamWithdrawn: __, ...known } = recordIn(rowOf(key, projectPath, db)?.evidence);
  const evidence = { ...known, sessions, failed, helped, team: { about, author } };
  db.sqlite.run(
    `INSERT INTO error_kb (ts, error_normalized, said, project_path, seen_count, resolution, resolved_by, use_count, last_used,
       sessions, evidence) VALUES (?, ?, ?, ?, 0, ?, 'lesson', ?, ?, ?, ?)
     ON CONFLICT (error_normalized, project_path) DO UPDATE SET said = COALESCE(said, excluded.said),
       resolution = excluded.resolution, resolved_by = 'lesson', last_used = excluded.last_used, state = NULL,
       sessions = MAX(sessions, excluded.sessions), evidence = excluded.evidence`,
    ...[ts, key, said, projectPath, resolutionOf(remedy), helped, ts, sessions, JSON.stringify(evidence)],
  );
  return 'told';
}

type TeamRow = Pick<TeamLesson, 'about' | 'projectPath'> & { readonly key: string };

/** What came from the team is told no more, without a word against it: nobody whom this user trusts stands for it by now. */
export function untellTeamLesson({ about, key, projectPath }: TeamRow, db: Db): void {
  const row = rowOf(key, projectPath, db);
  if (row !== undefined && isOfTeam(row, about)) untell(row, db);
}

/** The same for all that came from the team: of these projects, or what begins so. */
export function untellAll(projects: readonly string[], aboutPrefix: string, db: Db): number {
  const rows = db.sqlite.all(
    `SELECT * FROM error_kb WHERE resolved_by = 'lesson' AND typeof(resolution) = 'text'
       AND project_path IN (SELECT value FROM json_each(?)) AND json_extract(evidence, '$.team.about') >= ?`,
    ...[JSON.stringify(projects), aboutPrefix],
  );
  const own = rows.filter(({ evidence }) => teamIdIn(evidence)?.startsWith(aboutPrefix));
  for (const row of own) untell(row, db);
  return own.length;
}

function untell(row: Row, db: Db): void {
  const { team: _, ...evidence } = recordIn(row.evidence);
  db.sqlite.run(
    `UPDATE error_kb SET resolution = NULL, resolved_by = NULL, state = 'open', evidence = ? WHERE id = ?`,
    ...[JSON.stringify(evidence), Number(row.id)],
  );
}

/** By which a withdrawal here is known to be the team's. */
const BY_TEAM = 'in the team, by ';

type TeamWithdrawal = {
  readonly about: string;
  /** Who and why. */
  readonly withdrawn: string;
  readonly ts: string;
};

/** A lesson is told no more, since the team has withdrawn it. What was learned here itself is not learned again then. */
export function withdrawForTeam(id: number, { about, withdrawn, ts }: TeamWithdrawal, db: Db): void {
  const why = { reason: 'user', detail: `${BY_TEAM}${withdrawn}`, ts } as const;
  const row = db.sqlite.get('SELECT * FROM error_kb WHERE id = ?', id);
  if (row !== undefined && isOfTeam(row, about)) {
    noteWithdrawal(id, why, db);
    untell(row, db);
    return;
  }
  withdrawLesson(id, 'user', db, why);
  const sql = "UPDATE error_kb SET evidence = json_set(evidence, '$.teamWithdrawn', ?) WHERE id = ?";
  db.sqlite.run(sql, about, id);
}

/** Tells again what was withdrawn here for the team's sake alone, once the team has it again. */
export function restoreForTeam({ about, key, projectPath }: TeamRow, ts: string, db: Db): void {
  const row = rowOf(key, projectPath, db);
  if (row === undefined || readString(recordIn(row.evidence), 'teamWithdrawn') !== about) return;
  if (row.state === 'withdrawn') restoreLesson(Number(row.id), ts, db);
}

/** Whether the detail of a withdrawal says that it is the team's. */
export function isByTeam(detail: string): boolean {
  return detail.startsWith(BY_TEAM);
}

function rowOf(key: string, projectPath: string, db: Db): Row | undefined {
  const sql = 'SELECT * FROM error_kb WHERE error_normalized = ? AND project_path = ?';
  return db.sqlite.get(sql, key, projectPath);
}

function teamIdIn(evidence: unknown): string | undefined {
  return readString(readRecord(recordIn(evidence), 'team'), 'about');
}

/** A person's own words in its place are theirs, whatever stood there before. */
function isOfTeam(row: Row, about: string): boolean {
  return row.resolved_by === 'lesson' && teamIdIn(row.evidence) === about;
}

/** The rules that are applied in these projects. */
export function localRules(projects: readonly string[], db: Db): string[] {
  const rows = db.sqlite.all(
    `SELECT DISTINCT text FROM suggestions WHERE status = 'applied' AND type = 'claude_md' AND origin <> 'team'
       AND project_path IN (SELECT value FROM json_each(?))`,
    JSON.stringify(projects),
  );
  return rows.map(({ text }) => String(text));
}

/** This user's last word, on this machine, on something that came from the team. */
export type TeamDecision = {
  /** The beginning of its id in the team. */
  readonly prefix: string;
  /** Null: an earlier word was taken back. */
  readonly accepts: boolean | null;
  /** When, by this machine's clock: the same moment is the same word. */
  readonly ts: string;
  readonly why: string | null;
};

/** What was decided here on what came from the team; what nobody has decided on is not among it. */
export function teamDecisions(projects: readonly string[], db: Db): TeamDecision[] {
  const rows = db.sqlite.all(
    `SELECT suggestions.id, why, feedback.ts, action FROM suggestions JOIN feedback ON feedback.suggestion_id = suggestions.id
     WHERE origin = 'team' AND project_path IN (SELECT value FROM json_each(?))
       AND feedback.id = (SELECT MAX(id) FROM feedback WHERE suggestion_id = suggestions.id)`,
    JSON.stringify(projects),
  );
  return rows.map((row) => ({
    prefix: teamPrefix(String(row.id)),
    accepts: row.action === 'undone' ? null : row.action === 'accepted',
    ts: String(row.ts),
    why: textIn(row.why),
  }));
}

const PREFIX_LENGTH = 16;

/** The id of the suggestion that offers a lesson or rule of the team. */
export function teamSuggestionId(about: string): string {
  return `t${about.slice(0, PREFIX_LENGTH)}`;
}

/** The beginning of the id in the team, of a suggestion that came from it. */
export function teamPrefix(suggestionId: string): string {
  return suggestionId.slice(1);
}

type Offer = {
  readonly about: string;
  readonly kind: 'lesson' | 'rule';
  readonly summary: string;
  readonly evidence: string;
  readonly text: string;
  readonly priority: number;
  readonly project: string;
  readonly projectPath: string;
  readonly details: object;
  readonly ts: string;
};

/** Offers it for a decision. One that is there keeps what was decided on it. */
export function offer(one: Offer, db: Db): void {
  const { about, kind, summary, evidence, text, priority, project, projectPath, details, ts } = one;
  db.sqlite.run(
    `INSERT INTO suggestions (id, ts, last_ts, project, project_path, origin, type, summary, evidence, text, priority, details)
     VALUES (?, ?, ?, ?, ?, 'team', ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET last_ts = excluded.last_ts, evidence = excluded.evidence, priority = excluded.priority,
       status = CASE WHEN status = 'expired' THEN 'new' ELSE status END`,
    ...[teamSuggestionId(about), ts, ts, project, projectPath, kind === 'rule' ? 'claude_md' : 'lesson'],
    ...[summary, evidence, text, priority, JSON.stringify(details)],
  );
}

/** Nobody is asked any more about what is not among these. */
export function expireOffers(projects: readonly string[], abouts: readonly string[], db: Db): void {
  db.sqlite.run(
    `UPDATE suggestions SET status = 'expired' WHERE origin = 'team' AND status IN ('new', 'shown')
       AND project_path IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT value FROM json_each(?))`,
    ...[JSON.stringify(projects), JSON.stringify(abouts.map(teamSuggestionId))],
  );
}
