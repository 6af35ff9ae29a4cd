import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import {
  type AnalyzeOptions,
  type AnalyzeOutcome,
  analyze,
  PROMPTS_MIN,
  prepareAnalysis,
} from '../analysis/analyze.ts';
import { ANSWER_LENGTH_MAX } from '../analysis/answer.ts';
import { type AnalysisScope, isAnythingRecorded } from '../analysis/data.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { unreachable } from '../core/guards.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import {
  type CliContext,
  type CliState,
  choice,
  EXIT,
  fail,
  findRecordedScope,
  newCommand,
  withState,
} from './context.ts';
import { shownJson, shownLine } from './output.ts';

type Flags = {
  readonly days?: number;
  readonly project?: string;
  readonly dryRun?: true;
  readonly cli?: ClientName;
  readonly model?: string;
  readonly budget?: number;
  readonly answer?: string;
  readonly sessionEnd?: true;
  readonly json?: true;
};

const EXAMPLES = `
Nothing is sent before you call this (or switch lessons.model or analysisOnSessionEnd on), and what is sent is what
--dry-run prints: failing calls with what the agent did next, your prompts and the order of tools of some days, without
secrets, without file contents. The client runs without tools, in an empty directory, with
every hook off. Its answer is a list of suggestions and lessons; none of them does anything before you apply it, but
for commands of lessons that ran here with success: agents are told these where lessons.model is "daily".

Examples:
  $ self-generation analyze --dry-run            print what would leave this machine, send nothing
  $ self-generation analyze                      this project, the last 7 days
  $ self-generation analyze --project all --days 30
  $ self-generation analyze --cli codex --model gpt-5.5
  $ self-generation analyze --budget 0.20        at most 0.20 USD, where the client can be told
  $ self-generation analyze --answer answer.json use this answer, of whomever, and send nothing
  $ self-generation suggestions                  what came of it

Exit codes: 0 done or too little to analyse, 1 failed, 2 wrong usage, 3 no such project, 5 running already, too soon, or over the budget.`;

const DAYS_MAX = 3650;
const BUDGET_USD_MAX = 1000;

/** `analyze`: asks a model what could be learned from the log. */
export function analyzeCommand(context: CliContext): Command {
  return newCommand('analyze', context)
    .description('ask a model for lessons, rules, skills and hooks that the log suggests')
    .option('--days <N>', 'how many days of the log, and today', positiveUpTo(DAYS_MAX))
    .option('--project <P>', 'a project by its path or name, or "all"; otherwise the one you are in')
    .addOption(choice('--cli <NAME>', 'the program that asks the model', CLIENT_NAMES))
    .option('--model <NAME>', 'the model')
    .option('--budget <USD>', 'what this analysis may cost', positiveUpTo(BUDGET_USD_MAX))
    .addOption(
      new Option(
        '--answer <FILE>',
        'take the answer to what --dry-run prints from a file, and send nothing',
      ).conflicts('dryRun'),
    )
    .option('--dry-run', 'print what would be sent, and send nothing')
    .option('--json', 'print as JSON')
    .addOption(new Option('--session-end', 'started by the end of a session').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => withState(context, 'analyse', (state) => run(flags, state, context)));
}

