import { pathExists } from '#runtime';
import { isRecord, lookOr, parseJson } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import type { Db } from '../../database/connection.ts';
import type { Recording } from '../decision.ts';

/**
 * Recordings that could not be written wait here as one file each; whoever writes next takes them in. The folder
 * exists only while something waits, so that looking costs one call.
 */

const FILES_TAKEN_MAX = 200;
const FILES_WAITING_MAX = 10_000;
const DRAFT_AGE_MAX_MS = 60_000;
/** Each takes a few hundredths of a millisecond. */
const ATTEMPTS_MAX = 1000;

/** Whether recordings wait for a writer. */
export function isSpoolWaiting(paths: StatePaths): boolean {
  return pathExists(paths.spool);
}

/** Puts recordings into the spool. Throws when the disk does not take them or too many wait already. */
export function spool(recordings: readonly Recording[], paths: StatePaths, nowMs: number): void {
  const fs = process.getBuiltinModule('node:fs');
  const name = `${String(nowMs).padStart(14, '0')}-${process.pid}-${Math.random().toString(36).slice(2, 10)}.json`;
  const text = JSON.stringify(recordings);
  for (let attempt = 1; ; attempt++) {
    try {
      fs.mkdirSync(paths.spool, { recursive: true, mode: 0o700 });
      if (fs.readdirSync(paths.spool).length >= FILES_WAITING_MAX) {
        throw new Error(`Cannot keep an event: ${FILES_WAITING_MAX} already wait in "${paths.spool}"`);
      }
      const draft = `${paths.spool}/.${name}`;
      fs.writeFileSync(draft, text, { mode: 0o600 });
      fs.renameSync(draft, `${paths.spool}/${name}`);
      return;
    } catch (error) {
      // A writer that has emptied the folder removes it, at any moment between these calls: then it is made again. Bun says
      // EEXIST when it goes while it is made.
      const { code } = error as NodeJS.ErrnoException;
      if ((code !== 'ENOENT' && code !== 'EEXIST') || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

export type TakenSpool = {
  readonly recordings: readonly Recording[];
  /** To be called after the commit: removes the files. */
  readonly discard: () => void;
};

/**
 * Reads the waiting recordings, oldest first, inside the caller's transaction. Their names are stored with them: a
 * crash before the files are removed must not count them twice.
 */
export function takeSpool(paths: StatePaths, db: Db): TakenSpool {
  if (!isSpoolWaiting(paths)) return { recordings: [], discard: () => {} };
  const fs = process.getBuiltinModule('node:fs');
  // The writer before us may have just taken the last file and removed the folder.
  const names = lookOr(() => fs.readdirSync(paths.spool), []);
  const done: string[] = [];
  const recordings: Recording[] = [];
  let takenCount = 0;
  for (const name of names.filter((name) => name.endsWith('.json') && !name.startsWith('.')).sort()) {
    if (takenCount === FILES_TAKEN_MAX) break;
    const found = readRecordings(`${paths.spool}/${name}`);
    if (found === 'later') continue;
    done.push(name);
    if (!markTaken(name, db)) continue;
    takenCount++;
    recordings.push(...found);
  }
  const drafts = names.filter((name) => name.startsWith('.') && isStale(`${paths.spool}/${name}`));
  return { recordings, discard: () => discard(paths, [...done, ...drafts]) };
}

/** Returns false if the file was taken before and could not be removed. */
function markTaken(name: string, db: Db): boolean {
  const sql = 'INSERT OR IGNORE INTO spool_taken(name, ts) VALUES (?, ?)';
  return db.sqlite.run(sql, name, new Date().toISOString()).changes > 0;
}

/** `later` when the file cannot be read now; nothing when it is damaged or no file, so that it is done with. */
function readRecordings(file: string): Recording[] | 'later' {
  try {
    const fs = process.getBuiltinModule('node:fs');
    if (!fs.statSync(file).isFile()) return []; // A pipe would be read for ever.
    const value = parseJson(fs.readFileSync(file, 'utf8'));
    return Array.isArray(value) ? value.filter((one) => isRecord(one) && isRecord(one.at)) : [];
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    return ['EMFILE', 'ENFILE', 'EIO', 'EAGAIN', 'ENOMEM'].includes(code) ? 'later' : [];
  }
}

/** A draft that nobody finishes any more: its process has been killed. */
function isStale(file: string): boolean {
  const writtenMs = process.getBuiltinModule('node:fs').statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return writtenMs !== undefined && Date.now() - writtenMs > DRAFT_AGE_MAX_MS;
}

function discard(paths: StatePaths, names: readonly string[]): void {
  const fs = process.getBuiltinModule('node:fs');
  // One may be gone already, or cannot be removed: then its name is in spool_taken.
  for (const name of names) lookOr(() => fs.unlinkSync(`${paths.spool}/${name}`), undefined);
  // It fails when something new came in meanwhile, or the folder is gone.
  lookOr(() => fs.rmdirSync(paths.spool), undefined);
}
