import { rmSync } from 'node:fs';
import { settleNew } from '../benefit/settle-new.ts';
import { findSession } from '../clients/claude/transcript-files.ts';
import { ReadingBudget } from '../clients/claude/transcript-reader.ts';
import type { Client } from '../clients/client.ts';
import { CLIENTS } from '../clients/clients.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { fingerprint } from '../core/text.ts';
import type { Db } from '../database/connection.ts';
import { sqliteErrorCode } from '../database/sqlite.ts';
import { projectAt } from '../hooks/invocation.ts';
import { tryProcessLock, writeDatabase } from '../hooks/store/use-database.ts';
import { learnProject, learnSession } from '../lessons/learn-project.ts';
import { lookAtRepository } from '../lessons/repository.ts';
import { isEnabled, loadConfig } from '../settings/hook-settings.ts';
import { ensurePrivateDirectory } from '../system/atomic-file.ts';
import { logHookFailure } from '../system/failure-log.ts';
import type { FoundFile } from '../system/files.ts';
import { syncInBackground } from '../team/background-sync.ts';
import type { LoadServer } from '../team/membership.ts';
import { importSessions, sessionsThere } from './client-sessions.ts';
import { progressInDatabase, readPlace } from './imports-store.ts';
import { PastContexts, readSession, SessionImport, takingTurns } from './session-import.ts';

const PRIVATE_UMASK = 0o077;

/** A session of a client that has no transcripts: `opencode#ses_…`. */
const SESSION = /^([a-z]+)#([\w-]+)$/;

/**
 * The process behind `catch-up TRANSCRIPT_PATH|CLIENT#SESSION_ID [PROJECT_PATH]`: reads what hooks have left of one session,
 * while nobody waits, learns from the whole project, looks of which repository it is a clone, and syncs with the user's team.
 * One for each session at a time. Never throws; its failures stand in the hooks' log.
 */
export async function catchUpProcess(
  [, session = '', project]: readonly string[],
  env: Environment,
  loadServer: LoadServer,
): Promise<void> {
  const paths = statePaths(env, process.platform);
  if (paths === undefined || env.SELF_GENERATION_INTERNAL === '1' || !isEnabled(loadConfig(paths))) return;
  process.umask(PRIVATE_UMASK);
  try {
    const [, name, id = ''] = SESSION.exec(session) ?? [];
    const client = Object.values(CLIENTS).find((one) => one.name === name);
    const world = { paths, env };
    const look = client === undefined ? transcriptOf(session, world) : sessionOf(client, id, world);
    catchUpAlone(session, look, paths);
    writeDatabase(paths, (db) => settleNew({ now: new Date() }, db));
    if (project !== undefined) {
      writeDatabase(paths, (db) => {
        learnProject(project, db);
        lookAtRepository(project, env, db);
      });
    }
  } catch (error) {
    logHookFailure('catch-up', String(error), paths, new Date());
  }
  await syncInBackground(paths, env, loadServer);
}

type World = { readonly paths: StatePaths; readonly env: Environment };

/** What of a session is unread, in words that change with it; empty when nothing is. `read`: takes it in. */
type Look = (db: Db) => { readonly unread: string; readonly read: () => void };

/** Leaves the reading to a process that reads already; that one looks once more after it has released the lock. */
function catchUpAlone(session: string, look: Look, paths: StatePaths): void {
  ensurePrivateDirectory(paths.data);
  const lock = `${paths.data}/catch-up-${fingerprint(session)}.lock`;
  let known = '';
  for (;;) {
    const release = tryLock(lock);
    if (release === undefined) return;
    try {
      known = writeDatabase(paths, (db) => readUntilNothingIsNew(look, db));
    } finally {
      rmSync(lock, { force: true });
      release();
    }
    if (writeDatabase(paths, (db) => look(db).unread) === known) return;
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

/** Returns what stays unread: what is being written, or cannot be read. */
function readUntilNothingIsNew(look: Look, db: Db): string {
  let known = '';
  for (;;) {
    const { unread, read } = look(db);
    if (unread === known) return known;
    known = unread;
    read();
  }
}

function transcriptOf(main: string, { paths, env }: World): Look {
  const sessionId = /([^\\/]+)\.jsonl$/.exec(main)?.[1] ?? 'unknown';
  return (db) => {
    const isWanted = ({ path, bytes }: FoundFile) => readPlace(path, db)?.bytesSeen !== bytes;
    const session = findSession({ main, isWanted, onUnreadable: () => {} }, progressInDatabase(db));
    const read = () => {
      if (session === undefined) return;
      const how = { paths, env, now: new Date(), budget: new ReadingBudget(), isThorough: true };
      const { projects } = readSession(session, how, db);
      for (const project of projects) learnSession(project, sessionId, db);
    };
    const files = session?.files ?? [];
    return { unread: files.map(({ path, seen, bytes }) => `${path} ${seen} ${bytes}`).join('\n'), read };
  };
}

/** Not of a background run: what those do is recorded by whoever runs them. */
function sessionOf(client: Client, sessionId: string, { paths, env }: World): Look {
  const contexts = new PastContexts({
    config: loadConfig(paths),
    env,
    projectAt: (at) => projectAt(at, env),
  });
  const of = { client, env, sessionId };
  return (db) => {
    const read = () => {
      const budget = new ReadingBudget();
      const how = { contexts, paths, now: () => new Date(), inTurn: takingTurns(), budget, lookBackBytes: 0 };
      const run = new SessionImport(how, db);
      importSessions({ ...of, contexts, ofRuns: new Set(), isAskedFor: () => true }, run, db);
      for (const project of run.projects) learnSession(project, sessionId, db);
    };
    const { changed } = sessionsThere(of, db);
    return { unread: changed.map(({ id, modifiedMs }) => `${id} ${modifiedMs}`).join('\n'), read };
  };
}
