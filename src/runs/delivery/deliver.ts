import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { lookOr } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import { identityNow, isGone } from '../../system/process-identity.ts';
import { type Announcement, DELIVERY_LENGTH_MAX, deliveryText } from '../model/announcement.ts';
import { inboxMark, isKeyOfRun, type Requester, type TurnName } from '../model/run.ts';
import {
  acknowledge,
  enterListener,
  hasWaiting,
  leaseTurn,
  moveLeases,
  type Recipient,
  serversOf,
  takeAnnouncements,
} from '../store/outbox.ts';
import { readRuns, runsTransaction, withRuns } from '../store/rows.ts';
import { checkpoint, isInsideRun, type RunsWorld } from '../world.ts';

/** What is delivered to a requester: one text, and the announcements in it. */
export type Delivery = { readonly text: string; readonly announcements: readonly Announcement[] };

export type Reader = Omit<Recipient, 'requester' | 'session'> & {
  /** In UTF-16 units; results are cut to it. */
  readonly lengthMax?: number;
  readonly lockTimeoutMs?: number;
};

const LEASE_MS = 600_000;
/** How long a process may take from the lease to confirmSaid(). */
const UNSAID_LEASE_MS = 10_000;
/** The least length of one announcement; those that do not fit are delivered the next time. */
const ONE_LENGTH_MIN = 1500;
const NONCE_BYTES = 16;

/** Acknowledges what this owner held, and leases what waits. Undefined: nothing waits, or this process is inside a run. */
export function takeDelivery(requester: Requester, reader: Reader, world: RunsWorld): Delivery | undefined {
  const { paths } = world;
  if (!existsSync(paths.runsDatabase) || isInsideRun(world)) return undefined;
  const { lengthMax = DELIVERY_LENGTH_MAX, lockTimeoutMs, ...recipient } = reader;
  const { key, session } = requester;
  const nowMs = world.now().getTime();
  const limit = Math.max(1, Math.floor(lengthMax / ONE_LENGTH_MIN));
  const { announcements, isOver } = withRuns(paths, (db) => {
    setLockTimeout(lockTimeoutMs, db);
    const leaseMs = reader.holder === undefined ? LEASE_MS : UNSAID_LEASE_MS;
    const options = { nowMs, leaseMs, limit };
    const announcements = takeAnnouncements({ ...recipient, requester: key, session }, options, db);
    return { announcements, isOver: announcements.length === 0 && !hasWaiting(key, nowMs, db) };
  });
  checkpoint('after-lease', world.env);
  if (announcements.length > 0) {
    const nonce = randomBytes(NONCE_BYTES).toString('hex');
    return { text: deliveryText(announcements, nonce, lengthMax), announcements };
  }
  if (isOver) unmarkInbox(key, paths, nowMs);
  return undefined;
}

/**
 * Leases the announcements of these turns to this owner, who shows their results in another way; false if each is for
 * another session or was delivered. `isUnsaid`: what is shown is not written yet, and acknowledgeDelivery() follows at once.
 */
export function holdTurns(
  turns: readonly TurnName[],
  { session }: Requester,
  { owner, isUnsaid = false }: { readonly owner: string; readonly isUnsaid?: boolean },
  { paths, now }: RunsWorld,
): boolean {
  const untilMs = now().getTime() + (isUnsaid ? UNSAID_LEASE_MS : LEASE_MS);
  const lease = (db: Sqlite) => turns.map((turn) => leaseTurn(turn, { owner, untilMs, session }, db));
  return runsTransaction(paths, lease).includes(true);
}

/** The holder's delivery was written out: from now on it is held by the owner, whose next call shows whether it arrived. */
export function confirmSaid(
  holder: string,
  reader: Pick<Reader, 'owner' | 'lockTimeoutMs'> & { readonly leaseMs?: number },
  { paths, now }: RunsWorld,
): void {
  const { owner, leaseMs = LEASE_MS, lockTimeoutMs } = reader;
  withRuns(paths, (db) => {
    setLockTimeout(lockTimeoutMs, db);
    moveLeases(holder, { owner, untilMs: now().getTime() + leaseMs }, db);
  });
}

function setLockTimeout(timeoutMs: number | undefined, db: Sqlite): void {
  if (timeoutMs !== undefined) db.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
}

/** What this owner holds has arrived. Returns the ids of the announcements. */
export function acknowledgeDelivery(
  requester: string,
  owner: string,
  { paths, now }: RunsWorld,
): readonly string[] {
  if (!existsSync(paths.runsDatabase)) return [];
  const nowMs = now().getTime();
  const ids = withRuns(paths, (db) => acknowledge(owner, nowMs, db));
  if (ids.length > 0) unmarkInbox(requester, paths, nowMs);
  return ids;
}

/** Nobody is to be told the results of these turns: who asked has what was made of them. */
export function acknowledgeTurns(turns: readonly TurnName[], requester: Requester, world: RunsWorld): void {
  const owner = `known:${randomUUID()}`;
  holdTurns(turns, requester, { owner, isUnsaid: true }, world);
  acknowledgeDelivery(requester.key, owner, world);
}

/** What this owner holds has not arrived: it waits again. */
export function returnDelivery(owner: string, { paths }: RunsWorld): void {
  if (existsSync(paths.runsDatabase)) withRuns(paths, (db) => moveLeases(owner, null, db));
}

/** Creates the file by which hooks see that something waits. Never throws: reconcile() creates it too. */
export function markInbox(requester: string, paths: StatePaths): void {
  if (isKeyOfRun(requester)) return; // No hook looks for that.
  lookOr(() => {
    mkdirSync(paths.inboxMarks, { recursive: true, mode: 0o700 });
    writeFileSync(inboxMark(requester, paths), '', { mode: 0o600 });
  }, undefined);
}

/** Removes that file unless something waits, and checks again for what came in meanwhile. Never throws: one left costs a query. */
export function unmarkInbox(requester: string, paths: StatePaths, nowMs: number): void {
  lookOr(() => {
    const mark = inboxMark(requester, paths);
    const isNeeded = () => readRuns(paths, (db) => hasWaiting(requester, nowMs, db)) === true;
    if (!existsSync(mark) || isNeeded()) return;
    rmSync(mark, { force: true });
    if (isNeeded()) markInbox(requester, paths);
  }, undefined);
}

/** Stores that this process is the session's MCP server. Returns false if there is no database yet, and so no run. */
export function enterServer({ key, session, client }: Requester, { paths, now }: RunsWorld): boolean {
  if (session === null || !existsSync(paths.runsDatabase)) return false;
  const server = { kind: 'server', session, requester: key, client } as const;
  const listener = { ...server, process: identityNow(process.pid) };
  withRuns(paths, (db) => enterListener(listener, now().getTime(), db));
  return true;
}

/** The sessions that this one replaces: those of its client in the project, if none of them lives. */
export function endedSessions({ key, session, client }: Requester, { paths }: RunsWorld): string[] {
  if (client === null) return [];
  const servers = readRuns(paths, (db) => serversOf(key, client, db)) ?? [];
  const others = servers.filter((one) => one.session !== session);
  return others.every((one) => isGone(one.process)) ? others.map((one) => one.session) : [];
}
