import { writeFileSync } from 'node:fs';
import { memberEvidence } from '../benefit/report.ts';
import { asRecord, lookOr, parseJson, reasonOf } from '../core/guards.ts';
import { type Environment, type StatePaths, VERSION } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { readCoin, readLedger } from '../database/ledger.ts';
import type { Server } from '../database/postgres.ts';
import { tryProcessLock, writeDatabase } from '../hooks/store/use-database.ts';
import { remoteOf } from '../lessons/repository.ts';
import { listWithdrawals } from '../lessons/store/withdrawals.ts';
import { loadTrust } from '../settings/team-settings.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../system/atomic-file.ts';
import { readTextFile } from '../system/runtime-bun.ts';
import { type Changes, carryOut } from './incoming.ts';
import {
  type ConnectServer,
  keyCheck,
  type Membership,
  openTeamServer,
  repositoryName,
  teamPaths,
} from './membership.ts';
import { bodyOf, idOf, type NewFact, NO_REPOSITORY } from './model/fact.ts';
import { type Local, outgoing } from './outgoing.ts';
import {
  cursorOf,
  factAt,
  forgetFacts,
  known,
  knownByPrefix,
  knownOf,
  note,
  type Reader,
  saidBy,
  sameMembers,
  sentBy,
  setMembers,
  takeIn,
  workAgain,
} from './store/copy.ts';
import { type Copy, DamagedCopy, setCopyAside, withCopy } from './store/copy-file.ts';
import { clonesOf, localLessons, localRules, teamDecisions } from './store/knowledge.ts';
import { schemaOf, TEAM_SCHEMA } from './store/migrate.ts';
import { hasFact, membersOf, pullFacts, pushFacts, type Seat, seatIn } from './store/server.ts';

/**
 * Brings this machine and the team's server together: what is new here goes out, what is new there comes in. Each step can be
 * repeated, and the next sync does what this one did not: nothing depends on that it ends well.
 */

const PUSHED_AT_ONCE = 1000;

export type SyncReport = Changes & {
  readonly pushed: number;
  readonly pulled: number;
  /** Facts that the server did not take, with its reason. */
  readonly refused: readonly string[];
  /** What stays here: lessons with a path outside of the repository in them. */
  readonly keptBack: number;
  /** Projects from which nothing was sent: they are no clones of what was shared any more. */
  readonly moved: readonly string[];
  readonly setAside: string | null;
};

type World = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly now: Date;
  readonly connect: ConnectServer;
};

/** How a sync went; the last one is kept. */
export type SyncOutcome =
  | ({ readonly kind: 'done'; readonly at: string } & SyncReport)
  | { readonly kind: 'failed'; readonly at: string; readonly reason: string }
  | { readonly kind: 'busy' };

/** Syncs once, alone. Never throws: why it failed is in the outcome, which is kept for `team status`. */
export async function syncTeam(membership: Membership, world: World): Promise<SyncOutcome> {
  const { paths, now } = world;
  ensurePrivateDirectory(paths.data);
  const release = tryProcessLock(teamPaths(paths).lock);
  if (release === undefined) return { kind: 'busy' };
  const at = now.toISOString();
  let outcome: SyncOutcome;
  try {
    outcome = { kind: 'done', at, ...(await syncSound(membership, world)) };
  } catch (error) {
    outcome = { kind: 'failed', at, reason: reasonOf(error) };
  } finally {
    release();
  }
  noteSync(outcome, paths);
  return outcome;
}

/** On a full disk there may be room in the old file's place, and for no other one. */
function noteSync(outcome: SyncOutcome, paths: StatePaths): void {
  const { lastSync: file } = teamPaths(paths);
  const text = `${JSON.stringify(outcome)}\n`;
  try {
    writeFileAtomic(file, text, { mode: 0o600 });
  } catch {
    // Whoever has called still hears of it.
    lookOr(() => writeFileSync(file, text, { mode: 0o600 }), undefined);
  }
}

/** How the last sync went; undefined before the first. */
export function lastSync(paths: StatePaths): Exclude<SyncOutcome, { kind: 'busy' }> | undefined {
  const last = asRecord(parseJson(readTextFile(teamPaths(paths).lastSync) ?? ''));
  const isWhole = last.kind === 'done' ? Array.isArray(last.refused) : typeof last.reason === 'string';
  return isWhole && typeof last.at === 'string' ? (last as ReturnType<typeof lastSync>) : undefined;
}

