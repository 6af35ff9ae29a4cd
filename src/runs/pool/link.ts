import { setTimeout as sleep } from 'node:timers/promises';
import type { Server, Statements } from '../../database/postgres.ts';
import { ServerError } from '../../database/postgres.ts';

/**
 * A connection to the team's server that is opened again when it was cut. One thing at a time is done with it, so that
 * nothing gets into somebody else's transaction.
 */

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;

export type Connected<Extra> = { readonly server: Server; readonly extra: Extra };

type LinkOptions<Extra> = {
  readonly connect: () => Promise<Server>;
  /** What is made of each connection. */
  readonly prepare: (server: Server) => Promise<Extra>;
  /** Ends that with the connection. */
  readonly release?: (extra: Extra) => Promise<void>;
  /** Told when the server is away, once until it is back. */
  readonly onTrouble: (words: string) => void;
  readonly onBack?: () => void;
  /** Whether it waits also where the server lets nobody in, or nobody knows the password. */
  readonly isPatient?: () => boolean;
};

export class Link<Extra> {
  readonly #options: LinkOptions<Extra>;
  #connected: Connected<Extra> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #isAway = false;
  readonly #closing = new AbortController();

  constructor(options: LinkOptions<Extra>) {
    this.#options = options;
  }

  /**
   * Does this when it is its turn and the server can be reached: again when the connection was cut meanwhile, so that `work`
   * has to stand being done twice. @throws what the server refuses, and Closed
   */
  do<T>(work: (connected: Connected<Extra>) => Promise<T>): Promise<T> {
    const own = this.#last.then(() => this.#until(work));
    this.#last = own.catch(() => {});
    return own;
  }

  /** The same in one transaction. */
  transaction<T>(work: (statements: Statements, extra: Extra) => Promise<T>): Promise<T> {
    return this.do(({ server, extra }) => server.transaction((statements) => work(statements, extra)));
  }

  /** Whether the server cannot be reached just now. */
  get isAway(): boolean {
    return this.#isAway;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort();
    await this.#last;
    await this.#drop();
  }

  async #until<T>(work: (connected: Connected<Extra>) => Promise<T>): Promise<T> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      if (this.#isClosed) throw new Closed('the connection is closed');
      try {
        const connected = await this.#open().catch((error) => {
          throw this.#options.isPatient?.() ? new NotOpened(error) : error;
        });
        const value = await work(connected);
        if (this.#isAway) {
          this.#isAway = false;
          this.#options.onBack?.();
        }
        return value;
      } catch (error) {
        if (!isCut(error) && !(error instanceof NotOpened)) throw error;
        await this.#drop();
        if (!this.#isAway) this.#options.onTrouble(error instanceof Error ? error.message : String(error));
        this.#isAway = true;
        await sleep(waitMs, undefined, { signal: this.#closing.signal }).catch(() => {});
      }
    }
  }

  async #open(): Promise<Connected<Extra>> {
    if (this.#connected !== undefined) return this.#connected;
    const server = await this.#options.connect();
    try {
      this.#connected = { server, extra: await this.#options.prepare(server) };
      return this.#connected;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  async #drop(): Promise<void> {
    const connected = this.#connected;
    this.#connected = undefined;
    if (connected === undefined) return;
    await this.#options.release?.(connected.extra);
    await connected.server.close();
  }
}

/** The connection could not be opened, and somebody waits until it can. */
class NotOpened extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Nobody waits for the answer any more. */
export class Closed extends Error {}

/** Connection failures, a server that stops or starts or has no free connection, waits for others: all of that passes. */
const PASSING =
  /^(?:08...|40001|40P01|55P03|57014|57P0[123]|53[1234]00|25P03|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;
const CUT =
  /the connection was cut|does not answer in time|Client has encountered a connection error|not queryable/;

/** Whether the server could not be reached, or went away: the same may succeed later. */
export function isCut(error: unknown): boolean {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    const code = one instanceof ServerError ? one.code : (one as NodeJS.ErrnoException).code;
    if (typeof code === 'string' && PASSING.test(code)) return true;
    if (
      CUT.test(one.message) ||
      /Connection terminated|timeout expired|Query read timeout/i.test(one.message)
    )
      return true;
  }
  return false;
}
