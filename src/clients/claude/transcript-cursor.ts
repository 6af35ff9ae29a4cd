import { isRecord, parseJson, reasonOf } from '../../core/guards.ts';
import { withoutBlobs } from '../../core/long-json.ts';
import type { Unreadable } from '../../system/files.ts';
import { LineReader } from '../../system/line-reader.ts';
import { type Call, type Happening, type OpenCalls, readEntry, type TranscriptOwner } from './transcript.ts';
import type { TranscriptFile } from './transcript-files.ts';

const LINE_BYTES_MAX = 32 * 1024 * 1024;

/** What is left of the bytes and the time that a reading has, over all files of a session. `deadlineMs`: by performance.now(). */
export class ReadingBudget {
  readonly isBounded: boolean;
  /** A longer line does not fit in. */
  readonly lineBytesMax: number;
  #bytesLeft: number;
  /** Something was left unread because of it. */
  hasCut = false;
  readonly #deadlineMs: number;

  constructor(limits?: { readonly bytes: number; readonly deadlineMs: number }) {
    this.isBounded = limits !== undefined;
    this.#bytesLeft = limits?.bytes ?? Number.POSITIVE_INFINITY;
    this.lineBytesMax = Math.min(this.#bytesLeft, LINE_BYTES_MAX);
    this.#deadlineMs = limits?.deadlineMs ?? Number.POSITIVE_INFINITY;
  }

  take(bytes: number): void {
    this.#bytesLeft -= bytes;
  }

  /** What comes does not fit in: nothing more is read. */
  cut(): void {
    this.#bytesLeft = 0;
    this.hasCut = true;
  }

  /** Whether there is nothing left; whoever asks wants to read on. */
  isSpent(): boolean {
    const isSpent = this.#bytesLeft <= 0 || performance.now() > this.#deadlineMs;
    this.hasCut ||= isSpent;
    return isSpent;
  }
}

type TranscriptPart = {
  readonly path: string;
  readonly owner: TranscriptOwner;
  /** Where the reading begins. */
  readonly from: number;
  /** Up to where somebody has looked before. */
  readonly seen: number;
  /** `from` is anywhere in a line: the reading begins with the next one. */
  readonly isWithinLine?: true;
  /** How far before `from` the call of a result is looked for. */
  readonly lookBackBytes: number;
  readonly budget: ReadingBudget;
};

type Event = Extract<Happening, { kind: 'event' }>;

/** Where the next reading has to begin, and up to where this one has come. */
export type CursorPlace = { readonly bytesDone: number; readonly bytesSeen: number };

/** The events of one line. All lines up to it are done with when these are. */
type TranscriptStep = {
  readonly events: readonly [Event, ...Event[]];
  /** The end of the line. */
  readonly end: number;
  readonly before: CursorPlace;
  readonly after: CursorPlace;
};

/** What was left out, counted over many files. */
export type PassedOver = ReturnType<typeof nothingPassedOver>;

/** Nothing left out yet. */
export function nothingPassedOver() {
  return {
    brokenLines: 0,
    longLines: 0,
    refusedCalls: 0,
    resultsWithoutCall: 0,
    entriesWithoutTime: 0,
  };
}

const DECODER = new TextDecoder();
/** What lies between the oldest open call and the end is read again the next time. */
const REREAD_BYTES_MAX = 256 * 1024;
/** Entries that a conversation cannot do without. */
const CONVERSATION = new Set<unknown>(['user', 'assistant']);

/**
 * Goes through one transcript. Its place says all about it: it is set back to the oldest call that is still open, so that
 * a reading may stop anywhere and go on in another process.
 */
class TranscriptCursor {
  readonly calls: CallsByLine;
  /** Whether any line was one that a conversation consists of; undefined before the first line. */
  isConversation: boolean | undefined;
  readonly #part: TranscriptPart;
  readonly #passedOver: PassedOver;
  #reader: LineReader | undefined;
  #isWithinLine: boolean;
  #end: number;
  #place: CursorPlace;
  #missedAt: number | undefined;
  #head: TranscriptStep | undefined;

  constructor(part: TranscriptPart, passedOver: PassedOver) {
    this.#part = part;
    this.#passedOver = passedOver;
    this.calls = new CallsByLine(part.lookBackBytes > 0 ? () => callsBefore(part) : undefined);
    this.#isWithinLine = part.isWithinLine === true;
    this.#end = part.from;
    this.#place = { bytesDone: part.from, bytesSeen: part.seen };
    this.#head = this.#findNext();
  }

  /** The next events; undefined when there are no more, or not for now. */
  get head(): TranscriptStep | undefined {
    return this.#head;
  }

  /** Up to where the file has been gone through this time. */
  get end(): number {
    return this.#end;
  }

