import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inertText } from '../core/inert-text.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { type Sqlite, sqliteErrorCode } from '../database/sqlite.ts';
import type { Run } from '../runs/model/run.ts';
import type { Turn } from '../runs/model/turn.ts';
import { waitingAnnouncements } from '../runs/store/outbox.ts';
import { listRuns } from '../runs/store/runs.ts';
import { readRuns } from '../runs/store/runs-db.ts';
import { activeTurns } from '../runs/store/turns.ts';
import { loadRunConfig } from '../settings/load-run-settings.ts';
import { isGone } from '../system/process-identity.ts';
import { type Check, failed, ok, readLog, warning } from './checks.ts';

/** What background runs have left on this machine: processes at work, and working trees with what they wrote. */

const PATH_LENGTH_MAX = 4096;

/** Why nothing may be taken away now, and what to do; undefined when no sub-agent is at work or waits for its turn. */
export type ActiveRuns = { readonly reason: string; readonly advice: string };

/** A working tree below our home, and the repository that it belongs to where that is known. */
type LeftTree = { readonly path: string; readonly repository: string | undefined };

/** Sub-agents at work, in words. @throws Error when the database cannot be read. */
export function activeRuns(paths: StatePaths): ActiveRuns | undefined {
  const ids = new Set(readRuns(paths, activeTurns)?.map(({ runId }) => runId));
  if (ids.size === 0) return undefined;
  const places = new Set(
    allRuns(paths).flatMap(({ id, requester }) =>
      ids.has(id) ? [`"${inertText(requester.cwd, PATH_LENGTH_MAX)}"`] : [],
    ),
  );
  return {
    reason: `${counted(ids.size, 'sub-agent')} ${ids.size === 1 ? 'is' : 'are'} at work or waiting`,
    advice: `Run "self-generation subagents stop all --project" in ${[...places].join(' and in ')}, or wait until they are done, and run the command again.`,
  };
}

/** Every run with a working tree that is still there. @throws Error when the database cannot be read. */
export function runsWithTrees(paths: StatePaths): Run[] {
  return allRuns(paths).filter(({ worktree }) => worktree !== null && existsSync(worktree.path));
}

/** The working trees that are there, also those of which no database tells. */
export function treesLeft(paths: StatePaths): LeftTree[] {
  const repositories = repositoriesOf(paths);
  return directoriesIn(paths.worktrees)
    .flatMap(directoriesIn)
    .filter((path) => readdirSync(path).length > 0)
    .map((path) => ({ path, repository: repositories.get(path) }));
}

/** What a person has to know of trees that stay, and can do. */
export function keptTreeWarning({ path, repository }: LeftTree): string {
  const git = repository === undefined ? `git -C "${path}"` : `git -C "${repository}"`;
  return `The working tree "${path}" of a sub-agent stays: it may hold work that is nowhere else. Look at it, then remove it: ${git} worktree remove --force "${path}"`;
}

function repositoriesOf(paths: StatePaths): Map<string, string> {
  try {
    const trees = allRuns(paths).flatMap(({ worktree }) => worktree ?? []);
    return new Map(trees.map(({ path, repository }) => [path, repository]));
  } catch {
    return new Map(); // The trees are there all the same.
  }
}

function allRuns(paths: StatePaths): Run[] {
  const limit = Number.MAX_SAFE_INTEGER;
  const listings = readRuns(paths, (db) => listRuns({ includeArchived: true, limit }, db)) ?? [];
  return listings.map(({ run }) => run);
}

/** Links are not followed: what they point to is not ours. */
function directoriesIn(directory: string): string[] {
  if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(directory, name));
}

const NAME = 'background runs';
const MS_PER_DAY = 86_400_000;
/** A supervisor that has not come by then does not come any more. */
const SUPERVISOR_COMES_MS = 60_000;
const UNDELIVERED_MS = MS_PER_DAY;
const LOG_DAYS = 7;
const FAILURES_SHOWN = 3;
const LENGTH_MAX = 300;

type Found = ReturnType<typeof inspect>;

/** What is wrong with sub-agents in the background; one line that all is well otherwise. Changes nothing. */
export function checkRuns(paths: StatePaths, now: Date): Check | Check[] {
  if (!existsSync(paths.runsDatabase)) return ok(NAME, 'none yet; the first one makes the database');
  let found: Found | undefined;
  try {
    found = readRuns(paths, inspect);
  } catch (error) {
    return unreadable(error, paths);
  }
  if (found === undefined) {
    if (statSync(paths.runsDatabase).size === 0) return ok(NAME, 'none yet');
    return failed(NAME, `${paths.runsDatabase} cannot be opened`, 'Make it yours: chown, chmod 600');
  }
  if (found.integrity !== 'ok') return damaged(found.integrity, paths);
  const problems = [
    checkSettings(paths),
    checkOwners(found.active, now),
    checkUndelivered(found.undelivered, now),
    checkLog(paths, now),
  ].filter((check) => check !== undefined);
  return problems.length > 0 ? problems : ok(NAME, summary(found, paths));
}

