import { type Command, InvalidArgumentError, Option } from 'commander';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { parseSeconds } from '../core/runs/durations.ts';
import { THINKING_LEVELS } from '../core/runs/run-settings-values.ts';
import { readInput } from '../sys/read-input.ts';
import { type CliContext, newCommand } from './context.ts';
import { dismiss, type InboxFlags, inbox } from './subagents/inbox.ts';
import { info } from './subagents/info.ts';
import { type ListFlags, list } from './subagents/list.ts';
import { type LogFlags, log } from './subagents/log.ts';
import type { JsonFlag, RunTools } from './subagents/runs-here.ts';
import { type SendFlags, send } from './subagents/send.ts';
import { retry, type SpawnFlags, spawn } from './subagents/spawn.ts';
import { stop } from './subagents/stop.ts';
import { type WaitFlags, wait } from './subagents/wait.ts';

const LIST_LIMIT_MAX = 100_000;

const IDS = 'Ids: use the list index (#), runId prefix, or full session key.';

const EXAMPLES = `
Sub-agents run in the background, each in a client's own session. What one has to tell goes to whoever started it:
with the next answer or hook of that session, or to "subagents inbox". A run keeps its number.

Examples:
  $ self-generation subagents spawn --label tests --permissions exec 'Run the tests and say which fail'
  $ self-generation subagents                     what runs, waits and is done in this project
  $ self-generation subagents log 3 50 tools      the last 50 messages of run 3, tools among them
  $ self-generation subagents send 3 'now fix the first of them'
  $ self-generation subagents stop all
  $ self-generation subagents inbox               what was not told to anybody yet

Also: "last" for the newest, a label or its beginning, and id:PREFIX for an id of digits only.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or ambiguous, 4 forbidden, 5 limit reached.

${IDS}`;

/** `subagents`: background runs of the clients, to be started, looked at, talked to and stopped. */
export function subagentsCommand(context: CliContext, read = readInput): Command {
  const tools: RunTools = { context, read };
  const command = newCommand('subagents', context)
    .description('start, watch, ask and stop sub-agents that run in the background')
    .enablePositionalOptions()
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action((flags: ListFlags) => {
      if (command.args.length > 0) unknownWord(command);
      return list(flags, tools);
    });
  withListFlags(command);
  command.addCommand(spawnCommand(tools));
  command.addCommand(
    withListFlags(
      subcommand('list', 'list the runs of this project', ['', '--all --limit 200'], tools),
    ).action((_flags: ListFlags, self: Command) => list(self.optsWithGlobals(), tools)),
  );
  for (const made of [stopCommand, logCommand, infoCommand, sendCommand, waitCommand, retryCommand]) {
    command.addCommand(made(tools));
  }
  command.addCommand(inboxCommand(tools));
  command.addCommand(dismissCommand(tools));
  return command;
}

