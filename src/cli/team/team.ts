import type { Command } from 'commander';
import { reasonOf } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { writeDatabase } from '../../hooks/store/use-database.ts';
import { lookAtRepository, remoteOf } from '../../lessons/repository.ts';
import { loadTrust } from '../../settings/team-settings.ts';
import {
  DamagedMembership,
  type Membership,
  readMembership,
  removeMembership,
  repositoryName,
  writeMembership,
} from '../../team/membership.ts';
import { partFact } from '../../team/outgoing.ts';
import { countsOf, saidBy, withdrawnRules } from '../../team/store/copy.ts';
import { withCopy } from '../../team/store/copy-file.ts';
import { clonesOf, teamSuggestionId, untellAll } from '../../team/store/knowledge.ts';
import { pushFacts } from '../../team/store/server.ts';
import { lastSync, sharedPlaces, syncTeam } from '../../team/sync.ts';
import {
  agree,
  type CliContext,
  commandGroup,
  EXIT,
  fail,
  type Given,
  keepFromAgent,
  PROGRAM,
  projectHere,
  subcommand,
  withState,
} from '../context.ts';
import { newTable, printJson, shownLine } from '../output.ts';
import { membershipHere, onTeamServer, worldOf } from './here.ts';
import { logCommand, revertCommand } from './history.ts';
import { joinCommand } from './join.ts';
import { membersCommand } from './members.ts';
import { teamPool } from './pool.ts';
import { teamProofCommand } from './proof.ts';
import { doneWords, syncWords } from './words.ts';

const EXAMPLES = `
A team shares lessons, rules and counts of its proof through a PostgreSQL of its own: no prompts, no transcripts, no paths
outside of a repository. Only a run that you send to a machine of the team takes its prompt there ("subagents spawn --on"). What others share waits as a suggestion until somebody you trust accepts it
(setting team.trust). Hooks never ask the server: without it everything here goes on as before.

Examples:
  $ self-generation team join postgres://you@db.example.com/team
  $ self-generation team share            share what this repository has taught
  $ self-generation team sync             send and fetch now; after each session it happens by itself
  $ self-generation suggestions           what waits for your word; "apply" and "dismiss" decide
  $ self-generation team log              who shared, accepted and withdrew what
  $ self-generation team status

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found.`;

type Flags = Given<'json'>;

/** `team`: what is shared with others, and how it stands. */
export function teamCommand(context: CliContext): Command {
  const description = 'share lessons with a team, through a PostgreSQL of its own';
  const show = (flags: Flags) => printStatus(flags, context);
  const group = commandGroup('team', { description, after: EXAMPLES }, context, show);
  group.addCommand(joinCommand(context));
  const status = {
    description: 'show what is shared, what waits, and how the last sync went',
    calls: ['', '--json'],
  };
  group.addCommand(subcommand('team status', status, context, show));
  const sync = { description: 'send what is new here, and fetch what is new there', calls: ['', '--json'] };
  group.addCommand(subcommand('team sync', sync, context, (flags: Flags) => syncNow(flags, context)));
  const share = {
    description: 'share what this repository teaches',
    calls: ['', '--yes'],
    codes: [0, 1, 2],
  };
  group.addCommand(
    subcommand('team share', share, context, (flags: YesFlags) => shareHere(flags, context)).option(
      '--yes',
      'do not ask',
    ),
  );
  const unshare = { description: 'share this repository no more; what was shared stays', calls: [''] };
  group.addCommand(
    subcommand('team unshare', unshare, context, (flags: Flags) => unshareHere(flags, context)),
  );
  group
    .addCommand(logCommand(context))
    .addCommand(revertCommand(context))
    .addCommand(membersCommand(context))
    .addCommand(teamProofCommand(context));
  const pool = (flags: Flags) => teamPool.act(flags, context);
  group.addCommand(subcommand(`team ${teamPool.name}`, teamPool, context, pool));
  const leave = { description: 'forget the team on this machine', calls: ['', '--yes'] };
  group.addCommand(
    subcommand('team leave', leave, context, (flags: YesFlags) => leaveTeam(flags, context)).option(
      '--yes',
      'do not ask',
    ),
  );
  return group;
}

