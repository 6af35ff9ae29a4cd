import type { Command } from 'commander';
import { allPruned, type Pruned, readPruned } from '../prune/store.ts';
import { timeAgo } from '../runs/model/stats.ts';
import { type CliContext, type CliState, EXIT, fail, type Given, newCommand, withState } from './context.ts';
import { newTable, printJson, shortened } from './output.ts';
import { formatted, percent } from './prune.ts';

type Flags = Given<'json'> & Given<'session', string>;

const ROWS_MAX = 20;
const DIRECTORY_LENGTH_MAX = 40;
const ID_LENGTH_MAX = 80;

const EXAMPLES = `
Counted is what the plugin of OpenCode has left out of the requests of main sessions; "self-generation prune" says of any
stored session what that would be. A session is forgotten 90 days after its last request.

Examples:
  $ self-generation stats
  $ self-generation stats --session ses_df8d69b1affeDAuf5wqe0Stara --json

Exit codes: 0 shown, 1 failed, 2 wrong usage, 3 no such session.`;

/** `stats`: what pruning has saved. */
export function statsCommand(context: CliContext): Command {
  return newCommand('stats', context)
    .description('show what pruning has saved, by session')
    .option('--session <ID>', 'of this session alone')
    .option('--json', 'print as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) =>
      withState(context, 'show what was saved', (state) => stats(flags, state, context)),
    );
}

function stats({ session, json }: Flags, { paths }: CliState, context: CliContext): void {
  const one = session === undefined ? undefined : readPruned(paths, session);
  if (session !== undefined && one === undefined) {
    const whose = shortened(session, ID_LENGTH_MAX);
    fail(context, EXIT.notFound, `show what was saved of "${whose}": nothing is known of such a session`);
  }
  const sessions = one === undefined ? allPruned(paths) : [one];
  if (json) printJson({ sessions: sessions.map(asJson), total: totalOf(sessions) }, context);
  else print(sessions, context);
}

const COUNTS = ['requests', 'sentChars', 'savedChars', 'readAgainChars'] as const;

function totalOf(sessions: readonly Pruned[]) {
  const sums = COUNTS.map((name) => [name, sessions.reduce((sum, one) => sum + one[name], 0)] as const);
  return Object.fromEntries(sums) as Record<(typeof COUNTS)[number], number>;
}

function asJson({ decisions, ...told }: Pruned) {
  return { ...told, leftOut: decisions.length };
}

function print(sessions: readonly Pruned[], context: CliContext): void {
  const line = (text: string) => context.stdout(`${text}\n`);
  if (sessions.length === 0) {
    line(
      'Nothing has been pruned yet. The plugin of OpenCode does that: "self-generation install --opencode".',
    );
    return;
  }
  const head = ['session', 'directory', 'last', 'requests', 'not sent', '', 'read again'];
  const table = newTable(head, context, [3, 4, 5, 6]);
  const row = (first: readonly string[], counts: ReturnType<typeof totalOf>) => {
    const { requests, sentChars, savedChars, readAgainChars } = counts;
    const share = percent(savedChars, sentChars + savedChars);
    table.push([...first, ...[formatted(requests), formatted(savedChars), share, formatted(readAgainChars)]]);
  };
  for (const one of sessions.slice(0, ROWS_MAX)) {
    const age = timeAgo(Date.parse(one.updatedAt), context.now().getTime());
    const id = `${shortened(one.sessionId, ID_LENGTH_MAX)}${one.isOff ? ' (off)' : ''}`;
    row([id, shortened(one.directory, DIRECTORY_LENGTH_MAX), age], one);
  }
  const left = sessions.length - ROWS_MAX;
  if (left > 0) table.push([context.colours.dim(`… ${left} more (--json has all)`), '', '', '', '', '', '']);
  if (sessions.length > 1) row([`all ${sessions.length}`, '', ''], totalOf(sessions));
  line(table.toString());
  line(context.colours.dim('In characters, over all requests of each session.'));
}
