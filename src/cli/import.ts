import { readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, CommanderError, Option } from 'commander';
import type { Client } from '../clients/client.ts';
import { CLIENTS, clientNamed } from '../clients/clients.ts';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { reasonOf } from '../core/guards.ts';
import { counted } from '../core/text.ts';
import { sessionsOfRuns } from '../runs/store/run-sessions.ts';
import { projectOfDirectory } from '../runs/workspace/first-prompt.ts';
import { locate } from '../setup/manifest.ts';
import { withOpenFile } from '../system/files.ts';
import { type ImportReport, importAll, type TranscriptProgress } from '../transcripts/import.ts';
import {
  type CliContext,
  type CliState,
  EXIT,
  fail,
  type Given,
  newCommand,
  positiveUpTo,
  withState,
} from './context.ts';
import { printJson, shownLine } from './output.ts';

type Flags = Given<'dryRun' | 'json'> &
  Given<'project', string> &
  Given<'days', number> &
  Given<'from' | 'client', string[]>;

const MS_PER_DAY = 86_400_000;
const DAYS_MAX = 36_500;

const EXAMPLES = `
Reads what past sessions of Claude Code, Codex, Gemini CLI and OpenCode left behind, and remembers it as if the hooks had
been there: prompts, tool calls, errors and what solved them. What sub-agents did counts as work of the session that started
them. Nothing leaves this machine. It can be repeated: what is known is not taken twice.

Examples:
  $ self-generation import                              all sessions of all clients
  $ self-generation import --client codex               those of one client
  $ self-generation import --dry-run                    what would come of it
  $ self-generation import --project . --days 30        this project, the last 30 days
  $ self-generation import --from ~/old/projects        transcripts that lie elsewhere

Exit codes: 0 done, 1 failed, 2 wrong usage.`;

/** `import`: learns from what happened before the hooks were there. */
export function importCommand(context: CliContext): Command {
  return newCommand('import', context)
    .description('learn from past sessions of all clients')
    .addOption(
      new Option('--client <NAME...>', 'only of these clients').choices(CLIENT_NAMES).conflicts('from'),
    )
    .option('--from <PATH...>', 'transcripts of Claude Code, or directories of them, and nothing else')
    .option('--project <PATH>', 'only sessions that were started in this directory')
    .option('--days <N>', 'only sessions of the last N days', positiveUpTo(DAYS_MAX))
    .option('--dry-run', 'change nothing, show what would be taken in')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => withState(context, 'import', (state) => run(flags, state, context)));
}

function run(flags: Flags, { paths, config }: CliState, context: CliContext): void {
  const { env, now } = context;
  const isRehearsal = flags.dryRun === true;
  try {
    const clients = clientsAsked(flags);
    const roots = findRoots(flags, clients, context);
    const ofRuns = sessionsOfRuns(paths);
    const directory = flags.project && resolve(context.cwd, flags.project);
    const report = importAll({
      ...{ roots, ofRuns, paths, config, env, now, isRehearsal },
      clients: flags.from === undefined ? clients.filter(({ sessions }) => sessions.all !== undefined) : [],
      projectPath: directory && projectOfDirectory(directory).path,
      sinceMs: flags.days === undefined ? undefined : now().getTime() - flags.days * MS_PER_DAY,
      projectAt: projectOfDirectory,
      onProgress: progressLine(context),
    });
    context.progress('');
    if (flags.json) printJson({ dryRun: isRehearsal, ...report }, context);
    else print(report, flags, context);
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    context.progress('');
    const advice = 'What has been taken in so far stays; run it again to go on';
    fail(context, EXIT.failed, `import: ${shownLine(reasonOf(error))}. ${advice}`);
  }
}

function clientsAsked({ client }: Flags): Client[] {
  return Object.values(CLIENTS).filter(({ name }) => client === undefined || client.includes(name));
}

/** Where the transcripts of Claude Code are, if they are asked for. Who asks for nothing else is told where there are none. */
function findRoots({ from }: Flags, clients: readonly Client[], context: CliContext): readonly string[] {
  if (from !== undefined) return from.map((given) => checkedRoot(resolve(context.cwd, given), context));
  const place = locate(context.env, context.platform);
  const root = place.kind === 'failed' ? '' : `${place.claudeDirectory}/projects`;
  const others = clients.filter(({ name }) => name !== 'claude');
  if (others.length === clients.length) return [];
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory()) return [root];
  if (others.some(({ sessions }) => (sessions.all?.(context.env) ?? []).length > 0)) return [];
  const reason =
    place.kind === 'failed'
      ? `${place.reason}. ${place.advice.replace(/\.$/, '')}`
      : `there are no transcripts, because there is no "${root}". Say where they are with --from`;
  return fail(context, EXIT.failed, `import: ${reason}`);
}

function checkedRoot(root: string, context: CliContext): string {
  const refuse = (code: number, reason: string) =>
    fail(context, code, shownLine(`import "${root}": ${reason}`));
  try {
    if (statSync(root).isDirectory() || !isDatabase(root)) return root;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return refuse(EXIT.failed, code === 'ENOENT' ? 'there is no such file or directory' : message);
  }
  const advice = 'Name a transcript (.jsonl), or a directory of them';
  return refuse(EXIT.usage, `it is a database, and only transcripts can be read. ${advice}`);
}

