import { tmpdir } from 'node:os';
import { settleNew } from '../benefit/settle-new.ts';
import { listTranscripts } from '../clients/claude/transcript-list.ts';
import { ReadingBudget } from '../clients/claude/transcript-reader.ts';
import type { Client } from '../clients/client.ts';
import type { ClientName } from '../core/client-name.ts';
import { type StatePaths, statePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { pruneOldEvents } from '../database/retention.ts';
import { copyDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import { learnProject } from '../lessons/learn-project.ts';
import { lookAtRepository } from '../lessons/repository.ts';
import { countFixes } from '../lessons/store/error-entries.ts';
import { unlearntProjects } from '../lessons/store/lesson-log.ts';
import { ensurePrivateDirectory } from '../system/atomic-file.ts';
import { temporaryDirectory } from '../system/files.ts';
import { fileStamp } from '../system/runtime-bun.ts';
import { shownLessons } from './best-lessons.ts';
import { importSessions } from './client-sessions.ts';
import { loadProgress, progressByFile } from './imports-store.ts';
import {
  type InTurn,
  LOOK_BACK_BYTES,
  PastContexts,
  type PastOptions,
  SessionImport,
  takingTurns,
  type WriteLimits,
} from './session-import.ts';

export type ImportOptions = Omit<TranscriptImport, 'inTurn'> & {
  /** Whose sessions are taken in beside the transcripts. */
  readonly clients: readonly Client[];
  /** Works on a copy that is thrown away, so that the report says what would be done. */
  readonly isRehearsal: boolean;
};

export type ImportReport = ReturnType<typeof importInto>;

/** How the directory of a copied database begins. */
const COPY = 'self-generation-import-';
const PRUNED_ROWS_MAX = 500;
const PRUNING_ROUNDS_MAX = 100_000;

/** Takes in transcripts. Can be repeated; after a failure, or a kill, it goes on where it stopped. */
export function importAll(options: ImportOptions): ImportReport {
  if (!options.isRehearsal) return writeDatabase(options.paths, (db) => importInto(options, db));
  const isThere = fileStamp(options.paths.database).bytes > 0;
  // A copy of what is private stays in a private place; without one nothing is made there for a rehearsal.
  const parent = isThere ? options.paths.home : tmpdir();
  using directory = temporaryDirectory(parent, COPY);
  const paths = statePaths({ SELF_GENERATION_HOME: directory.path }, process.platform);
  if (paths === undefined) throw new Error(`Cannot use "${directory.path}": it is not absolute`);
  ensurePrivateDirectory(paths.data);
  if (isThere) copyDatabase(options.paths, paths.database);
  return writeDatabase(paths, (db) => importInto({ ...options, paths }, db));
}

/** `fixes`: how many more errors have one now. `best`: of all that are known. `removed`: rows that were too old; what they taught stays. */
function importInto(options: ImportOptions, db: Db) {
  const inTurn = takingTurns();
  const fixesBefore = countFixes(db);
  const transcripts = importTranscripts({ ...options, inTurn }, db);
  const sessions = options.clients.map((client) => importClient(client, { ...options, inTurn }, db));
  // Not those of which something came in now: an import that was killed may have left others.
  for (const project of unlearntProjects(db)) {
    lookAtRepository(project, options.env, db);
    learnProject(project, db);
  }
  settleNew({ now: options.now() }, db);
  const fixes = countFixes(db) - fixesBefore;
  const best = shownLessons(options.projectPath, options.config, db);
  return { transcripts, sessions, fixes, best, removed: prune(options, inTurn, db) };
}

function importClient(client: Client, options: ImportOptions & { readonly inTurn: InTurn }, db: Db) {
  const { env, ofRuns } = options;
  const contexts = new PastContexts(options);
  const reading = {
    contexts,
    budget: new ReadingBudget(),
    lookBackBytes: 0,
    onProgress: () => options.onProgress({ client: client.name }),
  };
  const run = new SessionImport({ ...options, ...reading }, db);
  const isAskedFor = ({ cwd, modifiedMs }: { cwd: string | undefined; modifiedMs: number }) =>
    isWanted(cwd, [modifiedMs], contexts, options);
  return importSessions({ client, env, contexts, ofRuns, isAskedFor }, run, db);
}

function prune({ config, now }: ImportOptions, inTurn: InTurn, db: Db): number {
  let removed = 0;
  for (let round = 0; round < PRUNING_ROUNDS_MAX; round++) {
    const pruned = inTurn(() => pruneOldEvents(config.retentionDays, now(), db, PRUNED_ROWS_MAX));
    removed += pruned.removed;
    if (pruned.isComplete) break;
  }
  return removed;
}

export type TranscriptImport = PastOptions & {
  /** Directories with transcripts below them, or transcripts. */
  readonly roots: readonly string[];
  /** Only the sessions of the project with this canonical path. */
  readonly projectPath: string | undefined;
  /** Only the sessions whose transcripts have been written to since. */
  readonly sinceMs: number | undefined;
  /** The sessions of background runs: what those did is recorded while they do it, as work of who asked for them. */
  readonly ofRuns: ReadonlySet<string>;
  readonly paths: StatePaths;
  readonly now: () => Date;
  readonly inTurn: InTurn;
  readonly limits?: WriteLimits;
  readonly onProgress: (progress: TranscriptProgress) => void;
};

export type TranscriptProgress =
  | Readonly<Record<'sessions' | 'bytes' | 'bytesDone', number>>
  /** Of the other clients nobody knows before how much there is to read. */
  | { readonly client: ClientName };

export type TranscriptReport = ReturnType<typeof importTranscripts>;

/**
 * Takes in what past sessions did, in the order in which it happened, as if the hooks had been there: by the same
 * decisions, the same recordings. Can be repeated, and stopped anywhere. A file that cannot be read costs only itself.
 * Throws what SQLite throws.
 */
export function importTranscripts(options: TranscriptImport, db: Db) {
  const progress = loadProgress(db);
  const listing = listTranscripts(options.roots, progressByFile(progress));
  const contexts = new PastContexts(options);
  const own = listing.sessions.filter(
    ({ files }) => !files.some(({ owner }) => options.ofRuns.has(owner.sessionId)),
  );
  const sessions = own.filter(({ files, outline }) =>
    isWanted(
      outline.directory,
      files.map(({ modifiedMs }) => modifiedMs),
      contexts,
      options,
    ),
  );
  const bytes = sessions.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes - file.from, 0);
  const onProgress = (bytesDone: number) =>
    options.onProgress({ sessions: sessions.length, bytes, bytesDone });
  const reading = { contexts, budget: new ReadingBudget(), lookBackBytes: LOOK_BACK_BYTES, onProgress };
  const run = new SessionImport({ ...options, ...reading }, db);
  for (const session of sessions) run.take(session);
  run.write();
  const { added, known, analyses, passedOver, unreadable, projects } = run;
  const { filesFound, filesUnchanged, linksNotFollowed } = listing;
  // Of other projects, or of another time.
  const notAskedFor = own.length - sessions.length;
  const runs = listing.sessions.length - own.length;
  return {
    filesFound,
    filesUnchanged,
    sessions: sessions.length - analyses,
    bytes,
    /** New rows of `events` by type, and how many were there already, from the hooks or from an earlier import. */
    added,
    known,
    passedOver: { ...passedOver, analyses, runs, notAskedFor, linksNotFollowed },
    unreadable: [...listing.unreadable, ...unreadable],
    /** Those of which there are new calls. */
    projects: [...projects],
  };
}

/** Whether a session is asked for that was started in `directory` and written at these times. */
function isWanted(
  directory: string | undefined,
  writtenMs: readonly number[],
  contexts: PastContexts,
  { sinceMs, projectPath }: Pick<TranscriptImport, 'sinceMs' | 'projectPath'>,
): boolean {
  if (sinceMs !== undefined && writtenMs.every((ms) => ms < sinceMs)) return false;
  if (projectPath === undefined) return true;
  return directory !== undefined && contexts.projectOf(directory).path === projectPath;
}
