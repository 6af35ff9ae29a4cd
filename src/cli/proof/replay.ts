import { CONVERSATION_CHARS_MAX } from '../../analysis/replay/question.ts';
import {
  countPairs,
  type PairCounts,
  planReplay,
  type ReplayOptions,
  type ReplayOutcome,
  type ReplayPlan,
  replay,
} from '../../analysis/replay/replay.ts';
import { ENOUGH } from '../../benefit/evidence/e-value.ts';
import { pairsEvidence, pairsNeeded } from '../../benefit/evidence/pairs.ts';
import { clientNamed } from '../../clients/clients.ts';
import type { ClientName } from '../../core/client-name.ts';
import { counted } from '../../core/text.ts';
import { writeDatabase } from '../../hooks/store/use-database.ts';
import { agree, type CliContext, type CliState, EXIT, fail, keepFromAgent } from '../context.ts';
import { newTable, printJson, shortened, shownLine } from '../output.ts';
import { wrap } from './words.ts';

export type ReplayFlags = {
  readonly replay: number;
  readonly budget: number;
  readonly pairs?: number;
  readonly client?: ClientName;
  readonly yes?: true;
  readonly json?: true;
};

const PAIRS_DEFAULT = 10;
export const PAIRS_MAX = 500;
export const BUDGET_USD_MAX = 1000;
const TEXT_LENGTH_MAX = 70;
/** Shares of the answers that repeat a failure without its lesson, and of those that a lesson prevents. */
const BASE_RATES = [0.9, 0.3];
const [STRONG, WEAK] = [0.9, 0.3];

/** `proof --replay LESSON`: says what it would ask and what that costs, asks the user, asks the client, and says what came of it. */
export async function replayLesson(
  flags: ReplayFlags,
  { paths, config }: CliState,
  context: CliContext,
): Promise<void> {
  const action = `replay lesson ${flags.replay}`;
  keepFromAgent(action, `proof --replay ${flags.replay} …`, context);
  const { env, now } = context;
  const options: ReplayOptions = {
    ...{ env, paths, config, now, lesson: flags.replay, budgetUsd: flags.budget },
    client: flags.client ?? config.analysisCli,
    pairs: flags.pairs ?? PAIRS_DEFAULT,
  };
  const plan = writeDatabase(paths, (db) => planReplay(options, db));
  if (plan.kind === 'not-found')
    return fail(context, EXIT.notFound, `${action}: there is no lesson of this number. See "lessons"`);
  if (plan.kind === 'nothing-to-judge')
    return fail(context, EXIT.failed, `${action}: it names no command, so that no answer could be judged`);
  if (!flags.json) context.stdout(planText(plan, options, context));
  if (plan.moments.length === 0) return report(NOTHING_ASKED(plan), flags, context);
  const asked = `Ask ${clientNamed(options.client).title} ${counted(2 * plan.moments.length, 'question')} now?`;
  await agree(asked, 'ask them', { yes: flags.yes, report: { lesson: flags.replay } }, context);
  const interrupt = new AbortController();
  const free = context.onInterrupt(() => interrupt.abort());
  const show = (done: number, usd: number) =>
    flags.json
      ? undefined
      : context.progress(`${done} of ${plan.moments.length} pairs, ${usd.toFixed(2)} USD …`);
  show(0, 0);
  const outcome = await replay(plan, {
    ...{ env, paths, now, budgetUsd: flags.budget, signal: interrupt.signal, random: Math.random },
    onPair: (pairs, spentUsd) => show(pairs.length - plan.answered.length, spentUsd),
  }).finally(free);
  context.progress('');
  if (outcome.kind === 'refused')
    return fail(context, EXIT.limit, `${action}: an analysis or a replay is running; wait for its end`);
  report(outcome, flags, context);
}

type Done = Extract<ReplayOutcome, { kind: 'done' }>;

const NOTHING_ASKED = ({ answered }: ReplayPlan): Done => ({
  ...{ kind: 'done', pairs: answered, asked: 0, spentUsd: 0, isAssumed: false, stopped: null },
});

