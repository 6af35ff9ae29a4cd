import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../core/runs/run.ts';
import { runDirectory } from '../core/runs/run-files.ts';
import { isTerminal } from '../core/runs/turn.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { dueArchives, setArchived } from '../store/runs/archive.ts';
import { readRuns, withRuns } from '../store/runs/runs-db.ts';
import { turnsOf } from '../store/runs/turns.ts';
import type { Sqlite } from '../store/sqlite.ts';
import { checkpoint } from './checkpoint.ts';
import { logRunFailure } from './runs-log.ts';

/** Archives: what was said stays, under another name in the same directory; the rows stay as they are. */

const ARCHIVED_AT_ONCE_MAX = 100;
const NAMES_TRIED_MAX = 1000;
const ARCHIVED = /^(turn-\d+\.[a-z]+)\.deleted\./;
const TURN_FILE = /^turn-\d+\.(?:prompt|jsonl|stderr)$/;
const TURN_HOME = /^(?:turn-\d+\.)?home$/;

/**
 * Puts the files of a run away and enters it; false when there is something to do or to tell for it again. Every step can
 * be repeated, after a crash at any place, and by two processes at once. @throws Error from the system, or what SQLite throws; then it
 * is not entered.
 */
export function archiveRun(run: Run, paths: StatePaths, now: Date): boolean {
  const directory = runDirectory(paths, run.id);
  const isIdle = (db: Sqlite) => turnsOf(run.id, db).every(({ state }) => isTerminal(state));
  if (readRuns(paths, isIdle) !== true) return false;
  // The clients' own directories may be large, so they go before anybody has to wait for the database.
  for (const entry of entriesOf(directory)) {
    if (TURN_HOME.test(entry)) rmSync(join(directory, entry), { recursive: true, force: true });
  }
  return withRuns(paths, (db) =>
    db.transaction(() => {
      // What is entered here counts only after the renames: if those fail, or we do, it is undone.
      if (!setArchived(run.id, now.getTime(), db)) return false;
      renameFiles(directory, now);
      checkpoint('within-archive', process.env);
      return true;
    }),
  );
}

/** Archives what is due and gives how many that were. Never throws: a run that cannot be archived stays due. */
export function archiveDue(paths: StatePaths, now: Date): number {
  let count = 0;
  for (const run of dueRuns(paths, now)) {
    try {
      if (archiveRun(run, paths, now)) count++;
    } catch (error) {
      logRunFailure(run.id, error, paths, now);
    }
  }
  return count;
}

function dueRuns(paths: StatePaths, now: Date): Run[] {
  try {
    return readRuns(paths, (db) => dueArchives(now.getTime(), ARCHIVED_AT_ONCE_MAX, db)) ?? [];
  } catch (error) {
    logRunFailure('', error, paths, now);
    return [];
  }
}

/** The names under which a file of a turn may stand: its own, and those that it was archived under, oldest first. */
export function archivedNames(path: string, directory: string): string[] {
  const name = path.slice(directory.length + 1);
  const archived = entriesOf(directory)
    .filter((entry) => ARCHIVED.exec(entry)?.[1] === name)
    .sort();
  return archived.map((entry) => join(directory, entry));
}

function renameFiles(directory: string, now: Date): void {
  const suffix = `.deleted.${now.toISOString().replaceAll(':', '-')}`;
  for (const entry of entriesOf(directory)) {
    const path = join(directory, entry);
    if (TURN_FILE.test(entry)) moveAway(path, `${path}${suffix}`);
  }
}

function moveAway(path: string, target: string): void {
  let free = target;
  for (let number = 2; isTaken(free); number++) {
    if (number > NAMES_TRIED_MAX) throw new Error(`Cannot archive "${path}": too many names are taken`);
    free = `${target}.${number}`;
  }
  try {
    renameSync(path, free);
  } catch (error) {
    // Another process that archives the same run was faster.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(path)) throw error;
  }
}

function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // It was never started.
    throw error;
  }
}