const DATABASE_MAGIC = 'SQLite format 3\0';

/** Whether the file begins as an SQLite database does. */
function isDatabase(path: string): boolean {
  const bytes = Buffer.alloc(DATABASE_MAGIC.length);
  withOpenFile(path, 'r', (file) => readSync(file, bytes, 0, bytes.length, 0));
  return bytes.toString('latin1') === DATABASE_MAGIC;
}

const PROGRESS_EVERY_MS = 100;

function progressLine(context: CliContext): (progress: TranscriptProgress) => void {
  let shownMs = 0;
  return (progress) => {
    const nowMs = performance.now();
    if (nowMs - shownMs < PROGRESS_EVERY_MS) return;
    shownMs = nowMs;
    if ('client' in progress)
      return context.progress(`Reading sessions of ${clientNamed(progress.client).title}`);
    const { sessions, bytes, bytesDone } = progress;
    const share = bytes === 0 ? 100 : Math.floor((100 * bytesDone) / bytes);
    context.progress(`Reading ${counted(sessions, 'session')}, ${mebibytes(bytes)}: ${share} %`);
  };
}

function print(report: ImportReport, { dryRun, client }: Flags, context: CliContext): void {
  const { bold, dim } = context.colours;
  const line = (text: string) => context.stdout(`${text}\n`);
  const { transcripts, fixes, removed } = report;
  // Who has no other client need not read of them.
  const others = report.sessions.filter(({ found }) => found > 0);
  if (client !== undefined && transcripts.filesFound === 0 && others.length === 0) {
    line(`There are no sessions of ${client.map((name) => clientNamed(name).title).join(', ')}.`);
    return;
  }
  if (dryRun) line(bold('Nothing was changed. An import would do this:'));
  const isAlone = others.length === 0;
  if (isAlone || transcripts.filesFound > 0)
    printTaken(
      isAlone ? '' : `${clientNamed('claude').title}: `,
      transcriptsRead(transcripts),
      transcripts,
      line,
    );
  for (const one of others) printTaken(`${clientNamed(one.client).title}: `, sessionsRead(one), one, line);
  const sources = [transcripts, ...others];
  if (sources.some(({ sessions }) => sessions > 0)) line(`Lessons: ${fixes} more`);
  const known = sources.reduce((sum, one) => sum + one.known, 0);
  if (known > 0) line(`Known already: ${counted(known, 'event')}`);
  const counts = LEFT_OUT.flatMap(([name, text]) => {
    const passedOver: readonly Readonly<Record<string, number>>[] = sources.map((one) => one.passedOver);
    const count = passedOver.reduce((sum, one) => sum + (one[name] ?? 0), 0);
    return count > 0 ? [`${count} × ${text}`] : [];
  });
  if (counts.length > 0) line(dim(`Left out: ${counts.join(', ')}`));
  if (removed > 0) line(dim(`Removed as too old after learning from it: ${counted(removed, 'row')}`));
  for (const { path, reason } of sources.flatMap(({ unreadable }) => unreadable))
    context.stderr(`warning: ${shownLine(`Cannot read "${path}": ${reason}`)}\n`);
}

type Taken = { readonly sessions: number; readonly added: Readonly<Record<string, number>> };

function printTaken(
  client: string,
  read: string,
  { sessions, added }: Taken,
  line: (text: string) => void,
): void {
  line(`${client}${client === '' ? read.replace(/^./, (first) => first.toUpperCase()) : read}`);
  if (sessions === 0) return;
  const events = Object.entries(added).map(([type, count]) => `${count} ${type}`);
  line(`${client === '' ? '' : '  '}Events: ${events.join(', ') || 'none'}`);
}

function transcriptsRead({
  filesFound,
  filesUnchanged,
  sessions,
  bytes,
}: ImportReport['transcripts']): string {
  const found = counted(filesFound, 'transcript');
  if (filesFound === filesUnchanged) return `nothing new in ${found}.`;
  const unchanged = filesUnchanged > 0 ? `, ${filesUnchanged} unchanged` : '';
  return `read ${mebibytes(bytes)} of ${counted(sessions, 'session')} in ${found}${unchanged}.`;
}

function sessionsRead({ found, unchanged, sessions }: ImportReport['sessions'][number]): string {
  if (found === unchanged) return `nothing new in ${counted(found, 'session')}.`;
  return `read ${counted(sessions, 'session')} of ${found}${unchanged > 0 ? `, ${unchanged} unchanged` : ''}.`;
}

const LEFT_OUT = [
  ['brokenLines', 'broken line'],
  ['longLines', 'line above 32 MiB'],
  ['refusedCalls', 'refused call'],
  ['resultsWithoutCall', 'result without its call'],
  ['entriesWithoutTime', 'entry without a time'],
  ['analyses', 'session of our own analysis'],
  ['runs', 'session of a background run'],
  ['notAskedFor', 'session not asked for'],
  ['linksNotFollowed', 'link to a directory'],
] as const;

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
