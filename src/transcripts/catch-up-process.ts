import { rmSync } from 'node:fs';
import { findSession, type TranscriptSession } from '../clients/claude/transcript-files.ts';
import { ReadingBudget } from '../clients/claude/transcript-reader.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { fingerprint } from '../core/text.ts';
import type { Db } from '../database/connection.ts';
import { sqliteErrorCode } from '../database/sqlite.ts';
import { tryProcessLock, writeDatabase } from '../hooks/store/use-database.ts';
import { learnProject, learnSession } from '../lessons/learn-project.ts';
import { lookAtRepository } from '../lessons/repository.ts';
import { isEnabled, loadConfig } from '../settings/hook-settings.ts';
import { ensurePrivateDirectory } from '../system/atomic-file.ts';
import { logHookFailure } from '../system/failure-log.ts';
import type { FoundFile } from '../system/files.ts';
import { progressInDatabase, readPlace } from './imports-store.ts';
import { readSession } from './session-import.ts';

const PRIVATE_UMASK = 0o077;

/**
 * The process behind `catch-up TRANSCRIPT_PATH [PROJECT_PATH]`: reads what hooks have left of one session, while nobody
 * waits, learns from the whole project, and looks of which repository it is a clone. One for each transcript at a time.
 * Never throws; its failures stand in the hooks' log.
 */
export function catchUpProcess([, transcript = '', project]: readonly string[], env: Environment): void {
  const paths = statePaths(env, process.platform);
  if (paths === undefined || env.SELF_GENERATION_INTERNAL === '1' || !isEnabled(loadConfig(paths))) return;
  process.umask(PRIVATE_UMASK);
  try {
    catchUpAlone(transcript, { paths, env });
    if (project !== undefined) {
      writeDatabase(paths, (db) => {
        learnProject(project, db);
        lookAtRepository(project, env, db);
      });
    }
  } catch (error) {
    logHookFailure('catch-up', String(error), paths, new Date());
  }
}

type World = { readonly paths: StatePaths; readonly env: Environment };

/** Leaves the reading to a process that reads already; that one looks once more after it has released the lock. */
function catchUpAlone(transcript: string, world: World): void {
  ensurePrivateDirectory(world.paths.data);
  const lock = `${world.paths.data}/catch-up-${fingerprint(transcript)}.lock`;
  let known = '';
  for (;;) {
    const release = tryLock(lock);
    if (release === undefined) return;
    try {
      known = writeDatabase(world.paths, (db) => readUntilNothingIsNew(transcript, world, db));
    } finally {
      rmSync(lock, { force: true });
      release();
    }
    const left = writeDatabase(world.paths, (db) => describe(newOf(transcript, db)));
    if (left === known) return;
  }
}

/** Opening the lock while its holder removes it fails as a broken file; the holder looks once more after that. */
function tryLock(file: string): (() => void) | undefined {
  try {
    return tryProcessLock(file);
  } catch (error) {
    if (sqliteErrorCode(error)?.startsWith('SQLITE_IOERR')) return undefined;
    throw error;
  }
}

/** Returns what stays unread: lines that are being written. */
function readUntilNothingIsNew(transcript: string, { paths, env }: World, db: Db): string {
  const sessionId = /([^\\/]+)\.jsonl$/.exec(transcript)?.[1] ?? 'unknown';
  let known = '';
  for (;;) {
    const session = newOf(transcript, db);
    const left = describe(session);
    if (session === undefined || left === known) return left;
    known = left;
    const how = { paths, env, now: new Date(), budget: new ReadingBudget(), isThorough: true };
    const { projects } = readSession(session, how, db);
    for (const project of projects) learnSession(project, sessionId, db);
  }
}

function newOf(main: string, db: Db): TranscriptSession | undefined {
  const isWanted = ({ path, bytes }: FoundFile) => readPlace(path, db)?.bytesSeen !== bytes;
  return findSession({ main, isWanted, onUnreadable: () => {} }, progressInDatabase(db));
}

function describe(session: TranscriptSession | undefined): string {
  return (session?.files ?? []).map(({ path, seen, bytes }) => `${path} ${seen} ${bytes}`).join('\n');
}
