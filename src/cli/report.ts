import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { projectPathSpellings } from '../core/project.ts';
import type { Language } from '../core/told-texts.ts';
import { openFile } from '../report/open-file.ts';
import { PAGE_ASSETS, PAGE_START, pageHtml } from '../report/page.ts';
import { readReport } from '../report/report.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../system/atomic-file.ts';
import {
  type CliContext,
  type CliState,
  choice,
  EXIT,
  fail,
  findRecordedScope,
  type Given,
  limitUpTo,
  newCommand,
  withState,
} from './context.ts';
import { printJson, visible } from './output.ts';
import { shownJson } from './terminal/json.ts';

type Flags = Given<'open' | 'json'> &
  Given<'out' | 'project', string> &
  Given<'days', number> &
  Given<'language', Language>;

const DAYS = 90;
const DAYS_MAX = 3650;
const MODE = 0o600;

const EXAMPLES = `
One HTML file that loads nothing: errors over time, lessons and whether the errors came back, background runs with their
cost, what sub-agents were given, analyses and suggestions. It lies in ~/.self-generation/report.html unless --out says
otherwise, and only you can read it: it quotes errors and lessons of your projects.

Examples:
  $ self-generation report --open
  $ self-generation report --project . --days 30 --out report.html
  $ self-generation report --json             the same as data; no file is written

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no such project.`;

/** `report`: writes a page to look at. */
export function reportCommand(context: CliContext): Command {
  return newCommand('report', context)
    .description('write a page with charts: errors, lessons, runs and what needs you')
    .option('--open', 'open it in the browser')
    .option('--out <FILE>', 'where to write it (~/.self-generation/report.html)')
    .option('--project <P>', 'only of a project, by its path or name; otherwise of all')
    .option('--days <N>', `how many days, today included (${DAYS})`, limitUpTo(DAYS_MAX))
    .addOption(choice('--language <L>', 'its language when it opens (the setting "language")', ['en', 'ko']))
    .option('--json', 'print what it shows as JSON; no file is written')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => withState(context, 'write the report', (state) => run(flags, state, context)));
}

async function run(flags: Flags, state: CliState, context: CliContext): Promise<void> {
  const language = flags.language ?? state.config.language;
  const report = readReport(
    {
      days: flags.days ?? DAYS,
      projects: projectsOf(flags.project, state, context),
      language,
      now: context.now(),
    },
    state,
  );
  if (flags.json) return printJson(report, context);
  if (PAGE_ASSETS === undefined)
    return fail(
      context,
      EXIT.failed,
      'write the report: this program runs from its source, without the page. Build it',
    );
  const path = pathFor(flags.out, state, context);
  writeFileAtomic(path, pageHtml(shownJson(report, 0).trimEnd(), language, PAGE_ASSETS), { mode: MODE });
  context.stdout(`Wrote ${visible(path)} (${Math.ceil(statSync(path).size / 1024)} KB).\n`);
  if (!flags.open) return;
  const reason = await openFile(path, context.env, context.platform);
  if (reason !== undefined)
    fail(context, EXIT.failed, `open the report: ${reason}. Open "${visible(path)}" in a browser`);
}

/** Spellings of the path of the only project; undefined: all of them. */
function projectsOf(wanted: string | undefined, { paths }: CliState, context: CliContext) {
  if (wanted === undefined) return undefined;
  const scope = findRecordedScope(wanted, paths, context);
  return scope.kind === 'project'
    ? projectPathSpellings(scope.path, resolve(context.cwd, wanted))
    : undefined;
}

/** Where the page goes. What is no page of ours is not written over. */
function pathFor(out: string | undefined, { paths }: CliState, context: CliContext): string {
  if (out === undefined) {
    ensurePrivateDirectory(paths.home);
    return `${paths.home}/report.html`;
  }
  const path = resolve(context.cwd, out);
  const isOurs = () => statSync(path).isFile() && readFileSync(path, 'utf8').startsWith(PAGE_START);
  if (existsSync(path) && !isOurs())
    fail(
      context,
      EXIT.failed,
      `write "${visible(path)}": something else stands there. Give another file with --out`,
    );
  return path;
}
