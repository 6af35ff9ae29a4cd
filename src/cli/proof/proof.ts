import { type Command, Option } from 'commander';
import { settledProof } from '../../benefit/store/read-proof.ts';
import { CLIENT_NAMES, type ClientName } from '../../core/client-name.ts';
import { VERSION } from '../../core/state-paths.ts';
import { counted } from '../../core/text.ts';
import { resolutionText } from '../../core/told-texts.ts';
import { verifyLedger } from '../../database/ledger.ts';
import { writeDatabase } from '../../hooks/store/use-database.ts';
import { listWithdrawals } from '../../lessons/store/withdrawals.ts';
import { timeAgo } from '../../runs/model/stats.ts';
import {
  type CliContext,
  type CliState,
  choice,
  EXIT,
  fail,
  type Given,
  limitUpTo,
  newCommand,
  positiveUpTo,
  withState,
} from '../context.ts';
import { printJson, shownLine } from '../output.ts';
import { BUDGET_USD_MAX, PAIRS_MAX, replayLesson } from './replay.ts';
import { proofParagraphs } from './words.ts';

type Flags = Given<'json' | 'verify' | 'withdrawn' | 'yes'> &
  Given<'replay' | 'budget' | 'pairs', number> &
  Given<'client', ClientName>;

const EXAMPLES = `
Examples:
  $ self-generation proof                          what is known, what is open, and when an answer can be expected
  $ self-generation proof --json                   counts and evidence that a team can add up; no texts, paths or keys
  $ self-generation proof --verify                 whether the ledger was changed by hand
  $ self-generation proof --withdrawn              what is told no more, and why
  $ self-generation proof --replay 12 --budget 1   ask your own client at real moments, with lesson 12 and without
  $ self-generation config set proof.holdOut trial

Exit codes: 0 done, 1 failed or changed by hand, 2 wrong usage, 3 no such lesson, 5 a replay is running, 130 interrupted.`;

/** `proof`: whether telling lessons helps, as far as it is known. */
export function proofCommand(context: CliContext): Command {
  const views = ['verify', 'withdrawn', 'replay'];
  const view = (flags: string, description: string, name: string) =>
    new Option(flags, description).conflicts(views.filter((one) => one !== name));
  return newCommand('proof', context)
    .description('say whether telling lessons helps, as far as that is known')
    .addOption(view('--verify', 'look whether the ledger was changed by hand', 'verify'))
    .addOption(view('--withdrawn', 'list the lessons that are told no more, and why', 'withdrawn'))
    .addOption(
      view(
        '--replay <LESSON>',
        'ask a client what it would run next, with the lesson and without',
        'replay',
      ).argParser(limitUpTo(999_999_999)),
    )
    .option('--budget <USD>', 'what a replay may cost', positiveUpTo(BUDGET_USD_MAX))
    .option('--pairs <N>', 'how many moments a replay asks about', limitUpTo(PAIRS_MAX))
    .addOption(choice('--client <NAME>', 'the program that a replay asks', CLIENT_NAMES))
    .option('--yes', 'do not ask before a replay')
    .option('--json', 'print as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => withState(context, 'show the proof', (state) => run(flags, state, context)));
}

function run(flags: Flags, state: CliState, context: CliContext): void | Promise<void> {
  const { replay, budget, pairs, client, verify, withdrawn } = flags;
  if (replay !== undefined) {
    if (budget === undefined)
      return fail(context, EXIT.usage, `replay lesson ${replay}: --budget USD is missing`);
    return replayLesson({ ...flags, replay, budget }, state, context);
  }
  const stray = Object.entries({ budget, pairs, client, yes: flags.yes }).find(
    ([, value]) => value !== undefined,
  );
  if (stray !== undefined) return fail(context, EXIT.usage, `take --${stray[0]} without --replay`);
  if (verify) return printVerified(flags, state, context);
  if (withdrawn) return printWithdrawn(flags, state, context);
  return printProof(flags, state, context);
}

function printProof({ json }: Flags, { paths, config }: CliState, context: CliContext): void {
  const asked = { holdOut: config.proof.holdOut, now: context.now() };
  const { proof, lessons } = writeDatabase(paths, (db) => settledProof(asked, db));
  const { bold } = context.colours;
  const paragraphs = proofParagraphs(proof, lessons).map(([heading, ...lines]) =>
    [bold(heading), ...lines].join('\n'),
  );
  if (json) printJson({ version: 1, program: VERSION, ...proof, lessons }, context);
  else context.stdout(`${paragraphs.join('\n\n')}\n`);
}

function printVerified({ json }: Flags, { paths }: CliState, context: CliContext): void {
  const problems = writeDatabase(paths, verifyLedger);
  if (problems.length > 0) context.setExitCode(EXIT.failed);
  const lines = problems.map(({ detail }) => `  ${shownLine(detail)}.\n`).join('');
  const count = counted(problems.length, 'change');
  if (json) printJson({ problems }, context);
  else if (problems.length === 0)
    context.stdout('Nothing was changed by hand: every row, arm and outcome fits its code.\n');
  else context.stdout(`${count} by hand, so that what "proof" says cannot be trusted:\n${lines}`);
}

function printWithdrawn({ json }: Flags, { paths }: CliState, context: CliContext): void {
  const withdrawn = writeDatabase(paths, (db) => listWithdrawals(undefined, db)).map((one) => ({
    ...one,
    resolution: resolutionText(one.resolution),
  }));
  const { bold, dim } = context.colours;
  const texts = withdrawn.map(({ id, ts, reason, detail, said, resolution, project }) =>
    [
      `${bold(String(id))}  ${shownLine(said)}`,
      `    was told: ${shownLine(resolution)}`,
      `    ${REASONS[reason]}: ${shownLine(detail)}`,
      `    ${dim(`${timeAgo(Date.parse(ts), context.now().getTime())}  ${shownLine(project)}`)}\n`,
    ].join('\n'),
  );
  if (json) printJson({ withdrawn }, context);
  else if (texts.length === 0) context.stdout('No lesson is withdrawn.\n');
  else context.stdout(`${texts.join('')}\n"self-generation lessons restore ID" tells one again.\n`);
}

const REASONS = {
  contradiction: 'contradicted',
  gone: 'out of date',
  statistics: 'of no use',
  user: 'by you',
  model: 'doubted',
} as const;
