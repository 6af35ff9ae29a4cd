import { afterAll, expect } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { CliContext } from '../../src/cli/context.ts';
import { applyCommand, dismissCommand, undoCommand } from '../../src/cli/suggestions/decide.ts';
import { suggestionsCommand } from '../../src/cli/suggestions/suggestions.ts';
import { teamCommand } from '../../src/cli/team/team.ts';
import { connectServer, type Server } from '../../src/database/postgres.ts';
import { readServerAddress } from '../../src/database/server-address.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import type { Lesson, Remedy } from '../../src/lessons/lesson.ts';
import { saveLearnt } from '../../src/lessons/store/lesson-log.ts';
import { readToldLessons } from '../../src/lessons/store/told-lessons.ts';
import { type Answer, callHere, printed } from '../cli/call.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { ADMIN, postgresPrograms, startPostgres, type TestServer } from '../support/postgres-server.ts';

/** A team on a real PostgreSQL: logins, homes and clones of one repository. */

export const TEAM = 'shop';
const ROLES = {
  member: 'self_generation_member',
  reviewer: 'self_generation_reviewer',
  owner: 'self_generation_owner',
};
type Role = keyof typeof ROLES;

/** Said instead where the server is not installed. */
export const HAS_POSTGRES = postgresPrograms() !== undefined;
if (!HAS_POSTGRES) console.warn('NOT TESTED HERE: a team on PostgreSQL, which is not installed');

/** Connects as a login, without a password. */
export async function open(server: TestServer, login: string): Promise<Server> {
  const read = readServerAddress(server.url(login), {});
  if (read.kind === 'wrong') throw new Error(read.reason);
  return await connectServer(read.address);
}

/** Statements of who runs the server; names of logins are written by tests alone. */
export async function asAdmin(server: TestServer, sql: string): Promise<void> {
  const admin = await open(server, ADMIN);
  await admin.script(sql);
  await admin.close();
}

export type Person = {
  readonly login: string;
  readonly home: Home;
  readonly project: string;
  /** One command in this person's home, at the project. */
  readonly run: (make: (context: CliContext) => Command, ...words: string[]) => Promise<Answer>;
  readonly team: (...words: string[]) => Promise<string>;
  readonly sync: () => Promise<Record<string, unknown>>;
  readonly learn: (...lessons: Lesson[]) => void;
  /** Both in another directory of this home. */
  readonly learnAt: (project: string, ...lessons: Lesson[]) => void;
  readonly teamAt: (project: string, ...words: string[]) => Promise<string>;
  /** What agents of the project are told, as remedies. */
  readonly told: () => string[];
  readonly suggestions: () => Promise<Suggested[]>;
  readonly apply: (id: string) => Promise<Answer>;
  readonly dismiss: (id: string, ...words: string[]) => Promise<Answer>;
  readonly undo: (id: string) => Promise<Answer>;
};

type Suggested = { id: string; origin: string; type: string; text: string; status: string; evidence: string };

export type World = {
  readonly server: TestServer;
  readonly key: string;
  readonly owner: Person;
  /** Takes somebody in, in a home of their own with a clone of the repository. */
  readonly person: (login: string, role?: Role, isSharing?: boolean) => Promise<Person>;
  readonly remove: () => Promise<void>;
};