/** A damaged copy is set aside and pulled anew. */
async function syncSound(membership: Membership, world: World): Promise<SyncReport> {
  const server = await openTeamServer(membership, world.env, world.connect);
  try {
    const seat = await takeSeat(membership, server);
    const sync = (setAside: string | null) =>
      withCopy(world.paths, (copy) => syncWith({ membership, seat, server, copy, setAside }, world));
    try {
      return await sync(null);
    } catch (error) {
      if (!(error instanceof DamagedCopy)) throw error;
      return await sync(setCopyAside(world.paths, world.now));
    }
  } finally {
    await server.close();
  }
}

/** @throws Error when the server is too new for this program, or this login is not in the team. */
export async function takeSeat({ team, key, login }: Membership, server: Server): Promise<Seat> {
  const { version, leastProgram } = await schemaOf(server);
  if (version === 0)
    throw new Error('that database has no team in it; its owner makes one with "team join --create"');
  if (leastProgram > TEAM_SCHEMA.made)
    throw new Error('the team works with a later version of this program; run "self-generation update"');
  if (version < TEAM_SCHEMA.least)
    throw new Error('the team\'s database is older than this program; its owner runs "team join" again');
  const seat = await seatIn(team, server);
  if (seat === undefined) throw new Error(`"${login}" is no member of the team "${team}"; an owner adds it`);
  if (seat.keyCheck !== keyCheck(key, team)) throw new Error(`the key is not that of the team "${team}"`);
  return seat;
}

type Syncing = {
  readonly membership: Membership;
  readonly seat: Seat;
  readonly server: Server;
  readonly copy: Copy;
  readonly setAside: string | null;
};

/** What comes in first: what was withdrawn is told no more also where the server takes nothing. */
async function syncWith(syncing: Syncing, world: World): Promise<SyncReport> {
  const { membership, seat, server, copy, setAside } = syncing;
  const reader = { me: membership.login, trust: loadTrust(world.paths) };
  for (const [name, value] of [['epoch', seat.epoch] as const, ['login', reader.me] as const]) {
    if (known(name, copy) === value) continue;
    forgetFacts(copy);
    note(name, value, copy);
  }
  const report = {
    ...{ pushed: 0, pulled: 0, told: 0, withdrawn: 0, offered: 0, keptBack: 0, setAside },
    ...{ refused: [] as string[], moved: [] as string[] },
  };
  const places = sharedPlaces(membership);
  const repositories = [...places.map(({ repository }) => repository), NO_REPOSITORY];
  for (const repository of repositories) if (await wasSetBack(repository, syncing)) forgetFacts(copy);
  for (const repository of repositories) report.pulled += await pull(repository, reader, syncing);
  const members = (await membersOf(seat.team, server)).filter(({ isRemoved }) => !isRemoved);
  const stale = workedOut(new Map(members.map(({ login, role }) => [login, role])), reader, copy);
  for (const place of places) {
    if (stale.what !== undefined) workAgain(stale.what, place.repository, reader, copy);
    take(place, report, syncing, world);
  }
  stale.settle();
  for (const place of places) {
    const moved = place.projects.filter((project) => remoteOf(project, world.env) !== place.remote);
    report.moved.push(...moved);
    const projects = place.projects.filter((project) => !moved.includes(project));
    if (projects.length === 0) continue;
    const { facts, keptBack } = writeDatabase(world.paths, (db) =>
      outgoing(localTo({ ...place, projects }, moved, db), sentOf(place.repository, reader, copy)),
    );
    report.keptBack += keptBack.length;
    if (facts.length === 0) continue;
    await push(facts, report, syncing);
    report.pulled += await pull(place.repository, reader, syncing);
    take(place, report, syncing, world);
  }
  if (places.length > 0) await push(ownEvidence(reader, world, copy), report, syncing);
  report.pulled += await pull(NO_REPOSITORY, reader, syncing);
  return report;
}

type Place = ReturnType<typeof sharedPlaces>[number];

/** Carries out here what has come in. */
function take(
  { repository, projects }: Place,
  report: { told: number; withdrawn: number; offered: number },
  { copy }: Syncing,
  { paths, now }: World,
): void {
  const changes = writeDatabase(paths, (db) =>
    carryOut({ repository, projects: clonesOf(projects, db), now }, copy, db),
  );
  report.told += changes.told;
  report.withdrawn += changes.withdrawn;
  report.offered = changes.offered;
}

