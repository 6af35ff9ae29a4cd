import type { StatePaths } from '../../core/state-paths.ts';
import { decide } from '../../hooks/decide.ts';
import type { Db } from '../../store/connection.ts';
import { type ImportStep, ImportWriter, loadProgress, progressByFile } from '../../store/imports.ts';
import type { Unreadable } from '../../sys/find-files.ts';
import { type Merged, mergeTranscripts } from './merge-transcripts.ts';
import { PastContexts, type PastOptions } from './past-context.ts';
import { nothingPassedOver, type PassedOver } from './transcript-cursor.ts';
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
};

/**
 * Takes in what past sessions did, in the order in which it happened, as if the hooks had been there: by the same
 * decisions, the same recordings. Can be repeated, and stopped anywhere. A file that cannot be read costs only itself.
 * Throws what SQLite throws, and ImportInterference.
 */
export function importTranscripts(options: TranscriptImport, db: Db): TranscriptReport {
  const progress = loadProgress(db);
  const listing = listTranscripts(options.roots, progressByFile(progress));
  const contexts = new PastContexts(options);
  const sessions = listing.sessions.filter((session) => isAskedFor(session, contexts, options));
  const bytes = sessions.reduce((sum, session) => sum + newBytes(session), 0);
  const onProgress = (bytesDone: number) =>
    options.onProgress({ sessions: sessions.length, bytes, bytesDone });
  const writer = new ImportWriter(progress, options.paths, db);
  const run = new ImportRun({ ...options, onProgress }, contexts, writer);
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
  { added, known, analyses, passedOver, unreadable }: ImportRun,
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
  };
}

/** A hook records within seconds; until then nobody knows whether it has. */
const UNSETTLED_MS = 10_000;
/** How much later than the transcript says a hook may have recorded a prompt or the end of a sub-agent. */
const HOOK_DELAY_MS_MAX = 10_000;
/** A prompt that was typed while the agent worked comes to the hooks when the agent comes to it. */
const QUEUED_MS_MAX = 30 * 60_000;
/** Hooks wait 400 ms for the database. */
const WRITE_LIMITS: WriteLimits = { events: 256, holdMs: 50 };

type RunOptions = Omit<TranscriptImport, 'onProgress'> & { readonly onProgress: (bytesDone: number) => void };

/** What has been read and not yet been written, and what came of it so far. */
class ImportRun {
  readonly added: Record<string, number> = {};
  readonly passedOver = nothingPassedOver();
  readonly unreadable: Unreadable[] = [];
  known = 0;
  analyses = 0;
  #bytesDone = 0;
  readonly #options: RunOptions;
  readonly #contexts: PastContexts;
  readonly #writer: ImportWriter;
  #pending: ImportStep[] = [];

  constructor(options: RunOptions, contexts: PastContexts, writer: ImportWriter) {
    this.#options = options;
    this.#contexts = contexts;
    this.#writer = writer;
  }

  takeSession({ files, outline }: TranscriptSession): void {
    if (outline.isAnalysis) {
      this.analyses++;
      for (const { path, head, bytes } of files) this.#keep([{ path, head, bytesDone: bytes }]);
      return;
    }
    const { passedOver, unreadable } = this;
    const isSettled = (ts: string) => !isJustNow(ts, this.#options.now());
    const ends = new Map(files.map((file) => [file.path, file.from]));
    for (const merged of mergeTranscripts(files, { isSettled, passedOver, unreadable })) {
      this.#bytesDone += merged.end - (ends.get(merged.file.path) ?? 0);
      ends.set(merged.file.path, merged.end);
      this.#keep(this.#stepsOf(merged, outline.directory));
    }
  }

  /** Writes what is pending, in as many transactions as it takes. */
  write(): void {
    while (this.#pending.length > 0) {
      const { inTurn, now, limits = WRITE_LIMITS } = this.#options;
      const options = { now: now(), budgetMs: limits.holdMs };
      const { steps, added, known } = inTurn(() => this.#writer.write(this.#pending, options));
      this.#pending = this.#pending.slice(steps);
      this.#options.onProgress(this.#bytesDone);
      this.known += known;
      for (const [type, count] of Object.entries(added)) this.added[type] = (this.added[type] ?? 0) + count;
    }
  }

  #keep(steps: readonly ImportStep[]): void {
    this.#pending.push(...steps);
    const { limits = WRITE_LIMITS } = this.#options;
    if (this.#pending.length >= limits.events) this.write();
  }

  /** The line is done with when the last of its events is. */
  #stepsOf({ file: { path, head }, step, end }: Merged, startedIn: string | undefined): ImportStep[] {
    if (step === undefined) return [{ path, head, bytesDone: end }];
    return step.events.map(({ ts, event, isQueued }, index) => {
      const recording = decide(event, this.#contexts.contextOf(event, { ts, startedIn })).recording;
      const bytesDone = index === step.events.length - 1 ? step.end : step.start;
      const delayMsMax = isQueued ? QUEUED_MS_MAX : HOOK_DELAY_MS_MAX;
      return { path, head, bytesDone, ...(recording && { recording, delayMsMax }) };
    });
  }
}

function isJustNow(ts: string, now: Date): boolean {
  const ageMs = now.getTime() - Date.parse(ts);
  return ageMs >= 0 && ageMs < UNSETTLED_MS;
}
