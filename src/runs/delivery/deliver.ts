import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { StatePaths } from '../../core/state-paths.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import { identityNow, isGone } from '../../system/process-identity.ts';
import { type Announcement, deliveryText } from '../model/announcement.ts';
import { inboxMark, type Requester } from '../model/run.ts';
import { enterListener, serversOf } from '../store/listeners.ts';
import {
  acknowledge,
  acknowledgeTurn,
  hasWaiting,
  leaseTurn,
  passOn,
  takeAnnouncements,
} from '../store/outbox.ts';
import { readRuns, withRuns } from '../store/runs-db.ts';
import { checkpoint, isInsideRun, type RunsWorld, type TurnName } from '../world.ts';

/** What is told to a requester, whichever way: one text, and what it was made of. */
export type Delivery = { readonly text: string; readonly announcements: readonly Announcement[] };

export type Reader = {
  /** Who holds what is handed out, until it says that it arrived by asking again: `hook:<session>`, `mcp:<connection>`. */
  readonly owner: string;
  /** Who holds it until noteSaid(), where the owner may ask again before that: several hooks of a session at once. */
  readonly holder?: string;
  /** Who holds it then, and how long, if that is not the owner as usual. */
  readonly told?: { readonly owner: string; readonly leaseMs: number };
  /** A person at a terminal also gets what is meant for a session that may still come. */
  readonly isPerson: boolean;
  /** Sessions that are over, and whose place this one has taken. */
  readonly ended?: readonly string[];
  /** In UTF-16 units; results are cut to it. */
  readonly lengthMax?: number;
  /** How long it waits for whoever writes just now. */
  readonly lockTimeoutMs?: number;
};

/** How long something is held that nobody said anything about. */
const LEASE_MS = 600_000;
/** How long a process may take from being handed something to having said it. */
const UNSAID_LEASE_MS = 10_000;
const LENGTH_MAX = 9500;
/** What each takes at least, with its label and its stats: more than fit are given the next time. */
const ONE_LENGTH_MIN = 1500;
const NONCE_BYTES = 16;

/** Hands out what waits, after noting that what this owner held has arrived. Undefined: nothing waits, or inside a run. */
export function takeDelivery(requester: Requester, reader: Reader, world: RunsWorld): Delivery | undefined {
  const { paths } = world;
  if (!existsSync(paths.runsDatabase) || isInsideRun(world)) return undefined;
  const { owner, holder, isPerson, ended, lengthMax = LENGTH_MAX } = reader;
  const { key, session } = requester;
  const nowMs = world.now().getTime();
  const limit = Math.max(1, Math.floor(lengthMax / ONE_LENGTH_MIN));
  const { announcements, isOver } = withRuns(paths, (db) => {
    waitAsLongAs(reader, db);
    const listener = { requester: key, session, owner, isPerson, ended };
    const leaseMs = holder === undefined ? LEASE_MS : UNSAID_LEASE_MS;
    const options = { nowMs, leaseMs, limit, ...(holder !== undefined && { holder }) };
    const announcements = takeAnnouncements(listener, options, db);
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
 * What a turn has to tell is told by an answer that holds its reply: until this owner asks again, or says so, nobody
 * else is given it. False when that is not this session's to hear, or was told already.
 */
export function holdTurn(
  turn: TurnName,
  { session }: Requester,
  owner: string,
  { paths, now }: RunsWorld,
): boolean {
  const untilMs = now().getTime() + LEASE_MS;
  return withRuns(paths, (db) => leaseTurn(turn, { owner, untilMs, session }, db));
}

/** What this reader was handed has been said; whether it arrived, its owner's next call says. */
export function noteSaid(reader: Reader, { paths, now }: RunsWorld): void {
  const { holder = reader.owner, told = { owner: reader.owner, leaseMs: LEASE_MS } } = reader;
  withRuns(paths, (db) => {
    waitAsLongAs(reader, db);
    passOn(holder, { owner: told.owner, untilMs: now().getTime() + told.leaseMs }, db);
  });
}

function waitAsLongAs({ lockTimeoutMs }: Reader, db: Sqlite): void {
  if (lockTimeoutMs !== undefined) db.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
}

/** What this owner holds has arrived. Gives the ids of the announcements. */
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

/** What these turns have to tell to the requester's session has been shown to it. */
export function acknowledgeTurns(
  turns: readonly TurnName[],
  { key, session }: Requester,
  { paths, now }: RunsWorld,
): void {
  const nowMs = now().getTime();
  withRuns(paths, (db) =>
    db.transaction(() => turns.map((turn) => acknowledgeTurn(turn, { session, nowMs }, db))),
  );
  unmarkInbox(key, paths, nowMs);
}

/** What this owner holds has not arrived: it waits again, at once. */
export function returnDelivery(owner: string, { paths }: RunsWorld): void {
  if (existsSync(paths.runsDatabase)) withRuns(paths, (db) => passOn(owner, null, db));
}

/** Leaves the sign by which hooks see that something waits. Never throws: it is delivered without it too. */
export function markInbox(requester: string, paths: StatePaths): void {
  try {
    mkdirSync(paths.inboxMarks, { recursive: true, mode: 0o700 });
    writeFileSync(inboxMark(requester, paths), '', { mode: 0o600 });
  } catch {
    // Whoever looks after runs next tries it again.
  }
}

/** Takes the sign away unless something waits; a second look sees what came in meanwhile. Never throws. */
export function unmarkInbox(requester: string, paths: StatePaths, nowMs: number): void {
  try {
    const mark = inboxMark(requester, paths);
    const isNeeded = () => readRuns(paths, (db) => hasWaiting(requester, nowMs, db)) === true;
    if (!existsSync(mark) || isNeeded()) return;
    rmSync(mark, { force: true });
    if (isNeeded()) markInbox(requester, paths);
  } catch {
    // A sign that stays costs a look.
  }
}

/** Which sessions of clients live, by the servers of our tools that they have. */

/** Writes down that this process serves the session. Returns false if there is no database yet, and so no run. */
export function enterServer({ key, session, client }: Requester, { paths, now }: RunsWorld): boolean {
  if (session === null || !existsSync(paths.runsDatabase)) return false;
  const listener = {
    kind: 'server',
    session,
    requester: key,
    client,
    process: identityNow(process.pid),
  } as const;
  withRuns(paths, (db) => enterListener(listener, now().getTime(), db));
  return true;
}

/** The sessions whose place this one takes: of its client, no other one lives in the project. */
export function endedSessions({ key, session, client }: Requester, { paths }: RunsWorld): string[] {
  if (client === null) return [];
  const servers = readRuns(paths, (db) => serversOf(key, client, db)) ?? [];
  const others = servers.filter((one) => one.session !== session);
  return others.every((one) => isGone(one.process)) ? others.map((one) => one.session) : [];
}
