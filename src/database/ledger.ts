import { hmacSha256, sha256 } from '#runtime';
import { armOf } from '../benefit/model/coin.ts';
import {
  CHANNELS,
  type Channel,
  groupFingerprint,
  type LessonKind,
  type Telling,
} from '../benefit/model/telling.ts';
import { VERSION } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import { numberIn, type Row, textIn } from './sqlite.ts';

/**
 * The ledger: what was told or held out, once for each failure group, tree of sessions and channel, and what came of it.
 * Each row's code (`chain`) is made with the coin's key of what was assigned and of the code before, so that a change by
 * hand is seen. schema/ledger.sql says what the columns are.
 */

/** 48 bits, which SQLite stores in six bytes. */
const CODE_DIGITS = 12;
const HASH_DIGITS = 16;
const KEY_BYTES = 32;

/** Which session and agent was told something, or would have been. */
export type ToldNote = {
  /** ISO 8601. */
  readonly ts: string;
  readonly sessionId: string;
  readonly agentId: string | null;
  /** The client's name, where it is known. */
  readonly client?: string | undefined;
  readonly tellings: readonly Telling[];
};

export type Coin = {
  readonly key: string;
  /** The key's SHA-256, noted when it was made. */
  readonly commitment: string;
  /** ISO 8601. */
  readonly since: string;
};

/** The coin; undefined before anything was told. */
export function readCoin(db: Db): Coin | undefined {
  return db.sqlite.get('SELECT key, commitment, since FROM coin') as Coin | undefined;
}

/** The coin, made now where there is none: 256 random bits. */
export function ensureCoin(db: Db, now: Date): Coin {
  const known = readCoin(db);
  if (known !== undefined) return known;
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString('hex');
  const made = 'INSERT OR IGNORE INTO coin(id, key, commitment, since) VALUES (1, ?, ?, ?)';
  db.sqlite.run(made, key, sha256(key), now.toISOString());
  return ensureCoin(db, now);
}

/** The id of the first session of this one's tree: its own where it continues no other. */
export function rootOf(sessionId: string, db: Db): string {
  return textIn(db.sqlite.get('SELECT root FROM forks WHERE session = ?', sessionId)?.root) ?? sessionId;
}

/**
 * Notes that a session is a fork of another, or of a fork of it: from now on they share their coins. One that was told
 * something as the first of its own tree stays that: what it was told must not count twice. Inside the caller's transaction.
 */
export function linkSession(session: string, root: string, db: Db): void {
  const first = rootOf(root, db);
  const isLinked = 'SELECT 1 FROM forks WHERE session = ?';
  if (first === session || treeOf(session, db) !== undefined) return;
  if (db.sqlite.get(isLinked, session) !== undefined) return;
  db.sqlite.run('UPDATE forks SET root = ? WHERE root = ?', first, session);
  db.sqlite.run('INSERT INTO forks(session, root) VALUES (?, ?)', session, first);
}

/**
 * Writes what a session was told, or would have been, and is not in the ledger yet: in the tree that it was tossed for, also
 * where its first session is known as a fork by now, which then stays by itself. What is left out must not depend on its arm:
 * all that was tossed before this coin was made, as in a database before this one. Inside the caller's transaction.
 */
export function recordTellings({ ts, sessionId, agentId, client, tellings }: ToldNote, db: Db): void {
  if (tellings.length === 0) return;
  const { key, since } = ensureCoin(db, new Date());
  for (const telling of tellings) {
    const { group, kind, text, channel, holdPercent, isHeld, callId } = telling;
    if (holdPercent > 0 && Date.parse(ts) < Date.parse(since)) continue;
    const { root = rootOf(sessionId, db) } = telling;
    const name = groupFingerprint(group);
    if (armOf({ key, channel, group: name, root, holdPercent }) !== isHeld) continue;
    const tree = treeOf(root, db) ?? insert('trees', { root, client: client ?? null, build: VERSION }, db);
    db.sqlite.run('DELETE FROM forks WHERE session = ?', root);
    const grp = idOf('failure_groups', { fingerprint: name }, { place: group.place, key: group.key }, db);
    const once = 'SELECT 1 FROM exposures WHERE tree = ? AND grp = ? AND channel = ?';
    if (db.sqlite.get(once, tree, grp, CHANNELS.indexOf(channel)) !== undefined) continue;
    const version = versionHash({ group: name, kind, text });
    const assigned = { root, group: name, channel, ts: Date.parse(ts), agent: agentId, version };
    const lesson = { kind, text, since: ts };
    insertExposure({ ...assigned, holdPercent, isHeld }, { key, tree, grp, callId, lesson }, db);
  }
}

