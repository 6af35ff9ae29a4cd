/** How much may be read, over all files of a session. */
export type BudgetLimits = {
  readonly bytes: number;
  /** By performance.now(). */
  readonly deadlineMs: number;
};

/** What is left of the bytes and the time that a reading has. */
export class ReadingBudget {
  readonly isBounded: boolean;
  /** A longer line does not fit in. */
  readonly lineBytesMax: number;
  #bytesLeft: number;
  readonly #deadlineMs: number;

  constructor(limits?: BudgetLimits) {
    this.isBounded = limits !== undefined;
    this.lineBytesMax = limits?.bytes ?? Number.POSITIVE_INFINITY;
    this.#bytesLeft = this.lineBytesMax;
    this.#deadlineMs = limits?.deadlineMs ?? Number.POSITIVE_INFINITY;
  }

  take(bytes: number): void {
    this.#bytesLeft -= bytes;
  }

  /** Nothing more is read. */
  stop(): void {
    this.#bytesLeft = 0;
  }

  isSpent(): boolean {
    return this.#bytesLeft <= 0 || performance.now() > this.#deadlineMs;
  }
}
