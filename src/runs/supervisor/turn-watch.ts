import { statSync } from 'node:fs';
import type { TurnReader } from '../../clients/client.ts';
import { WARNING_SHARE } from '../../settings/run-settings.ts';
import type { GrowingFile } from '../../system/lines.ts';
import { type Exit, isSameProcess } from '../../system/process-identity.ts';
import { WakeableSleep } from '../../system/wakeable-sleep.ts';
import type { Stop, Turn, Usage } from '../model/turn.ts';
import type { Working } from './launch.ts';
import type { TurnEffects } from './turn-effects.ts';

type Watching = {
  /** The process is looked at where nobody says when it ends. */
  readonly client: Pick<Working, 'identity' | 'exited'>;
  readonly reader: TurnReader;
  readonly output: GrowingFile;
  /** The file with its standard error. */
  readonly errors: string;
  readonly limits: TimeLimits;
  /** The turn as it is when watching begins. */
  readonly turn: Turn;
  readonly effects: TurnEffects;
};

/** Why watching ended: the client is `gone`, has written its result and `lingers`, or has to stop, by the row or a limit. */
export type Watched =
  | { readonly kind: 'gone' | 'lingers' }
  | { readonly kind: 'stop'; readonly stop: Omit<Stop, 'atMs'> | 'in the row' };

const TICK_MS = 250;
const STORE_MS = 1000;
/** Of output, read at once. */
const ROUND_BYTES = 4 * 1024 * 1024;
/** Of one turn: more is a loop. */
export const OUTPUT_BYTES_MAX = 4 * 1024 * 1024 * 1024;

/** Follows a client from its first line on: its output, the clocks and stops, four times a second; stores its usage. */
export class TurnWatch {
  readonly #watching: Watching;
  #time: RunningTime;
  /** When its output last grew, also by a part of a line. */
  #silentSinceMs: number;
  #bytes = 0;
  #resultAtMs: number | null = null;
  #usage: Usage;
  #exit: Exit | null | undefined;
  /** Until the next tick, or the client's exit. */
  readonly #rest = new WakeableSleep();
  #storedAtMs = Number.NEGATIVE_INFINITY;
  /** Something has to be stored: at first what could not be written when the client was started. */
  #hasNews = true;
  /** All existing output has been read. Before that, the usage may be older than what is stored. */
  #isUpToDate = false;
  #isNearTimeout = false;
  /** Why it has to stop. */
  #problem: Omit<Stop, 'atMs'> | undefined;

  constructor(watching: Watching) {
    this.#watching = watching;
    const { client, turn } = watching;
    const wallMs = watching.effects.nowMs();
    const spentMs = Math.max(0, wallMs - (turn.startedAtMs ?? wallMs));
    this.#usage = turn.usage;
    this.#time = { spentMs, at: { wallMs, steadyMs: performance.now() } };
    this.#silentSinceMs = this.#time.at.steadyMs;
    void client.exited?.then((exit) => {
      this.#exit = exit;
      this.#rest.wake();
    });
  }

  /** Resolves when the client is gone, or has to be ended. */
  async follow(): Promise<Watched> {
    for (;;) {
      const hasMore = this.#watching.output.read((line) => this.#take(line), ROUND_BYTES);
      this.#isUpToDate ||= !hasMore;
      // The rest of its output is read by drain(): a process that it left behind may write without end.
      const watched = this.#judge();
      if (watched !== undefined) return watched;
      this.#storeNews();
      if (hasMore) await new Promise((resolve) => setImmediate(resolve));
      else await this.#rest.sleep(TICK_MS);
    }
  }

  /** Reads the rest of the output; resolves with the client's exit, null if nobody saw it. */
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
    const { identity, exited } = client;
    if (this.#exit === undefined && exited === null && !(identity && isSameProcess(identity)))
      this.#exit = null;
    return this.#exit !== undefined;
  }