/** What a row says of its assignment. */
type Assigned = Pick<
  LedgerRow,
  'root' | 'group' | 'channel' | 'ts' | 'agent' | 'version' | 'holdPercent' | 'isHeld'
>;

type Written = {
  /** The coin's. */
  readonly key: string;
  readonly tree: number;
  readonly grp: number;
  readonly callId: string | null;
  readonly lesson: { readonly kind: string; readonly text: string; readonly since: string };
};

function insertExposure(row: Assigned, { key, tree, grp, callId, lesson }: Written, db: Db): void {
  const version = idOf('lesson_versions', { hash: row.version }, { grp, ...lesson }, db);
  const before = numberIn(db.sqlite.get('SELECT chain FROM exposures ORDER BY id DESC LIMIT 1')?.chain);
  const { lastInsertRowid: id } = db.sqlite.run(
    `INSERT INTO exposures(tree, grp, channel, ts, agent, version, hold_percent, held, chain)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[tree, grp, CHANNELS.indexOf(row.channel), row.ts, row.agent, version],
    ...[row.holdPercent, Number(row.isHeld), chainOf(before ?? 0, row, key)],
  );
  writeOutcome({ ...NO_OUTCOME, id, failedCall: callId }, key, db);
}

/** The id of the tree with this first session. */
function treeOf(root: string, db: Db): number | undefined {
  const sql = 'SELECT id FROM trees WHERE substr(root, -8) = substr(?, -8) AND root = ?';
  return numberIn(db.sqlite.get(sql, root, root)?.id) ?? undefined;
}

/** The id of the row with this value; made with the further columns where there is none. */
function idOf(
  table: 'failure_groups' | 'lesson_versions',
  by: Readonly<Record<string, string>>,
  others: Columns,
  db: Db,
): number {
  const [[column, value]] = Object.entries(by) as [[string, string]];
  const found = db.sqlite.get(`SELECT id FROM ${table} WHERE ${column} = ?`, value);
  return found === undefined ? insert(table, { ...by, ...others }, db) : Number(found.id);
}

type Columns = Readonly<Record<string, string | number | null>>;

function insert(table: 'trees' | 'failure_groups' | 'lesson_versions', row: Columns, db: Db): number {
  const names = Object.keys(row);
  const sql = `INSERT INTO ${table}(${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
  return db.sqlite.run(sql, ...Object.values(row)).lastInsertRowid;
}

/** By what the wording of a lesson is known, also when it is forgotten. */
function versionHash({ group, kind, text }: Pick<LedgerRow, 'group' | 'kind' | 'text'>): string {
  return sha256(JSON.stringify([group, kind, text])).slice(0, HASH_DIGITS);
}

function chainOf(before: number, row: Assigned, key: string): number {
  const { root, group, channel, ts, agent, version, holdPercent, isHeld } = row;
  const values = [before, root, group, CHANNELS.indexOf(channel), ts, agent, version, holdPercent, isHeld];
  return code(key, values);
}

function code(key: string, values: readonly unknown[]): number {
  return Number.parseInt(hmacSha256(key, JSON.stringify(values)).slice(0, CODE_DIGITS), 16);
}

/** What came of an exposure; `null`: nothing so far, `ended` while it goes on. The calls are those until the same check passed. */
export type Outcome = {
  /** The exposure's. */
  readonly id: number;
  /** ms. */
  readonly failedAt: number | null;
  /** Behind a failing call this is known from the beginning. */
  readonly failedCall: string | null;
  readonly calls: number | null;
  readonly ms: number | null;
  readonly chars: number | null;
  readonly ended: 'passed' | 'cap' | 'left' | null;
  readonly adviceFailed: boolean | null;
  readonly formWorked: boolean | null;
  readonly leaked: boolean | null;
  /** ms; null: not looked at yet. */
  readonly settledAt: number | null;
};

const NO_OUTCOME: Omit<Outcome, 'id' | 'failedCall'> = {
  ...{ failedAt: null, calls: null, ms: null, chars: null, ended: null },
  ...{ adviceFailed: null, formWorked: null, leaked: null, settledAt: null },
};

/** A row of the ledger with all that belongs to it. */
export type LedgerRow = Outcome & {
  /** The id of the tree's first session. */
  readonly root: string;
  readonly client: string | null;
  readonly model: string | null;
  readonly build: string | null;
  /** groupFingerprint() of `place` and `key`. */
  readonly group: string;
  readonly place: string;
  /** Null: forgotten. */
  readonly key: string | null;
  /** The lesson's wording by its hash, who wrote it, and its text: empty when that was forgotten. */
  readonly version: string;
  readonly kind: LessonKind;
  readonly text: string;
  readonly channel: Channel;
  /** ms. */
  readonly ts: number;
  readonly agent: string | null;
  readonly holdPercent: number;
  readonly isHeld: boolean;
  readonly chain: number;
  readonly seal: number | null;
};

/** The whole ledger, in the order in which it was written. */
export function readLedger(db: Db): LedgerRow[] {
  const rows = db.sqlite.all(
    `SELECT e.*, t.root, t.client, t.model, t.build, g.fingerprint, g.place, g.key, v.hash, v.kind, v.text
     FROM exposures AS e LEFT JOIN trees AS t ON t.id = e.tree LEFT JOIN failure_groups AS g ON g.id = e.grp
     LEFT JOIN lesson_versions AS v ON v.id = e.version ORDER BY e.id`,
  );
  return rows.map(ledgerRow);
}

function ledgerRow(row: Row): LedgerRow {
  return {
    ...outcomeIn(row),
    root: String(row.root),
    client: textIn(row.client),
    model: textIn(row.model),
    build: textIn(row.build),
    group: String(row.fingerprint),
    place: String(row.place),
    key: textIn(row.key),
    version: String(row.hash),
    kind: String(row.kind) as LessonKind,
    text: String(row.text),
    channel: channelIn(row),
    ts: Number(row.ts),
    agent: textIn(row.agent),
    holdPercent: Number(row.hold_percent),
    isHeld: row.held !== 0,
    chain: Number(row.chain),
    seal: numberIn(row.seal),
  };
}

/** The channel in a row of the ledger, which has its number. */
export function channelIn({ channel }: Row): Channel {
  return CHANNELS[Number(channel)] ?? 'start';
}

/** The outcome in a row of `exposures`. */
export function outcomeIn(row: Row): Outcome {
  const flag = (column: unknown) => (column === null ? null : column !== 0);
  return {
    id: Number(row.id),
    failedAt: numberIn(row.failed_at),
    failedCall: textIn(row.failed_call),
    calls: numberIn(row.calls),
    ms: numberIn(row.ms),
    chars: numberIn(row.chars),
    ended: textIn(row.ended) as Outcome['ended'],
    adviceFailed: flag(row.advice_failed),
    formWorked: flag(row.form_worked),
    leaked: flag(row.leaked),
    settledAt: numberIn(row.settled_at),
  };
}

/**
 * Writes what came of exposures, sealed with the coin's key, inside the caller's transaction. A row that was changed by hand
 * stays as it is: a new seal would hide that.
 */
export function saveOutcomes(outcomes: readonly Outcome[], db: Db): void {
  const key = readCoin(db)?.key ?? '';
  for (const outcome of outcomes) {
    const row = db.sqlite.get('SELECT * FROM exposures WHERE id = ?', outcome.id);
    if (row !== undefined && isSealed({ ...outcomeIn(row), seal: numberIn(row.seal) }, key))
      writeOutcome(outcome, key, db);
  }
}

function writeOutcome(outcome: Outcome, key: string, db: Db): void {
  const { id, failedAt, failedCall, calls, ms, chars, ended, settledAt } = outcome;
  const flag = (value: boolean | null) => (value === null ? null : Number(value));
  const flags = [outcome.adviceFailed, outcome.formWorked, outcome.leaked].map(flag);
  db.sqlite.run(
    `UPDATE exposures SET failed_at = ?, failed_call = ?, calls = ?, ms = ?, chars = ?, ended = ?,
       advice_failed = ?, form_worked = ?, leaked = ?, settled_at = ?, seal = ? WHERE id = ?`,
    ...[failedAt, failedCall, calls, ms, chars, ended, ...flags, settledAt, sealOf(outcome, key), id],
  );
}

function isSealed(row: Outcome & Pick<LedgerRow, 'seal'>, key: string): boolean {
  return sealOf(row, key) === row.seal;
}

function sealOf(outcome: Outcome, key: string): number {
  const { id, failedAt, failedCall, calls, ms, chars, ended, settledAt } = outcome;
  const { adviceFailed, formWorked, leaked } = outcome;
  const found = [failedAt, failedCall, calls, ms, chars, ended];
  return code(key, [id, ...found, adviceFailed, formWorked, leaked, settledAt]);
}

/**
 * Empties what the ledger has of the wording of an error, of what was told of it, and of why that was withdrawn, inside the
 * caller's transaction and while `error_kb` still has it. Which arm it was in and what came of that stays.
 */
export function forgetInLedger(error: string, db: Db): void {
  const ofGroup = 'grp IN (SELECT id FROM failure_groups WHERE key = ?)';
  db.sqlite.run(`UPDATE lesson_versions SET text = '' WHERE ${ofGroup}`, error);
  db.sqlite.run('UPDATE failure_groups SET key = NULL WHERE key = ?', error);
  const ofError = 'error_id IN (SELECT id FROM error_kb WHERE error_normalized = ?)';
  db.sqlite.run(`DELETE FROM withdrawals WHERE ${ofError}`, error);
}

/** What was changed by hand. */
export type Problem = {
  readonly what: 'key' | 'row' | 'missing' | 'arm' | 'outcome' | 'text' | 'group';
  /** The row of the ledger; null where it is about all. */
  readonly id: number | null;
  /** A sentence without a full stop. */
  readonly detail: string;
};

/** Recomputes every code and every arm with the coin's key; empty: nothing was changed by hand. */
export function verifyLedger(db: Db): Problem[] {
  const coin = readCoin(db);
  const rows = readLedger(db);
  const last = numberIn(db.sqlite.get("SELECT seq FROM sqlite_sequence WHERE name = 'exposures'")?.seq) ?? 0;
  if (coin === undefined && last === 0) return [];
  const key = coin?.key ?? '';
  const chained = chainProblems(rows, key, last);
  const isOtherKey = rows.length > 1 && rows.every(({ id }) => chained.some((one) => one.id === id));
  const problems: Problem[] = [];
  if (coin === undefined || sha256(key) !== coin.commitment)
    problems.push({ what: 'key', id: null, detail: 'the key does not fit what was noted when it was made' });
  if (isOtherKey) {
    const detail = `none of the ${rows.length} rows was written with this key`;
    return [...problems, { what: 'key', id: null, detail }];
  }
  return [...problems, ...chained, ...rows.flatMap((row) => rowProblems(row, key))];
}

/** Each row's code is made with that of the row before: whether all are there, and say what they said. */
function chainProblems(rows: readonly LedgerRow[], key: string, last: number): Problem[] {
  const problems: Problem[] = [];
  let before = { id: 0, chain: 0 };
  for (const row of rows) {
    const { id, ts } = row;
    if (chainOf(before.chain, row, key) !== row.chain) {
      const isGap = id !== before.id + 1;
      const gap = `${missing(before.id + 1, id - 1)}, or row ${id} was added by hand`;
      const changed = `row ${id} (${timeOf(ts)}) was changed or added by hand`;
      problems.push({ what: isGap ? 'missing' : 'row', id, detail: isGap ? gap : changed });
    }
    before = row;
  }
  if (last < before.id)
    problems.push({ what: 'missing', id: null, detail: `the number of rows, ${last}, was changed by hand` });
  if (last > before.id) problems.push({ what: 'missing', id: null, detail: missing(before.id + 1, last) });
  return problems;
}

function missing(from: number, until: number): string {
  return from === until ? `row ${from} was deleted` : `rows ${from} to ${until} were deleted`;
}

function timeOf(ms: number): string {
  return Number.isNaN(new Date(ms).getTime()) ? 'no time' : new Date(ms).toISOString();
}

function rowProblems(row: LedgerRow, key: string): Problem[] {
  const { id, group, place, isHeld, text, version } = row;
  const problems: Problem[] = [];
  const report = (what: Problem['what'], detail: string) => problems.push({ what, id, detail });
  if (armOf({ ...row, key }) !== isHeld)
    report('arm', `row ${id} says "${isHeld ? 'held out' : 'told'}", and the coin did not fall so`);
  if (!isSealed(row, key)) report('outcome', `what came of row ${id} was changed by hand`);
  if (text !== '' && versionHash(row) !== version)
    report('text', `the lesson of row ${id} was changed by hand`);
  if (row.key !== null && groupFingerprint({ place, key: row.key }) !== group)
    report('group', `the failure of row ${id} was changed by hand`);
  return problems;
}
