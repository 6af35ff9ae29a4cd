import { type Command, InvalidArgumentError, Option } from 'commander';
import { CLIENT_NAMES } from '../../core/client-name.ts';
import { THINKING_LEVELS, WORKTREE_MODES } from '../../runs/model/run.ts';
import { parseSeconds } from '../../runs/model/stats.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { readInput } from '../../system/files.ts';
import { type CliContext, commandGroup, limitUpTo, subcommand } from '../context.ts';
import { attach } from './attach.ts';
import { dismiss, inbox } from './inbox.ts';
import { info } from './info.ts';
import { type ListFlags, list } from './list.ts';
import { log } from './log.ts';
import {
  complainInJson,
  complainUsage,
  findRun,
  type JsonFlag,
  type RunsHere,
  withRunsHere,
} from './runs-here.ts';
import { send } from './send.ts';
import { retry, spawn } from './spawn.ts';
import { stop } from './stop.ts';
import { wait } from './wait.ts';
import { diff, discard, merge } from './worktree.ts';

const LIST_LIMIT_MAX = 100_000;

const IDS = 'Ids: use the list index (#), runId prefix, or full session key.';

const CODES = `Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or ambiguous, 4 forbidden, 5 limit reached; of a run that
was waited for 1 it failed, 6 its time was over, 7 it was stopped, 8 it goes on although the wait is over.`;

const EXAMPLES = `
Sub-agents run in the background, each in a client's own session. What one has to tell goes to whoever started it:
with the next answer or hook of that session, or to "subagents inbox". A run keeps its number.

Examples:
  $ self-generation subagents spawn --label tests --permissions exec 'Run the tests and say which fail'
  $ self-generation subagents                     what runs, waits and is done in this project
  $ self-generation subagents log 3 50 tools      the last 50 messages of run 3, tools among them
  $ self-generation subagents send 3 'now fix the first of them'
  $ self-generation subagents attach 3            go on in its session yourself
  $ self-generation subagents stop all
  $ self-generation subagents inbox               what was not told to anybody yet

Also: "last" for the newest, a label or its beginning, and id:PREFIX for an id of digits only. By the id, as "list
--all-projects" shows it, you may also see, attach to and stop runs of other projects; an agent keeps to its own.

${CODES}

${IDS}`;