type YesFlags = Flags & Given<'yes'>;

function printStatus({ json }: Flags, context: CliContext): Promise<void> {
  return withState(context, 'show the team', async ({ paths }) => {
    const membership = readMembership(paths);
    if (membership === undefined) {
      if (json) return printJson({ team: null }, context);
      return context.stdout(`You are in no team. "${PROGRAM} team join URL" joins one.\n`);
    }
    const { team, login, url } = membership;
    const trust = loadTrust(paths);
    const last = lastSync(paths);
    const repositories = await withCopy(paths, (copy) =>
      sharedPlaces(membership).map(({ remote, projects, repository }) => ({
        remote,
        projects,
        ...countsOf(repository, copy),
        withdrawnRules: withdrawnRules(repository, copy).map(teamSuggestionId),
      })),
    );
    if (json) return printJson({ team, login, url, trust, lastSync: last ?? null, repositories }, context);
    const { dim } = context.colours;
    context.stdout(`Team "${shownLine(team)}" as ${shownLine(login)}, on ${shownLine(url)}\n`);
    context.stdout(`${syncWords(last, context)}\n\n`);
    if (repositories.length === 0)
      context.stdout(`Nothing is shared. In a repository, "${PROGRAM} team share" shares what it teaches.\n`);
    else {
      const counts = ['shared', 'mine', 'accepted', 'waiting', 'withdrawn', 'refused'] as const;
      const table = newTable(['repository', ...counts], context, [1, 2, 3, 4, 5, 6]);
      for (const one of repositories) table.push([shownLine(one.remote), ...counts.map((name) => one[name])]);
      context.stdout(`${table.toString()}\n`);
      if (repositories.some(({ waiting }) => waiting > 0))
        context.stdout(
          `\nWhat waits: "${PROGRAM} suggestions" lists the best, "apply" and "dismiss" decide.\n`,
        );
      if (repositories.some(({ refused }) => refused > 0))
        context.stdout(
          'Refused: shaped like an instruction to an agent, or with a secret in it; "team log" says whose.\n',
        );
    }
    for (const id of repositories.flatMap((one) => one.withdrawnRules))
      context.stdout(
        `A rule that you applied was withdrawn in the team: "${PROGRAM} undo ${id}" takes it out.\n`,
      );
    context.stdout(dim(`Whose word counts: ${trust} (setting team.trust).\n`));
  });
}

function syncNow({ json }: Flags, context: CliContext): Promise<void> {
  return withState(context, 'sync with the team', async ({ paths }) => {
    const membership = membershipHere('sync', paths, context);
    context.progress('Asking the server …');
    const outcome = await syncTeam(membership, worldOf(paths, context));
    context.progress('');
    if (outcome.kind === 'failed')
      fail(
        context,
        EXIT.failed,
        `sync with the team: ${shownLine(outcome.reason)}`,
        'What is here works without it',
      );
    if (json) return printJson(outcome, context);
    if (outcome.kind === 'busy') return context.stdout('Another sync is running.\n');
    context.stdout(`${sentenceCase(doneWords(outcome))}.\n`);
  });
}

const sentenceCase = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function shareHere({ json, yes }: YesFlags, context: CliContext): Promise<void> {
  return withState(context, 'share a repository', async ({ paths }) => {
    const membership = membershipHere('share', paths, context);
    keepFromAgent('share a repository', 'team share', context);
    const project = projectHere(paths, context).path;
    const remote = remoteOf(project, context.env);
    if (remote === undefined)
      return fail(
        context,
        EXIT.failed,
        `share "${project}": it has no remote by which others would know it`,
        'Run it in a clone of a repository that your team works on',
      );
    const others = membership.shared.filter((one) => one.remote !== remote);
    const projects = membership.shared.find((one) => one.remote === remote)?.projects ?? [];
    const isNew = !projects.includes(project);
    if (isNew) {
      context.isJson ||
        context.stdout(
          `The team "${shownLine(membership.team)}" will be sent what "${shownLine(remote)}" teaches: failing commands, what helped, rules you applied. No prompts, no files, no paths outside of it.\n`,
        );
      await agree('Share it?', 'share it', { yes }, context);
      const shared = [...others, { remote, projects: [...projects, project] }];
      writeMembership({ ...membership, shared }, paths);
      writeDatabase(paths, (db) => lookAtRepository(project, context.env, db));
    }
    const next = `"${PROGRAM} team sync" sends it now, the end of a session does too`;
    if (json) return printJson({ remote, project, isNew }, context);
    context.stdout(isNew ? `Shared: ${shownLine(remote)}. ${next}.\n` : `It is shared already. ${next}.\n`);
  });
}

