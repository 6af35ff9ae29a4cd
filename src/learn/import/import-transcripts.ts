import type { StatePaths } from '../../core/state-paths.ts';
import type { Db } from '../../store/connection.ts';
import { loadProgress, progressByFile } from '../../store/imports.ts';
import type { Unreadable } from '../../sys/find-files.ts';
import { PastContexts, type PastOptions } from './past-context.ts';
import { ReadingBudget } from './reading-budget.ts';
import { LOOK_BACK_BYTES, SessionImport, type WriteLimits } from './session-import.ts';
import type { PassedOver } from './transcript-cursor.ts';
import { listTranscripts, type TranscriptListing, type TranscriptSession } from './transcript-files.ts';
import type { InTurn } from './turns.ts';

export type TranscriptImport = PastOptions & {
  /** Directories with transcripts below them, or transcripts. */
  readonly roots: readonly string[];
  /** Only the sessions of the project with this canonical path. */
  readonly projectPath: string | undefined;
  /** Only the sessions whose transcripts have been written to since. */
  readonly sinceMs: number | undefined;
  readonly paths: StatePaths;
  readonly now: () => Date;
  readonly inTurn: InTurn;
  readonly limits?: WriteLimits;
  readonly onProgress: (progress: TranscriptProgress) => void;
};

export type TranscriptProgress = {
  readonly sessions: number;
  readonly bytes: number;
  readonly bytesDone: number;
};

export type TranscriptReport = {
  readonly filesFound: number;
  readonly filesUnchanged: number;
  readonly sessions: number;
  readonly bytes: number;
  /** New rows of `events`, by type. */
  readonly added: Readonly<Record<string, number>>;
  /** Events that were there already, from the hooks or from an earlier import. */
  readonly known: number;
  readonly passedOver: Readonly<PassedOver> & {
    /** Sessions of our own analysis. */
    readonly analyses: number;
    /** Sessions of other projects, or of another time, than was asked for. */
    readonly notAskedFor: number;
    readonly linksNotFollowed: number;
  };
  readonly unreadable: readonly Unreadable[];
  /** The projects of which there are new calls. */
  readonly projects: readonly string[];
};

/**
 * Takes in what past sessions did, in the order in which it happened, as if the hooks had been there: by the same
 * decisions, the same recordings. Can be repeated, and stopped anywhere. A file that cannot be read costs only itself.
 * Throws what SQLite throws.
 */
export function importTranscripts(options: TranscriptImport, db: Db): TranscriptReport {
  const progress = loadProgress(db);
  const listing = listTranscripts(options.roots, progressByFile(progress));
  const contexts = new PastContexts(options);
  const sessions = listing.sessions.filter((session) => isAskedFor(session, contexts, options));
  const bytes = sessions.reduce((sum, session) => sum + newBytes(session), 0);
  const onProgress = (bytesDone: number) =>
    options.onProgress({ sessions: sessions.length, bytes, bytesDone });
  const { paths, now, inTurn, limits } = options;
  const reading = { contexts, paths, now, inTurn, limits, onProgress };
  const run = new SessionImport(
    { ...reading, budget: new ReadingBudget(), lookBackBytes: LOOK_BACK_BYTES },
    db,
  );
  for (const session of sessions) run.take(session);
  run.write();
  return report(listing, { sessions: sessions.length, bytes }, run);
}

function isAskedFor(
  { files, outline }: TranscriptSession,
  contexts: PastContexts,
  { sinceMs, projectPath }: TranscriptImport,
): boolean {
  if (sinceMs !== undefined && files.every((file) => file.modifiedMs < sinceMs)) return false;
  if (projectPath === undefined) return true;
  return outline.directory !== undefined && contexts.projectOf(outline.directory).path === projectPath;
}

function newBytes({ files }: TranscriptSession): number {
  return files.reduce((sum, file) => sum + file.bytes - file.from, 0);
}

function report(
  listing: TranscriptListing,
  { sessions, bytes }: { sessions: number; bytes: number },
  { added, known, analyses, passedOver, unreadable, projects }: SessionImport,
): TranscriptReport {
  const { filesFound, filesUnchanged, linksNotFollowed } = listing;
  const notAskedFor = listing.sessions.length - sessions;
  return {
    filesFound,
    filesUnchanged,
    sessions: sessions - analyses,
    bytes,
    added,
    known,
    passedOver: { ...passedOver, analyses, notAskedFor, linksNotFollowed },
    unreadable: [...listing.unreadable, ...unreadable],
    projects: [...projects],
  };
}