/** Starts a server with a team on it, which `olga` owns. */
export async function teamWorld(options: Parameters<typeof startPostgres>[0] = {}): Promise<World> {
  const server = await startPostgres(options);
  const root = mkdtempSync(join(tmpdir(), 'self-generation-team-'));
  const remote = join(root, 'shop.git');
  git(root, 'init', '--bare', '-q', remote);
  const homes: Home[] = [];
  await asAdmin(server, 'CREATE ROLE olga LOGIN CREATEROLE; GRANT CREATE ON DATABASE postgres TO olga');
  const olga = person('olga');
  const { key } = JSON.parse(await olga.team('join', server.url('olga'), '--create', TEAM, '--json'));
  // From here on the owner has an owner's rights and no more.
  await asAdmin(server, 'ALTER ROLE olga NOCREATEROLE; REVOKE CREATE ON DATABASE postgres FROM olga');
  await olga.team('share', '--yes');
  function person(login: string): Person {
    const home = temporaryHome();
    homes.push(home);
    const project = join(home.path, 'shop');
    git(root, 'clone', '-q', remote, project);
    const world = {
      env: {
        HOME: home.path,
        PATH: process.env.PATH,
        SELF_GENERATION_TEAM_KEY: login === 'olga' ? undefined : key,
      },
      cwd: project,
      now: () => new Date(),
    };
    const run = (make: (context: CliContext) => Command, ...words: string[]) =>
      callHere(make, words, world as Partial<CliContext>);
    const team = async (...words: string[]) => printed(await run(teamCommand, ...words));
    const learnAt: Person['learnAt'] = (projectPath, ...lessons) =>
      writeDatabase(home.paths, (db) => {
        const groups = lessons.map((lesson) => ({ key: lesson.key, sessions: 1, isOpen: false, lesson }));
        saveLearnt(groups, { projectPath, scope: 'project' }, db);
      });
    return {
      ...{ login, home, project, run, team },
      sync: async () => JSON.parse(await team('sync', '--json')),
      learn: (...lessons) => learnAt(project, ...lessons),
      learnAt,
      teamAt: async (cwd, ...words) =>
        printed(await callHere(teamCommand, words, { ...world, cwd } as Partial<CliContext>)),
      told: () =>
        writeDatabase(home.paths, (db) => readToldLessons([project], db).lessons.map(({ remedy }) => remedy)),
      suggestions: async () => {
        const answer = printed(await run(suggestionsCommand, '--json'));
        const found = JSON.parse(answer);
        return Array.isArray(found) ? found : found.suggestions;
      },
      apply: (id) => run(applyCommand, id, '--yes', '--json'),
      dismiss: (id, ...words) => run(dismissCommand, id, '--json', ...words),
      undo: (id) => run(undoCommand, id, '--yes', '--json'),
    };
  }
  return {
    ...{ server, key, owner: olga },
    person: async (login, role = 'member', isSharing = true) => {
      await asAdmin(server, `CREATE ROLE ${login} LOGIN; GRANT ${ROLES[role]} TO ${login}`);
      await olga.team('members', 'add', login, '--role', role);
      const one = person(login);
      await one.team('join', server.url(login), '--json');
      if (isSharing) await one.team('share', '--yes');
      return one;
    },
    remove: async () => {
      await server.remove();
      for (const home of homes) home[Symbol.dispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** One world for the tests of a file. */
export function sharedWorld(options: Parameters<typeof startPostgres>[0] = {}): () => Promise<World> {
  let world: Promise<World> | undefined;
  afterAll(async () => await (await world)?.remove());
  return () => {
    world ??= teamWorld(options);
    return world;
  };
}

function git(cwd: string, ...args: string[]): void {
  mkdirSync(cwd, { recursive: true });
  execFileSync('git', ['-c', 'init.defaultBranch=main', ...args], {
    cwd,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
}

/** A lesson as the rules learn it. */
export function lesson(
  name: string,
  changes: Partial<Omit<Lesson, 'remedy'>> & { remedy?: Remedy } = {},
): Lesson {
  return {
    key: `error: unknown option '--${name}' of the tool`,
    said: `error: unknown option '--${name}' of the tool`,
    remedy: { kind: 'command', failing: `tool --${name}`, use: `tool ${name}` },
    evidence: {
      ...{ sessions: 3, agents: 1, failed: 4, helped: 3 },
      ...{ first: '2026-11-01T10:00:00.000Z', last: '2026-11-20T10:00:00.000Z' },
      ...{ failedCalls: ['a'], helpedCalls: ['b'] },
    },
    ...changes,
  };
}

/** The remedy of {@link lesson}, as it is told. */
export const remedyOf = (name: string) =>
  JSON.stringify({ kind: 'command', failing: `tool --${name}`, use: `tool ${name}` });

/** Of what was offered, the one about this. */
export async function offered(person: Person, name: string): Promise<string> {
  const found = (await person.suggestions()).find(
    ({ text, origin }) => origin === 'team' && text.includes(name),
  );
  expect(found?.text).toContain(name);
  return found?.id ?? '';
}
