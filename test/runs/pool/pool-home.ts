import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectServer, type Server } from '../../../src/database/postgres.ts';
import { readServerAddress } from '../../../src/database/server-address.ts';
import type { Turn } from '../../../src/runs/model/turn.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { turnsOf } from '../../../src/runs/store/turns.ts';
import { isAlive } from '../../../src/system/process-identity.ts';
import { withMarker } from '../../../src/system/processes.ts';
import { writeMembership } from '../../../src/team/membership.ts';
import { migrateTeam } from '../../../src/team/store/migrate.ts';
import { temporaryHome } from '../../support/home.ts';
import { ADMIN, postgresPrograms, startPostgres, type TestServer } from '../../support/postgres-server.ts';
import { BINARY } from '../../support/program.ts';
import { PATH, until } from '../runs-home.ts';

/** A team with a server of its own, a repository with a remote, and homes of its members, all of it real but the client. */

export const TEAM = 'crew';
const KEY = 'a'.repeat(64);

/** Why nothing of this can be tested here; undefined: it can. */
export const NO_POSTGRES = postgresPrograms() === undefined ? 'PostgreSQL is not installed' : undefined;

export type PoolTeam = Awaited<ReturnType<typeof poolTeam>>;

/** A server with a team of three: ann owns it, bob and eve are members; mallory is in a team of his own. */
export async function poolTeam() {
  const server = await startPostgres();
  const open = (login: string) => openAs(server, login);
  const admin = await open(ADMIN);
  await migrateTeam(admin);
  await admin.script(
    `CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE eve LOGIN; CREATE ROLE mallory LOGIN;
     GRANT self_generation_owner TO ann, mallory; GRANT self_generation_member TO bob, eve;`,
  );
  for (const [login, team] of [
    ['ann', TEAM],
    ['mallory', 'others'],
  ] as const) {
    const owner = await open(login);
    await owner.all('INSERT INTO self_generation.teams (name, key_check) VALUES ($1, $2)', [team, KEY]);
    if (login === 'ann')
      for (const member of ['bob', 'eve'])
        await owner.all(
          `INSERT INTO self_generation.members (team, login, role) SELECT id, $1, 'member' FROM self_generation.teams`,
          [member],
        );
    await owner.close();
  }
  await admin.close();
  const remote = mkdtempSync(join(tmpdir(), 'pool-remote-'));
  const started: Bun.Subprocess[] = [];
  const homes: PoolHome[] = [];
  const prepareRemote = () => {
    git(remote, 'init', '--quiet', '--bare', '--initial-branch=main', '.');
  };
  prepareRemote();

  /** A member's home with a clone of the repository; `settings`: of its runs. */
  const member = (login: string, settings: object = { announce: { mode: 'raw' } }) => {
    const home = poolHome(login, settings, server, remote);
    homes.push(home);
    return home;
  };
  const worker = (home: PoolHome, ...words: readonly string[]) => {
    const child = home.start([
      'worker',
      '--pool',
      'build',
      '--allow-local-remotes',
      '--permissions',
      'all',
      ...words,
    ]);
    started.push(child);
    return child;
  };
  return {
    server,
    open,
    remote,
    member,
    worker,
    [Symbol.asyncDispose]: async () => {
      for (const child of started) child.kill('SIGKILL');
      await Promise.all(started.map(({ exited }) => exited));
      for (const home of homes) await home.end();
      await server.remove();
      rmSync(remote, { recursive: true, force: true });
    },
  };
}

async function openAs(server: TestServer, login: string): Promise<Server> {
  const read = readServerAddress(server.url(login), {});
  if (read.kind === 'wrong') throw new Error(read.reason);
  return await connectServer(read.address);
}

export type PoolHome = ReturnType<typeof poolHome>;

function poolHome(login: string, settings: object, server: TestServer, remote: string) {
  const home = temporaryHome();
  home.writeConfig(settings as Record<string, unknown>);
  mkdirSync(home.paths.home, { recursive: true });
  writeMembership({ url: server.url(login), team: TEAM, key: KEY, login, shared: [] }, home.paths);
  const project = `${home.path}/project`;
  const env = { HOME: home.path, PATH, LANG: 'C.UTF-8' };
  git(home.path, 'clone', '--quiet', remote, project);
  if (!existsSync(`${project}/.git/refs/remotes/origin/main`) && git(project, 'branch', '-r').trim() === '') {
    writeFileSync(`${project}/README.md`, 'first\n');
    mkdirSync(`${project}/inside`);
    writeFileSync(`${project}/inside/file`, 'inside\n');
    commit(project, 'first');
    git(project, 'push', '--quiet', 'origin', 'HEAD:main');
    git(project, 'fetch', '--quiet', 'origin');
  }
  const start = (words: readonly string[], options: { cwd?: string; stdout?: 'pipe' } = {}) =>
    Bun.spawn([BINARY, ...words], {
      env,
      cwd: options.cwd ?? project,
      stdin: 'ignore',
      stdout: options.stdout ?? Bun.file(`${home.path}/out-${words[0]}`),
      stderr: Bun.file(`${home.path}/err-${words[0]}`),
    });
  /** The living processes of this home. */
  const processes = () => withMarker({ name: 'HOME', value: home.path });
  const callWith = async (variables: Record<string, string>, words: readonly string[]) => {
    const child = Bun.spawn([BINARY, ...words], {
      env: { ...env, ...variables },
      cwd: project,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  };
  return {
    home,
    project,
    env,
    start,
    processes,
    /** The turns of the only run, or of the one with this number. */
    turns: (number = 1): readonly Turn[] =>
      readRuns(home.paths, (db) => {
        const row = db.get('SELECT id FROM runs WHERE number = ? AND part IS NULL', number);
        return row === undefined ? [] : turnsOf(String(row.id), db);
      }) ?? [],
    said: (word: string) => `${read(`${home.path}/out-${word}`)}${read(`${home.path}/err-${word}`)}`,
    /** Calls the program to its end. */
    call: (...words: readonly string[]) => callWith({}, words),
    callWith,
    end: async () => {
      await until('everything of a home is gone', () => {
        const living = processes();
        for (const pid of living) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
        return living.length === 0;
      });
      home[Symbol.dispose]();
    },
  };
}

function read(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** What git says. @throws Error when it fails */
export function git(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', [...args], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout;
}

export function commit(cwd: string, message: string): void {
  git(cwd, 'add', '--all');
  git(cwd, '-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '-m', message);
}
