import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import {
  type AnalyzeOptions,
  type AnalyzeOutcome,
  analyze,
  PROMPTS_MIN,
  prepareAnalysis,
} from '../analysis/analyze.ts';
import { ANSWER_LENGTH_MAX } from '../analysis/answer.ts';
import { type AnalysisScope, isAnythingRecorded } from '../analysis/data.ts';
import type { ClientName } from '../core/client-name.ts';
import { reasonOf } from '../core/guards.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import {
  type CliContext,
  type CliState,
  EXIT,
  fail,
  failWith,
  findRecordedScope,
  type Given,
  newCommand,
  PROJECT_OPTION,
  positiveUpTo,
  sentence,
  withClientOption,
  withState,
} from './context.ts';
import { printJson, shownLine } from './output.ts';

type Flags = Given<'dryRun' | 'sessionEnd' | 'json'> &
  Given<'project' | 'model' | 'answer', string> &
  Given<'days' | 'budget', number> &
  Given<'client', ClientName>;

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
  $ self-generation analyze --client codex --model gpt-5.5
  $ self-generation analyze --budget 0.20        at most 0.20 USD, where the client can be told
  $ self-generation analyze --answer answer.json use an answer obtained elsewhere, and send nothing
  $ self-generation suggestions                  what came of it

Exit codes: 0 done or too little to analyse, 1 failed, 2 wrong usage, 3 no such project, 5 running already, too soon, or over the budget.`;

const DAYS_MAX = 3650;
const BUDGET_USD_MAX = 1000;

/** `analyze`: asks a model what could be learned from the log. */
export function analyzeCommand(context: CliContext): Command {
  const answer = 'take the answer to what --dry-run prints from a file, and send nothing';
  return withClientOption(newCommand('analyze', context), 'the program that asks the model')
    .description('ask a model for lessons, rules, skills and hooks that the log suggests')
    .option('--days <N>', 'how many days of the log, and today', positiveUpTo(DAYS_MAX))
    .option(...PROJECT_OPTION)
    .option('--model <NAME>', 'the model')
    .option('--budget <USD>', 'what this analysis may cost', positiveUpTo(BUDGET_USD_MAX))
    .addOption(new Option('--answer <FILE>', answer).conflicts('dryRun'))
    .option('--dry-run', 'print what would be sent, and send nothing')
    .option('--json', 'print as JSON')
    .addOption(new Option('--session-end', 'started by the end of a session').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => withState(context, 'analyse', (state) => run(flags, state, context)));
}

async function run(flags: Flags, { paths, config }: CliState, context: CliContext): Promise<void> {
  const scope = findRecordedScope(flags.project, paths, context);
  const givenAnswer = flags.answer === undefined ? undefined : readAnswer(flags.answer, context);
  const interrupt = new AbortController();
  const { env, now } = context;
  const options: AnalyzeOptions = {
    ...{ env, paths, config, scope, now },
    days: flags.days ?? config.analysisDays,
    cli: flags.client ?? config.analysisCli,
    model: flags.model,
    budgetUsd: flags.budget,
    trigger: flags.sessionEnd ? 'session-end' : 'command',
    ...(givenAnswer === undefined ? {} : { givenAnswer }),
    signal: interrupt.signal,
    onProgress: (what) => (flags.json ? undefined : context.progress(what)),
  };
  if (flags.dryRun) return printDryRun(options, flags, context);
  const stop = () => interrupt.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, stop);
  try {
    const outcome = await analyze(options);
    context.progress('');
    report(outcome, options, flags, context);
  } finally {
    for (const signal of signals) process.removeListener(signal, stop);
  }
}

function readAnswer(path: string, context: CliContext): string {
  try {
    return readFileSync(resolve(context.cwd, path), 'utf8').slice(0, ANSWER_LENGTH_MAX + 1);
  } catch (error) {
    return fail(context, EXIT.failed, `read the answer "${path}": ${reasonOf(error)}`);
  }
}

function printDryRun(options: AnalyzeOptions, { json }: Flags, context: CliContext): void {
  const { cli, paths } = options;
  const { text, promptCount, isEnough } = isAnythingRecorded(paths)
    ? writeDatabase(paths, (db) => {
        const { prompt, ...counts } = prepareAnalysis(options, db);
        return { text: prompt.text, ...counts };
      })
    : { text: '', promptCount: 0, isEnough: false };
  const bytes = Buffer.byteLength(text);
  if (json) {
    printJson({ cli, bytes, promptCount, prompt: text }, context);
    return;
  }
  context.verbatim(text);
  if (!isEnough) context.stderr(`${tooLittle(promptCount, options)}\n`);
  else context.stderr(`\n${bytes} bytes; nothing was sent. Without --dry-run this goes to ${cli}.\n`);
}

function tooLittle(promptCount: number, { config }: AnalyzeOptions): string {
  const reason = config.collectPromptText
    ? `no failing call and ${promptCount} prompts recorded, ${PROMPTS_MIN} are needed`
    : `what you type is not collected (collectPromptText is false); an analysis needs ${PROMPTS_MIN} of them, and there are ${promptCount}`;
  return `Too little to analyse: ${reason}.`;
}

function report(outcome: AnalyzeOutcome, options: AnalyzeOptions, { json }: Flags, context: CliContext) {
  const { kind } = outcome;
  if (kind === 'refused') {
    const message = `Cannot analyse now: ${refusal(outcome)}.`;
    failWith({ exitCode: EXIT.limit, message }, context, { report: outcome });
  }
  if (kind === 'failed') {
    const message = `Cannot analyse: ${sentence(shownLine(outcome.reason))}`;
    const hint = '"self-generation status" keeps the record.';
    failWith({ exitCode: EXIT.failed, message, hint }, context, { report: outcome });
  }
  if (json) printJson(outcome, context);
  else if (kind === 'done') printDone(outcome, options.scope, context);
  else context.stdout(`${tooLittle(outcome.promptCount, options)}\n`);
}

function refusal(refused: Extract<AnalyzeOutcome, { kind: 'refused' }>): string {
  const { why, spentUsd, assumedUsd, budgetUsd, runsMax } = refused;
  const granted = `${assumedUsd.toFixed(2)} of it is what analyses whose cost is not known were granted`;
  const spent = `${spentUsd.toFixed(2)} USD were spent in 24 hours${assumedUsd > 0 ? ` (${granted})` : ''}`;
  return {
    running: 'another analysis is running; wait for its end',
    'too-soon': 'this project was analysed a short while ago (analysisMinIntervalMinutes)',
    budget: `${spent}, ${budgetUsd} are allowed (analysisDailyBudgetUsd)`,
    runs: `${runsMax} analyses were started in 24 hours, and no more are allowed; wait`,
  }[why];
}

type Done = Extract<AnalyzeOutcome, { kind: 'done' }>;

function printDone(outcome: Done, scope: AnalysisScope, context: CliContext): void {
  const { answer, suggestions, told, isCached, usage, dropped } = outcome;
  const { bold, dim, yellow } = context.colours;
  const print = (text = '') => context.stdout(`${text}\n`);
  const { clusters, workflows, errorPatterns } = answer;
  print(bold(`Analysis of ${scope.kind === 'project' ? scope.name : 'all projects'}`));
  if (isCached) print(dim('Nothing has changed since it was asked last; nothing was sent.'));
  const often = (count: number, what: string, more: string) => `${count} × ${shownLine(what)}${more}`;
  const lists: Readonly<Record<string, readonly string[]>> = {
    'Recurring prompts': clusters.map((one) => often(one.count, one.intent, `: ${shownLine(one.summary)}`)),
    'Recurring sequences of tools': workflows.map(({ count, pattern, purpose }) =>
      often(count, pattern, ` ${dim(shownLine(purpose))}`),
    ),
    'Recurring errors': errorPatterns.map(({ count, pattern }) => often(count, pattern, '')),
    'Commands that agents are told from now on ("self-generation errors" lists them)': told.map(shownLine),
  };
  for (const [title, lines] of Object.entries(lists))
    if (lines.length > 0) print(`\n${[title, ...lines].join('\n  ')}`);
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
