import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import pg from 'pg';
import { type ServerAddress, tlsProblem } from './server-address.ts';

/** A server's database, for what a team shares. Loaded only by what talks to it: hooks never do. */

type Row = Readonly<Record<string, unknown>>;

/** Runs statements with values; never with text put together. */
export type Statements = {
  readonly all: (sql: string, values?: readonly unknown[]) => Promise<Row[]>;
};

export type Server = Statements & {
  /** All of it or nothing: rolled back when `work` throws. */
  readonly transaction: <T>(work: (statements: Statements) => Promise<T>) => Promise<T>;
  /** Runs a script of several statements without values. */
  readonly script: (sql: string) => Promise<void>;
  /** Calls `heard` with what is notified on this channel, until the server is closed. */
  readonly listen: (channel: 'self_generation_pool', heard: (payload: string) => void) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** How long one statement may last, and the connection's opening: whoever waits longer hears of it. */
export type ServerTimes = { readonly connectMs: number; readonly statementMs: number };

const TIMES: ServerTimes = { connectMs: 5_000, statementMs: 30_000 };

/**
 * Connects to a server. Its password comes from the address' own reference, PGPASSWORD or a pgpass file, and is kept nowhere.
 * @throws Error in words for a person.
 */
export async function connectServer(
  address: ServerAddress,
  times: Partial<ServerTimes> = {},
): Promise<Server> {
  const problem = tlsProblem(address);
  if (problem !== undefined) throw new Error(problem);
  const { connectMs, statementMs } = { ...TIMES, ...times };
  const client = new pg.Client({
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    ...(address.password === undefined ? {} : { password: address.password }),
    ssl: address.tls === 'off' ? false : tlsOptions(address),
    application_name: 'self-generation',
    connectionTimeoutMillis: connectMs,
    query_timeout: statementMs,
    statement_timeout: statementMs,
    // Shorter than the whole, so that who waits hears what for.
    lock_timeout: Math.ceil(statementMs / 3),
    idle_in_transaction_session_timeout: statementMs,
    keepAlive: true,
    // Times and large numbers as the server writes them: nothing here depends on this machine's time zone.
    types: { getTypeParser: () => (text: string) => text },
  });
  let reason: Error | undefined;
  client.on('error', (error) => {
    reason ??= error;
  });
  try {
    await client.connect();
  } catch (cause) {
    throw new Error(`Cannot reach ${shownAddress(address)}: ${serverReason(cause)}`, { cause });
  }
  const all = async (sql: string, values: readonly unknown[] = []): Promise<Row[]> => {
    try {
      return (await client.query({ text: sql, values: [...values] })).rows;
    } catch (cause) {
      throw new ServerError(serverReason(reason ?? cause), codeOf(cause), { cause });
    }
  };
  return {
    all,
    script: async (sql) => void (await all(sql)),
    transaction: async (work) => {
      await all('BEGIN');
      try {
        const value = await work({ all });
        // Where a statement failed whose error nobody looked at, the server rolls back, and says no more than that.
        const { command } = await client.query('COMMIT');
        if (command !== 'COMMIT') throw new ServerError('the transaction was rolled back', '25P02');
        return value;
      } catch (error) {
        await all('ROLLBACK').catch(() => {}); // The connection may be gone: then the server rolls back itself.
        throw error;
      }
    },
    listen: async (channel, heard) => {
      client.on('notification', ({ payload }) => heard(payload ?? ''));
      await all(LISTEN[channel]);
    },
    close: () => client.end().catch(() => {}),
  };
}

const LISTEN = { self_generation_pool: 'LISTEN self_generation_pool' } as const;

/** What a server answered instead, with its SQLSTATE where it has one. */
export class ServerError extends Error {
  readonly code: string | undefined;
  constructor(message: string, code: string | undefined, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The SQLSTATE or the system's code of an error; undefined where it has none. */
function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Without the password, which stands in no message. */
function shownAddress({ host, port, database }: ServerAddress): string {
  return `the database "${database}" on ${host}:${port}`;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there; is the server running?',
  ENOTFOUND: 'no such host is known',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'it does not answer in time',
  '28P01': 'the password is wrong',
  '28000': 'this login may not connect',
  '3D000': 'there is no such database',
  '42501': 'this login has no right to that',
  '53100': 'the disk of the server is full',
  '53300': 'the server has no connection left',
  '57P01': 'the server is being stopped',
  '57P03': 'the server is starting or stopping',
  '57014': 'it took too long, and was ended',
  '55P03': 'somebody else holds it for too long',
};

function serverReason(error: unknown): string {
  const code = codeOf(error) ?? '';
  const message = error instanceof Error ? error.message : String(error);
  const own = message.split('\n')[0]?.slice(0, 300) ?? '';
  if (/password must be a string|no password supplied/i.test(own))
    return 'a password is asked for: set PGPASSWORD, or write it into a pgpass file';
  if (/^(?:timeout expired|Query read timeout)$|connection timeout/i.test(own))
    return 'it does not answer in time';
  if (/Connection terminated/i.test(own)) return 'the connection was cut';
  return REASONS[code] ?? own;
}

/** Certificates are checked; a root certificate of one's own comes as in libpq. */
function tlsOptions({ rootCertificate, host }: ServerAddress) {
  return {
    rejectUnauthorized: true,
    // An address is no name that a server could have several of.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(rootCertificate === undefined ? {} : { ca: certificateIn(rootCertificate) }),
  };
}

function certificateIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`Cannot read the certificate "${file}" that the address names: ${codeOf(cause)}`, {
      cause,
    });
  }
}
