import { isRecord, parseJson, reasonOf } from '../../core/guards.ts';
import { withoutBlobs } from '../../core/long-json.ts';
import type { Unreadable } from '../../system/files.ts';
import { LineReader } from '../../system/lines.ts';
import { type Happening, OpenCalls, type PassedOverKind, readEntry } from './transcript.ts';
import type { ReadingPlace, TranscriptFile } from './transcript-files.ts';

/**
 * Reads transcripts as streams, in the order in which things happened, in memory of the longest line. Tolerant: what
 * cannot be read is counted or reported and costs only itself.
 */

const LINE_BYTES_MAX = 32 * 1024 * 1024;

const ENDLESS = { bytes: Number.POSITIVE_INFINITY, deadlineMs: Number.POSITIVE_INFINITY };

/** The bytes and the time that are left for a reading, over all files of a session; without limits endless. */
export class ReadingBudget {
  readonly lineBytesMax: number;
  /** Something was left unread because of the limits. */
  hasCut = false;
  #bytesLeft: number;
  readonly #deadlineMs: number;

  /** `deadlineMs`: by performance.now(). */
  constructor({ bytes, deadlineMs } = ENDLESS) {
    this.#bytesLeft = bytes;
    this.lineBytesMax = Math.min(bytes, LINE_BYTES_MAX);
    this.#deadlineMs = deadlineMs;
  }

  /** Returns false for a line that does not fit in: nothing more is read then, and a reader with more room reads it. */
  take({ kind, start, end }: { kind: string; start: number; end: number }): boolean {
    const isCut = kind === 'too-long' && this.#bytesLeft !== Number.POSITIVE_INFINITY;
    this.#bytesLeft = isCut ? 0 : this.#bytesLeft - (end - start);
    this.hasCut ||= isCut;
    return !isCut;
  }

  /** Returns true if nothing is left; to be asked only by a reader that would go on. */
  isSpent(): boolean {
    const isSpent = this.#bytesLeft <= 0 || performance.now() > this.#deadlineMs;
    this.hasCut ||= isSpent;
    return isSpent;
  }
}

/** What was left out, counted over many files. */
export type PassedOver = Record<PassedOverKind | 'brokenLines' | 'longLines', number>;

/** The counts before the first file. */
export function nothingPassedOver(): PassedOver {
  return { brokenLines: 0, longLines: 0, refusedCalls: 0, resultsWithoutCall: 0, entriesWithoutTime: 0 };
}

type ReadingOptions = {
  readonly budget: ReadingBudget;
  /** How far before the beginning of a part the call of a result is looked for. */
  readonly lookBackBytes: number;
  /** Is added to. */
  readonly passedOver: PassedOver;
  /** Receives the files that cannot be read. */
  readonly unreadable: Unreadable[];
};

type Event = Extract<Happening, { kind: 'event' }>;

/** The next events of a session, those of one line, and the file that they stand in. */
export type Merged = {
  readonly file: TranscriptFile;
  /** Undefined when there are no more: then the file has been read up to `end`. */
  readonly step: TranscriptStep | undefined;
  /** The end of the line. */
  readonly end: number;
  readonly place: ReadingPlace;
};

/** All lines up to this one are done with when its events are. */
type TranscriptStep = {
  readonly events: readonly [Event, ...Event[]];
  readonly before: ReadingPlace;
  readonly after: ReadingPlace;
};

const OPEN_FILES_MAX = 16;

/**
 * Goes through the transcripts of one session side by side, so that what its agents did comes in the order in which it
 * happened; within a file the order is the file's. Where the files stand decides what comes next, nothing else.
 */
export class MergedTranscripts {
  readonly #cursors: readonly TranscriptCursor[];

  constructor(files: readonly TranscriptFile[], options: ReadingOptions) {
    this.#cursors = files.map((file) => new TranscriptCursor(file, options));
  }