function inspect(db: Sqlite) {
  const integrity = db.all('PRAGMA integrity_check(5)').map((row) => String(row.integrity_check));
  const listings = listRuns({ includeArchived: true, limit: Number.MAX_SAFE_INTEGER }, db);
  const waiting = [...new Set(listings.map(({ run }) => run.requester.key))].flatMap((requester) =>
    waitingAnnouncements(requester, db),
  );
  const ids = new Set(waiting.map(({ runId }) => runId));
  const places = listings.flatMap(({ run }) => (ids.has(run.id) ? [`"${shown(run.requester.cwd)}"`] : []));
  return {
    integrity: integrity.join('; '),
    runs: listings.length,
    active: activeTurns(db),
    undelivered: {
      count: waiting.length,
      oldestMs: Math.min(...waiting.map(({ createdAtMs }) => createdAtMs)),
      places: [...new Set(places)],
    },
  };
}

function unreadable(error: unknown, paths: StatePaths): Check {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  if (/NOTADB|CORRUPT/.test(sqliteErrorCode(cause) ?? '')) return damaged(message, paths);
  const isNewer = cause === undefined;
  const remedy = isNewer
    ? 'Install the newest version of self-generation'
    : 'Close what holds it, or make it yours (chown, chmod 600), and run doctor again';
  return failed(NAME, shown(message), remedy);
}

function damaged(findings: string, { runsDatabase }: StatePaths): Check {
  const remedy = `Move it away, with its -wal and -shm, and the next sub-agent makes a new one: mv "${runsDatabase}" "${runsDatabase}.broken"`;
  return failed(NAME, `${runsDatabase} is damaged: ${shown(findings)}`, remedy);
}

function checkSettings(paths: StatePaths): Check | undefined {
  const config = loadRunConfig(paths);
  if (config.kind === 'usable') return undefined;
  const detail = `no sub-agent is started: ${shown(config.error)}`;
  return failed(NAME, detail, `Correct ${paths.config}; "self-generation config" lists the settings`);
}

function checkOwners(active: readonly Turn[], now: Date): Check | undefined {
  const orphans = active.filter(({ state, owner, claimedAtMs, queuedAtMs }) => {
    if (state === 'queued') return false;
    if (owner !== null) return isGone(owner);
    return now.getTime() - (claimedAtMs ?? queuedAtMs) > SUPERVISOR_COMES_MS;
  });
  if (orphans.length === 0) return undefined;
  const detail = `${counted(orphans.length, 'sub-agent')} without the process that looks after it: ${orphans.map(({ runId }) => runId).join(', ')}`;
  return warning(NAME, detail, 'Another one takes over with: self-generation subagents list');
}

function checkUndelivered({ count, oldestMs, places }: Found['undelivered'], now: Date): Check | undefined {
  if (count === 0 || now.getTime() - oldestMs < UNDELIVERED_MS) return undefined;
  const since = new Date(oldestMs).toISOString();
  const detail = `${counted(count, 'announcement')} of sub-agents not delivered, the oldest since ${since}`;
  return warning(NAME, detail, `Read them: "self-generation subagents inbox" in ${places.join(' and in ')}`);
}

function checkLog(paths: StatePaths, now: Date): Check | undefined {
  const since = new Date(now.getTime() - LOG_DAYS * MS_PER_DAY).toISOString();
  const recent = readLog(paths.runsLog).filter(({ ts }) => ts >= since);
  if (recent.length === 0) return undefined;
  const newest = recent.slice(-FAILURES_SHOWN).map(({ ts, message }) => `${shown(ts)} ${shown(message)}`);
  const detail = `${counted(recent.length, 'failure')} in the last ${LOG_DAYS} days; newest: ${newest.join(' | ')}`;
  return warning(NAME, detail, `All of them: ${paths.runsLog}`);
}

function summary({ runs, active, undelivered }: Found, paths: StatePaths): string {
  const busy = new Set(active.map(({ runId }) => runId));
  const kept = treesLeft(paths).filter(({ path }) => !busy.has(path.slice(path.lastIndexOf('/') + 1)));
  return [
    counted(runs, 'run'),
    `${busy.size} at work or waiting`,
    ...(undelivered.count === 0 ? [] : [`${counted(undelivered.count, 'announcement')} not delivered yet`]),
    ...(kept.length === 0
      ? []
      : [`${counted(kept.length, 'working tree')} kept: ${kept.map(({ path }) => path).join(', ')}`]),
    'integrity ok',
  ].join(', ');
}

function shown(text: string): string {
  return inertText(text, LENGTH_MAX);
}
