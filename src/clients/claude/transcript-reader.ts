import { isRecord, parseJson, reasonOf } from '../../core/guards.ts';
import { withoutBlobs } from '../../core/long-json.ts';
import type { Unreadable } from '../../system/files.ts';
import { LineReader } from '../../system/lines.ts';
import { type Call, type Happening, type OpenCalls, type PassedOverKind, readEntry } from './transcript.ts';
import type { TranscriptFile } from './transcript-files.ts';

/**
 * Reads transcripts as streams, in the order in which things happened, in memory of the longest line. Tolerant: what
 * cannot be read is counted or reported and costs only itself.
 */

const LINE_BYTES_MAX = 32 * 1024 * 1024;

/** The bytes and the time that are left for a reading, over all files of a session; without limits endless. */
export class ReadingBudget {
  readonly isBounded: boolean;
  /** A longer line does not fit in. */
  readonly lineBytesMax: number;
  /** Something was left unread because of the limits. */
  hasCut = false;
  #bytesLeft: number;
  readonly #deadlineMs: number;

  /** `deadlineMs`: by performance.now(). */
  constructor(limits?: { readonly bytes: number; readonly deadlineMs: number }) {
    this.isBounded = limits !== undefined;
    this.#bytesLeft = limits?.bytes ?? Number.POSITIVE_INFINITY;
    this.lineBytesMax = Math.min(this.#bytesLeft, LINE_BYTES_MAX);
    this.#deadlineMs = limits?.deadlineMs ?? Number.POSITIVE_INFINITY;
  }

  take(bytes: number): void {
    this.#bytesLeft -= bytes;
  }

  /** The next line does not fit in: nothing more is read. */
  cut(): void {
    this.#bytesLeft = 0;
    this.hasCut = true;
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

/** Where the next reading has to begin, and up to where this one has come. */
export type ReadingPlace = { readonly bytesDone: number; readonly bytesSeen: number };

/** The events of one line. All lines up to it are done with when these are. */
type TranscriptStep = {
  readonly events: readonly [Event, ...Event[]];
  /** The end of the line. */
  readonly end: number;
  readonly before: ReadingPlace;
  readonly after: ReadingPlace;
};

/** The next events of a session and the file that they stand in; without events the file has been read up to `end`. */
export type Merged = {
  readonly file: TranscriptFile;
  readonly step: TranscriptStep | undefined;
  readonly end: number;
  readonly place: ReadingPlace;
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
        const { file, step } = next;
        yield { file, step, end: step.end, place: step.after };
        open.delete(next);
        open.add(next);
        const [oldest] = open;
        if (open.size > OPEN_FILES_MAX && oldest !== undefined) {
          oldest.rest();
          open.delete(oldest);
        }
        next.advance();
      }
      for (const { file, end, place, isUnreadable } of this.#cursors)
        if (!isUnreadable && end > file.from) yield { file, step: undefined, end, place };
    } finally {
      for (const cursor of this.#cursors) cursor.rest();
    }
  }

  /** Returns true if a result came whose call lies further back than was looked. */
  get hasMissed(): boolean {
    return this.#cursors.some(({ hasMissed, isUnreadable }) => hasMissed && !isUnreadable);
  }

  /** Returns true if what was read of this file is a conversation; undefined if nothing was read. */
  isConversation(file: TranscriptFile): boolean | undefined {
    const cursor = this.#cursors.find((one) => one.file === file && !one.isUnreadable);
    return cursor?.isConversation;
  }

  /** What the agent said before the open call with this id. */
  remarkOf(toolUseId: string): string | undefined {
    for (const { calls } of this.#cursors) {
      const remark = calls.remarkOf(toolUseId);
      if (remark !== undefined) return remark;
    }
    return undefined;
  }
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
class TranscriptCursor {
  readonly file: TranscriptFile;
  readonly calls: CallsByLine;
  /** The next events; undefined when there are no more, or not for now. */
  step: TranscriptStep | undefined;
  /** Up to where the file has been gone through this time. */
  end: number;
  place: ReadingPlace;
  isUnreadable = false;
  /** Whether any line was one that a conversation consists of; undefined before the first line. */
  isConversation: boolean | undefined;
  readonly #options: ReadingOptions;
  #reader: LineReader | undefined;
  #missedAt: number | undefined;

  constructor(file: TranscriptFile, options: ReadingOptions) {
    this.file = file;
    this.#options = options;
    this.calls = new CallsByLine(
      options.lookBackBytes > 0 ? () => callsBefore(file, options.lookBackBytes) : undefined,
    );
    this.end = file.from;
    this.place = { bytesDone: file.from, bytesSeen: file.seen };
    this.advance();
    this.rest();
  }

  /** A result came whose call lies further back than was looked. */
  get hasMissed(): boolean {
    return this.#missedAt !== undefined;
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
      if (line === undefined) break;
      budget.take(line.end - line.start);
      if (line.kind === 'too-long' && budget.isBounded) {
        budget.cut(); // A reader with more room reads it.
        break;
      }
      const entry = line.kind === 'line' ? parseLine(line.bytes) : undefined;
      if (entry === undefined && !line.isEnded) break; // It is being written.
      if (line.kind === 'too-long') passedOver.longLines++;
      else if (entry === undefined && !isBlank(line.bytes)) passedOver.brokenLines++;
      this.isConversation ||= isRecord(entry) && CONVERSATION.has(entry.type);
      const [first, ...rest] = this.#eventsOf(entry, line.start);
      const before = this.place;
      this.end = line.end;
      this.place = this.#placeAt(line.end);
      if (first !== undefined) return { events: [first, ...rest], end: line.end, before, after: this.place };
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
      if (happening.why === 'resultsWithoutCall' && isMissed) this.#missedAt ??= lineStart;
    }
    return found.filter((happening) => happening.kind === 'event');
  }

  #placeAt(end: number): ReadingPlace {
    const earliest = end - REREAD_BYTES_MAX;
    const missedAt = this.#missedAt ?? end;
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

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => WHITE_SPACE.includes(byte));
}

/** A reader of the whole lines from this place on. */
function openAt(path: string, from: number, isWithinLine: boolean, lineBytesMax: number): LineReader {
  const isAtLine = !isWithinLine || from === 0;
  const reader = new LineReader(path, { from: isAtLine ? from : from - 1, lineBytesMax });
  if (!isAtLine) reader.next(); // The rest of a line, or nothing but the end of the one before.
  return reader;
}

/** The calls that the lines before the part to be read have opened, as far back as is looked. */
function callsBefore({ path, owner, from }: TranscriptFile, lookBackBytes: number): CallsByLine {
  const calls = new CallsByLine();
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

const OPEN_CALLS_MAX = 1000;

/**
 * Open calls and where they stand, oldest first. A result whose call is not among them has the lines before this part
 * read, once, if `readEarlier` is given.
 */
class CallsByLine implements OpenCalls {
  /** Where the line begins that is being read. */
  line = 0;
  #said: { readonly text: string; readonly line: number } | undefined;
  readonly #opened = new Map<string, { readonly call: Call; readonly line: number }>();
  #readEarlier: (() => CallsByLine) | undefined;

  constructor(readEarlier?: () => CallsByLine) {
    this.#readEarlier = readEarlier;
  }

  say(text: string): void {
    this.#said = { text, line: this.line };
  }

  said(): string {
    return this.#said?.text ?? '';
  }

  open(id: string, call: Call): void {
    this.#opened.delete(id);
    this.#opened.set(id, { call, line: this.#said?.line ?? this.line });
    this.#said = undefined;
    const [oldest] = this.#opened.keys();
    if (this.#opened.size > OPEN_CALLS_MAX && oldest !== undefined) this.#opened.delete(oldest);
  }

  close(id: string): Call | undefined {
    if (!this.#opened.has(id)) this.#takeEarlier();
    const opened = this.#opened.get(id);
    this.#opened.delete(id);
    return opened?.call;
  }

  /** What was said before the call with this id. */
  remarkOf(id: string): string | undefined {
    return this.#opened.get(id)?.call.remark;
  }

  /** Where the first line stands, from this place on, that what comes is not understood without. */
  oldestSince(place: number): number {
    let oldest = Number.POSITIVE_INFINITY;
    if (this.#said !== undefined && this.#said.line >= place) oldest = this.#said.line;
    for (const { line } of this.#opened.values()) if (line >= place && line < oldest) oldest = line;
    return oldest;
  }

  #takeEarlier(): void {
    const earlier = this.#readEarlier?.();
    this.#readEarlier = undefined;
    if (earlier === undefined) return;
    for (const [id, opened] of earlier.#opened) if (!this.#opened.has(id)) this.#opened.set(id, opened);
  }
}