  *read(): Generator<Merged> {
    // A session may have had hundreds of sub-agents: only the files that were read from last stay open.
    const open = new Set<TranscriptCursor>();
    try {
      for (let next = earliest(this.#cursors); next?.step !== undefined; next = earliest(this.#cursors)) {
        yield seenOf(next);
        open.delete(next);
        open.add(next);
        const [oldest] = open;
        if (open.size > OPEN_FILES_MAX && oldest !== undefined) {
          oldest.rest();
          open.delete(oldest);
        }
        next.advance();
      }
      for (const cursor of this.#cursors)
        if (!cursor.isUnreadable && cursor.end > cursor.file.from) yield seenOf(cursor);
    } finally {
      for (const cursor of this.#cursors) cursor.rest();
    }
  }

  /** Returns true if a result came whose call lies further back than was looked. */
  get hasMissed(): boolean {
    return this.#cursors.some(({ missedAt, isUnreadable }) => missedAt !== undefined && !isUnreadable);
  }

  /** Returns true if what was read of this file is a conversation; undefined if nothing was read. */
  isConversation(file: TranscriptFile): boolean | undefined {
    return this.#cursors.find((one) => one.file === file && !one.isUnreadable)?.isConversation;
  }

  /** What the agent said before the open call with this id. */
  remarkOf(toolUseId: string): string | undefined {
    const remarks = this.#cursors.map(({ calls }) => calls.remarkOf(toolUseId));
    return remarks.find((remark) => remark !== undefined);
  }
}

function seenOf({ file, step, end, place }: TranscriptCursor): Merged {
  return { file, step, end, place };
}

/** The cursor whose next event happened first; of equal ones the one that stands first. */
function earliest(cursors: readonly TranscriptCursor[]): TranscriptCursor | undefined {
  let found: TranscriptCursor | undefined;
  let foundTs = '';
  for (const cursor of cursors) {
    const ts = cursor.step?.events[0].ts;
    if (ts === undefined || (found !== undefined && ts >= foundTs)) continue;
    found = cursor;
    foundTs = ts;
  }
  return found;
}

/** What lies between the oldest open call and the end is read again the next time. */
const REREAD_BYTES_MAX = 256 * 1024;
/** Entries that a conversation cannot do without. */
const CONVERSATION = new Set<unknown>(['user', 'assistant']);

/**
 * Goes through one transcript; one that cannot be read ends where it stands. Its place says all about it: it is set back
 * to the oldest call that is still open, so that a reading may stop anywhere and go on in another process.
 */
class TranscriptCursor implements Merged {
  readonly file: TranscriptFile;
  readonly calls: OpenCalls;
  /** The next events; undefined when there are no more, or not for now. */
  step: TranscriptStep | undefined;
  /** Up to where the file has been gone through this time. */
  end: number;
  place: ReadingPlace;
  isUnreadable = false;
  /** Whether any line was one that a conversation consists of; undefined before the first line. */
  isConversation: boolean | undefined;
  /** The line of the first result whose call lies further back than was looked. */
  missedAt: number | undefined;
  readonly #options: ReadingOptions;
  #reader: LineReader | undefined;

  constructor(file: TranscriptFile, options: ReadingOptions) {
    this.file = file;
    this.#options = options;
    this.calls = new OpenCalls(
      options.lookBackBytes > 0 ? () => callsBefore(file, options.lookBackBytes) : undefined,
    );
    this.end = file.from;
    this.place = { bytesDone: file.from, bytesSeen: file.seen };
    this.advance();
    this.rest();
  }

  /** Goes on to the next events. */
  advance(): void {
    try {
      this.step = this.#findNext();
    } catch (error) {
      this.#options.unreadable.push({ path: this.file.path, reason: reasonOf(error) });
      this.rest();
      this.step = undefined;
      this.isUnreadable = true;
    }
  }

  /** Closes the file for now; `advance()` opens it again. */
  rest(): void {
    this.#reader?.close();
    this.#reader = undefined;
  }

  #findNext(): TranscriptStep | undefined {
    const { budget, passedOver } = this.#options;
    this.#reader ??= this.#open();
    while (!budget.isSpent()) {
      const line = this.#reader.next();
      if (line === undefined || !budget.take(line)) break;
      const entry = line.kind === 'line' ? parseLine(line.bytes) : undefined;
      if (entry === undefined && !line.isEnded) break; // It is being written.
      if (line.kind === 'too-long') passedOver.longLines++;
      else if (entry === undefined && !line.bytes.every((byte) => WHITE_SPACE.includes(byte)))
        passedOver.brokenLines++;
      this.isConversation ||= isRecord(entry) && CONVERSATION.has(entry.type);
      const [first, ...rest] = this.#eventsOf(entry, line.start);
      const before = this.place;
      this.end = line.end;
      this.place = this.#placeAt(line.end);
      if (first !== undefined) return { events: [first, ...rest], before, after: this.place };
    }
    this.rest();
    return undefined;
  }

  #open(): LineReader {
    const { budget } = this.#options;
    const isWithinLine = this.file.isWithinLine === true && this.end === this.file.from;
    return openAt(this.file.path, this.end, isWithinLine, budget.lineBytesMax);
  }

  #eventsOf(entry: unknown, lineStart: number): Event[] {
    const { passedOver, lookBackBytes } = this.#options;
    this.calls.line = lineStart;
    const found = readEntry(entry, this.file.owner, this.calls);
    for (const happening of found) {
      if (happening.kind !== 'passed-over') continue;
      passedOver[happening.why]++;
      // Its result is left to a reader that looks back for the call.
      const isMissed = lookBackBytes === 0 && lineStart >= this.file.seen;
      if (happening.why === 'resultsWithoutCall' && isMissed) this.missedAt ??= lineStart;
    }
    return found.filter((happening) => happening.kind === 'event');
  }

  #placeAt(end: number): ReadingPlace {
    const earliest = end - REREAD_BYTES_MAX;
    const missedAt = this.missedAt ?? end;
    const bytesSeen = missedAt >= earliest ? missedAt : end;
    return { bytesDone: Math.min(bytesSeen, this.calls.oldestSince(earliest)), bytesSeen };
  }
}

const DECODER = new TextDecoder();
const LONG_LINE_BYTES = 1024 * 1024;

/** An image stands in its line twice, and would stand in memory four times. */
function parseLine(bytes: Uint8Array): unknown {
  return parseJson(DECODER.decode(bytes.length > LONG_LINE_BYTES ? withoutBlobs(bytes) : bytes));
}

const WHITE_SPACE = [0x20, 0x09, 0x0d];

/** A reader of the whole lines from this place on. */
function openAt(path: string, from: number, isWithinLine: boolean, lineBytesMax: number): LineReader {
  const isAtLine = !isWithinLine || from === 0;
  const reader = new LineReader(path, { from: isAtLine ? from : from - 1, lineBytesMax });
  if (!isAtLine) reader.next(); // The rest of a line, or nothing but the end of the one before.
  return reader;
}

/** The calls that the lines before the part to be read have opened, as far back as is looked. */
function callsBefore({ path, owner, from }: TranscriptFile, lookBackBytes: number): OpenCalls {
  const calls = new OpenCalls();
  if (from === 0) return calls;
  const reader = openAt(path, Math.max(0, from - lookBackBytes), true, LINE_BYTES_MAX);
  try {
    for (let line = reader.next(); line !== undefined && line.start < from; line = reader.next()) {
      calls.line = line.start;
      if (line.kind === 'line') readEntry(parseLine(line.bytes), owner, calls);
    }
    return calls;
  } finally {
    reader.close();
  }
}