  #take(line: string): void {
    const { effects, reader } = this.#watching;
    for (const event of reader.read(line)) {
      effects.onEvent(event);
      if (event.kind === 'usage') {
        this.#usage = event.usage;
        this.#hasNews = true;
        this.#problem ??= stopBy('budget', effects.overBudget(event.usage));
      }
      this.#problem ??= stopBy('limit', effects.overLimit());
      if (event.kind === 'result') this.#resultAtMs ??= performance.now();
    }
  }

  #judge(): Watched | undefined {
    if (this.#isGone()) return { kind: 'gone' };
    const { effects, output, errors } = this.#watching;
    if (effects.turnIfChanged()?.stop != null) return { kind: 'stop', stop: 'in the row' };
    if (!this.#isUpToDate) return undefined; // Its result may not have been read yet.
    if (this.#problem !== undefined && this.#resultAtMs === null)
      return { kind: 'stop', stop: this.#problem };
    const bytes = output.bytes() + (statSync(errors, { throwIfNoEntry: false })?.size ?? 0);
    if (bytes !== this.#bytes) this.#silentSinceMs = performance.now();
    this.#bytes = bytes;
    if (bytes > OUTPUT_BYTES_MAX)
      return { kind: 'stop', stop: { reason: 'budget', by: 'budget exceeded: more output than 4 GiB' } };
    return this.#judgeTime();
  }

  #judgeTime(): Watched | undefined {
    const { limits, effects } = this.#watching;
    const now = { wallMs: effects.nowMs(), steadyMs: performance.now() };
    this.#time = passTime(this.#time, now);
    const { spentMs } = this.#time;
    const over = judgeTime(limits, {
      spentMs,
      silentMs: now.steadyMs - this.#silentSinceMs,
      sinceResultMs: this.#resultAtMs === null ? null : now.steadyMs - this.#resultAtMs,
    });
    const { runMs } = limits;
    const isNear = runMs > 0 && spentMs >= runMs * WARNING_SHARE;
    if (over === undefined && isNear && !this.#isNearTimeout) {
      this.#isNearTimeout = true;
      effects.onWarning(`near the time limit of ${seconds(runMs)}`);
    }
    return over;
  }

  #storeNews(): void {
    const nowMs = performance.now();
    if (!this.#hasNews || !this.#isUpToDate || nowMs - this.#storedAtMs < STORE_MS) return;
    this.#storedAtMs = nowMs;
    this.#hasNews = !this.#watching.effects.store(this.#usage);
  }
}

/**
 * How long a client has been running, and what follows from it. Two clocks, because neither is to be trusted alone: the
 * wall clock jumps when somebody sets it, and goes on while the machine sleeps; the steady one ends with our process.
 */

export type ClockTimes = {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  /** Milliseconds of a monotonic clock. */
  readonly steadyMs: number;
};

/** The time for which a client has been running, by both clocks. */
type RunningTime = { readonly spentMs: number; readonly at: ClockTimes };

/**
 * The running time a moment later. A wall clock that was set forward adds nothing that did not pass, and one that was
 * set back takes nothing away; what a sleeping machine does not count is not counted.
 */
export function passTime({ spentMs, at: before }: RunningTime, at: ClockTimes): RunningTime {
  const steadyMs = Math.max(0, at.steadyMs - before.steadyMs);
  const wallMs = at.wallMs - before.wallMs;
  return { spentMs: spentMs + (wallMs < 0 ? steadyMs : Math.min(wallMs, steadyMs)), at };
}

/** 0: no limit. */
type TimeLimits = {
  readonly runMs: number;
  readonly idleMs: number;
  /** How long it may take to exit after its result. */
  readonly lingerMs: number;
};

type Elapsed = {
  readonly spentMs: number;
  /** Without any output. */
  readonly silentMs: number;
  /** Since the client wrote its result; null: it has not. */
  readonly sinceResultMs: number | null;
};

/** How long a client of this machine may take to exit after its result. */
export const AFTER_RESULT_MS = 10_000;

/** Why the client has to be ended; undefined: it goes on. After its result, the limits of time no longer apply. */
export function judgeTime({ runMs, idleMs, lingerMs }: TimeLimits, elapsed: Elapsed): Watched | undefined {
  const { spentMs, silentMs, sinceResultMs } = elapsed;
  if (sinceResultMs !== null)
    return lingerMs > 0 && sinceResultMs >= lingerMs ? { kind: 'lingers' } : undefined;
  if (runMs > 0 && spentMs >= runMs)
    return { kind: 'stop', stop: { reason: 'timeout', by: `timed out after ${seconds(runMs)}` } };
  if (idleMs > 0 && silentMs >= idleMs)
    return { kind: 'stop', stop: { reason: 'idle', by: `no output for ${seconds(idleMs)}` } };
  return undefined;
}

function stopBy(reason: Stop['reason'], by: string | undefined) {
  return by === undefined ? undefined : { reason, by };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
