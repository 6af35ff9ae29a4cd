import type { ReadingBudget } from '../clients/claude/transcript-cursor.ts';
import {
  type CursorPlace,
  type PassedOver,
  TranscriptCursor,
  type TranscriptStep,
} from '../clients/claude/transcript-cursor.ts';
import type { TranscriptFile } from '../clients/claude/transcript-files.ts';
import { reasonOf } from '../core/guards.ts';
import type { Unreadable } from '../system/files.ts';

/** The next events of a session and the file that they stand in; without events the file has been read up to `end`. */
export type Merged = {
  readonly file: TranscriptFile;
  readonly step: TranscriptStep | undefined;
  readonly end: number;
  readonly place: CursorPlace;
};

export type MergeOptions = {
  readonly budget: ReadingBudget;
  /** How far back the call of a result is looked for. */
  readonly lookBackBytes: number;
  /** Counts what is left out. */
  readonly passedOver: PassedOver;
  /** Gets the files that cannot be read. */
  readonly unreadable: Unreadable[];
};

/**
 * Goes through the transcripts of one session side by side, so that what its agents did comes in the order in which it
 * happened; within a file the order is the file's. Where the files stand decides what comes next, nothing else.
 */
export class MergedTranscripts {
  readonly #sources: readonly Source[];

  constructor(files: readonly TranscriptFile[], options: MergeOptions) {
    this.#sources = files.map((file) => new Source(file, options));
  }

  *read(): Generator<Merged> {
    const openFiles = new OpenFiles();
    try {
      for (let source = earliest(this.#sources); source !== undefined; source = earliest(this.#sources)) {
        const { file, step } = source;
        if (step === undefined) break;
        yield { file, step, end: step.end, place: step.after };
        openFiles.use(source);
        source.advance();
      }
      for (const { file, cursor } of this.#sources) {
        if (cursor !== undefined && cursor.end > file.from)
          yield { file, step: undefined, end: cursor.end, place: cursor.place };
      }
    } finally {
      for (const source of this.#sources) source.rest();
    }
  }

  /** Whether a result came whose call lies further back than was looked. */
  get hasMissed(): boolean {
    return this.#sources.some(({ cursor }) => cursor?.hasMissed === true);
  }

  /** Whether what was read of this file is a conversation; undefined when nothing was read. */
  isConversation(file: TranscriptFile): boolean | undefined {
    return this.#sources.find((source) => source.file === file)?.cursor?.isConversation;
  }

  /** What the agent said before the open call with this id. */
  remarkOf(toolUseId: string): string | undefined {
    for (const { cursor } of this.#sources) {
      const remark = cursor?.calls.remarkOf(toolUseId);
      if (remark !== undefined) return remark;
    }
    return undefined;
  }
}

/** A transcript that is being read. One that cannot be read ends where it stands. */
class Source {
  readonly file: TranscriptFile;
  readonly #unreadable: Unreadable[];
  cursor: TranscriptCursor | undefined;

  constructor(file: TranscriptFile, { passedOver, unreadable, ...limits }: MergeOptions) {
    this.file = file;
    this.#unreadable = unreadable;
    this.#attempt(() => {
      this.cursor = new TranscriptCursor({ ...file, ...limits }, passedOver);
      this.cursor.rest();
    });
  }

  get step(): TranscriptStep | undefined {
    return this.cursor?.head;
  }

  advance(): void {
    this.#attempt(() => this.cursor?.advance());
  }

  rest(): void {
    this.cursor?.rest();
  }

  #attempt(operation: () => void): void {
    try {
      operation();
    } catch (error) {
      const reason = reasonOf(error);
      this.#unreadable.push({ path: this.file.path, reason });
      this.rest();
      this.cursor = undefined;
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
