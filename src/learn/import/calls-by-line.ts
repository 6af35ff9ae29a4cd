import type { Call, OpenCalls } from './transcript.ts';

const OPEN_CALLS_MAX = 1000;

type Opened = { readonly call: Call; readonly line: number };

/**
 * Open calls and where they stand, oldest first. A result whose call is not among them has the lines before this part
 * read, once, where there is a way to.
 */
export class CallsByLine implements OpenCalls {
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
