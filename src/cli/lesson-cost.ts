import { join } from 'node:path';
import { countCalls } from '../analysis/calls-store.ts';
import { DATA_BYTES_MAX } from '../analysis/prompt.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { readDatabase } from '../hooks/store/use-database.ts';
import { loadConfig } from '../settings/hook-settings.ts';
import { locate } from '../setup/manifest.ts';
import { findFiles } from '../system/files.ts';
import type { CliContext } from './context.ts';

/** What lessons written by a model would take, in the user's own numbers. Rough on purpose. */
export type LessonCost = {
  readonly sessions: number;
  /** Null when nothing is recorded yet, and only transcripts were found. */
  readonly failingCalls: number | null;
  /** Of one analysis. */
  readonly tokens: number;
  /** Null when the price of the model is not known. */
  readonly usd: number | null;
  readonly model: string;
};

const MS_PER_DAY = 86_400_000;
const INSTRUCTIONS_BYTES = 8 * 1024;
const BYTES_PER_CALL = 900;
/** Prompts, sequences of tools and the like. */
const OTHER_BYTES = 16 * 1024;
const BYTES_PER_TOKEN = 3.6;
const ANSWER_TOKENS = 2000;
const ROUNDED_TO_TOKENS = 1000;
/** USD for a million tokens that are read; an answer costs five times as much. */
const PRICES: readonly (readonly [part: string, usd: number])[] = [
  ['haiku', 1],
  ['sonnet', 3],
  ['opus', 5],
];
const ANSWER_FACTOR = 5;
const PER_MILLION = 1e-6;

/** Looks at what is recorded, or else at the transcripts that the client keeps. */
export function lessonCost(paths: StatePaths, context: CliContext): LessonCost {
  const config = loadConfig(paths);
  const since = new Date(context.now().getTime() - config.analysisDays * MS_PER_DAY).toISOString();
  const recorded = readRecorded(paths, since);
  const isRecorded = recorded !== undefined && recorded.sessions > 0;
  const failingCalls = isRecorded ? recorded.failed : null;
  const sessions = isRecorded ? recorded.sessions : countTranscripts(context);
  const calls = failingCalls ?? sessions;
  const bytes = Math.min(DATA_BYTES_MAX, calls * BYTES_PER_CALL + OTHER_BYTES) + INSTRUCTIONS_BYTES;
  const tokens = Math.ceil(bytes / BYTES_PER_TOKEN / ROUNDED_TO_TOKENS) * ROUNDED_TO_TOKENS;
  const price = PRICES.find(([part]) => config.analysisModel.includes(part))?.[1];
  const usd = price === undefined ? null : (tokens + ANSWER_TOKENS * ANSWER_FACTOR) * price * PER_MILLION;
  return { sessions, failingCalls, tokens, usd, model: config.analysisModel };
}

/** A database that cannot be read is no reason not to ask. */
function readRecorded(paths: StatePaths, since: string): ReturnType<typeof countCalls> | undefined {
  try {
    return readDatabase(paths, (db) => countCalls(since, db));
  } catch {
    return undefined; // `doctor` says what is wrong with it.
  }
}

function countTranscripts({ env, platform }: CliContext): number {
  const place = locate(env, platform);
  return place.kind === 'failed'
    ? 0
    : findFiles(join(place.claudeDirectory, 'projects'), '.jsonl').files.length;
}

/** The question of `install`: what is asked, what it costs, and what does not happen without a word of the user. */
export function lessonQuestion({ sessions, failingCalls, tokens, usd, model }: LessonCost): string {
  const seen =
    failingCalls === null
      ? `${sessions} sessions found`
      : `${sessions} sessions and ${failingCalls} failing calls recorded in the last days`;
  const price =
    usd === null ? `; the price of ${model} is not known` : `, about ${usd.toFixed(2)} USD with ${model}`;
  return (
    'May a model read, at the end of a session and at most once a day for each project, what failed and what helped, and ' +
    `write lessons of it? (${seen}; ${tokens} tokens each time${price}.) A lesson waits until you apply it. ` +
    '"analyze --dry-run" prints what would be sent.'
  );
}
