import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inNamespace } from './namespace.ts';

/** A real PostgreSQL in a temporary directory, on loopback. */

const DEBIAN = '/usr/lib/postgresql';
const NOBODY = 65_534;
const SUPERUSER = 'admin';

/** The directory of the server's programs; undefined where it is not installed. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).sort((left, right) => Number(right) - Number(left))
    : [];
  const places = [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ];
  return places.find((place) => existsSync(join(place, 'initdb')) && existsSync(join(place, 'postgres')));
}

export type TestServer = {
  readonly port: number;
  readonly directory: string;
  /** The address for a login; `database`: postgres. */
  readonly url: (login: string, database?: string) => string;
  readonly start: () => Promise<void>;
  /** Ends it: `kill` as a power cut does, `stop` in order. */
  readonly kill: () => Promise<void>;
  readonly remove: () => Promise<void>;
};

type Options = {
  /** Lines of postgresql.conf. */
  readonly settings?: readonly string[];
  /** pg_hba.conf; by default whoever is on this machine is let in. */
  readonly access?: string;
  /** Called in the data directory before the first start. */
  readonly prepare?: (directory: string) => void;
  /** Its tables lie on a disk of this size, which takes a namespace; it can be started once then. */
  readonly diskMb?: number;
};

/** Only the tables: without room for its log a server ends, as one that is killed does. */
const ON_SMALL_DISK = `
  mv "$1/pg_wal" "$1.wal"
  ln -s "$1.wal" "$1/pg_wal"
  mv "$1" "$1.before"
  mkdir "$1"
  mount -t tmpfs -o size="$2"m,mode=700 tmpfs "$1"
  cp -a "$1.before/." "$1/"
  chown --reference="$1.before" "$1"
  if [ "$3" = root ]; then exec setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups "$0" -D "$1"; fi
  exec unshare --map-user=${NOBODY} "$0" -D "$1"
`;

/** Sets a server up and starts it. As root it runs as nobody, since it refuses to run as root. */
export async function startPostgres(options: Options = {}): Promise<TestServer> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('PostgreSQL is not installed');
  const directory = mkdtempSync(join(tmpdir(), 'self-generation-postgres-'));
  const data = join(directory, 'data');
  const isRoot = process.getuid?.() === 0;
  const owner = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  mkdirSync(data, { mode: 0o700 });
  if (isRoot) for (const path of [directory, data]) chownSync(path, NOBODY, NOBODY);
  const initdb = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', SUPERUSER, '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...owner, cwd: directory, encoding: 'utf8' },
  );
  if (initdb.status !== 0) throw new Error(`initdb: ${initdb.stderr}`);
  const port = await freePort();
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    [
      `port = ${port}`,
      "listen_addresses = '127.0.0.1'",
      `unix_socket_directories = '${directory}'`,
      // Not against a power cut, which no test makes: a killed process loses nothing of it.
      'fsync = off',
      'max_connections = 200',
      ...(options.settings ?? []),
      '',
    ].join('\n'),
  );
  if (options.access !== undefined) writeFileSync(join(data, 'pg_hba.conf'), options.access);
  options.prepare?.(data);
  let server: ReturnType<typeof spawn> | undefined;
  let log = '';
  const start = async () => {
    const plain = [join(programs, 'postgres'), '-D', data];
    const words = [plain[0] ?? '', data, String(options.diskMb), isRoot ? 'root' : 'other'];
    const [program = '', ...args] = options.diskMb === undefined ? plain : inNamespace(ON_SMALL_DISK, words);
    const child = spawn(program, args, {
      ...(options.diskMb === undefined ? owner : {}),
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = child;
    log = '';
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.stderr?.on('data', (chunk) => {
      log += String(chunk);
      if (log.includes('database system is ready to accept connections')) resolve();
    });
    child.once('exit', () => reject(new Error(`PostgreSQL ended: ${log}`)));
    await promise;
    child.removeAllListeners('exit');
  };
  const end = async (signal: NodeJS.Signals) => {
    const child = server;
    server = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once('exit', () => resolve());
    child.kill(signal);
    await promise;
  };
  await start();
  return {
    port,
    directory,
    url: (login, database = 'postgres') => `postgres://${login}@127.0.0.1:${port}/${database}`,
    start,
    // Its children end when they see that it is gone, and a new one waits for the last of them.
    kill: () => end('SIGKILL').then(() => Bun.sleep(300)),
    remove: async () => {
      await end('SIGINT');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The login that may do everything. */
export const ADMIN = SUPERUSER;

function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const probe = createServer();
  probe.listen(0, '127.0.0.1', () => {
    const address = probe.address();
    probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
  });
  return promise;
}
