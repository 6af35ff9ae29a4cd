import type { Environment } from '../core/state-paths.ts';

/** Where a server's database is, by its URL and the environment. */
export type ServerAddress = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Undefined: a pgpass file has it, or none is needed. */
  readonly password?: string;
  readonly tls: 'on' | 'off';
  /** A file with the certificate that signs the server's. */
  readonly rootCertificate?: string;
};

const PORT = 5432;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/;
const PARAMETERS = ['sslmode', 'sslrootcert', 'passwordenv'];

/**
 * Reads `postgres://login@host:port/database`. Further parameters: `sslmode` (`disable` on loopback alone), `sslrootcert`, and
 * `passwordenv`, the name of the variable that has the password. A password in the URL itself is refused: the URL is kept.
 */
export function readServerAddress(
  url: string,
  env: Environment,
):
  | { readonly kind: 'address'; readonly address: ServerAddress }
  | { readonly kind: 'wrong'; readonly reason: string } {
  const wrong = (reason: string) => ({ kind: 'wrong', reason }) as const;
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url))
    return wrong('it is no address like postgres://login@host:5432/database');
  const { hostname, port, pathname, username, password, searchParams } = new URL(url);
  if (password !== '')
    return wrong(
      'there is a password in it, which would be kept in a file; use PGPASSWORD, a pgpass file or ?passwordenv=NAME',
    );
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    return wrong(`the parameter "${unknown}" is not known; known are ${PARAMETERS.join(', ')}`);
  const host = hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost';
  const database = unescaped(pathname.slice(1));
  const user = unescaped(username) || env.PGUSER || '';
  if (database === '' || user === '') return wrong('it names no login or no database');
  const sslmode = searchParams.get('sslmode') ?? (isLoopback(host) ? 'disable' : 'verify-full');
  if (!['disable', 'verify-full'].includes(sslmode))
    return wrong('sslmode is verify-full, or disable on this machine itself');
  const reference = searchParams.get('passwordenv');
  const secret = env[reference ?? 'PGPASSWORD'];
  if (reference !== null && !secret) return wrong(`the variable ${reference} that it names is not set`);
  const rootCertificate = searchParams.get('sslrootcert');
  const address: ServerAddress = {
    host,
    port: Number(port || PORT),
    database,
    user,
    ...(secret ? { password: secret } : {}),
    tls: sslmode === 'disable' ? 'off' : 'on',
    ...(rootCertificate === null ? {} : { rootCertificate }),
  };
  const problem = tlsProblem(address);
  return problem === undefined ? { kind: 'address', address } : wrong(problem);
}

/** Empty where an escape is none. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Whether a host is this machine itself: only then may a connection go unencrypted. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Why a connection is refused before it is opened; undefined when it is not. */
export function tlsProblem({ host, tls }: ServerAddress): string | undefined {
  return tls === 'off' && !isLoopback(host)
    ? `${host} is another machine, and TLS is off; leave sslmode out`
    : undefined;
}
