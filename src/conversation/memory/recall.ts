import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { lookOr } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { requesterWord } from '../../runs/model/run.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../../system/atomic-file.ts';
import { readRegularFile } from '../../system/files.ts';
import { type MemoryEntry, RECALLED_CHARS_MAX, readEntries, recallText } from './entries.ts';

/** The files of what is remembered: a directory for each requester, a file for each day. */

const DAY_FILE = /^(\d{4}-\d\d-\d\d)\.md$/;
/** So many of the newest days are looked at. */
const DAYS_MAX = 1000;

/** The entries of a requester, the newest first. A file that cannot be read is passed over. */
export function readMemory(requester: string, paths: StatePaths): MemoryEntry[] {
  const names = lookOr(() => readdirSync(memoryDirectory(requester, paths)), []);
  const dates = names.flatMap((name) => DAY_FILE.exec(name)?.[1] ?? []);
  return dates
    .sort()
    .slice(-DAYS_MAX)
    .toReversed()
    .flatMap((date) => readEntries(date, readDay(requester, date, paths)).toReversed());
}

/** What a new session of this requester is told: whole entries, the newest first (seed 004: loadRecentMemories). */
export function loadRecentMemories(
  requester: string,
  paths: StatePaths,
  maxChars = RECALLED_CHARS_MAX,
): string {
  return recallText(readMemory(requester, paths), maxChars);
}

/** Changes the file of a day in one step. Within a transaction of the runs' database: another one may be writing it. */
export function changeDay(
  requester: string,
  date: string,
  paths: StatePaths,
  change: (markdown: string) => string,
): void {
  const before = readRegularFile(dayFile(requester, date, paths)) ?? '';
  const after = change(before);
  if (after === before) return;
  ensurePrivateDirectory(paths.memory);
  ensurePrivateDirectory(memoryDirectory(requester, paths));
  writeFileAtomic(dayFile(requester, date, paths), after);
}

function readDay(requester: string, date: string, paths: StatePaths): string {
  return lookOr(() => readRegularFile(dayFile(requester, date, paths)) ?? '', '');
}

function memoryDirectory(requester: string, { memory }: StatePaths): string {
  return join(memory, requesterWord(requester));
}

function dayFile(requester: string, date: string, paths: StatePaths): string {
  return join(memoryDirectory(requester, paths), `${date}.md`);
}
