import { pathExists, readTextFile } from '#runtime';
import type { Db } from '../../database/connection.ts';
import { channelIn, outcomeIn } from '../../database/ledger.ts';
import { type Row, textIn } from '../../database/sqlite.ts';
import { tellingWord } from '../../lessons/advised-commands.ts';
import { withdrawLesson } from '../../lessons/store/model-lessons.ts';
import { listWithdrawals, restoredAt, restoreLesson } from '../../lessons/store/withdrawals.ts';
import { episodesOf } from '../episodes.ts';
import { cure } from '../evidence/cure.ts';
import { ENOUGH } from '../evidence/e-value.ts';
import { prevention } from '../evidence/prevention.ts';
import { type Files, goneIn } from '../gone.ts';
import { CHANNELS, type Channel, type FailureGroup } from '../model/telling.ts';
import { type Advice, countAdvice, MEANT_NOISE, SILENT_MS, type TreeCall } from '../settle.ts';
import { judge, type Record, type SettledTelling, type Verdict } from '../withdraw.ts';
import { pathsOf, readAdvice } from './advice.ts';
import { callIn } from './outcomes.ts';

/** What settled outcomes change in what is told: lessons are withdrawn, fall silent at starts or wake, questions are answered. */

const LATELY_MS = 7 * 86_400_000;
/** So many of a project's newest calls are looked at for one lesson. */
const CALLS_MAX = 20_000;

/** The groups of a tree of which something is told. */
export function groupsOf(tree: number, db: Db): FailureGroup[] {
  const rows = db.sqlite.all(
    `SELECT DISTINCT place, key FROM exposures JOIN failure_groups ON failure_groups.id = grp
     WHERE tree = ? AND key IS NOT NULL`,
    tree,
  );
  return rows.map(({ place, key }) => ({ place: String(place), key: String(key) }));
}

export type LessonVerdict = { readonly id: number; readonly verdict: Verdict };

/** What becomes of the lessons of a group, in each clone of its repository. */
export function verdictsOn(group: FailureGroup, now: Date, db: Db): LessonVerdict[] {
  const rows = db.sqlite.all(
    `SELECT id, project_path, resolved_by, pinned, quiet FROM error_kb WHERE error_normalized = ?
       AND project_path IN (SELECT value FROM json_each(?)) AND typeof(resolution) = 'text'`,
    ...[group.key, JSON.stringify(pathsOf(group.place, db))],
  );
  return rows.map((row) => ({ id: Number(row.id), verdict: judge(recordOf(row, group, now, db)) }));
}

/** Withdraws, quiets or wakes a lesson. */
export function applyVerdict({ id, verdict }: LessonVerdict, now: Date, db: Db): void {
  if (verdict.kind === 'withdraw') {
    const { reason, detail } = verdict;
    withdrawLesson(id, 'proof', db, { reason, detail, ts: now.toISOString() });
  } else if (verdict.kind !== 'keep')
    db.sqlite.run('UPDATE error_kb SET quiet = ? WHERE id = ?', verdict.kind === 'quiet' ? 1 : 0, id);
}

/**
 * Tells again what was withdrawn because a file or script was not there, and is by now: somebody had another branch checked
 * out. Inside the caller's transaction.
 */
export function restoreFound(now: Date, db: Db): void {
  for (const { id, reason, place, key, project } of listWithdrawals(undefined, db)) {
    if (reason !== 'gone' || !pathExists(project)) continue;
    if (goneIn(readAdvice({ place, key }, db), project, FILES) === undefined)
      restoreLesson(id, now.toISOString(), db);
  }
}

const FILES: Files = { exists: pathExists, read: readTextFile };

