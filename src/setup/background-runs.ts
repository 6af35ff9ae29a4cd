import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { lookOr } from '../core/guards.ts';
import { inertText } from '../core/inert-text.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { type Sqlite, sqliteErrorCode } from '../database/sqlite.ts';
import type { Run } from '../runs/model/run.ts';
import type { Turn } from '../runs/model/turn.ts';
import { waitingAnnouncements } from '../runs/store/outbox.ts';
import { readRuns } from '../runs/store/rows.ts';
import { listRuns } from '../runs/store/runs.ts';
import { activeTurns } from '../runs/store/turns.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import { isGone } from '../system/process-identity.ts';
import {
  type CheckWorld,
  type Finding,
  failed,
  LOOK_AGAIN,
  moveAway,
  NEWER,
  ok,
  recentFailures,
  warning,
} from './checks.ts';

/** The background runs of this machine, as doctor and uninstall need to know them. Read-only. */

const PATH_LENGTH_MAX = 4096;
const TEXT_LENGTH_MAX = 300;
/** A supervisor that has not started within this time will not start. */
const SUPERVISOR_COMES_MS = 60_000;
const UNDELIVERED_MS = 86_400_000;

/** Why nothing may be removed now, and what to do about it. */
type ActiveRuns = { readonly reason: string; readonly advice: string };

/** The runs at work or waiting for their turn, in words; undefined without one. @throws Error when the database cannot be read. */
export function activeRuns(paths: StatePaths): ActiveRuns | undefined {
  const ids = new Set(readRuns(paths, activeTurns)?.map(({ runId }) => runId));
  if (ids.size === 0) return undefined;
  const places = directoriesOf((readRuns(paths, allRuns) ?? []).filter(({ id }) => ids.has(id)));
  return {
    reason: `${counted(ids.size, 'sub-agent')} ${ids.size === 1 ? 'is' : 'are'} at work or waiting`,
    advice: `Run "self-generation subagents stop all --project" in ${places}, or wait until they are done, and run the command again.`,
  };
}

function allRuns(db: Sqlite): Run[] {
  const all = { includeArchived: true, includeParts: true, limit: Number.MAX_SAFE_INTEGER };
  return listRuns(all, db).map(({ run }) => run);
}

/** Where these runs were asked for: `"/a" and in "/b"`. */
function directoriesOf(runs: readonly Run[]): string {
  const directories = new Set(runs.map(({ requester }) => inertText(requester.cwd, PATH_LENGTH_MAX)));
  return [...directories].map((path) => `"${path}"`).join(' and in ');
}

/** Every run with a working tree that is still there. @throws Error when the database cannot be read. */
export function runsWithTrees(paths: StatePaths): Run[] {
  const runs = readRuns(paths, allRuns) ?? [];
  return runs.filter(({ worktree }) => worktree !== null && existsSync(worktree.path));
}

/** The working trees that are there, also those of which no database tells. */
export function treesLeft({ worktrees }: Pick<StatePaths, 'worktrees'>): string[] {
  return directoriesIn(worktrees)
    .flatMap(directoriesIn)
    .filter((path) => readdirSync(path).length > 0);
}

/** One warning for each working tree that stays, with the command that removes it. */
export function keptTreeWarnings(paths: StatePaths): string[] {
  const trees = treesLeft(paths);
  // Without the database the trees are there all the same, only their repositories are not known.
  const runs = lookOr(() => readRuns(paths, allRuns), undefined) ?? [];
  return trees.map((path) => {
    const repository = runs.find(({ worktree }) => worktree?.path === path)?.worktree?.repository ?? path;
    return `The working tree "${path}" of a sub-agent stays: it may hold work that is nowhere else. Look at it, then remove it: git -C "${repository}" worktree remove --force "${path}"`;
  });
}

/** Symbolic links are not followed: their targets are not ours. */
function directoriesIn(directory: string): string[] {
  if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(directory, name));
}

