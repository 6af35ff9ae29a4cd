import { createHash } from 'node:crypto';
import type { Client } from '../clients/client.ts';
import { clientNamed } from '../clients/clients.ts';
import type { ClientName } from '../core/client-name.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import { analysisFiles } from '../runs/model/run.ts';
import { NO_USAGE, type Usage } from '../runs/model/turn.ts';
import { type Config, readConfig } from '../settings/hook-settings.ts';
import { loadSkills, skillPlaces } from '../suggestions/model/skill-files.ts';
import { identityNow } from '../system/process-identity.ts';
import {
  type AnalysisKey,
  type AnalysisRun,
  claimRun,
  endRun,
  enterClient,
  findAnswer,
  type RunLimits,
  type RunRefusal,
  type RunRequest,
  refusedRun,
} from './analysis-store.ts';
import { type Asked, askModel, endAbandoned, readGivenAnswer } from './ask-model.ts';
import { type AnalysisScope, collectAnalysisData, isAnythingRecorded } from './data.ts';
import { doubtLessons, keepAnswer, reuseAnswer, type StoredAnswer } from './keep-answer.ts';
import { type AnalysisPrompt, buildAnalysisPrompt, DATA_BYTES_MAX } from './prompt.ts';

export type AnalyzeOptions = {
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly config: Config;
  readonly scope: AnalysisScope;
  readonly days: number;
  readonly cli: ClientName;
  readonly model: string | undefined;
  /** Of this run; the day's budget holds beside it. */
  readonly budgetUsd: number | undefined;
  readonly trigger: AnalysisRun['trigger'];
  /** An answer to use instead of asking: nothing is sent. */
  readonly givenAnswer?: string;
  readonly now: () => Date;
  /** Ends the analysis early. */
  readonly signal?: AbortSignal;
  readonly onProgress: (what: string) => void;
};

export type AnalyzeOutcome =
  /** `isCached`: the same was asked before, so nothing was sent. */
  | (StoredAnswer & { readonly kind: 'done'; readonly isCached: boolean; readonly usage: Usage })
  | { readonly kind: 'insufficient'; readonly promptCount: number }
  | (RunRefusal & { readonly budgetUsd: number; readonly runsMax: number })
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

/** So many are needed where no call has failed. */
export const PROMPTS_MIN = 5;
const RUNS_PER_DAY_MAX = 24;
/**
 * What part of the day's budget a run is granted that names no budget itself, so that one whose cost stays unknown,
 * because it was interrupted or took too long, does not use up the day.
 */
const GRANT_SHARE = 1 / 2;
/** And of a client that can be told no budget: what a run counts as when it reports no price either. */
const UNPRICED_SHARE = 1 / 8;
const MS_PER_DAY = 86_400_000;
const MS_PER_MINUTE = 60_000;
const REASON_LENGTH_MAX = 500;

/** What would be sent: for a person to look at before anything leaves the machine. */
export function prepareAnalysis({ env, config, scope, days, now }: AnalyzeOptions, db: Db) {
  const skills = loadSkills(skillPlaces(env, scope.path));
  const data = collectAnalysisData(scope, { days, now: now() }, skills, db);
  const options = { scope, days, language: config.language, dataBytesMax: DATA_BYTES_MAX };
  return {
    prompt: buildAnalysisPrompt(data, options),
    promptCount: data.prompts.length,
    isEnough: data.prompts.length >= PROMPTS_MIN || data.candidates.length > 0,
    /** By what the same is known: without the effects of rules, which change while nothing is recorded. */
    question: buildAnalysisPrompt({ ...data, ruleEffects: [] }, options).text,
  };
}

/**
 * Asks a model what could be learned from the log and stores its proposals (REQ-AA-002). At most one runs at a time,
 * within the day's budget; each attempt is a row in the ledger. Throws only when the database cannot be used.
 */
export async function analyze(options: AnalyzeOptions): Promise<AnalyzeOutcome> {
  const { paths, cli, trigger } = options;
  if (!isAnythingRecorded(paths)) return { kind: 'insufficient', promptCount: 0 };
  const client = clientNamed(cli);
  const model = modelFor(options);
  const request = requestOf(options, model);
  const limits = limitsOf(client, options);
  await endAbandoned(paths, options.now());
  // At the end of a session the answer is mostly no, and that is cheap to know.
  const refusal =
    trigger === 'session-end' ? writeDatabase(paths, (db) => refusedRun(request, limits, db)) : undefined;
  if (refusal !== undefined) return refused(refusal, options);
  const prepared = inTransaction(paths, (db) => {
    const found = prepareAnalysis(options, db);
    doubtLessons(found.prompt.contradicted, db);
    return found;
  });
  const { prompt, promptCount, isEnough } = prepared;
  if (!isEnough && prompt.contradicted.length === 0) return { kind: 'insufficient', promptCount };
  if (options.givenAnswer !== undefined) return useGiven(options.givenAnswer, prepared, options);
  const key = keyOf(prepared.question, model, options);
  const known = writeDatabase(paths, (db) => findAnswer(key, db));
  if (known !== undefined) {
    const again = { key, groups: prompt.groups, ts: options.now().toISOString() };
    const stored = inTransaction(paths, (db) => reuseAnswer(known, again, db));
    return { kind: 'done', ...stored, isCached: true, usage: NO_USAGE };
  }
  const claim = writeDatabase(paths, (db) => claimRun(request, limits, db));
  if (claim.kind === 'refused') return refused(claim, options);
  options.onProgress(`asking ${cli} …`);
  const { grantedUsd, budgetLeftUsd } = claim;
  const asked = await askModel(client, prompt, {
    ...options,
    agentDir: null,
    files: analysisFiles(paths, { id: claim.id, ts: request.ts }),
    model: model ?? null,
    budgetUsd: client.keepsBudget ? grantedUsd : Math.min(options.budgetUsd ?? budgetLeftUsd, budgetLeftUsd),
    onStart: (started) => writeDatabase(paths, (db) => enterClient(claim.id, started, db)),
  });
  return finish(asked, { id: claim.id, key, prompt }, options);
}