function subcommand(
  name: string,
  description: string,
  calls: readonly string[],
  { context }: RunTools,
): Command {
  const lines = calls.map((call) => `  $ self-generation subagents ${`${name} ${call}`.trim()}`);
  return newCommand(`subagents ${name}`, context)
    .description(description)
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}\n\n${IDS}`);
}

function withJson(command: Command): Command {
  return command.option('--json', 'print as JSON');
}

function withListFlags(command: Command): Command {
  return withJson(command)
    .option('--all', 'also archived runs')
    .option('--all-projects', 'the runs of every project')
    .option('--limit <N>', 'how many at most (50)', readLimit);
}

const SPAWN_CALLS = [
  `'Look for dead code and list it'`,
  `--permissions edit --label docs 'Correct the README'`,
  `--cli codex --timeout 10m 'Which parts of the API have no tests?'`,
  '--worktree always --wait - < task.md',
];

function spawnCommand(tools: RunTools): Command {
  return withJson(subcommand('spawn', 'start a sub-agent in the background', SPAWN_CALLS, tools))
    .argument('[task...]', 'what it is to do; "-" reads it from standard input')
    .addOption(new Option('--cli <C>', 'the client that it runs in').choices([...CLIENT_NAMES]))
    .option('--agent <ID>', 'as which agent of the settings')
    .option('--model <M>', 'as the client names its models')
    .addOption(new Option('--thinking <T>', 'how much it thinks').choices([...THINKING_LEVELS]))
    .option('--timeout <S>', 'stop it after so many seconds, or 10m, 2h; 0: never', readSeconds)
    .option('--label <L>', 'what it is called')
    .addOption(new Option('--cleanup <HOW>', 'what becomes of it afterwards').choices(['delete', 'keep']))
    .addOption(
      new Option('--worktree <M>', 'whether it works in a worktree of its own').choices([
        'auto',
        'always',
        'never',
      ]),
    )
    .option(
      '--permissions <P>',
      'what it may do without asking: edit, all, or rules like "edit,exec(npm test:*)"',
    )
    .option('--wait', 'wait for its result')
    .action((words: string[], _flags: SpawnFlags, self: Command) =>
      spawn(words, self.optsWithGlobals(), tools),
    );
}

function stopCommand(tools: RunTools): Command {
  return withJson(subcommand('stop', 'stop a run, or all that are active', ['3', 'last', 'all'], tools))
    .argument('[target]', 'the run, or "all"')
    .action((target: string | undefined, _flags: JsonFlag, self: Command) =>
      stop(target, self.optsWithGlobals(), tools),
    );
}

function logCommand(tools: RunTools): Command {
  return withJson(subcommand('log', 'show what was said', ['3', '3 50 tools', 'last --follow'], tools))
    .argument('[words...]', 'the run, how many messages (20, at most 200), and "tools" for what was done')
    .option('--follow', 'go on until the run is over')
    .action((words: string[], _flags: LogFlags, self: Command) => log(words, self.optsWithGlobals(), tools));
}

function infoCommand(tools: RunTools): Command {
  return withJson(subcommand('info', 'show all that is known of a run', ['3', 'last --json'], tools))
    .argument('[target]', 'the run')
    .action((target: string | undefined, _flags: JsonFlag, self: Command) =>
      info(target, self.optsWithGlobals(), tools),
    );
}

function sendCommand(tools: RunTools): Command {
  const calls = [`3 'and now the second one'`, '3 --timeout 0 - < message.md'];
  return withJson(subcommand('send', 'send a message into the session of a run', calls, tools))
    .argument('[words...]', 'the run, then the message; "-" reads it from standard input')
    .option('--timeout <S>', 'how many seconds to wait for the reply (30); 0: not at all', readSeconds)
    .action((words: string[], _flags: SendFlags, self: Command) =>
      send(words, self.optsWithGlobals(), tools),
    );
}

function waitCommand(tools: RunTools): Command {
  return withJson(subcommand('wait', 'wait until runs have ended', ['3', 'all --timeout 10m'], tools))
    .argument('[target]', 'the run, or "all" for all that are active')
    .option('--timeout <S>', 'give up after so many seconds, or 10m, 2h', readSeconds)
    .action((target: string | undefined, _flags: WaitFlags, self: Command) =>
      wait(target, self.optsWithGlobals(), tools),
    );
}

function retryCommand(tools: RunTools): Command {
  return withJson(subcommand('retry', 'start a run anew, with the same task and settings', ['3'], tools))
    .argument('[target]', 'the run')
    .option('--wait', 'wait for its result')
    .action((target: string | undefined, _flags: SpawnFlags, self: Command) =>
      retry(target, self.optsWithGlobals(), tools),
    );
}

function inboxCommand(tools: RunTools): Command {
  return withJson(subcommand('inbox', 'read what was not told to anybody yet', ['', '--peek'], tools))
    .option('--peek', 'and leave it there')
    .action((_flags: InboxFlags, self: Command) => inbox(self.optsWithGlobals(), tools));
}

function dismissCommand(tools: RunTools): Command {
  return withJson(subcommand('dismiss', 'drop what a run has to tell', ['3', 'all'], tools))
    .argument('[target]', 'the run, the announceId, or "all"')
    .action((target: string | undefined, _flags: JsonFlag, self: Command) =>
      dismiss(target, self.optsWithGlobals(), tools),
    );
}

const ACTIONS = 'spawn, list, stop, log, info, send, wait, retry, inbox or dismiss';

function unknownWord(command: Command): never {
  command.error(`error: unknown command 'subagents ${command.args[0]}': it is ${ACTIONS}`);
}

function readSeconds(text: string): number {
  const seconds = parseSeconds(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('It is a number of seconds, or such as 90s, 10m, 2h.');
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,6}$/.test(text) && limit > 0 && limit <= LIST_LIMIT_MAX) return limit;
  throw new InvalidArgumentError(`It is a number from 1 to ${LIST_LIMIT_MAX}.`);
}
