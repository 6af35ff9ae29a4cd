import { readTextFile } from '#runtime';
import { readString } from '../../core/guards.ts';
import type { Db } from '../../database/connection.ts';
import { channelIn, type Outcome, outcomeIn } from '../../database/ledger.ts';
import { type Row, recordIn, textIn } from '../../database/sqlite.ts';
import { readEntry } from '../../lessons/store/lesson-log.ts';
import { type Settled, SILENT_MS, settle, type TreeCall, type TreeLog, type Unsettled } from '../settle.ts';
import { readAdvice } from './advice.ts';

/**
 * Settles outcomes from the events, tree by tree. Nothing here reads an arm: of what was told or held out only the moment, the
 * failure group and the channel are looked at.
 */

/** So many of a tree's newest events are looked at. */
const TREE_ROWS_MAX = 20_000;
/** A call's own hook and the transcript name its time differently. */
const CLOCK_MS = 60_000;

/** The ids of the trees of which outcomes are to be looked at: with new events, or silent since they were. */
export function treesToSettle(now: Date, db: Db): number[] {
  const rows = db.sqlite.all(
    `SELECT id FROM trees WHERE id IN (SELECT tree FROM exposures) AND (
       root IN (SELECT COALESCE(root, session_id) FROM (SELECT DISTINCT session_id FROM events
         WHERE id > (SELECT COALESCE(MAX(event_id), 0) FROM settled)) LEFT JOIN forks ON session = session_id)
       OR id IN (SELECT tree FROM exposures JOIN failure_groups ON failure_groups.id = grp WHERE key IS NOT NULL
         AND (exposures.ts < ?1 AND settled_at IS NULL OR failed_at < ?1 AND ended IS NULL))) ORDER BY id`,
    now.getTime() - SILENT_MS,
  );
  return rows.map((row) => Number(row.id));
}

/** Notes up to which event outcomes have been settled. */
export function noteSettled(eventId: number, db: Db): void {
  const sql = `INSERT INTO settled(id, event_id) VALUES (1, ?)
    ON CONFLICT(id) DO UPDATE SET event_id = MAX(event_id, excluded.event_id)`;
  db.sqlite.run(sql, eventId);
}

/** The outcomes of a tree that are new, or other than they are noted. */
export function changedOutcomes(tree: number, now: Date, db: Db): Outcome[] {
  const rows = db.sqlite.all(
    `SELECT exposures.id, place, key, channel, exposures.ts, agent, failed_at, failed_call, calls, ms, chars, ended,
       advice_failed, form_worked, leaked, settled_at FROM exposures JOIN failure_groups ON failure_groups.id = grp
     WHERE tree = ? AND key IS NOT NULL ORDER BY exposures.id`,
    tree,
  );
  const unsettled = rows.map((row) => unsettledIn(row, db));
  const log = readTree(tree, unsettled, now, db);
  const known = new Map(rows.map((row) => [Number(row.id), row]));
  return settle(log, unsettled).flatMap((found) => {
    const row = known.get(found.id) as Row;
    const before = outcomeIn(row);
    const outcome = keptBeside(found, before);
    const isNew = before.settledAt === null || isOther(outcome, before);
    return isNew ? [{ ...outcome, settledAt: now.getTime() }] : [];
  });
}

function unsettledIn(row: Row, db: Db): Unsettled {
  const { id, place, key, ts, agent, failed_call } = row;
  const group = { place: String(place), key: String(key) };
  const channel = channelIn(row);
  return {
    id: Number(id),
    group,
    channel,
    ts: Number(ts),
    agent: textIn(agent) || null,
    callId: (channel === 'failure' && textIn(failed_call)) || null,
    advice: readAdvice(group, db),
  };
}

/** Events are forgotten before the ledger is: what has been seen stays. */
function keptBeside(found: Settled, known: Outcome): Settled {
  const isLost = known.calls !== null && found.failedAt === null;
  const isDone = known.ended !== null && known.failedAt === found.failedAt;
  return {
    ...(isLost || isDone ? known : found),
    adviceFailed: found.adviceFailed || known.adviceFailed === true,
    formWorked: found.formWorked || known.formWorked === true,
    leaked: found.leaked || known.leaked === true,
  };
}

const isOther = (one: Settled, other: Settled): boolean =>
  Object.keys(one).some(
    (key) => key !== 'settledAt' && one[key as keyof Settled] !== other[key as keyof Settled],
  );

const INSTRUCTIONS = ['CLAUDE.md', 'AGENTS.md', 'CLAUDE.local.md'];

/** What the sessions of a tree did since shortly before the first of these tellings. */
function readTree(tree: number, rows: readonly Unsettled[], now: Date, db: Db): TreeLog {
  const since = new Date(Math.min(now.getTime(), ...rows.map(({ ts }) => ts)) - CLOCK_MS).toISOString();
  const events = db.sqlite
    .all(
      `SELECT id, type, ts, session_id, events.project_path AS path, COALESCE(repository, events.project_path) AS place, data
         FROM events LEFT JOIN repositories ON repositories.project_path = events.project_path
       WHERE session_id IN (SELECT root FROM trees WHERE id = ?1
           UNION SELECT session FROM forks WHERE root = (SELECT root FROM trees WHERE id = ?1))
         AND ts >= ?2 AND type IN ('tool_use', 'tool_error', 'prompt') ORDER BY ts DESC, events.id DESC LIMIT ?3`,
      ...[tree, since, TREE_ROWS_MAX],
    )
    .reverse();
  const roots = new Set(events.map(({ path }) => textIn(path) ?? '').filter(Boolean));
  const rules = [...roots].flatMap((root) =>
    INSTRUCTIONS.flatMap((file) => readTextFile(`${root}/${file}`) ?? []),
  );
  const prompts = events.filter(({ type }) => type === 'prompt');
  const newest = String(events.at(-1)?.ts ?? since);
  return {
    calls: events.flatMap(callIn),
    prompts: [...prompts.flatMap(({ data }) => readString(recordIn(data), 'text') ?? []), ...rules],
    isSilent: Date.parse(newest) <= now.getTime() - SILENT_MS,
  };
}

/** A call as it is logged, with what its cost is counted in; none of what is no call. */
export function callIn(row: Row): TreeCall[] {
  const entry = readEntry(row);
  if (entry?.kind !== 'call') return [];
  const { file, chars } = recordIn(row.data);
  return [
    {
      ...entry,
      place: String(row.place ?? ''),
      root: String(row.path ?? ''),
      file: typeof file === 'string' ? file : null,
      chars: typeof chars === 'number' ? chars : 0,
    },
  ];
}
