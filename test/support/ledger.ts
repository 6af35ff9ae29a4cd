import { armOf } from '../../src/benefit/model/coin.ts';
import { type Channel, groupFingerprint, type LessonKind } from '../../src/benefit/model/telling.ts';
import type { Db } from '../../src/database/connection.ts';
import { insertEvent } from '../../src/database/events.ts';
import { ensureCoin, recordTellings, rootOf } from '../../src/database/ledger.ts';
import { commandFamily } from '../../src/lessons/command.ts';
import { readFailure } from '../../src/lessons/failure.ts';
import { PROJECT } from './payloads.ts';

/** A ledger as hooks leave it behind, and the calls that are read for it. */

/** The form that fails, what it says, and what is told instead. */
export const FAILING = 'npm run lint -- --bail';
export const USE = 'npm run lint';
export const SAYS = "Exit code 1\nerror: unknown option '--bail'";
export const KEY = readFailure({ tool: 'Bash', line: FAILING, text: SAYS }).key;
export const GROUP = { place: PROJECT, key: KEY };

type Told = {
  readonly session: string;
  readonly ts: string;
  readonly channel?: Channel;
  readonly holdPercent?: number;
  readonly kind?: LessonKind;
  readonly callId?: string;
};

/** Notes a telling in the arm that the coin gives; returns whether it is held out. */
export function tell(
  { session, ts, channel = 'start', holdPercent = 0, kind = 'rule', callId }: Told,
  db: Db,
): boolean {
  const { key } = ensureCoin(db, new Date(ts));
  const toss = { key, channel, group: groupFingerprint(GROUP), root: rootOf(session, db), holdPercent };
  const isHeld = armOf(toss);
  const telling = {
    group: GROUP,
    kind,
    text: `use \`${USE}\``,
    channel,
    holdPercent,
    isHeld,
    callId: callId ?? null,
  };
  recordTellings({ ts, sessionId: session, agentId: null, tellings: [telling] }, db);
  return isHeld;
}

type Ran = { readonly session: string; readonly ts: string; readonly says?: string; readonly id?: string };

/** Records a shell call as its hook does; one that says something has failed. */
export function ran(line: string, { session, ts, says, id = `${session} ${ts}` }: Ran, db: Db): void {
  const call = { tool: 'Bash', toolUseId: id, command: commandFamily(line), line, directory: '', chars: 100 };
  const { key, said, noise } = readFailure({ tool: 'Bash', line, text: says ?? '' });
  const failure = { error: key, said, errorRaw: says, ...(noise === null ? {} : { noise }) };
  const data = says === undefined ? call : { ...call, ...failure };
  const type = says === undefined ? 'tool_use' : 'tool_error';
  insertEvent({ type, ts, sessionId: session, project: 'app', projectPath: PROJECT, data }, db);
}

/** The lesson of the failure, as the rules store it. */
export function learnt(db: Db, ts = '2026-11-01T09:00:00.000Z'): number {
  const remedy = { kind: 'command', failing: FAILING, use: USE };
  const evidence = {
    sessions: 2,
    agents: 2,
    failed: 2,
    helped: 2,
    first: ts,
    last: ts,
    failedCalls: ['known'],
  };
  ran(FAILING, { session: 'earlier', ts, says: SAYS, id: 'known' }, db);
  return db.sqlite.run(
    `INSERT INTO error_kb(ts, error_normalized, said, project_path, seen_count, sessions, last_used, resolution, resolved_by, evidence)
     VALUES (?, ?, 'unknown option', ?, 2, 2, ?, ?, 'lesson', ?)`,
    ...[ts, KEY, PROJECT, ts, JSON.stringify(remedy), JSON.stringify(evidence)],
  ).lastInsertRowid;
}