function unshareHere({ json }: Flags, context: CliContext): Promise<void> {
  return withState(context, 'stop sharing a repository', async ({ paths }) => {
    const membership = membershipHere('stop sharing', paths, context);
    keepFromAgent('stop sharing a repository', 'team unshare', context);
    const project = projectHere(paths, context).path;
    const remote = remoteOf(project, context.env);
    const shared = membership.shared.filter(
      (one) => one.remote !== remote && !one.projects.includes(project),
    );
    if (shared.length === membership.shared.length)
      return fail(context, EXIT.notFound, `stop sharing "${project}": it is not shared`, 'See "team status"');
    writeMembership({ ...membership, shared }, paths);
    const gone = membership.shared.filter((one) => !shared.includes(one));
    const isTold = await tell(membership, gone, paths, context);
    const untold = untell(gone, paths);
    if (json) return printJson({ project, isTold, untold }, context);
    const others = isTold ? '' : ' The server could not be told that you take part no more.';
    context.stdout(
      `Nothing of it is sent or fetched any more, and what came from the team is told no more here. What was shared stays in the team.${others}\n`,
    );
  });
}

/** Nobody would hear here of a withdrawal any more: what came from the team is not told on. Returns how many lessons. */
function untell(gone: Membership['shared'], paths: StatePaths): number {
  return writeDatabase(paths, (db) =>
    gone.reduce((sum, { projects }) => sum + untellAll(clonesOf(projects, db), '', db), 0),
  );
}

/** Tells the server that this member takes part no more; false when it cannot be reached. */
async function tell(
  membership: Membership,
  gone: Membership['shared'],
  paths: StatePaths,
  context: CliContext,
): Promise<boolean> {
  try {
    await onTeamServer(membership, context, (team, server) =>
      withCopy(paths, async (copy) => {
        for (const { remote } of gone) {
          const repository = repositoryName(membership.key, remote);
          const { part } = saidBy(membership.login, repository, copy);
          if (part.takesPart)
            await pushFacts(team, [partFact(repository, false, membership.login, part.said)], server);
        }
      }),
    );
    return true;
  } catch (error) {
    context.stderr(`warning: ${shownLine(reasonOf(error))}\n`);
    return false;
  }
}

/** A membership that cannot be read is none: leaving has to be possible. */
function damagedOr(read: () => Membership): Membership | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedMembership) return undefined;
    throw error;
  }
}

function leaveTeam({ json, yes }: YesFlags, context: CliContext): Promise<void> {
  return withState(context, 'leave the team', async ({ paths }) => {
    keepFromAgent('leave the team', 'team leave', context);
    const membership = damagedOr(() => membershipHere('leave', paths, context));
    const { team = '', login = '', shared = [] } = membership ?? {};
    context.isJson ||
      context.stdout(
        'Its key and the copy of what it shares go from this machine, and what came from it is told no more. What you shared stays in the team.\n',
      );
    await agree(`Leave the team "${shownLine(team)}"?`, 'leave it', { yes }, context);
    if (membership !== undefined) await tell(membership, shared, paths, context);
    untell(shared, paths);
    removeMembership(paths);
    if (json) return printJson({ team, login }, context);
    context.stdout(
      `You have left "${shownLine(team)}". An owner ends your access: "team members remove ${shownLine(login)}".\n`,
    );
  });
}