/** What is wrong with sub-agents in the background; one line when all is well. */
export function checkRuns({ paths, now }: Pick<CheckWorld, 'paths' | 'now'>): Finding | Finding[] {
  const { runsDatabase } = paths;
  if (!existsSync(runsDatabase)) return ok('none yet; the first one makes the database');
  let state: DatabaseState | undefined;
  try {
    state = readRuns(paths, inspect);
  } catch (error) {
    return unreadable(error, paths);
  }
  if (state === undefined) {
    if (statSync(runsDatabase).size === 0) return ok('none yet');
    return failed(`${runsDatabase} cannot be opened`, 'Make it yours: chown, chmod 600');
  }
  if (state.integrity !== 'ok') return damaged(state.integrity, paths);
  const problems = [
    checkSettings(paths),
    checkSupervisors(state.active, now),
    checkUndelivered(state, now),
    checkLog(paths, now),
  ].filter((finding) => finding !== undefined);
  return problems.length > 0 ? problems : ok(summary(state, paths));
}

type DatabaseState = ReturnType<typeof inspect>;

function inspect(db: Sqlite) {
  const integrity = db.all('PRAGMA integrity_check(5)').map((row) => String(row.integrity_check));
  const runs = allRuns(db);
  const undelivered = [...new Set(runs.map(({ requester }) => requester.key))].flatMap((requester) =>
    waitingAnnouncements(requester, db),
  );
  return { integrity: integrity.join('; '), runs, active: activeTurns(db), undelivered };
}

function unreadable(error: unknown, paths: StatePaths): Finding {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  if (/NOTADB|CORRUPT/.test(sqliteErrorCode(cause) ?? '')) return damaged(message, paths);
  return failed(shown(message), cause === undefined ? NEWER : LOOK_AGAIN); // Without a cause it is of a newer version.
}

function damaged(findings: string, { runsDatabase }: StatePaths): Finding {
  return failed(`${runsDatabase} is damaged: ${shown(findings)}`, moveAway(runsDatabase, 'sub-agent'));
}

function checkSettings(paths: StatePaths): Finding | undefined {
  const config = loadRunConfig(paths);
  if (config.kind === 'usable') return undefined;
  const remedy = `Correct ${paths.config}; "self-generation config" lists the settings`;
  return failed(`no sub-agent is started: ${shown(config.error)}`, remedy);
}

function checkSupervisors(active: readonly Turn[], now: Date): Finding | undefined {
  const orphans = active.filter(({ state, owner, claimedAtMs, queuedAtMs }) => {
    if (state === 'queued') return false;
    if (owner !== null) return isGone(owner);
    return now.getTime() - (claimedAtMs ?? queuedAtMs) > SUPERVISOR_COMES_MS;
  });
  if (orphans.length === 0) return undefined;
  const detail = `${counted(orphans.length, 'sub-agent')} without a supervising process: ${orphans.map(({ runId }) => runId).join(', ')}`;
  return warning(detail, 'Run "self-generation subagents list" to have another one take over');
}

function checkUndelivered({ runs, undelivered }: DatabaseState, now: Date): Finding | undefined {
  const oldestMs = Math.min(...undelivered.map(({ createdAtMs }) => createdAtMs));
  if (undelivered.length === 0 || now.getTime() - oldestMs < UNDELIVERED_MS) return undefined;
  const since = new Date(oldestMs).toISOString();
  const detail = `${counted(undelivered.length, 'announcement')} of sub-agents not delivered, the oldest since ${since}`;
  const ids = new Set(undelivered.map(({ runId }) => runId));
  const places = directoriesOf(runs.filter(({ id }) => ids.has(id)));
  return warning(detail, `Read them: "self-generation subagents inbox" in ${places}`);
}

function checkLog({ runsLog }: StatePaths, now: Date): Finding | undefined {
  const { count, newest, period } = recentFailures(runsLog, now);
  if (count === 0) return undefined;
  const detail = `${counted(count, 'failure')} ${period}; newest: ${newest.map(shown).join(' | ')}`;
  return warning(detail, `All of them: ${runsLog}`);
}

function summary({ runs, active, undelivered }: DatabaseState, paths: StatePaths): string {
  const busy = new Set(active.map(({ runId }) => runId));
  const kept = treesLeft(paths).filter((path) => !busy.has(basename(path)));
  const waiting = `${counted(undelivered.length, 'announcement')} not delivered yet`;
  const trees = `${counted(kept.length, 'working tree')} kept: ${kept.join(', ')}`;
  return [
    counted(runs.length, 'run'),
    `${busy.size} at work or waiting`,
    ...(undelivered.length === 0 ? [] : [waiting]),
    ...(kept.length === 0 ? [] : [trees]),
    'integrity ok',
  ].join(', ');
}

function shown(text: string): string {
  return inertText(text, TEXT_LENGTH_MAX);
}
