import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { reasonOf } from '../core/guards.ts';
import { counted } from '../core/text.ts';
import { RULES } from '../prune/decision.ts';
import { loadPruneSettings } from '../settings/prune-settings.ts';
import { type PrunedSession, pruneSession } from '../transcripts/pruned-session.ts';
import { type SessionSource, sourceInFile, sourceInStore, writeCopy } from '../transcripts/session-source.ts';
import {
  type CliContext,
  type CliState,
  choice,
  EXIT,
  fail,
  type Given,
  newCommand,
  withState,
} from './context.ts';
import { newTable, printJson, shortened, shownLine } from './output.ts';

type Flags = Given<'dryRun' | 'json'> & Given<'session' | 'write', string> & Given<'client', ClientName>;

const ROWS_MAX = 20;
const WHAT_LENGTH_MAX = 60;
const WHAT_LENGTH_MIN = 20;
/** Of the other columns, with a tool of a usual name. */
const REST_WIDTH = 42;
const ID_LENGTH_MAX = 80;

const EXAMPLES = `
FILE is a session file of Claude Code, Codex or Gemini CLI, or what "opencode export ID" prints. Nothing is changed in it:
a copy has the same records, with placeholders in place of the results that are not shown any more. While OpenCode works,
its plugin does the same with every request ("self-generation install --opencode"); no other client lets a program do that.

Examples:
  $ self-generation prune ~/.codex/sessions/2026/11/20/rollout-….jsonl
  $ self-generation prune --session 0f8fad5b-d9cb-469f-a165-70867728950e
  $ self-generation prune session.jsonl --write pruned.jsonl

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no such session, 4 the session of a sub-agent.`;

/** `prune`: what of a stored session would be shown no more, and a copy without it. */
export function pruneCommand(context: CliContext): Command {
  return newCommand('prune', context)
    .description('show what of a session pruning would not show any more')
    .argument('[file]', 'a session file')
    .addOption(new Option('--session <ID>', 'the session with this id in the store of its client'))
    .addOption(choice('--client <NAME>', 'whose it is', CLIENT_NAMES))
    .addOption(new Option('--dry-run', 'write nothing, which is so without --write').conflicts('write'))
    .option('--write <COPY>', 'write a pruned copy into this new file')
    .option('--json', 'print as JSON')
    .addHelpText('after', EXAMPLES)
    .action((file: string | undefined, flags: Flags) =>
      withState(context, 'prune', (state) => prune(file, flags, state, context)),
    );
}

function prune(file: string | undefined, flags: Flags, { paths }: CliState, context: CliContext): void {
  const source = findSource(file, flags, context);
  const progress = progressLine(context);
  try {
    const settings = loadPruneSettings(paths);
    const pruned = pruneSession(source, settings, progress('Reading'));
    const copy = flags.write === undefined ? null : resolve(context.cwd, flags.write);
    if (copy !== null) writeCopy(source, pruned.change, copy, progress('Writing'));
    context.progress('');
    if (flags.json) printJson(asJson(source, pruned, copy), context);
    else print(source, pruned, copy, context);
  } catch (error) {
    context.progress('');
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isThere ? `"${flags.write}" is there already. Name a new file` : reasonOf(error);
    fail(context, EXIT.failed, `prune: ${shownLine(reason)}`);
  }
}

const CODES = {
  'not-found': EXIT.notFound,
  'no-file': EXIT.usage,
  unclear: EXIT.usage,
  'sub-agent': EXIT.forbidden,
};

function findSource(file: string | undefined, flags: Flags, context: CliContext): SessionSource {
  const { session, client } = flags;
  if ((file === undefined) === (session === undefined))
    return fail(
      context,
      EXIT.usage,
      'prune: say which session, by a FILE or by --session ID, and not by both',
    );
  const found =
    file === undefined
      ? sourceInStore(session ?? '', client, context.env)
      : sourceInFile(resolve(context.cwd, file), client);
  if ('head' in found) return found;
  const advice = found.kind === 'unclear' && client === undefined ? '. Say with --client whose it is' : '';
  const whose = shortened(file ?? session ?? '', ID_LENGTH_MAX);
  return fail(context, CODES[found.kind], `prune "${whose}": ${found.reason}${advice}`);
}