/** `subagents`: background runs of the clients, to be started, looked at, talked to and stopped. */
export function subagentsCommand(context: CliContext, read = readInput): Command {
  const description = 'start, watch, ask and stop sub-agents that run in the background';
  const group = commandGroup('subagents', { description, after: EXAMPLES }, context, (flags: ListFlags) =>
    withRunsHere({ context, read }, flags, LISTS, (here) => list(here, flags)),
  );
  /** `does`: what it could not do, where nothing can be done; as it is described, when nothing else is said. */
  const add = <Flags extends JsonFlag, Argument>(
    name: string,
    { does, ...described }: Described,
    act: (here: RunsHere, flags: Flags, argument: Argument) => void | Promise<void>,
  ): Command => {
    const command = subcommand(
      `subagents ${name}`,
      { ...described, after: `\n\n${CODES}\n\n${IDS}` },
      context,
      (flags: Flags, argument: Argument) =>
        withRunsHere({ context, read }, flags, does ?? described.description, (here) =>
          act(here, flags, argument),
        ),
    );
    group.addCommand(command);
    return command;
  };
  /** The same for a command about one run, which is looked for first. */
  const addForRun = <Flags extends JsonFlag>(
    name: string,
    described: Described,
    act: (here: RunsHere, flags: Flags, listing: RunListing) => void | Promise<void>,
  ): Command =>
    add(name, described, (here, flags: Flags, target?: string) => {
      if (target === undefined) return complainUsage(`${name} <id|#>`, here);
      const listing = findRun(target, here);
      return listing && act(here, flags, listing);
    }).argument('[target]', 'the run');
  withListFlags(group);
  const spawning = { does: 'spawn a sub-agent', description: 'start a sub-agent in the background' };
  withSpawnFlags(add('spawn', { ...spawning, calls: SPAWN_CALLS }, spawn));
  const listing = ['', '--watch', '--all --limit 200'];
  withListFlags(
    add('list', { does: LISTS, description: 'list the runs of this project', calls: listing }, list),
  );
  const stopping = { does: 'stop sub-agents', description: 'stop a run, or all that you have asked for' };
  add('stop', { ...stopping, calls: ['3', 'last', 'all', 'all --project'] }, stop)
    .argument('[target]', 'the run, or "all" for all that this session has asked for')
    .option('--project', 'with "all": also what other sessions of this project have asked for');
  const logging = { does: 'show the log', description: 'show what was said' };
  add('log', { ...logging, calls: ['3', '3 50 tools', 'last --follow'] }, log)
    .argument('[words...]', 'the run, how many messages (20, at most 200), and "tools" for what was done')
    .option('--follow', 'go on until the run is over');
  const showing = { does: 'show the sub-agent', description: 'show all that is known of a run' };
  addForRun('info', { ...showing, calls: ['3', 'last --json'] }, info);
  const sending = { does: 'send a message', description: 'send a message into the session of a run' };
  add('send', { ...sending, calls: [`3 'and now the second one'`, '3 --timeout 0 - < message.md'] }, send)
    .argument('[words...]', 'the run, then the message; "-" reads it from standard input')
    .option('--timeout <S>', 'how many seconds to wait for the reply (30); 0: not at all', readSeconds);
  const waiting = { does: 'wait for sub-agents', description: 'wait until runs have ended' };
  add('wait', { ...waiting, calls: ['3', 'all --timeout 10m'] }, wait)
    .argument('[target]', 'the run, or "all" for all that are active')
    .option('--timeout <S>', 'give up after so many seconds, or 10m, 2h', readSeconds);
  const attaching = "go on with a run's session in its own client, on a terminal";
  const attached = addForRun('attach', { description: attaching, calls: ['3', '3 --print'] }, attach);
  attached.option('--print', 'only print the command');
  const diffing = 'show what a run has changed in its worktree';
  addForRun('diff', { description: diffing, calls: ['3', '3 > changes.patch'] }, diff);
  const merging = 'bring what a run has changed in its worktree into yours, not committed';
  addForRun('merge', { description: merging, calls: ['3'] }, merge);
  const discarding = "remove a run's worktree and its branch";
  const dropped = addForRun('discard', { description: discarding, calls: ['3', '3 --yes'] }, discard);
  dropped.option('--yes', 'also what is nowhere else');
  const retrying = {
    does: 'retry a sub-agent',
    description: 'start a run anew, with the same task and settings',
  };
  addForRun('retry', { ...retrying, calls: ['3'] }, retry).option('--wait', 'wait for its result');
  const reading = { does: 'read the inbox', description: 'read what was not told to anybody yet' };
  add('inbox', { ...reading, calls: ['', '--peek'] }, inbox)
    .option('--peek', 'and leave it there')
    .option('--mine', "leave what is meant for agents' sessions to them");
  const dropping = { does: 'dismiss an announcement', description: 'drop what a run has to tell' };
  add('dismiss', { ...dropping, calls: ['3', 'all'] }, dismiss).argument(
    '[target]',
    'the run, the announceId, or "all"',
  );
  for (const command of [group, ...group.commands]) complainInJson(command, context);
  return group;
}

const LISTS = 'list the sub-agents';

type Described = { readonly does?: string; readonly description: string; readonly calls: readonly string[] };

function withListFlags(command: Command): Command {
  return command
    .option('--all', 'also archived runs')
    .option('--all-projects', 'the runs of every project')
    .option('--limit <N>', 'how many at most (50)', limitUpTo(LIST_LIMIT_MAX))
    .option('--watch', 'draw it again each second, as long as a run is active');
}

const SPAWN_CALLS = [
  `'Look for dead code and list it'`,
  `--permissions edit --label docs 'Correct the README'`,
  `--cli codex --timeout 10m 'Which parts of the API have no tests?'`,
  '--worktree always --wait - < task.md',
];

function withSpawnFlags(command: Command): Command {
  return command
    .argument('[task...]', 'what it is to do; "-" reads it from standard input')
    .addOption(choice('--cli <C>', 'the client that it runs in', CLIENT_NAMES))
    .option('--agent <ID>', 'as which agent of the settings')
    .option('--model <M>', 'as the client names its models')
    .addOption(choice('--thinking <T>', 'how much it thinks', THINKING_LEVELS))
    .option('--timeout <S>', 'stop it after so many seconds, or 10m, 2h; 0: never', readSeconds)
    .option('--label <L>', 'what it is called')
    .addOption(choice('--cleanup <HOW>', 'what becomes of it afterwards', ['delete', 'keep']))
    .addOption(choice('--worktree <M>', 'whether it works in a worktree of its own', WORKTREE_MODES))
    .option(
      '--permissions <P>',
      'what it may do without asking: edit, all, or rules like "edit,exec(npm test:*)"',
    )
    .option('--wait', 'wait for its result');
}

function choice(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).choices([...choices]);
}

function readSeconds(text: string): number {
  const seconds = parseSeconds(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('It is a number of seconds, or such as 90s, 10m, 2h.');
}
