import type { Unreadable } from '../../sys/find-files.ts';
import { type PassedOver, TranscriptCursor, type TranscriptStep } from './transcript-cursor.ts';
import type { TranscriptFile } from './transcript-files.ts';

/** The next events of a session and the file that they stand in; without events the file is done with up to `end`. */
export type Merged = {
  readonly file: TranscriptFile;
  readonly step: TranscriptStep | undefined;
  readonly end: number;
};

export type MergeOptions = {
  /** False for what has happened just now: its hooks may still be at work. */
  readonly isSettled: (ts: string) => boolean;
  /** Counts what is left out. */
  readonly passedOver: PassedOver;
  /** Gets the files that cannot be read. */
  readonly unreadable: Unreadable[];
};

/**
 * Goes through the transcripts of one session side by side, so that what its agents did comes in the order in which it
 * happened; within a file the order is the file's. Where the files stand decides what comes next, nothing else.
 */
export function* mergeTranscripts(
  files: readonly TranscriptFile[],
  options: MergeOptions,
): Generator<Merged> {
  const sources = files.map((file) => new Source(file, options));
  const openFiles = new OpenFiles();
  try {
    for (let source = earliest(sources); source !== undefined; source = earliest(sources)) {
      const { file, step } = source;
      if (step === undefined) break;
      yield { file, step, end: step.end };
      openFiles.use(source);
      source.advance();
    }
    for (const { file, end } of sources) if (end > file.from) yield { file, step: undefined, end };
  } finally {
    for (const source of sources) source.rest();
  }
}

/** A transcript that is being read. One that cannot be read ends where it stands. */
class Source {
  readonly file: TranscriptFile;
  readonly #options: MergeOptions;
  #cursor: TranscriptCursor | undefined;

  constructor(file: TranscriptFile, options: MergeOptions) {
    this.file = file;
    this.#options = options;
    const { path, owner, from } = file;
    const part = { path, owner, from, isSettled: options.isSettled };
    this.#attempt(() => {
      this.#cursor = new TranscriptCursor(part, options.passedOver);
      this.#cursor.rest();
    });
  }

  get step(): TranscriptStep | undefined {
    return this.#cursor?.head;
  }

  /** Up to where the file has been gone through. */
  get end(): number {
    return this.#cursor?.end ?? this.file.from;
  }

  advance(): void {
    this.#attempt(() => this.#cursor?.advance());
  }

  rest(): void {
    this.#cursor?.rest();
  }

  #attempt(operation: () => void): void {
    try {
      operation();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.unreadable.push({ path: this.file.path, reason });
      this.rest();
      this.#cursor = undefined;
    }
  }
}

/** The source whose next event happened first; of equal ones the one that stands first. */
function earliest(sources: readonly Source[]): Source | undefined {
  let found: Source | undefined;
  let foundTs = '';
  for (const source of sources) {
    const ts = source.step?.events[0].ts;
    if (ts === undefined || (found !== undefined && ts >= foundTs)) continue;
    found = source;
    foundTs = ts;
  }
  return found;
}

const OPEN_FILES_MAX = 16;

/** A session may have had hundreds of sub-agents: only the files that are read from now stay open. */
class OpenFiles {
  readonly #sources = new Set<Source>();

  use(source: Source): void {
    this.#sources.delete(source);
    this.#sources.add(source);
    const [oldest] = this.#sources;
    if (this.#sources.size <= OPEN_FILES_MAX || oldest === undefined) return;
    oldest.rest();
    this.#sources.delete(oldest);
  }
}