const PROGRESS_EVERY_MS = 100;

function progressLine(context: CliContext) {
  let shownMs = performance.now();
  return (doing: string) => (share?: number) => {
    const nowMs = performance.now();
    if (nowMs - shownMs < PROGRESS_EVERY_MS) return;
    shownMs = nowMs;
    const percentage = share === undefined ? '' : `: ${Math.floor(100 * share)} %`;
    context.progress(`${doing} the session${percentage}`);
  };
}

function asJson({ client, head }: SessionSource, pruned: PrunedSession, copy: string | null) {
  const { change: _, ...told } = pruned;
  return { client: client.name, session: head.id, copy, ...told };
}

function print(
  { client, head }: SessionSource,
  pruned: PrunedSession,
  copy: string | null,
  context: CliContext,
) {
  const { bold, dim } = context.colours;
  const line = (text: string) => context.stdout(`${text}\n`);
  const { calls, asItWas, chars, removed } = pruned;
  const size = `${counted(calls, 'call')}, ${counted(asItWas.requests, 'request')}, ${formatted(chars)} characters`;
  line(bold(`${client.title}, session ${shortened(head.id, ID_LENGTH_MAX)}: ${size}`));
  if (removed.length === 0) line('Nothing in it would be left out.');
  else printRemoved(pruned, context);
  if (copy !== null) line(`The copy is "${shownLine(copy)}".`);
  else if (client.name === 'opencode') line(dim('In OpenCode the plugin does this, request by request.'));
  else line(dim(`${client.title} lets no program do this as it runs; --write COPY makes a copy.`));
}

function printRemoved({ chars, removed, asItWas, pruned }: PrunedSession, context: CliContext): void {
  const line = (text: string) => context.stdout(`${text}\n`);
  const table = newTable(['rule', 'tool', 'what', 'characters'], context, [3]);
  const largest = removed.toSorted((one, other) => other.savedChars - one.savedChars);
  const room = (context.screen()?.columns ?? Number.POSITIVE_INFINITY) - REST_WIDTH;
  const lengthMax = Math.min(WHAT_LENGTH_MAX, Math.max(WHAT_LENGTH_MIN, room));
  for (const { rule, part, tool, what, savedChars } of largest.slice(0, ROWS_MAX)) {
    const call = shortened(tool, ID_LENGTH_MAX);
    table.push([
      rule,
      call,
      shortened(part === 'input' ? `input: ${what}` : what, lengthMax),
      formatted(savedChars),
    ]);
  }
  const more = largest.length - ROWS_MAX;
  line(`\n${table.toString()}`);
  if (more > 0) line(context.colours.dim(`… and ${more} more, which are smaller (--json has all)`));
  const saved = sumOf(removed);
  line(`\nA pruned copy is shorter by ${formatted(saved)} characters, ${percent(saved, chars)}:`);
  for (const rule of RULES) {
    const ofRule = removed.filter((one) => one.rule === rule);
    if (ofRule.length > 0)
      line(`  ${rule.padEnd(16)}  ${formatted(sumOf(ofRule))} in ${counted(ofRule.length, 'call')}`);
  }
  const less = asItWas.sentChars - pruned.sentChars;
  const cheaper = asItWas.cost - pruned.cost;
  const share = percent(less, asItWas.sentChars);
  line(`Pruned as it ran, whenever that pays, its ${counted(asItWas.requests, 'request')} together:`);
  line(`  not sent          ${formatted(less)} of ${formatted(asItWas.sentChars)} characters, ${share}`);
  line(`  read again        ${formatted(pruned.againChars)} that the provider had cached`);
  line(`  price of input    ${percent(Math.abs(cheaper), asItWas.cost)} ${cheaper < 0 ? 'more' : 'less'}`);
}

function sumOf(removed: PrunedSession['removed']): number {
  return removed.reduce((sum, { savedChars }) => sum + savedChars, 0);
}

/** A count with its thousands apart. */
export function formatted(count: number): string {
  return count.toLocaleString('en');
}

/** A part of a whole. */
export function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : ((100 * part) / whole).toFixed(1)} %`;
}