function localTo({ repository, projects: named }: Place, moved: readonly string[], db: Db): Local {
  const projects = clonesOf(named, db).filter((project) => !moved.includes(project));
  return {
    ...{ repository, projects },
    lessons: localLessons(projects, db),
    rules: localRules(projects, db),
    withdrawals: listWithdrawals(projects, db),
    decisions: teamDecisions(projects, db),
  };
}

/** What was worked out under other conditions; `settle` notes the new ones, once all of it is worked out under them. */
function workedOut(members: ReadonlyMap<string, string>, { trust }: Reader, copy: Copy) {
  const isOtherProgram = known('program', copy) !== VERSION;
  // In this order: when it is stopped in between, the next sync finds that something is to be worked out.
  if (!sameMembers(members, copy)) {
    note('trust', 'unknown', copy);
    setMembers(members, copy);
  }
  const isOtherTrust = known('trust', copy) !== trust;
  const what = isOtherProgram ? ('all' as const) : isOtherTrust ? ('judged' as const) : undefined;
  const settle = () => {
    note('program', VERSION, copy);
    note('trust', trust, copy);
  };
  return { what, settle };
}

/** The shared repositories by their name in the team. */
export function sharedPlaces({
  key,
  shared,
}: Membership): (Membership['shared'][number] & { readonly repository: string })[] {
  return shared.map((one) => ({ ...one, repository: repositoryName(key, one.remote) }));
}

function sentOf(repository: string, { me }: Reader, copy: Copy) {
  const aboutOf = (prefix: string) => {
    const found = knownByPrefix(prefix, copy);
    return found.length === 1 ? found[0]?.about : undefined;
  };
  return {
    me,
    ids: sentBy(me, copy),
    knownOf: (about: string) => knownOf(about, copy),
    aboutOf,
    ...saidBy(me, repository, copy),
  };
}

/** A server that was set back to an earlier state lacks the last fact that is here, or has another one in its place. */
async function wasSetBack(repository: string, { seat, server, copy }: Syncing): Promise<boolean> {
  const cursor = cursorOf(repository, copy);
  const last = factAt(cursor, copy);
  return last === undefined ? cursor > 0 : !(await hasFact(last, seat.team, server));
}

async function pull(repository: string, reader: Reader, { seat, server, copy }: Syncing): Promise<number> {
  for (let pulled = 0; ; ) {
    const after = cursorOf(repository, copy);
    const facts = await pullFacts({ team: seat.team, repository, after }, server);
    if (facts.length === 0) return pulled;
    takeIn(facts, repository, reader, copy);
    pulled += facts.length;
  }
}

/** Where the server refuses one of many, the others are sent one by one. */
async function push(
  facts: readonly NewFact[],
  report: { pushed: number; refused: string[] },
  { seat, server }: Pick<Syncing, 'seat' | 'server'>,
): Promise<void> {
  for (let from = 0; from < facts.length; from += PUSHED_AT_ONCE) {
    const some = facts.slice(from, from + PUSHED_AT_ONCE);
    try {
      report.pushed += await server.transaction((statements) => pushFacts(seat.team, some, statements));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      for (const fact of some) {
        try {
          report.pushed += await server.transaction((statements) => pushFacts(seat.team, [fact], statements));
        } catch (reason) {
          if (!isRefusal(reason)) throw reason;
          report.refused.push(`${fact.kind}: ${reasonOf(reason)}`);
        }
      }
    }
  }
}

/** No right to it, or against a condition of the table. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof Error && ['42501', '23514', '23503'].includes(String((error as { code?: string }).code))
  );
}

/** This member's proof, where it has changed since it was sent. */
function ownEvidence({ me }: Reader, { paths }: World, copy: Copy): NewFact[] {
  const evidence = writeDatabase(paths, (db) => ({
    ledger: readCoin(db)?.commitment,
    ...memberEvidence(readLedger(db)),
  }));
  const body = bodyOf('evidence', evidence);
  if (body === undefined || (body.tallies.length === 0 && body.cures.length === 0)) return [];
  const id = idOf('evidence', JSON.stringify(body));
  return sentBy(me, copy).has(id)
    ? []
    : [{ id, about: id, repository: NO_REPOSITORY, kind: 'evidence', body }];
}
