import { accessSync, constants, existsSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, CommanderError, Option } from 'commander';
import type { Client } from '../clients/client.ts';
import { CLIENTS, clientNamed } from '../clients/clients.ts';
import { recordsIn } from '../clients/sessions.ts';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { isRecord, lookOr, reasonOf } from '../core/guards.ts';
import { counted } from '../core/text.ts';
import { sessionsOfRuns } from '../runs/store/run-sessions.ts';
import { projectOfDirectory } from '../runs/workspace/first-prompt.ts';
import { LANGUAGE_UNKNOWN, languageByLocale } from '../setup/config/language.ts';
import { locate } from '../setup/manifest.ts';
import { findFiles, withOpenFile } from '../system/files.ts';
import { runCommand } from '../system/run-command.ts';
import {
  type ImportOptions,
  type ImportReport,
  importAll,
  type TranscriptProgress,
} from '../transcripts/import.ts';
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
import { mebibytes, printImport } from './import-report.ts';
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

async function run(flags: Flags, state: CliState, context: CliContext): Promise<void> {
  const { now } = context;
  const clients = clientsAsked(flags);
  const roots = findRoots(flags, clients, context);
  const directory = flags.project && resolve(context.cwd, flags.project);
  const report = importSessions(
    {
      roots,
      isRehearsal: flags.dryRun === true,
      clients: flags.from === undefined ? clients : [],
      projectPath: directory && projectOfDirectory(directory).path,
      sinceMs: flags.days === undefined ? undefined : now().getTime() - flags.days * MS_PER_DAY,
    },
    { paths: state.paths, config: await configShown(state, context) },
    context,
  );
  if (flags.json) printJson({ dryRun: flags.dryRun === true, ...report }, context);
  else printImport(report, flags, context);
}

/** Lessons are shown in the language in which agents would be told them; without settings in that of an install. */
async function configShown({ paths, config }: CliState, { env, platform }: CliContext) {
  if (existsSync(paths.config)) return config;
  const choice = await languageByLocale({ env, platform, run: runCommand });
  return { ...config, language: choice?.language ?? LANGUAGE_UNKNOWN };
}

type Selection = Pick<ImportOptions, 'roots' | 'isRehearsal' | 'clients'> &
  Partial<Pick<ImportOptions, 'projectPath' | 'sinceMs'>>;

/** Learns from these sessions, with a line of progress. Ends the command where that fails. */
export function importSessions(
  selection: Selection,
  { paths, config }: CliState,
  context: CliContext,
): ImportReport {
  const { env, now } = context;
  try {
    return importAll({
      ...{ projectPath: undefined, sinceMs: undefined, ...selection },
      ...{ paths, config, env, now, ofRuns: sessionsOfRuns(paths) },
      clients: selection.clients.filter(({ sessions }) => sessions.all !== undefined),
      projectAt: projectOfDirectory,
      onProgress: progressLine(context),
    });
  } catch (error) {
    context.progress('');
    const advice = 'What has been taken in so far stays; run it again to go on';
    return fail(context, EXIT.failed, `import: ${shownLine(reasonOf(error))}. ${advice}`);
  } finally {
    context.progress('');
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
  const advice = 'Name a transcript (.jsonl), or a directory of them';
  try {
    const isDirectory = statSync(root).isDirectory();
    if (!isDirectory && isDatabase(root))
      return refuse(EXIT.usage, `it is a database, and only transcripts can be read. ${advice}`);
    const { files, unreadable } = findFiles(root, '.jsonl');
    if (unreadable.length > 0 || files.some(({ path }) => isTranscript(path))) return root;
    const found =
      isDirectory && files.length === 0 ? 'there is no .jsonl file below it' : 'there is no session in it';
    return refuse(EXIT.failed, `${found}. ${advice}`);
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    return refuse(EXIT.failed, code === 'ENOENT' ? 'there is no such file or directory' : message);
  }
}

const RECORDS_LOOKED_AT = 1000;

/** Whether a line near its beginning is one that Claude Code writes. What cannot be read is for the import to say. */
function isTranscript(path: string): boolean {
  const isReadable = lookOr(() => accessSync(path, constants.R_OK) ?? true, false);
  if (!isReadable) return true;
  return recordsIn(path)
    .take(RECORDS_LOOKED_AT)
    .some((record) => isRecord(record) && typeof record.type === 'string');
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
