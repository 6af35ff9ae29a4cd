import { withoutBlobs } from '../../core/blobs.ts';
import { parseJson } from '../../core/guards.ts';
import { LineReader } from '../../sys/line-reader.ts';
import { type Call, type Happening, type OpenCalls, readEntry, type TranscriptOwner } from './transcript.ts';

export type TranscriptPart = {
  readonly path: string;
  readonly owner: TranscriptOwner;
  /** Up to where the file has been taken in before. */
  readonly from: number;
  /** False for what has happened just now: its hooks may still be at work. */
  readonly isSettled: (ts: string) => boolean;
};

type Event = Extract<Happening, { kind: 'event' }>;

/** The events of the line from `start` to `end`. All lines up to `end` are done with when these are. */
export type TranscriptStep = {
  readonly events: readonly [Event, ...Event[]];
  readonly start: number;
  readonly end: number;
};

/** What was left out, counted over many files. */
export type PassedOver = {
  brokenLines: number;
  longLines: number;
  refusedCalls: number;
  resultsWithoutCall: number;
  entriesWithoutTime: number;
  unsettledFiles: number;
};

/** Nothing left out yet. */
export function nothingPassedOver(): PassedOver {
  return {
    brokenLines: 0,
    longLines: 0,
    refusedCalls: 0,
    resultsWithoutCall: 0,
    entriesWithoutTime: 0,
    unsettledFiles: 0,
  };
}

const DECODER = new TextDecoder();

/**
 * Goes through one transcript. Where it stands says all about it: what the lines before have opened is read from them
 * again when it is asked for, so that an import may stop anywhere and go on in another process.
 */
export class TranscriptCursor {
  readonly #part: TranscriptPart;
  readonly #passedOver: PassedOver;
  readonly #calls: CallsByLine;
  #reader: LineReader | undefined;
  #end: number;
  #head: TranscriptStep | undefined;

  constructor(part: TranscriptPart, passedOver: PassedOver) {
    this.#part = part;
    this.#passedOver = passedOver;
    this.#calls = new CallsByLine(() => callsBefore(part));
    this.#end = part.from;
    this.#head = this.#findNext();
  }

  get path(): string {
    return this.#part.path;
  }

  /** The next events; undefined when there are no more. */
  get head(): TranscriptStep | undefined {
    return this.#head;
  }

  /** Up to where the file has been gone through. */
  get end(): number {
    return this.#end;
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
    this.#reader ??= new LineReader(this.#part.path, { from: this.#end });
    for (;;) {
      const line = this.#reader.next();
      if (line === undefined) break;
      const entry = line.kind === 'line' ? parseLine(line.bytes) : undefined;
      if (entry === undefined && !line.isEnded) break; // Somebody is writing it.
      if (line.kind === 'too-long') this.#passedOver.longLines++;
      else if (entry === undefined && !isBlank(line.bytes)) this.#passedOver.brokenLines++;
      const events = this.#eventsOf(entry);
      const [first, ...rest] = events;
      if (first !== undefined && !this.#part.isSettled(first.ts)) {
        this.#passedOver.unsettledFiles++;
        break;
      }
      this.#end = line.end;
      if (first !== undefined) return { events: [first, ...rest], start: line.start, end: line.end };
    }
    this.rest();
    return undefined;
  }

  #eventsOf(entry: unknown): Event[] {
    const found = readEntry(entry, this.#part.owner, this.#calls);
    for (const happening of found) {
      if (happening.kind === 'passed-over') this.#passedOver[PASSED_OVER[happening.why]]++;
    }
    return found.filter((happening) => happening.kind === 'event');
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

const OPEN_CALLS_MAX = 1000;

/** The calls that the lines before this place have opened. */
function callsBefore({ path, owner, from }: TranscriptPart): CallsByLine {
  const calls = new CallsByLine();
  if (from === 0) return calls;
  const reader = new LineReader(path);
  try {
    for (let line = reader.next(); line !== undefined && line.start < from; line = reader.next()) {
      if (line.kind === 'line') readEntry(parseLine(line.bytes), owner, calls);
    }
    return calls;
  } finally {
    reader.close();
  }
}

/** Open calls, oldest first. A result whose call is not among them has the lines before this part read, once. */
class CallsByLine implements OpenCalls {
  #said = '';
  readonly #calls = new Map<string, Call>();
  #readEarlier: (() => CallsByLine) | undefined;

  constructor(readEarlier?: () => CallsByLine) {
    this.#readEarlier = readEarlier;
  }

  say(text: string): void {
    this.#said = text;
  }

  said(): string {
    const said = this.#said;
    this.#said = '';
    return said;
  }

  open(id: string, call: Call): void {
    this.#calls.delete(id);
    this.#calls.set(id, call);
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > OPEN_CALLS_MAX && oldest !== undefined) this.#calls.delete(oldest);
  }

  close(id: string): Call | undefined {
    if (!this.#calls.has(id)) this.#takeEarlier();
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  #takeEarlier(): void {
    const earlier = this.#readEarlier?.();
    this.#readEarlier = undefined;
    if (earlier === undefined) return;
    const own = [...this.#calls];
    this.#calls.clear();
    for (const [id, call] of [...earlier.#calls, ...own]) this.open(id, call);
  }
}