  get place(): CursorPlace {
    return this.#place;
  }

  /** A result came whose call lies further back than was looked. */
  get hasMissed(): boolean {
    return this.#missedAt !== undefined;
  }

  /** Goes on behind the head. */
  advance(): void {
    this.#head = this.#findNext();
  }

  /** Closes the file for now; `advance()` opens it again. */
  rest(): void {
    this.#reader?.close();
    this.#reader = undefined;
  }

  #findNext(): TranscriptStep | undefined {
    const { budget } = this.#part;
    this.#reader ??= this.#open();
    while (!budget.isSpent()) {
      const line = this.#reader.next();
      if (line === undefined) break;
      budget.take(line.end - line.start);
      if (line.kind === 'too-long' && budget.isBounded) {
        budget.cut(); // Somebody with more room reads it.
        break;
      }
      const entry = line.kind === 'line' ? parseLine(line.bytes) : undefined;
      if (entry === undefined && !line.isEnded) break; // Somebody is writing it.
      if (line.kind === 'too-long') this.#passedOver.longLines++;
      else if (entry === undefined && !isBlank(line.bytes)) this.#passedOver.brokenLines++;
      this.isConversation ||= isRecord(entry) && CONVERSATION.has(entry.type);
      this.calls.line = line.start;
      const [first, ...rest] = this.#eventsOf(entry, line.start);
      const before = this.#place;
      this.#end = line.end;
      this.#place = this.#placeAt(line.end);
      if (first !== undefined) return { events: [first, ...rest], end: line.end, before, after: this.#place };
    }
    this.rest();
    return undefined;
  }

  #open(): LineReader {
    const { path, budget } = this.#part;
    const limits = budget.isBounded ? { lineBytesMax: budget.lineBytesMax } : {};
    const reader = openAt(path, this.#end, this.#isWithinLine, limits);
    this.#isWithinLine = false;
    return reader;
  }

  #eventsOf(entry: unknown, lineStart: number): Event[] {
    const found = readEntry(entry, this.#part.owner, this.calls);
    for (const happening of found) {
      if (happening.kind !== 'passed-over') continue;
      this.#passedOver[PASSED_OVER[happening.why]]++;
      if (happening.why === 'result without call' && this.#isMissed(lineStart)) this.#missedAt ??= lineStart;
    }
    return found.filter((happening) => happening.kind === 'event');
  }

  /** Whether a result is to be left to somebody who looks back for its call. */
  #isMissed(lineStart: number): boolean {
    return this.#part.lookBackBytes === 0 && lineStart >= this.#part.seen;
  }

  #placeAt(end: number): CursorPlace {
    const earliest = end - REREAD_BYTES_MAX;
    const isLeft = this.#missedAt !== undefined && this.#missedAt >= earliest;
    const bytesSeen = isLeft && this.#missedAt !== undefined ? this.#missedAt : end;
    return { bytesDone: Math.min(bytesSeen, this.calls.oldestSince(earliest)), bytesSeen };
  }
}

const PASSED_OVER = {
  'refused call': 'refusedCalls',
  'result without call': 'resultsWithoutCall',
  'no time': 'entriesWithoutTime',
} as const satisfies Record<string, keyof PassedOver>;

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
function openAt(
  path: string,
  from: number,
  isWithinLine: boolean,
  limits: { readonly lineBytesMax?: number } = {},
): LineReader {
  if (!isWithinLine || from === 0) return new LineReader(path, { from, ...limits });
  const reader = new LineReader(path, { from: from - 1, ...limits });
  reader.next(); // The rest of a line, or nothing but the end of the one before.
  return reader;
}

/** The calls that the lines before this place have opened, as far back as is looked. */
function callsBefore({ path, owner, from, lookBackBytes }: TranscriptPart): CallsByLine {
  const calls = new CallsByLine();
  if (from === 0) return calls;
  const reader = openAt(path, Math.max(0, from - lookBackBytes), true);
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

type Opened = { readonly call: Call; readonly line: number };

/**
 * Open calls and where they stand, oldest first. A result whose call is not among them has the lines before this part
 * read, once, where there is a way to.
 */
class CallsByLine implements OpenCalls {
  /** Where the line begins that is being read. */
  line = 0;
  #said: { readonly text: string; readonly line: number } | undefined;
  readonly #opened = new Map<string, Opened>();
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
    let oldest =
      this.#said !== undefined && this.#said.line >= place ? this.#said.line : Number.POSITIVE_INFINITY;
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

/** The next events of a session and the file that they stand in; without events the file has been read up to `end`. */
export type Merged = {
  readonly file: TranscriptFile;
  readonly step: TranscriptStep | undefined;
  readonly end: number;
  readonly place: CursorPlace;
};

type MergeOptions = {
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
