import type { StatePaths } from '../../core/state-paths.ts';
import type { Db } from '../../store/connection.ts';
import { type ImportStep, loadProgress, progressByFile, writeSteps } from '../../store/imports.ts';
import type { InTurn } from '../../store/merge-database.ts';
import type { Unreadable } from '../../sys/find-files.ts';
import { MergedTranscripts } from './merge-transcripts.ts';
import { PastContexts, type PastOptions } from './past-context.ts';
import { stepsOf } from './past-steps.ts';
import { ReadingBudget } from './reading-budget.ts';
import { nothingPassedOver, type PassedOver } from './transcript-cursor.ts';
import {
  listTranscripts,
  type TranscriptFile,
  type TranscriptListing,
  type TranscriptSession,
} from './transcript-files.ts';

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

/** How many events are collected before they are written, and how long the database is held at once. */
export type WriteLimits = { readonly events: number; readonly holdMs: number };

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

/** How far back the call of a result is looked for. */
export const LOOK_BACK_BYTES = 8 * 1024 * 1024;

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
  const run = new ImportRun({ ...options, onProgress }, contexts, db);
  for (const session of sessions) run.takeSession(session);
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
  { added, known, analyses, passedOver, unreadable, projects }: ImportRun,
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

/** Hooks wait 400 ms for the database. */
const WRITE_LIMITS: WriteLimits = { events: 256, holdMs: 50 };

type RunOptions = Omit<TranscriptImport, 'onProgress'> & { readonly onProgress: (bytesDone: number) => void };

/** What has been read and not yet been written, and what came of it so far. */
class ImportRun {
  readonly added: Record<string, number> = {};
  readonly passedOver = nothingPassedOver();
  readonly unreadable: Unreadable[] = [];
  readonly projects = new Set<string>();
  known = 0;
  analyses = 0;
  #bytesDone = 0;
  readonly #options: RunOptions;
  readonly #contexts: PastContexts;
  readonly #db: Db;
  #pending: ImportStep[] = [];

  constructor(options: RunOptions, contexts: PastContexts, db: Db) {
    this.#options = options;
    this.#contexts = contexts;
    this.#db = db;
  }

  takeSession({ files, outline }: TranscriptSession): void {
    if (outline.isAnalysis) {
      this.analyses++;
      this.#keep(wholeFiles(files));
      return;
    }
    const { passedOver, unreadable } = this;
    const ends = new Map(files.map((file) => [file.path, file.from]));
    const options = {
      passedOver,
      unreadable,
      lookBackBytes: LOOK_BACK_BYTES,
      budget: new ReadingBudget(),
    };
    for (const merged of new MergedTranscripts(files, options).read()) {
      this.#bytesDone += merged.end - (ends.get(merged.file.path) ?? 0);
      ends.set(merged.file.path, merged.end);
      this.#keep(stepsOf(merged, outline.directory, this.#contexts));
    }
  }

  /** Writes what is pending, in as many transactions as it takes. */
  write(): void {
    while (this.#pending.length > 0) {
      const { inTurn, now, paths, limits = WRITE_LIMITS } = this.#options;
      const options = { now: now(), paths, budgetMs: limits.holdMs };
      const written = inTurn(() => writeSteps(this.#pending, options, this.#db));
      this.#pending = this.#pending.slice(written.steps);
      this.#options.onProgress(this.#bytesDone);
      this.known += written.known;
      for (const project of written.projects) this.projects.add(project);
      for (const [type, count] of Object.entries(written.added))
        this.added[type] = (this.added[type] ?? 0) + count;
    }
  }

  #keep(steps: readonly ImportStep[]): void {
    this.#pending.push(...steps);
    const { limits = WRITE_LIMITS } = this.#options;
    if (this.#pending.length >= limits.events) this.write();
  }
}

/** Files that are done with although nothing of them is recorded. */
export function wholeFiles(files: readonly TranscriptFile[]): ImportStep[] {
  return files.map(({ path, head, bytes }) => ({
    read: { path, head, bytesDone: bytes, bytesSeen: bytes, fileBytes: bytes },
  }));
}
