import { statSync } from 'node:fs';
import type { AgentEvent, TurnReader } from '../../clients/client.ts';
import type { LiveClient } from '../../clients/client-process.ts';
import { WARNING_SHARE } from '../../settings/run-settings.ts';
import type { GrowingFile } from '../../system/growing-file.ts';
import type { Exit } from '../../system/process-identity.ts';
import { isSameProcess } from '../../system/process-identity.ts';
import type { Stop, Turn, Usage } from '../model/turn.ts';
import type { TurnEffects } from './turn-effects.ts';
import { judgeTime, passTime, type RunningTime, type TimeLimits } from './turn-ending.ts';

export type Watching = {
  readonly client: LiveClient;
  readonly reader: TurnReader;
  readonly output: GrowingFile;
  /** The file of what it says to a person. */
  readonly errors: string;
  readonly limits: TimeLimits;
  /** The turn as it is when watching begins. */
  readonly turn: Turn;
  readonly effects: TurnEffects;
};

/** Why watching ended. The client is still there unless it is `gone`. */
export type Watched =
  | { readonly kind: 'gone'; readonly exit: Exit | null }
  /** Somebody wrote a stop into the row, or a limit is reached. */
  | { readonly kind: 'stop'; readonly stop: Omit<Stop, 'atMs'> | 'in the row' }
  /** It said its last word and does not end. */
  | { readonly kind: 'lingers' };

const TICK_MS = 250;
const STORE_MS = 1000;
/** Of output, between two looks at everything else. */
const ROUND_BYTES = 4 * 1024 * 1024;
/** Of one turn. What goes on beyond that is no work but a loop. */
export const OUTPUT_BYTES_MAX = 4 * 1024 * 1024 * 1024;

/** Follows a client from its first line on: its output, the clocks and stops, four times a second; stores its usage. */
export class TurnWatch {
  readonly #watching: Watching;
  #time: RunningTime;
  /** Since nothing has been added to its output, also to a line that has not ended. */
  #silentSinceMs: number;
  #bytes = 0;
  #resultAtMs: number | null = null;
  #usage: Usage;
  #exit: Exit | null | undefined;
  #wake: (() => void) | undefined;
  #storedAtMs = Number.NEGATIVE_INFINITY;
  /** Something may have to be stored: at first what could not be written when the client was started. */
  #hasNews = true;
  /** Once all that was there has been read: before that, a supervisor that died may have known more. */
  #isUpToDate = false;
  #isNearTimeout = false;
  #problem: string | undefined;

  constructor(watching: Watching) {
    this.#watching = watching;
    const { client, turn } = watching;
    const wallMs = watching.effects.now().getTime();
    const spentMs = Math.max(0, wallMs - (turn.startedAtMs ?? wallMs));
    this.#usage = turn.usage;
    this.#time = { spentMs, at: { wallMs, steadyMs: performance.now() } };
    this.#silentSinceMs = this.#time.at.steadyMs;
    void client.exited?.then((exit) => {
      this.#exit = exit;
      this.#wake?.();
    });
  }

  /** Until the client is gone, or has to be ended. */
  async follow(): Promise<Watched> {
    for (;;) {
      const hasMore = this.#watching.output.read((line) => this.#take(line), ROUND_BYTES);
      this.#isUpToDate ||= !hasMore;
      // What it wrote before its end is read by drain(): something that it left behind may write without end.
      const watched = this.#judge(this.#isGone());
      if (watched !== undefined) return watched;
      this.#storeNews();
      if (hasMore) await new Promise((resolve) => setImmediate(resolve));
      else await this.#nextTick();
    }
  }

  /** Reads what is left, whoever may still write, and gives how the client ended, if anybody saw it. */
  async drain(waitMs: number): Promise<Exit | null> {
    if (this.#exit === undefined && this.#watching.client.exited !== null) {
      await Promise.race([
        this.#watching.client.exited,
        new Promise((resolve) => setTimeout(resolve, waitMs)),
      ]);
    }
    await this.#watching.output.readRemaining((line) => this.#take(line), OUTPUT_BYTES_MAX);
    return this.#exit ?? null;
  }

  #isGone(): boolean {
    const { client } = this.#watching;
    if (this.#exit === undefined && client.exited === null && !isSameProcess(client.identity))
      this.#exit = null;
    return this.#exit !== undefined;
  }

  #take(line: string): void {
    for (const event of this.#watching.reader.read(line)) this.#note(event);
  }

  #note(event: AgentEvent): void {
    const { effects } = this.#watching;
    effects.onEvent(event);
    if (event.kind === 'usage') {
      this.#usage = event.usage;
      this.#hasNews = true;
      this.#problem ??= effects.overBudget(event.usage);
    }
    if (event.kind === 'result') this.#resultAtMs ??= performance.now();
  }

  #judge(isGone: boolean): Watched | undefined {
    if (isGone) return { kind: 'gone', exit: this.#exit ?? null };
    const { effects, output, errors } = this.#watching;
    if (effects.turnIfChanged()?.stop != null) return { kind: 'stop', stop: 'in the row' };
    if (!this.#isUpToDate) return undefined; // It may have said its result already.
    if (this.#problem !== undefined && this.#resultAtMs === null)
      return { kind: 'stop', stop: { reason: 'budget', by: this.#problem } };
    const bytes = output.bytes() + bytesOf(errors);
    if (bytes !== this.#bytes) this.#silentSinceMs = performance.now();
    this.#bytes = bytes;
    if (bytes > OUTPUT_BYTES_MAX)
      return { kind: 'stop', stop: { reason: 'budget', by: 'budget exceeded: more output than 4 GiB' } };
    return this.#judgeTime();
  }

  #judgeTime(): Watched | undefined {
    const { limits, effects } = this.#watching;
    const now = { wallMs: effects.now().getTime(), steadyMs: performance.now() };
    this.#time = passTime(this.#time, now);
    const { spentMs } = this.#time;
    const verdict = judgeTime(limits, {
      spentMs,
      silentMs: now.steadyMs - this.#silentSinceMs,
      sinceResultMs: this.#resultAtMs === null ? null : now.steadyMs - this.#resultAtMs,
    });
    switch (verdict) {
      case 'timeout':
        return { kind: 'stop', stop: { reason: 'timeout', by: `timed out after ${seconds(limits.runMs)}` } };
      case 'idle':
        return { kind: 'stop', stop: { reason: 'idle', by: `no output for ${seconds(limits.idleMs)}` } };
      case 'ended but for its process':
        return { kind: 'lingers' };
      case 'go on':
        this.#warnOfTimeout(spentMs, limits.runMs);
        return undefined;
    }
  }

  #warnOfTimeout(spentMs: number, runMs: number): void {
    if (this.#isNearTimeout || runMs === 0 || spentMs < runMs * WARNING_SHARE) return;
    this.#isNearTimeout = true;
    this.#watching.effects.onWarning(`near the time limit of ${seconds(runMs)}`);
  }

  #storeNews(): void {
    const nowMs = performance.now();
    if (!this.#hasNews || !this.#isUpToDate || nowMs - this.#storedAtMs < STORE_MS) return;
    this.#storedAtMs = nowMs;
    this.#hasNews = !this.#watching.effects.store(this.#usage);
  }

  /** Until the next look, or until the client is gone. */
  #nextTick(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, TICK_MS);
      // One function that is replaced: a promise that is raced again and again would keep every one of them.
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#exit !== undefined) this.#wake();
    });
  }
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