async function run(flags: Flags, { paths, config }: CliState, context: CliContext): Promise<void> {
  const scope = findRecordedScope(flags.project, paths, context);
  if (scope === undefined) return;
  const givenAnswer = readAnswer(flags.answer, context);
  if (givenAnswer === 'unreadable') return;
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  const options: AnalyzeOptions = {
    env: context.env,
    paths,
    config,
    scope,
    days: flags.days ?? config.analysisDays,
    cli: flags.cli ?? config.analysisCli,
    model: flags.model,
    budgetUsd: flags.budget,
    trigger: flags.sessionEnd ? 'session-end' : 'command',
    ...(givenAnswer === undefined ? {} : { givenAnswer: givenAnswer.text }),
    now: context.now,
    signal: interrupt.signal,
    onProgress: (what) => (flags.json ? undefined : context.progress(what)),
  };
  if (flags.dryRun) {
    printDryRun(options, flags, context);
    return;
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  try {
    const outcome = await analyze(options);
    context.progress('');
    report(outcome, options, flags, context);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.removeListener(signal, stop);
  }
}

/** The answer in a file; undefined when none was named. */
function readAnswer(
  path: string | undefined,
  context: CliContext,
): { readonly text: string } | 'unreadable' | undefined {
  if (path === undefined) return undefined;
  try {
    return { text: readFileSync(resolve(context.cwd, path), 'utf8').slice(0, ANSWER_LENGTH_MAX + 1) };
  } catch (error) {
    fail(context, EXIT.failed, `read the answer "${path}": ${(error as Error).message}`);
    return 'unreadable';
  }
}

function printDryRun(options: AnalyzeOptions, flags: Flags, context: CliContext): void {
  const { text, promptCount, isEnough } = whatWouldBeSent(options);
  const bytes = Buffer.byteLength(text);
  if (flags.json) {
    context.stdout(shownJson({ cli: options.cli, bytes, promptCount, prompt: text }));
    return;
  }
  context.stdout(text);
  if (!isEnough) context.stderr(`${tooLittle(promptCount, options)}\n`);
  else context.stderr(`\n${bytes} bytes; nothing was sent. Without --dry-run this goes to ${options.cli}.\n`);
}

function whatWouldBeSent(options: AnalyzeOptions) {
  if (!isAnythingRecorded(options.paths)) return { text: '', promptCount: 0, isEnough: false };
  const { prompt, promptCount, isEnough } = writeDatabase(options.paths, (db) =>
    prepareAnalysis(options, db),
  );
  return { text: prompt.text, promptCount, isEnough };
}

function tooLittle(promptCount: number, { config }: AnalyzeOptions): string {
  if (config.collectPromptText)
    return `Too little to analyse: no failing call and ${promptCount} prompts recorded, ${PROMPTS_MIN} are needed.`;
  const missing = `an analysis needs ${PROMPTS_MIN} of them, and there are ${promptCount}`;
  return `Too little to analyse: what you type is not collected (collectPromptText is false); ${missing}.`;
}

function report(outcome: AnalyzeOutcome, options: AnalyzeOptions, flags: Flags, context: CliContext): void {
  if (flags.json) context.stdout(shownJson(outcome));
  switch (outcome.kind) {
    case 'done':
      if (!flags.json) printDone(outcome, options.scope, context);
      return;
    case 'insufficient':
      if (!flags.json) context.stdout(`${tooLittle(outcome.promptCount, options)}\n`);
      return;
    case 'refused':
      if (flags.json) context.setExitCode(EXIT.limit);
      else fail(context, EXIT.limit, `analyse now: ${refusal(outcome)}`);
      return;
    case 'failed':
      if (flags.json) context.setExitCode(EXIT.failed);
      else
        fail(
          context,
          EXIT.failed,
          `analyse: ${shownLine(outcome.reason)}. "self-generation status" keeps the record`,
        );
  }
}

function refusal(refused: Extract<AnalyzeOutcome, { kind: 'refused' }>): string {
  const { why, spentUsd, assumedUsd, budgetUsd, runsMax } = refused;
  switch (why) {
    case 'running':
      return 'another analysis is running; wait for its end';
    case 'too-soon':
      return 'this project was analysed a short while ago (analysisMinIntervalMinutes)';
    case 'budget': {
      const assumed =
        assumedUsd > 0
          ? ` (${assumedUsd.toFixed(2)} of it is what analyses whose cost is not known were granted)`
          : '';
      return `${spentUsd.toFixed(2)} USD were spent in 24 hours${assumed}, ${budgetUsd} are allowed (analysisDailyBudgetUsd)`;
    }
    case 'runs':
      return `${runsMax} analyses were started in 24 hours, and no more are allowed; wait`;
    default:
      return unreachable(why);
  }
}

function printDone(
  { answer, suggestions, told, isCached, usage, dropped }: Extract<AnalyzeOutcome, { kind: 'done' }>,
  scope: AnalysisScope,
  context: CliContext,
): void {
  const { bold, dim, yellow } = pc.createColors(context.colour);
  const print = (text = '') => context.stdout(`${text}\n`);
  print(bold(`Analysis of ${scope.kind === 'project' ? scope.name : 'all projects'}`));
  if (isCached) print(dim('Nothing has changed since it was asked last; nothing was sent.'));
  if (answer.clusters.length > 0) print('\nRecurring prompts');
  for (const { count, intent, summary } of answer.clusters)
    print(`  ${count} × ${shownLine(intent)}: ${shownLine(summary)}`);
  if (answer.workflows.length > 0) print('\nRecurring sequences of tools');
  for (const { count, pattern, purpose } of answer.workflows)
    print(`  ${count} × ${shownLine(pattern)} ${dim(shownLine(purpose))}`);
  if (answer.errorPatterns.length > 0) print('\nRecurring errors');
  for (const { count, pattern } of answer.errorPatterns) print(`  ${count} × ${shownLine(pattern)}`);
  if (told.length > 0)
    print('\nCommands that agents are told from now on ("self-generation errors" lists them)');
  for (const commands of told) print(`  ${shownLine(commands)}`);
  print(suggestions.length > 0 ? '\nSuggestions' : '\nNo suggestions.');
  for (const { id, type, status, summary, text } of suggestions) {
    const shown = type === 'lesson' ? `${summary}: ${text}` : summary;
    print(`  ${bold(id)}  [${type}] ${shownLine(shown)}${status === 'new' ? '' : dim(` (${status})`)}`);
  }
  if (suggestions.length > 0)
    print(dim('\nSee "self-generation suggestions"; "self-generation apply ID" shows a diff first.'));
  for (const problem of dropped) context.stderr(`${yellow('left out:')} ${shownLine(problem)}\n`);
  if (usage.costUsd !== null) print(dim(`${usage.costUsd.toFixed(4)} USD`));
}

function positiveUpTo(most: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (number > 0 && number <= most) return number;
    throw new InvalidArgumentError(`It has to be a number above 0, at most ${most}.`);
  };
}
