import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { reasonOf } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import type { Server } from '../../database/postgres.ts';
import { readServerAddress } from '../../database/server-address.ts';
import { readInput } from '../../system/files.ts';
import { readTextFile } from '../../system/runtime-bun.ts';
import {
  DamagedMembership,
  keyCheck,
  openTeamServer,
  readMembership,
  writeMembership,
} from '../../team/membership.ts';
import { migrateTeam, schemaOf, TEAM_SCHEMA } from '../../team/store/migrate.ts';
import { createTeam, teamsOf } from '../../team/store/server.ts';
import { takeSeat } from '../../team/sync.ts';
import {
  type CliContext,
  EXIT,
  fail,
  type Given,
  keepFromAgent,
  PROGRAM,
  subcommand,
  withState,
} from '../context.ts';
import { printJson, shownLine } from '../output.ts';

type Flags = Given<'json'> & Given<'create' | 'team' | 'keyFile', string>;

const KEY = /^[0-9a-f]{64}$/;
const TEAM_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const KEY_VARIABLE = 'SELF_GENERATION_TEAM_KEY';

const AFTER = `

The password is read from PGPASSWORD, from a pgpass file, or from the variable that ?passwordenv=NAME in the address names,
each time anew. It is kept nowhere. The connection is encrypted and the server's certificate checked, but for a server on
this machine itself.

The team's key is what its members know and its server does not: with it, repositories get names that only members can tell.
It is read from ${KEY_VARIABLE}, from --key-file, or asked for.

Exit codes: 0 done, 1 failed, 2 wrong usage.`;

/** `team join`: becomes one of a team that somebody has made, or makes one. */
export function joinCommand(context: CliContext): Command {
  const description = 'join a team on its PostgreSQL, or make one there';
  const calls = [
    'postgres://you@db.example.com/team',
    'postgres://you@db.example.com/team --key-file ./team.key',
    'postgres://owner@db.example.com/team --create payments',
  ];
  return subcommand('team join', { description, calls, after: AFTER }, context, (flags: Flags, url: string) =>
    join(url, flags, context),
  )
    .argument('<URL>', 'postgres://login@host:port/database, without a password')
    .option('--create <NAME>', 'set the database up and make a team, which you own')
    .option('--team <NAME>', 'which of your teams, where you are in several')
    .option('--key-file <PATH>', "a file with the team's key, or - for standard input");
}

function join(url: string, flags: Flags, context: CliContext): Promise<void> {
  const { env, connectServer } = context;
  return withState(context, 'join a team', async ({ paths }) => {
    keepFromAgent('join a team', 'team join', context);
    const read = readServerAddress(url, env);
    if (read.kind === 'wrong') return fail(context, EXIT.usage, `use that address: ${read.reason}`);
    const name = flags.create ?? flags.team;
    if (name !== undefined && !TEAM_NAME.test(name))
      return fail(
        context,
        EXIT.usage,
        `use "${shownLine(name)}" as a name: it is lower-case letters, digits, - and _`,
      );
    const before = membershipBefore(paths);
    const problem = (reason: string, hint?: string) =>
      fail(context, EXIT.failed, `join the team: ${reason}`, hint);
    const server = await openTeamServer({ url }, env, connectServer).catch((error) =>
      problem(shownLine(reasonOf(error))),
    );
    try {
      const key =
        flags.create === undefined ? await readKey(flags, context) : randomBytes(32).toString('hex');
      const { user: login } = read.address;
      const refused = (error: unknown) => problem(shownLine(reasonOf(error)), adviceFor(error, login, flags));
      const team = await prepared(flags, key, server).catch(refused);
      const isSame = before?.team === team && before.key === key;
      const membership = {
        url: withLogin(url, login),
        team,
        key,
        login,
        shared: isSame ? before.shared : [],
      };
      const { role } = await takeSeat(membership, server).catch(refused);
      writeMembership(membership, paths);
      if (context.isJson)
        return printJson({ team, login, role, ...(flags.create === undefined ? {} : { key }) }, context);
      if (flags.create !== undefined)
        context.stdout(
          `The team "${team}" is made. Its key, for its members alone and not for the server:\n\n  ${key}\n\n`,
        );
      context.stdout(`You are in "${team}" as ${shownLine(login)}, ${role}. Nothing is shared yet.\n`);
      context.stdout(`In a repository, "${PROGRAM} team share" shares what it teaches.\n`);
    } finally {
      await server.close();
    }
  });
}

/** What to do about a right that is missing, which an owner of the team need not be able to give. */
function adviceFor(error: unknown, login: string, { create }: Flags): string | undefined {
  const isRefused = error instanceof Error && (error as NodeJS.ErrnoException).code === '42501';
  if (!isRefused || create !== undefined) return undefined;
  return `Whoever manages the server gives it: GRANT self_generation_member TO ${shownLine(login)}`;
}

/** The address names the login, whatever the environment says later. */
function withLogin(url: string, login: string): string {
  const address = new URL(url);
  address.username = encodeURIComponent(login);
  return address.href;
}

/** One that is damaged is replaced. */
function membershipBefore(paths: StatePaths) {
  try {
    return readMembership(paths);
  } catch (error) {
    if (error instanceof DamagedMembership) return undefined;
    throw error;
  }
}

/** The schema brought up to date where this login may, and the team's name. */
async function prepared({ create, team }: Flags, key: string, server: Server): Promise<string> {
  const { version } = await schemaOf(server);
  if (version < TEAM_SCHEMA.made && (create !== undefined || version > 0)) {
    try {
      await migrateTeam(server);
    } catch (error) {
      // An older schema works as well; only its owner can change it.
      if (create !== undefined) throw error;
    }
  }
  if (create !== undefined) {
    await createTeam(create, keyCheck(key, create), server);
    return create;
  }
  if (version === 0)
    throw new Error('that database has no team in it; its owner makes one with --create NAME');
  const teams = await teamsOf(server);
  const named = team ?? teams[0];
  if (named === undefined)
    throw new Error('this login is in no team there; an owner adds it with "team members add"');
  if (team === undefined && teams.length > 1)
    throw new Error(`this login is in several teams there: ${teams.join(', ')}; name one with --team`);
  return named;
}

async function readKey({ keyFile }: Flags, context: CliContext): Promise<string> {
  const given =
    context.env[KEY_VARIABLE] ?? (keyFile === undefined ? undefined : await fromFile(keyFile, context));
  const canAsk = given === undefined && context.isInteractive && !context.isJson;
  const key = (given ?? (canAsk ? await context.ask("The team's key: ") : undefined))?.trim().toLowerCase();
  if (key === undefined)
    return fail(
      context,
      EXIT.failed,
      'join the team: its key is missing',
      `Set ${KEY_VARIABLE}, or pass --key-file PATH`,
    );
  if (!KEY.test(key))
    return fail(context, EXIT.failed, 'join the team: that is no key; one has 64 digits from 0 to f');
  return key;
}

const KEY_BYTES_MAX = 4096;

async function fromFile(path: string, context: CliContext): Promise<string> {
  if (path === '-') return await readInput(KEY_BYTES_MAX);
  const text = readTextFile(path, KEY_BYTES_MAX);
  return (
    text ?? fail(context, EXIT.failed, `read the key from "${path}": it cannot be read, or is too large`)
  );
}
