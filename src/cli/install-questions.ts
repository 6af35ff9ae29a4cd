import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countCalls } from '../analysis/analysis-store.ts';
import { estimatedUsd, tokensIn } from '../analysis/price.ts';
import { DATA_BYTES_MAX } from '../analysis/prompt.ts';
import { outlooksOnTrial } from '../benefit/report.ts';
import { lessonRate } from '../benefit/store/lesson-list.ts';
import { clientNamed } from '../clients/clients.ts';
import { isRecord, lookOr } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { readDatabase } from '../hooks/store/use-database.ts';
import { readPath } from '../settings/all-settings.ts';
import { loadConfig, parseSettings } from '../settings/hook-settings.ts';
import { LANGUAGE_UNKNOWN, languageByLocale } from '../setup/config/language.ts';
import type { Answers } from '../setup/config/write-config.ts';
import { knownManifest, locate } from '../setup/manifest.ts';
import { runCommand } from '../system/run-command.ts';
import { type SessionsThere, sessionsThere } from '../transcripts/sessions-there.ts';
import { type CliContext, EXIT, endCommand } from './context.ts';
import { mebibytes } from './import-report.ts';
import { trialWords } from './proof/words.ts';

/** What install asks: the language where that is unsure, whether to learn, and the rest only of who wants to choose. */

/** What the user has said by flags. */
export type Said = Answers & { readonly learn?: boolean | undefined };

/** `learns`: from the sessions that are there. */
export type Asked = Answers & { readonly learns: boolean; readonly there: readonly SessionsThere[] };

/** Completes what the flags say, by questions where somebody can be asked. Ctrl-C ends the command: nothing is changed yet. */
export async function askAll(
  said: Said,
  mayAsk: boolean,
  paths: StatePaths,
  context: CliContext,
): Promise<Asked> {
  const isFirst = knownManifest(paths.manifest) === undefined;
  const language = said.language ?? (await chooseLanguage(isFirst && mayAsk, paths, context));
  const there = isFirst ? sessionsThere(transcriptsOf(context), context.env) : [];
  const offers = mayAsk && isFirst && there.length > 0;
  const learns = said.learn ?? (offers && (await askYes(learnQuestion(there), 'yes', context)));
  const others = mayAsk ? await askOthers(said, { isFirst, paths }, context) : {};
  return { ...said, ...others, language, learns, there };
}

/** Asks what Enter answers with `standard`. */
async function askYes(question: string, standard: 'yes' | 'no', context: CliContext): Promise<boolean> {
  const answer = await askLine(`${question} ${standard === 'yes' ? '[Y/n]' : '[y/N]'} `, context);
  return answer === '' ? standard === 'yes' : /^y(?:es)?$/i.test(answer);
}

async function askLine(question: string, context: CliContext): Promise<string> {
  const answer = await context.ask(wrapped(question, context));
  if (answer !== undefined) return answer.trim();
  context.stderr('Nothing was changed.\n');
  return endCommand(EXIT.interrupted, context);
}

const COLUMNS_MIN = 20;
const COLUMNS_MAX = 100;

/** Lines that end between words: a terminal breaks them anywhere. */
function wrapped(question: string, { screen }: CliContext): string {
  const columns = screen()?.columns;
  if (columns === undefined) return question;
  const width = Math.max(COLUMNS_MIN, Math.min(columns, COLUMNS_MAX)) - 1;
  const line = new RegExp(`(.{1,${width}})(?: |$)`, 'gm');
  return `${question.trimEnd().replace(line, '$1\n').replace(/\n+/g, '\n').trimEnd()} `;
}

const LANGUAGE = 'In which language are agents told things: English, or Korean (한국어)? [E/k] ';

async function chooseLanguage(mayAsk: boolean, paths: StatePaths, context: CliContext) {
  const { env, platform } = context;
  const found = await languageByLocale({ env, platform, run: runCommand });
  if (found !== undefined) return found;
  if (!mayAsk || isSet('language', paths)) return { language: LANGUAGE_UNKNOWN, by: 'default' } as const;
  const answer = await askLine(LANGUAGE, context);
  return { language: /^(?:k|ko|korean|한.*)$/i.test(answer) ? 'ko' : 'en', by: 'user' } as const;
}

/** Whether the user's settings say it. */
function isSet(key: string, { config }: StatePaths): boolean {
  const values = lookOr(() => parseSettings(readFileSync(config, 'utf8')), undefined) ?? {};
  return !isRecord(values) || readPath(values, key) !== undefined;
}

/** How many sessions of which clients, and how large. */
export function thereWords(there: readonly SessionsThere[]): string {
  return there
    .map(
      ({ client, sessions, bytes }) =>
        `${counted(sessions, 'session')} of ${clientNamed(client).title} (${mebibytes(bytes)})`,
    )
    .join(', ');
}

function learnQuestion(there: readonly SessionsThere[]): string {
  return `Found ${thereWords(there)}.\nLearn from them now? They are read on this machine, and nothing is sent anywhere.`;
}

