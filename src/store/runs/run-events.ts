import { cutText, oneLine } from '../../core/text.ts';
import type { Sqlite } from '../sqlite.ts';
import { type ColumnsOf, read } from './run-rows.ts';

/** What happened to a run, in short: for `info`, and for whoever has to find out why. */
export type RunEvent = {
  /** Null: of no run. */
  readonly runId: string | null;
  readonly turn: number | null;
  readonly atMs: number;
  /** Who did it: a command, the supervisor, the server. */
  readonly actor: string;
  readonly type: string;
  readonly detail: string;
};

const EVENT: ColumnsOf<RunEvent> = {
  ...{ runId: 'run_id', turn: 'turn', atMs: 'at', actor: 'actor', type: 'type', detail: 'detail' },
};
const EVENTS_PER_RUN_MAX = 200;
const WORD_LENGTH_MAX = 100;
const DETAIL_LENGTH_MAX = 1000;

/** Adds an event; of each run the newest 200 are kept. The detail has to be without secrets; it is cut to one line. */
export function addRunEvent(event: RunEvent, db: Sqlite): void {
  db.transaction(() => {
    db.run(
      'INSERT INTO run_events(run_id, turn, at, actor, type, detail) VALUES (?, ?, ?, ?, ?, ?)',
      ...[event.runId, event.turn, event.atMs],
      cutText(oneLine(event.actor), WORD_LENGTH_MAX),
      cutText(oneLine(event.type), WORD_LENGTH_MAX),
      cutText(oneLine(event.detail), DETAIL_LENGTH_MAX),
    );
    db.run(
      `DELETE FROM run_events WHERE run_id IS ?
         AND id <= (SELECT id FROM run_events WHERE run_id IS ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
      ...[event.runId, event.runId, EVENTS_PER_RUN_MAX],
    );
  });
}

/** As addRunEvent(), but once for each turn: whoever goes on in another's place comes across the same again. */
export function addRunEventOnce(event: RunEvent, db: Sqlite): void {
  db.transaction(() => {
    const known = db.get(
      'SELECT 1 FROM run_events WHERE run_id IS ? AND turn IS ? AND type = ? AND detail = ?',
      ...[event.runId, event.turn],
      cutText(oneLine(event.type), WORD_LENGTH_MAX),
      cutText(oneLine(event.detail), DETAIL_LENGTH_MAX),
    );
    if (known === undefined) addRunEvent(event, db);
  });
}

/** The newest events of a run, the oldest of them first. */
export function runEvents(runId: string | null, limit: number, db: Sqlite): RunEvent[] {
  return db
    .all('SELECT * FROM run_events WHERE run_id IS ? ORDER BY id DESC LIMIT ?', runId, limit)
    .reverse()
    .map((row) => read(row, EVENT));
}