/**
 * The configured model is of the configured program, and the default a name of Claude's; otherwise the program has a
 * default of its own.
 */
export function modelFor({
  cli,
  model,
  config,
}: Pick<AnalyzeOptions, 'cli' | 'model' | 'config'>): string | undefined {
  if (model !== undefined) return model;
  const { analysisModel: fallback } = readConfig({});
  const configured = cli === config.analysisCli ? config.analysisModel : fallback;
  return configured === fallback && cli !== 'claude' ? undefined : configured;
}

function keyOf(
  question: string,
  model: string | undefined,
  { scope, days, cli }: AnalyzeOptions,
): AnalysisKey {
  const input = `${cli}\n${model ?? ''}\n${question}`;
  return {
    project: scope.name,
    projectPath: scope.path,
    days,
    inputHash: createHash('sha256').update(input).digest('hex'),
  };
}

function requestOf(options: AnalyzeOptions, model: string | undefined): RunRequest {
  const { scope, days, cli, trigger, now } = options;
  return {
    ts: now().toISOString(),
    process: identityNow(process.pid),
    trigger,
    project: scope.name,
    projectPath: scope.path ?? '',
    days,
    cli,
    model: model ?? null,
  };
}

function limitsOf(client: Client, { now, trigger, config, budgetUsd }: AnalyzeOptions): RunLimits {
  const before = (ms: number) => new Date(now().getTime() - ms).toISOString();
  const { analysisDailyBudgetUsd: day, analysisMinIntervalMinutes, analysisOnSessionEnd } = config;
  const intervalMs = analysisMinIntervalMinutes * MS_PER_MINUTE;
  // For lessons alone an analysis is made once a day.
  const restMs = analysisOnSessionEnd ? intervalMs : Math.max(intervalMs, MS_PER_DAY);
  return {
    notSince: trigger === 'session-end' ? before(restMs) : null,
    budgetSince: before(MS_PER_DAY),
    budgetUsd: day,
    runsMax: RUNS_PER_DAY_MAX,
    grantUsdMax: client.keepsBudget ? (budgetUsd ?? day * GRANT_SHARE) : day * UNPRICED_SHARE,
  };
}

function refused(refusal: RunRefusal, { config }: AnalyzeOptions): AnalyzeOutcome {
  return { ...refusal, budgetUsd: config.analysisDailyBudgetUsd, runsMax: RUNS_PER_DAY_MAX };
}

type Prepared = ReturnType<typeof prepareAnalysis>;

/** What somebody else answered is kept under a key of its own: the question is still to be asked. */
function useGiven(text: string, { prompt, question }: Prepared, options: AnalyzeOptions): AnalyzeOutcome {
  const asked = readGivenAnswer(text, prompt);
  if (asked.kind === 'failed') return asked;
  const key = keyOf(`given answer\n${text}\n${question}`, undefined, options);
  return inTransaction(options.paths, (db) => keep(asked, { key, prompt }, options, db));
}

function inTransaction<T>(paths: StatePaths, work: (db: Db) => T): T {
  return writeDatabase(paths, (db) => db.sqlite.transaction(() => work(db)));
}

type Sent = { readonly key: AnalysisKey; readonly prompt: AnalysisPrompt };

function keep(
  { answer, dropped, usage }: Extract<Asked, { kind: 'answered' }>,
  { key, prompt: { contradicted } }: Sent,
  { config, now }: AnalyzeOptions,
  db: Db,
): Extract<AnalyzeOutcome, { kind: 'done' }> {
  const keeper = { key, mode: config.lessons.model, contradicted, ts: now().toISOString() };
  const stored = keepAnswer(answer, keeper, db);
  return { kind: 'done', ...stored, isCached: false, usage, dropped: [...dropped, ...stored.dropped] };
}

/** Enters the end in the ledger and stores what was learned, both or nothing. */
function finish(asked: Asked, sent: Sent & { readonly id: number }, options: AnalyzeOptions): AnalyzeOutcome {
  const { id, prompt } = sent;
  const ts = options.now().toISOString();
  const end = { ts, promptBytes: Buffer.byteLength(prompt.text), ...asked.usage };
  return inTransaction(options.paths, (db): AnalyzeOutcome => {
    if (asked.kind === 'failed') {
      endRun(id, { ...end, status: 'failed', reason: asked.reason, suggestionCount: null }, db);
      return asked;
    }
    const done = keep(asked, sent, options, db);
    const reason = done.dropped.join('; ').slice(0, REASON_LENGTH_MAX) || null;
    endRun(id, { ...end, status: 'done', reason, suggestionCount: done.suggestions.length }, db);
    return done;
  });
}