type Standing = { readonly isFirst: boolean; readonly paths: StatePaths };

/** What has a safe default: who does not want to choose has it all off, and is not asked again. */
async function askOthers(said: Said, { isFirst, paths }: Standing, context: CliContext): Promise<Answers> {
  // Existing settings mean that the user has decided before.
  const isNew = !existsSync(paths.config);
  const asksModel = isNew && said.lessonsModel === undefined && said.analysisOnSessionEnd === undefined;
  const asksWake = isNew && said.wake === undefined;
  const asksHoldOut = said.holdOut === undefined && !isSet('proof.holdOut', paths);
  const topics = [
    ...(asksModel ? ['whether a model writes lessons'] : []),
    ...(asksWake ? ['whether the result of a background run wakes an idle session'] : []),
    ...(asksHoldOut ? ['whether some lessons stay untold for a while, to measure if they help'] : []),
  ];
  if (topics.length === 0) return {};
  const gate = `There is more to choose, all of it off for now: ${topics.join('; ')}.\nChoose now?`;
  const chooses = !isFirst || (await askYes(gate, 'no', context));
  const asks = async (question: string) => chooses && (await askYes(question, 'no', context));
  return {
    ...(asksModel && { lessonsModel: (await asks(lessonQuestion(paths, context))) ? 'suggest' : 'off' }),
    ...(asksWake && { wake: (await asks(WAKE_QUESTION)) ? 'on' : 'off' }),
    ...(asksHoldOut && { holdOut: (await asks(holdOutQuestion(paths, context))) ? 'trial' : 'off' }),
  };
}

/** What is held out, what that costs, and how long an answer takes, by what is recorded of the user. */
function holdOutQuestion(paths: StatePaths, { now }: CliContext): string {
  const none = { startPerWeek: 0, failurePerWeek: 0, weeksSeen: 0 };
  const read = () => readDatabase(paths, (db) => (db.isOwn ? lessonRate(now(), db) : none));
  const rate = lookOr(read, none) ?? none;
  return `May some lessons be left untold, to find out whether telling them helps? ${trialWords({ rate, onTrial: outlooksOnTrial(rate) })} "proof" shows what is known; "config set proof.holdOut off" ends it.`;
}

const WAKE_QUESTION =
  'When a background sub-agent has ended and Claude Code waits for you: may its result wake the session at once? Each time ' +
  'is one request to the model with the whole conversation, five at most until you type something. Otherwise the result ' +
  'waits for your next prompt.';

const MS_PER_DAY = 86_400_000;
const INSTRUCTIONS_BYTES = 8 * 1024;
const BYTES_PER_CALL = 900;
/** Prompts, sequences of tools and the like. */
const OTHER_BYTES = 16 * 1024;
const ANSWER_TOKENS = 2000;
const ROUNDED_TO_TOKENS = 1000;

/** Says roughly what it takes, by what is recorded of the user or else by the transcripts that the client keeps. */
function lessonQuestion(paths: StatePaths, context: CliContext): string {
  const { analysisDays, analysisModel: model } = loadConfig(paths);
  const since = new Date(context.now().getTime() - analysisDays * MS_PER_DAY).toISOString();
  // A database that cannot be read is no reason not to ask; `doctor` says what is wrong with it.
  const recorded = lookOr(() => readDatabase(paths, (db) => countCalls(since, db)), undefined);
  const isRecorded = recorded !== undefined && recorded.sessions > 0;
  const sessions = isRecorded
    ? recorded.sessions
    : countOf(sessionsThere(transcriptsOf(context), context.env));
  const calls = isRecorded ? recorded.failed : sessions;
  const bytes = Math.min(DATA_BYTES_MAX, calls * BYTES_PER_CALL + OTHER_BYTES) + INSTRUCTIONS_BYTES;
  const tokens = Math.ceil(tokensIn(bytes) / ROUNDED_TO_TOKENS) * ROUNDED_TO_TOKENS;
  const usd = estimatedUsd(tokens, ANSWER_TOKENS, model);
  const seen = isRecorded
    ? `${sessions} sessions and ${calls} failing calls recorded in the last days`
    : `${sessions} sessions found`;
  const price =
    usd === undefined
      ? `; the price of ${model} is not known`
      : `, about ${usd.toFixed(2)} USD with ${model}`;
  return (
    'May a model read, at the end of a session and at most once a day for each project, what failed and what helped, and ' +
    `write lessons of it? (${seen}; ${tokens} tokens each time${price}.) A lesson waits until you apply it. ` +
    '"analyze --dry-run" prints what would be sent.'
  );
}

const countOf = (there: readonly SessionsThere[]) => there.reduce((sum, { sessions }) => sum + sessions, 0);

/** Where Claude Code has them. */
export function transcriptsOf({ env, platform }: CliContext): string {
  const place = locate(env, platform);
  return place.kind === 'failed' ? '' : join(place.claudeDirectory, 'projects');
}