/** What is to be known before anything is sent. */
function planText(plan: ReplayPlan, options: ReplayOptions, { colours }: CliContext): string {
  const { lesson, moments, lost, answered, key } = plan;
  const count = moments.length;
  const needed = BASE_RATES.map((rate) => {
    const [few, many] = [STRONG, WEAK].map((effect) => pairsNeeded(rate, effect) ?? 1000);
    return `${few} to ${many} if it fails ${Math.round(10 * rate)} times of 10 without the lesson`;
  });
  const usd = plan.estimatedUsd;
  const who = `${clientNamed(options.client).title}${key.model === '' ? '' : ` (${shownLine(key.model)})`}`;
  const cost =
    usd === undefined
      ? `not known for ${who}; each question counts as its share of the budget`
      : `about ${(usd / Math.max(1, count)).toFixed(3)} USD a pair, ${usd.toFixed(2)} USD for ${counted(count, 'pair')}`;
  const found = [
    `${counted(count, 'moment')} before a real failure`,
    ...(lost > 0 ? [`${lost} more without a transcript`] : []),
    ...(answered.length > 0 ? [`${counted(answered.length, 'pair')} answered before`] : []),
  ];
  const rows = [
    ['Lesson', shortened(`${lesson.said}: ${lesson.fix}`, TEXT_LENGTH_MAX)],
    ['Found', found.join(', ')],
    ['Needed', `${needed.join('; ')} (lessons that prevent 9 and 3 of 10)`],
    ['Cost', `${cost}; stops at ${options.budgetUsd} USD`],
    [
      'Sent',
      `to ${who}, the conversation before each failure, without secrets, at most ${SENT_CHARS_MAX} characters: once with the lesson, once without`,
    ],
  ] as const;
  const indent = ' '.repeat(LABEL_WIDTH);
  return rows
    .flatMap(([label, text]) =>
      wrap(text, indent).map(
        (line, at) => (at === 0 ? colours.dim(label.padEnd(LABEL_WIDTH)) : indent) + line.slice(LABEL_WIDTH),
      ),
    )
    .map((line) => `${line}\n`)
    .join('');
}

const LABEL_WIDTH = 8;
const SENT_CHARS_MAX = CONVERSATION_CHARS_MAX.toLocaleString('en');

function report(outcome: Done, flags: ReplayFlags, context: CliContext): void {
  const counts = countPairs(outcome.pairs);
  const [helps, harm] = [
    pairsEvidence(counts.better, counts.worse),
    pairsEvidence(counts.worse, counts.better),
  ];
  const { stopped, spentUsd, asked, isAssumed } = outcome;
  if (stopped === 'interrupted') context.setExitCode(EXIT.interrupted);
  else if (stopped !== null && stopped !== 'budget') context.setExitCode(EXIT.failed);
  const found = { kind: 'replayed', lesson: flags.replay, ...counts, helps, harm, asked, spentUsd, stopped };
  if (flags.json) {
    printJson(found, context);
    return;
  }
  context.stdout(resultText(counts, { helps, harm, pairs: outcome.pairs.length }, context));
  const paid = `${asked} pairs asked now, ${isAssumed ? 'at most ' : ''}${spentUsd.toFixed(2)} USD.`;
  context.stdout(`${context.colours.dim(paid)}\n`);
  if (stopped === null) return;
  const why =
    stopped === 'budget'
      ? 'the budget is used up'
      : stopped === 'interrupted'
        ? 'interrupted'
        : shownLine(stopped.reason);
  context.stderr(`warning: stopped: ${why}. What was answered is kept; run it again to go on.\n`);
}

type Evidence = { readonly helps: number; readonly harm: number; readonly pairs: number };

const NOT_SHOWN =
  'Not shown: nothing was executed. It says what the model would type next at these moments, not whether that works, nor ' +
  'what becomes of a whole session.';

function resultText(counts: PairCounts, { helps, harm, pairs }: Evidence, context: CliContext): string {
  if (pairs === 0) return 'No pair has been answered: nothing is known.\n';
  const { dim } = context.colours;
  const table = newTable(['', 'repeats the failure', 'takes the advice', 'something else'], context);
  for (const [name, { repeats, advised, other }] of [
    ['without it', counts.without],
    ['with it', counts.told],
  ] as const)
    table.push([name, repeats, advised, other]);
  const often = helps >= ENOUGH ? 'less' : 'more';
  const verdict =
    Math.max(helps, harm) >= ENOUGH ? `with the lesson the failure is repeated ${often} often` : 'open';
  const { better, worse, unusable } = counts;
  const found = [
    `${counted(better + worse, 'pair')} of ${pairs} differ: ${better} better with the lesson, ${worse} worse.`,
    `Evidence ${helps.toFixed(1)} of ${ENOUGH} that it helps, ${harm.toFixed(1)} that it harms (valid whenever you look): ${verdict}.`,
    ...(unusable > 0 ? [`${counted(unusable, 'pair')} not counted: an answer could not be used.`] : []),
  ].flatMap((text) => wrap(text, ''));
  const lines = [table.toString(), ...found, ...wrap(NOT_SHOWN, '').map(dim)];
  return `\n${lines.join('\n')}\n`;
}
