import type { Row, Sqlite } from '../../database/sqlite.ts';
import type { Part, Whole } from '../model/part.ts';
import type { Run } from '../model/run.ts';
import type { Turn } from '../model/turn.ts';
import { type ColumnsOf, read, readRun, readTurn } from './rows.ts';

/** The runs that a conversation or an orchestration consists of, and the rows of conversations. */

/** `turns`: all of them, in the order in which they came; `positions`: the place of each among all that there ever were. */
export type PartRun = {
  readonly run: Run & { readonly part: Part };
  readonly turns: readonly PlacedTurn[];
};

/** `position`: its place among all turns that there ever were; it names a message of a conversation. */
export type PlacedTurn = Turn & { readonly position: number };

/**
 * Every run of a conversation or an orchestration with all its turns, archived ones too, in the order in which they came;
 * `begins`: of the parts whose names begin so.
 */
export function partRuns({ kind, id }: Whole, db: Sqlite, begins = ''): PartRun[] {
  // All that begins so, by the index: names have no such character.
  const [from, to] = [`${kind} ${id} ${begins}`, `${kind} ${id} ${begins}~`];
  const turns = db.all(
    `SELECT turns.* FROM runs JOIN turns ON turns.run_id = runs.id
     WHERE runs.part > ? AND runs.part < ? ORDER BY turns.position`,
    ...[from, to],
  );
  const byRun = Map.groupBy(turns, (row) => String(row.run_id));
  const runs = db.all('SELECT * FROM runs WHERE part > ? AND part < ?', from, to);
  const found = runs.map((row) => ({
    run: readRun(row) as PartRun['run'],
    turns: (byRun.get(String(row.id)) ?? []).map(placed),
  }));
  return found.sort((one, other) => (one.turns[0]?.position ?? 0) - (other.turns[0]?.position ?? 0));
}

function placed(row: Row): PlacedTurn {
  return { ...readTurn(row), position: Number(row.position) };
}

/** What the user and the main agent say to each other. Its messages are the turns of its runs. */
export type Conversation = {
  readonly id: string;
  /** From 1 on, among those of its requester. */
  readonly number: number;
  readonly requester: string;
  readonly createdAtMs: number;
  readonly usedAtMs: number;
  /** The position of the last turn that is in memory; 0: none is. */
  readonly flushedPosition: number;
  /** How often turns were written into memory. */
  readonly flushCycles: number;
};

const CONVERSATION: ColumnsOf<Conversation> = {
  ...{ id: 'id', number: 'number', requester: 'requester', createdAtMs: 'created_at', usedAtMs: 'used_at' },
  ...{ flushedPosition: 'flushed_position', flushCycles: 'flush_cycles' },
};

/** The conversations of a requester, the one that was used last first. */
export function conversationsOf(requester: string, db: Sqlite): Conversation[] {
  const sql = 'SELECT * FROM conversations WHERE requester = ? ORDER BY used_at DESC, number DESC';
  return db.all(sql, requester).map((row) => read(row, CONVERSATION));
}

/** The conversation that goes on where none is named; undefined: there was none yet. */
export function currentConversation(requester: string, db: Sqlite): Conversation | undefined {
  return conversationsOf(requester, db)[0];
}

/** Begins a conversation, which is the current one when something is said in it, or there is no other. */
export function newConversation(requester: string, nowMs: number, db: Sqlite): Conversation {
  const row = db.get(
    `INSERT INTO conversations(id, number, requester, created_at, used_at)
     SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, 0 FROM conversations WHERE requester = ? RETURNING *`,
    ...[crypto.randomUUID().replaceAll('-', ''), requester, nowMs, requester],
  );
  return read(row ?? {}, CONVERSATION);
}

/** Something was said in the conversation: it is the current one. */
export function useConversation(id: string, nowMs: number, db: Sqlite): void {
  db.run('UPDATE conversations SET used_at = MAX(used_at, ?) WHERE id = ?', nowMs, id);
}

/** The turns up to this position are in memory; false when they were already, so that nothing is counted twice. */
export function markFlushed(id: string, position: number, db: Sqlite): boolean {
  const { changes } = db.run(
    `UPDATE conversations SET flushed_position = ?, flush_cycles = flush_cycles + 1
     WHERE id = ? AND flushed_position < ?`,
    ...[position, id, position],
  );
  return changes > 0;
}