/** What is known of a lesson since it was told first, or restored. */
function recordOf(row: Row, group: FailureGroup, now: Date, db: Db): Record {
  const since = restoredAt(Number(row.id), db) ?? '';
  const told = tellingsOf(group, Date.parse(since) || 0, now, db);
  const from = new Date(told[0]?.ts ?? now).toISOString();
  const advice = readAdvice(group, db);
  const lately = new Date(now.getTime() - LATELY_MS).toISOString();
  const known = callsAbout(group, advice, from < lately ? from : lately, db);
  const calls = known.filter(({ ts }) => ts > from);
  const { worked } = countAdvice(
    known.filter(({ ts }) => ts > lately),
    advice,
  );
  const failedAt = (channel: Channel) =>
    told.filter((telling) => telling.channel === channel && telling.hasFailed).length;
  const hasFailed = ({ outcome }: (typeof calls)[number]) =>
    outcome.kind === 'failed' && outcome.key === group.key && MEANT_NOISE.has(outcome.noise);
  return {
    isPersons: row.resolved_by === 'user' || row.pinned === 1,
    isQuiet: row.quiet === 1,
    tellings: told,
    ...countAdvice(calls, advice),
    // The ledger remembers what the events have forgotten.
    failures: Math.max(calls.filter(hasFailed).length, ...CHANNELS.map(failedAt)),
    // What has just worked is there, wherever that may be.
    gone: worked > 0 ? undefined : goneIn(advice, String(row.project_path), FILES),
  };
}

/** The calls of a project that failed so, or may hold what is advised. */
function callsAbout(
  { place, key }: FailureGroup,
  { use, failing }: Advice,
  from: string,
  db: Db,
): TreeCall[] {
  const words = [...use, ...failing].flatMap((command) => tellingWord(command) ?? []);
  const rows = db.sqlite.all(
    `SELECT id, type, ts, session_id, project_path AS path, ? AS place, data FROM events
     WHERE project_path IN (SELECT value FROM json_each(?)) AND type IN ('tool_use', 'tool_error') AND ts > ?
       AND (json_extract(data, '$.error') = ? OR EXISTS (SELECT 1 FROM json_each(?) WHERE instr(data, value) > 0))
     ORDER BY ts DESC LIMIT ?`,
    ...[place, JSON.stringify(pathsOf(place, db)), from, key, JSON.stringify(words), CALLS_MAX],
  );
  return rows.flatMap(callIn);
}

type DatedTelling = SettledTelling & { readonly ts: number };

/** The settled tellings of a group since a moment, in order of time. */
function tellingsOf({ place, key }: FailureGroup, sinceMs: number, now: Date, db: Db): DatedTelling[] {
  const rows = db.sqlite.all(
    `SELECT channel, exposures.ts, held, hold_percent, failed_at FROM exposures
       JOIN failure_groups ON failure_groups.id = grp
     WHERE place = ? AND key = ? AND settled_at IS NOT NULL AND exposures.ts >= ? ORDER BY exposures.ts, exposures.id`,
    ...[place, key, sinceMs],
  );
  return rows.map((row) => ({
    channel: channelIn(row),
    ts: Number(row.ts),
    isHeld: row.held === 1,
    p: Number(row.hold_percent) / 100,
    hasFailed: row.failed_at !== null,
    isOver: Number(row.ts) <= now.getTime() - SILENT_MS,
  }));
}

/**
 * Notes of which kinds of lessons it is known by now that telling them there helps: less is held out of them from now on. What does
 * harm is held out as often as before.
 */
export function noteAnswered(now: Date, db: Db): void {
  const rows = db.sqlite.all(
    `SELECT exposures.*, kind FROM exposures JOIN lesson_versions ON lesson_versions.id = version
     WHERE failed_at IS NOT NULL AND hold_percent > 0`,
  );
  const questions = Map.groupBy(rows, ({ kind, channel }) => `${channel} ${textIn(kind) ?? ''}`);
  for (const failures of questions.values()) {
    const events = failures.map((row) => {
      const holdPercent = Number(row.hold_percent);
      return { ...outcomeIn(row), isHeld: row.held === 1, holdPercent, p: holdPercent / 100 };
    });
    const [{ kind, channel } = {}] = failures;
    const { evidence } = channel === 0 ? prevention(events) : cure(episodesOf(events));
    if (evidence >= ENOUGH)
      db.sqlite.run(
        'INSERT OR IGNORE INTO answered(kind, channel, ts) VALUES (?, ?, ?)',
        ...[String(kind), Number(channel), now.toISOString()],
      );
  }
}
