import { existsSync, lstatSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StatePaths } from '../core/state-paths.ts';
import { type Run, runDirectory } from './model/run.ts';
import {
  dueArchives,
  postponeArchive,
  readRuns,
  runsTransaction,
  setArchived,
  withRuns,
} from './store/rows.ts';
import { getRun } from './store/runs.ts';
import { checkpoint, orLogged } from './world.ts';

/** Archiving renames the transcripts of a run in their directory and removes its clients' directories. Its rows stay. */

const ARCHIVED_AT_ONCE_MAX = 100;
const NAMES_TRIED_MAX = 1000;
/** The time until a failed run is tried again. */
const AGAIN_MS = 600_000;
const ARCHIVED = /^(turn-\d+\.[a-z]+)\.deleted\./;
const TURN_FILE = /^turn-\d+\.(?:prompt|jsonl|stderr)$/;
const TURN_HOME = /^(?:turn-\d+\.)?home$/;
/** A file beside the directory of an archived run: its clients' directories have to be removed. */
const HOMES_MARK = /^([A-Za-z0-9_-]{1,64})\.homes$/;

/**
 * Archives a run; returns false if it has become active or has an announcement waiting again. Every step can be repeated,
 * after a crash at any place and by two processes at once. @throws Error from the system or SQLite; it is not archived then
 */
export function archiveRun(run: Run, paths: StatePaths, now: Date): boolean {
  const directory = runDirectory(paths, run.id);
  const isEntered = runsTransaction(paths, (db) => {
    // Rolled back when the renames below fail.
    if (!setArchived(run.id, now.getTime(), db)) return false;
    if (filesIn(directory, TURN_HOME).length > 0)
      writeFileSync(homesMark(run.id, paths), '', { mode: 0o600 });
    const suffix = `.deleted.${now.toISOString().replaceAll(':', '-')}`;
    for (const path of filesIn(directory, TURN_FILE)) moveAway(path, `${path}${suffix}`);
    checkpoint('within-archive', process.env);
    return true;
  });
  checkpoint('after-archive', process.env);
  if (isEntered) removeHomes(run.id, paths);
  return isEntered;
}

/** Removes the clients' directories of an archived run, outside of the transaction as they may be large. Never throws: the mark stays. */
function removeHomes(runId: string, paths: StatePaths): void {
  orLogged(runId, paths, () => {
    for (const home of filesIn(runDirectory(paths, runId), TURN_HOME))
      rmSync(home, { recursive: true, force: true });
    rmSync(homesMark(runId, paths), { force: true });
  });
}

/** Removes the directories that a process left which died while it archived a run. */
function removeHomesLeft(paths: StatePaths): void {
  for (const id of entriesOf(paths.runs).flatMap((entry) => HOMES_MARK.exec(entry)?.[1] ?? [])) {
    const archivedAtMs = readRuns(paths, (db) => getRun(id, db)?.run.archivedAtMs);
    if (typeof archivedAtMs === 'number') removeHomes(id, paths);
  }
}

function filesIn(directory: string, names: RegExp): string[] {
  return entriesOf(directory).flatMap((entry) => (names.test(entry) ? [join(directory, entry)] : []));
}

function homesMark(runId: string, paths: StatePaths): string {
  return `${runDirectory(paths, runId)}.homes`;
}

/** Archives the runs that are due and returns their number. Never throws: a run that cannot be archived is postponed. */
export function archiveDue(paths: StatePaths, now: Date): number {
  const nowMs = now.getTime();
  const look = () => readRuns(paths, (db) => dueArchives(nowMs, ARCHIVED_AT_ONCE_MAX, db));
  const due = orLogged('', paths, look) ?? [];
  const archived = due.filter((run) => {
    const isEntered = orLogged(run.id, paths, () => archiveRun(run, paths, now));
    const postpone = () => withRuns(paths, (db) => postponeArchive(run.id, nowMs + AGAIN_MS, db));
    if (isEntered === undefined) orLogged(run.id, paths, postpone);
    return isEntered === true;
  });
  if (due.length > 0) orLogged('', paths, () => removeHomesLeft(paths));
  return archived.length;
}

/** The names under which a file of a turn may stand: its own, and those that it was archived under, oldest first. */
export function archivedNames(path: string, directory: string): string[] {
  const name = path.slice(directory.length + 1);
  const archived = entriesOf(directory).filter((entry) => ARCHIVED.exec(entry)?.[1] === name);
  return archived.map((entry) => join(directory, entry));
}

function moveAway(path: string, target: string): void {
  let free = target;
  for (let number = 2; lstatSync(free, { throwIfNoEntry: false }) !== undefined; number++) {
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

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // It was never started.
    throw error;
  }
}
