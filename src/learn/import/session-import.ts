import type { StatePaths } from '../../core/state-paths.ts';
import { decide } from '../../hooks/decide.ts';
import type { Db } from '../../store/connection.ts';
import { forgetNamelessCalls, type ImportStep, type ReadFile, writeSteps } from '../../store/imports.ts';
import { HOOK_DELAY_MS_MAX, QUEUED_MS_MAX } from '../../store/known-moments.ts';
import type { Unreadable } from '../../sys/find-files.ts';
import { type Merged, MergedTranscripts } from './merge-transcripts.ts';
import type { PastContexts } from './past-context.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { type CursorPlace, nothingPassedOver } from './transcript-cursor.ts';
import type { TranscriptFile, TranscriptSession } from './transcript-files.ts';
import type { InTurn } from './turns.ts';

/** How far back the call of a result is looked for, by those who have the time. */
export const LOOK_BACK_BYTES = 8 * 1024 * 1024;

/** How many events are collected before they are written, and how long the database is held at once. */
export type WriteLimits = { readonly events: number; readonly holdMs: number };

/** Hooks wait 400 ms for the database. */
const WRITE_LIMITS: WriteLimits = { events: 256, holdMs: 50 };

export type SessionImportOptions = {
  readonly contexts: PastContexts;
  readonly paths: StatePaths;
  readonly now: () => Date;
  readonly inTurn: InTurn;
  readonly budget: ReadingBudget;
  readonly lookBackBytes: number;
  readonly limits?: WriteLimits | undefined;
  readonly onProgress?: (bytesDone: number) => void;
};

/** Reads the transcripts of sessions and writes what is new; holds what has not been written yet, and counts. */
export class SessionImport {
  readonly added: Record<string, number> = {};
  readonly passedOver = nothingPassedOver();
  readonly unreadable: Unreadable[] = [];
  /** Projects of which there are new calls. */
  readonly projects = new Set<string>();
  known = 0;
  analyses = 0;
  #bytesDone = 0;
  readonly #options: SessionImportOptions;
  readonly #db: Db;
  #pending: ImportStep[] = [];

  constructor(options: SessionImportOptions, db: Db) {
    this.#options = options;
    this.#db = db;
  }

  /** Reads what is new of a session; gives what was read, or undefined for a session of our own analysis. */
  take({ files, outline }: TranscriptSession): MergedTranscripts | undefined {
    if (outline.isAnalysis) {
      this.analyses++;
      this.#keep(wholeFiles(files));
      return undefined;
    }
    const { passedOver, unreadable } = this;
    const { budget, lookBackBytes, contexts } = this.#options;
    const transcripts = new MergedTranscripts(files, { budget, lookBackBytes, passedOver, unreadable });
    const ends = new Map(files.map((file) => [file.path, file.from]));
    for (const { from, isWithinLine, owner } of files) {
      if (from === 0 && !isWithinLine && owner.agentId === null)
        forgetNamelessCalls(owner.sessionId, this.#db);
    }
    for (const merged of transcripts.read()) {
      this.#bytesDone += merged.end - (ends.get(merged.file.path) ?? 0);
      ends.set(merged.file.path, merged.end);
      this.#keep(stepsOf(merged, outline.directory, contexts));
    }
    return transcripts;
  }

  /** Writes what is pending, in as many transactions as it takes. Throws what SQLite throws. */
  write(): void {
    const { inTurn, now, paths, limits = WRITE_LIMITS, onProgress } = this.#options;
    while (this.#pending.length > 0) {
      const options = { now: now(), paths, budgetMs: limits.holdMs };
      const written = inTurn(() => writeSteps(this.#pending, options, this.#db));
      this.#pending = this.#pending.slice(written.steps);
      onProgress?.(this.#bytesDone);
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
function wholeFiles(files: readonly TranscriptFile[]): ImportStep[] {
  return files.map(({ path, head, bytes }) => ({
    read: { path, head, bytesDone: bytes, bytesSeen: bytes, fileBytes: bytes },
  }));
}

/**
 * What is to be written of the next events of a session: what its hooks would have recorded, by their own decisions. The
 * line is done with when the last of its events is. `startedIn`: where the session was started.
 */
function stepsOf(
  { file, step, place }: Merged,
  startedIn: string | undefined,
  contexts: PastContexts,
): ImportStep[] {
  const { path, head, bytes: fileBytes, isWithinLine } = file;
  const readUntil = (place: CursorPlace): ReadFile | undefined =>
    isWithinLine ? undefined : { path, head, fileBytes: Math.max(fileBytes, place.bytesSeen), ...place };
  if (step === undefined) return [{ read: readUntil(place) }];
  return step.events.map(({ ts, event, isQueued }, index) => {
    const recording = decide(event, contexts.contextOf(event, { ts, startedIn })).recording;
    const read = readUntil(index === step.events.length - 1 ? step.after : step.before);
    const delayMsMax = isQueued ? QUEUED_MS_MAX : HOOK_DELAY_MS_MAX;
    return { read, ...(recording && { recording, delayMsMax }) };
  });
}
