import type { Command } from 'commander';
import { readInput } from '../../system/files.ts';
import { type CliContext, commandGroup, subcommand } from '../context.ts';
import { attach } from './attach.ts';
import { dismiss, inbox } from './inbox.ts';
import { info } from './info.ts';
import { list } from './list.ts';
import { log } from './log.ts';
import { type JsonFlag, type SubagentsCommand, withRunsHere } from './runs-here.ts';
import { retry, spawn } from './spawn.ts';
import { stop } from './stop.ts';
import { send, wait } from './wait.ts';
import { diff, discard, merge } from './worktree.ts';

/** In the order in which the help lists them. */
const COMMANDS: readonly SubagentsCommand[] = [
  spawn,
  list,
  stop,
  log,
  info,
  send,
  wait,
  attach,
  diff,
  merge,
  discard,
  retry,
  inbox,
  dismiss,
];

const IDS = 'Ids: use the list index (#), runId prefix, or full session key.';

const CODES = `Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or ambiguous, 4 forbidden, 5 limit reached; for a run that
was waited for: 1 failed, 6 timed out, 7 stopped, 8 still running when the wait ended.`;

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
  const perform = ({ act, does, description }: SubagentsCommand, flags: JsonFlag, argument?: unknown) =>
    withRunsHere({ context, read }, flags, does ?? description, (here) =>
      act(here, flags as never, argument as never),
    );
  const description = 'start, watch, ask and stop sub-agents that run in the background';
  const group = commandGroup('subagents', { description, after: EXAMPLES }, context, (flags: JsonFlag) =>
    perform(list, flags),
  );
  list.define?.(group);
  for (const row of COMMANDS) {
    const described = { ...row, after: `\n\n${CODES}\n\n${IDS}` };
    const act = (flags: JsonFlag, argument?: unknown) => perform(row, flags, argument);
    const command = subcommand(`subagents ${row.name}`, described, context, act);
    group.addCommand(row.define?.(command) ?? command);
  }
  return group;
}
