import { parseJson } from '../core/guards.ts';
import type { Row, Sqlite } from '../database/sqlite.ts';
import { partRuns } from '../runs/store/parts.ts';
import { orchestrationOwners } from '../runs/store/queue.ts';
import { type ColumnsOf, read } from '../runs/store/rows.ts';
import { isGone, type ProcessIdentity } from '../system/process-identity.ts';
import type { EndedFact, Fact, OrchestrationOptions } from './model/facts.ts';
import type { Orchestration } from './model/state.ts';
import type { Stored } from './replay.ts';

/** The rows of orchestrations and their facts, in the database of background runs, so that both are written at once. */

const ORCHESTRATION: ColumnsOf<Omit<Orchestration, 'options'>> = {
  ...{ id: 'id', number: 'number', requester: 'requester', session: 'session', client: 'client', cwd: 'cwd' },
  ...{ prompt: 'prompt', state: 'state', createdAtMs: 'created_at', endedAtMs: 'ended_at' },
};

function readRow(row: Row): Orchestration {
  const options = parseJson(String(row.options)) as OrchestrationOptions;
  return { ...read<Omit<Orchestration, 'options'>>(row, ORCHESTRATION), options };
}

/** What an orchestration begins with. */
export type NewOrchestration = Pick<
  Orchestration,
  'requester' | 'session' | 'client' | 'cwd' | 'prompt' | 'options'
>;

/** Writes a new one down, which nobody carries on yet. */
export function insertOrchestration(one: NewOrchestration, nowMs: number, db: Sqlite): Orchestration {
  const row = db.get(
    `INSERT INTO orchestrations(id, number, requester, session, client, cwd, prompt, options, state, created_at)
     SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ?, ?, 'open', ? FROM orchestrations WHERE requester = ?
     RETURNING *`,
    ...[crypto.randomUUID().replaceAll('-', ''), one.requester, one.session, one.client, one.cwd],
    ...[one.prompt, JSON.stringify(one.options), nowMs, one.requester],
  );
  return readRow(row ?? {});
}

/** Those of a requester, the newest first. */
export function orchestrationsOf(requester: string, db: Sqlite): Orchestration[] {
  return db
    .all('SELECT * FROM orchestrations WHERE requester = ? ORDER BY number DESC', requester)
    .map(readRow);
}

/** All that is stored of one; undefined: there is none. */
export function storedOrchestration(id: string, db: Sqlite): Stored | undefined {
  const row = db.get('SELECT * FROM orchestrations WHERE id = ?', id);
  if (row === undefined) return undefined;
  const facts = db
    .all('SELECT name, value FROM orchestration_facts WHERE orchestration = ? ORDER BY position', id)
    .map(({ name, value }) => ({ name: String(name), value: parseJson(String(value)) }));
  return { orchestration: readRow(row), facts, parts: partRuns({ kind: 'orchestration', id }, db) };
}

/** Writes a fact, without secrets, unless one of that name is there. Returns whether this is the one. */
export function putFact(id: string, { name, value }: Fact, nowMs: number, db: Sqlite): boolean {
  const { changes } = db.run(
    `INSERT INTO orchestration_facts(orchestration, name, position, at, value)
     SELECT ?, ?, COALESCE(MAX(position), 0) + 1, ?, ? FROM orchestration_facts WHERE orchestration = ?
     ON CONFLICT(orchestration, name) DO NOTHING`,
    ...[id, name, nowMs, JSON.stringify(value), id],
  );
  return changes > 0;
}

/** Ends one: the fact, the row, and that nobody carries it on any more. */
export function endOrchestration(
  id: string,
  epoch: number,
  ended: EndedFact,
  nowMs: number,
  db: Sqlite,
): void {
  db.transaction(() => {
    putFact(id, { name: `ended.${epoch}`, value: ended }, nowMs, db);
    db.run(
      `UPDATE orchestrations SET state = ?, ended_at = ?, owner_pid = NULL, owner_start = NULL, owner_boot = NULL
       WHERE id = ?`,
      ...[ended.state, nowMs, id],
    );
  });
}

/** It goes on after its end or a stop: what is asked from now on counts anew. */
export function reopenOrchestration(id: string, fact: Fact, nowMs: number, db: Sqlite): void {
  db.transaction(() => {
    putFact(id, fact, nowMs, db);
    db.run("UPDATE orchestrations SET state = 'open', ended_at = NULL WHERE id = ?", id);
  });
}

/** The orchestration of a requester that a living process carries on. */
export function orchestrationAtWork(requester: string, db: Sqlite): Orchestration | undefined {
  const at = orchestrationOwners(db).find((one) => one.requester === requester && !isGone(one.owner));
  const row = at && db.get('SELECT * FROM orchestrations WHERE id = ?', at.id);
  return row && readRow(row);
}

/** Whether a living process carries it on. */
export function isCarriedOn(id: string, db: Sqlite): boolean {
  return orchestrationOwners(db).some((one) => one.id === id && !isGone(one.owner));
}

/**
 * Makes this process the one that carries it on; returns the one of this requester that a living process carries on
 * instead, if there is such.
 */
export function claimOwner(
  id: string,
  requester: string,
  { pid, start, boot }: ProcessIdentity,
  db: Sqlite,
): Orchestration | undefined {
  return db.transaction(() => {
    const other = orchestrationAtWork(requester, db);
    if (other !== undefined) return other;
    db.run(
      'UPDATE orchestrations SET owner_pid = ?, owner_start = ?, owner_boot = ? WHERE id = ?',
      ...[pid, start, boot, id],
    );
    return undefined;
  });
}
