import type { Command } from 'commander';
import { reasonOf } from '../../core/guards.ts';
import { ROLES, type Role } from '../../team/model/fact.ts';
import { type Member, membersOf, removeMember, setMember } from '../../team/store/server.ts';
import {
  type CliContext,
  choice,
  EXIT,
  fail,
  type Given,
  keepFromAgent,
  subcommand,
  withState,
} from '../context.ts';
import { newTable, printJson, shownLine } from '../output.ts';
import { membershipHere, onTeamServer } from './here.ts';

type Flags = Given<'json'> & Given<'role', Role>;

const AFTER = `

Who runs the server makes the logins, and lets them in: as its superuser,
  CREATE ROLE alice LOGIN PASSWORD '…';  GRANT self_generation_member TO alice;
A reviewer is granted self_generation_reviewer, an owner self_generation_owner. Whoever has no such role, or no row here, sees
nothing.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found.`;

/** `team members`: who is in the team; an owner changes that. */
export function membersCommand(context: CliContext): Command {
  const members = {
    description: 'list who is in the team; with "add" or "remove" and a login, an owner changes it',
    calls: ['', 'add alice', 'add carol --role reviewer', 'remove alice'],
    after: AFTER,
  };
  return subcommand('team members', members, context, (flags: Flags, what?: string, login?: string) =>
    act({ what, login }, flags, context),
  )
    .argument('[action]', 'add or remove')
    .argument('[login]', 'as the server knows the person')
    .addOption(choice('--role <ROLE>', 'of whom is added; otherwise member, or what they are', ROLES));
}

type Words = { readonly what: string | undefined; readonly login: string | undefined };

function act({ what, login }: Words, flags: Flags, context: CliContext): Promise<void> {
  return withState(context, 'ask for the members', async ({ paths }) => {
    const membership = membershipHere('ask for the members', paths, context);
    if (what !== undefined && what !== 'add' && what !== 'remove')
      return fail(context, EXIT.usage, `do "${shownLine(what)}": it is add or remove`);
    if (what !== undefined && login === undefined)
      return fail(context, EXIT.usage, `${what} nobody: a login is missing`);
    if (what !== undefined) keepFromAgent('change the team', `team members ${what} ${login}`, context);
    const found = await onTeamServer(membership, context, async (team, server) => {
      if (what === 'add') await setMember(team, login ?? '', flags.role, server);
      if (what === 'remove' && isLastOwner(login, await membersOf(team, server)))
        throw new Error('it is the last owner, and nobody could change the team then');
      if (what === 'remove' && !(await removeMember(team, login ?? '', server))) return undefined;
      return await membersOf(team, server);
    }).catch((error: unknown) =>
      fail(context, EXIT.failed, `${what ?? 'list'} members: ${shownLine(reasonOf(error))}`),
    );
    if (found === undefined)
      return fail(
        context,
        EXIT.notFound,
        `remove "${shownLine(login ?? '')}": nobody of this login is in the team`,
      );
    const there = found.filter(({ isRemoved }) => !isRemoved);
    if (flags.json) return printJson(there, context);
    const table = newTable(['login', 'role'], context);
    for (const member of there) table.push([shownLine(member.login), member.role]);
    context.stdout(`${table.toString()}\n`);
  });
}

function isLastOwner(login: string | undefined, members: readonly Member[]): boolean {
  const owners = members.filter(({ role, isRemoved }) => role === 'owner' && !isRemoved);
  return owners.length === 1 && owners[0]?.login === login;
}
