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
