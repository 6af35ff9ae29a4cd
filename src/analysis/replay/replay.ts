import { dirname, join } from 'node:path';
import { askClient } from '../../clients/ask-client.ts';
import { ClaudeSession } from '../../clients/claude/session.ts';
import { clientNamed } from '../../clients/clients.ts';
import { stepsIn } from '../../clients/sessions.ts';
import { clientOfCall } from '../../core/call-client.ts';
import type { ClientName } from '../../core/client-name.ts';
import type { SessionStep } from '../../core/conversation.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { fingerprint } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { writeDatabase } from '../../hooks/store/use-database.ts';
import { analysisFiles } from '../../runs/model/run.ts';
import type { Config } from '../../settings/hook-settings.ts';
import { identityNow } from '../../system/process-identity.ts';
import { claimRun, endRun, enterClient, type RunRefusal } from '../analysis-store.ts';
import { modelFor } from '../analyze.ts';
import { endAbandoned } from '../ask-model.ts';
import { estimatedUsd, tokensIn } from '../price.ts';
import { isJudgeable, judge, type LessonForms, lessonForms, type Verdict } from './forms.ts';
import { commandIn, conversationBefore, replayQuestion, toldLesson } from './question.ts';
import {
  type AnsweredPair,
  answeredPairs,
  firstFailures,
  keepPair,
  type PastFailure,
  type ReplayedLesson,
  type ReplayKey,
  readReplayed,
} from './replay-store.ts';

export type ReplayOptions = {
  readonly lesson: number;
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly config: Config;
  readonly client: ClientName;
  /** At the most; those that were answered before come on top. */
  readonly pairs: number;
  readonly budgetUsd: number;
  readonly now: () => Date;
};

/** What a replay would do, before anything is sent. */
export type ReplayPlan = {
  readonly kind: 'plan';
  readonly lesson: ReplayedLesson;
  readonly key: ReplayKey;
  readonly forms: LessonForms;
  readonly told: string;
  /** Answered before: they are not asked for again. */
  readonly answered: readonly AnsweredPair[];
  readonly moments: readonly Moment[];
  /** Failures whose conversation is not there any more. */
  readonly lost: number;
  /** Of the moments that are to be asked about; undefined where the model's price is not known. */
  readonly estimatedUsd: number | undefined;
};

/** A moment before a real failure. `conversation`: as the model is shown it. */
export type Moment = { readonly failure: PastFailure; readonly conversation: string };

export type NoReplay = { readonly kind: 'not-found' } | { readonly kind: 'nothing-to-judge' };

const ANSWER_TOKENS = 150;

/** Looks for the moments, newest first, and at what they cost. Reads the client's transcripts; sends nothing. */
export function planReplay(options: ReplayOptions, db: Db): ReplayPlan | NoReplay {
  const { config, env, pairs } = options;
  const lesson = readReplayed(options.lesson, db);
  if (lesson === undefined) return { kind: 'not-found' };
  const forms = lessonForms(lesson.resolution, lesson.fix, lesson.evidence);
  if (!isJudgeable(forms)) return { kind: 'nothing-to-judge' };
  const told = toldLesson(lesson, config.language);
  const model = modelFor({ cli: options.client, model: undefined, config }) ?? '';
  const key = { lesson: fingerprint(told), client: options.client, model };
  const answered = answeredPairs(key, db);
  const isAnswered = new Set(answered.map(({ callId }) => callId));
  const moments: Moment[] = [];
  let lost = 0;
  for (const failure of firstFailures(options.lesson, db)) {
    if (isAnswered.has(failure.callId)) continue;
    const conversation = conversationBefore(failure.callId, stepsOf(failure, env));
    if (conversation === undefined) lost++;
    else if (moments.push({ failure, conversation }) === pairs) break;
  }
  const costs = moments.map(({ conversation }) => pairUsd(conversation, told, model));
  const estimated = costs.reduce<number | undefined>(
    (sum, usd) => (sum === undefined || usd === undefined ? undefined : sum + usd),
    0,
  );
  return { kind: 'plan', lesson, key, forms, told, answered, moments, lost, estimatedUsd: estimated };
}

function pairUsd(conversation: string, told: string, model: string): number | undefined {
  const questions = [null, told].map((lesson) => tokensIn(replayQuestion(conversation, lesson).length));
  const read = questions.reduce((sum, tokens) => sum + tokens, 0);
  return estimatedUsd(read, 2 * ANSWER_TOKENS, model);
}

const AGENT_ID = /^[\w-]{1,100}$/;

/** The session in which it failed, or its sub-agent's, as its client has it; nothing where it is not there any more. */
function* stepsOf({ callId, sessionId, agentId }: PastFailure, env: Environment): Generator<SessionStep> {
  const { sessions, name } = clientNamed(clientOfCall(callId));
  const session = sessions.withId(sessionId, env);
  if (session === undefined) return;
  if (agentId === null || name !== 'claude') yield* sessions.read(session, env);
  else if (AGENT_ID.test(agentId)) {
    const agents = join(dirname(session.path), session.id, 'subagents');
    yield* stepsIn(join(agents, `agent-${agentId}.jsonl`), new ClaudeSession(true));
  }
}

export type Replaying = Pick<ReplayOptions, 'env' | 'paths' | 'now' | 'budgetUsd'> & {
  /** 0 to 1, evenly; in which order the two questions of a pair are asked. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** After each pair, with all that are known so far. */
  readonly onPair: (pairs: readonly AnsweredPair[], spentUsd: number) => void;
};

export type ReplayOutcome =
  | {
      readonly kind: 'done';
      /** Also those of earlier replays. */
      readonly pairs: readonly AnsweredPair[];
      readonly asked: number;
      readonly spentUsd: number;
      /** A part of that is what questions of unknown cost count as. */
      readonly isAssumed: boolean;
      /** Why it ended before all moments were asked about; null: it did not. */
      readonly stopped: 'budget' | 'interrupted' | { readonly reason: string } | null;
    }
  | RunRefusal;

/**
 * Asks the client about each moment twice, without and with the lesson, in random order; a pair is kept when both have been answered.
 * Ends with the budget, when interrupted, or when the client gives no answer. What a client does not say it took counts as its share of the
 * budget. The costs are one row among those of the analyses, of which one alone runs at a time. Never throws but for the database.
 */
export async function replay(plan: ReplayPlan, options: Replaying): Promise<ReplayOutcome> {
  const { paths, now, budgetUsd, signal } = options;
  const ts = now().toISOString();
  await endAbandoned(paths, now());
  const claim = writeDatabase(paths, (db) => claimRun(requestOf(plan, ts), limitsOf(ts, budgetUsd), db));
  if (claim.kind === 'refused') return claim;
  const client = clientNamed(plan.key.client as ClientName);
  const pairs = [...plan.answered];
  const share = budgetUsd / Math.max(1, 2 * plan.moments.length);
  const sums = { usd: 0, dearestUsd: 0, input: 0, output: 0, bytes: 0, asked: 0, isAssumed: false };
  let stopped: Extract<ReplayOutcome, { kind: 'done' }>['stopped'] = null;

  /** What would be run next; null: no usable answer. Undefined: there was none at all. */
  const ask = async ({ conversation, failure }: Moment, lesson: string | null) => {
    const prompt = replayQuestion(conversation, lesson);
    sums.bytes += Buffer.byteLength(prompt);
    const answer = await askClient(client, prompt, {
      ...{ env: options.env, agentDir: null, signal, model: plan.key.model || null },
      files: analysisFiles(paths, { id: claim.id, ts }),
      budgetUsd: Math.max(0, budgetUsd - sums.usd),
      onStart: (started) => writeDatabase(paths, (db) => enterClient(claim.id, started, db)),
    });
    const { costUsd, inputTokens, outputTokens } = answer.usage;
    sums.usd += costUsd ?? share;
    sums.dearestUsd = Math.max(sums.dearestUsd, costUsd ?? share);
    sums.isAssumed ||= costUsd === null;
    sums.input += inputTokens ?? 0;
    sums.output += outputTokens ?? 0;
    if (answer.kind === 'failed') {
      stopped = signal.aborted ? 'interrupted' : { reason: answer.reason };
      return undefined;
    }
    const line = commandIn(answer.text);
    return line === undefined ? null : judge(line, failure, plan.forms);
  };

  for (const moment of plan.moments) {
    // A pair costs two questions; no client promises to keep to what is left.
    if (sums.usd + 2 * sums.dearestUsd > budgetUsd) stopped = 'budget';
    if (signal.aborted) stopped = 'interrupted';
    if (stopped !== null) break;
    const answers = new Map<string | null, Verdict | null>();
    const order = options.random() < 1 / 2 ? [null, plan.told] : [plan.told, null];
    for (const lesson of order) {
      const verdict = await ask(moment, lesson);
      if (verdict !== undefined) answers.set(lesson, verdict);
      else break;
    }
    if (answers.size < 2) break;
    const pair = {
      callId: moment.failure.callId,
      without: answers.get(null) ?? null,
      told: answers.get(plan.told) ?? null,
    };
    sums.asked++;
    pairs.push(pair);
    writeDatabase(paths, (db) => keepPair(plan.key, pair, now().toISOString(), db));
    options.onPair(pairs, sums.usd);
  }
  writeDatabase(paths, (db) => endRun(claim.id, endOf(sums, stopped, plan, now()), db));
  return { kind: 'done', pairs, asked: sums.asked, spentUsd: sums.usd, isAssumed: sums.isAssumed, stopped };
}

function requestOf({ lesson, key }: ReplayPlan, ts: string) {
  const name = lesson.projectPath.slice(lesson.projectPath.lastIndexOf('/') + 1);
  const process_ = identityNow(process.pid);
  return {
    ...{ ts, process: process_, trigger: 'replay' as const, days: 0 },
    ...{ project: name, projectPath: lesson.projectPath, cli: key.client, model: key.model || null },
  };
}

/** Its budget is what the user names, and no analysis's. */
function limitsOf(ts: string, budgetUsd: number) {
  return { notSince: null, budgetSince: ts, budgetUsd, runsMax: Number.POSITIVE_INFINITY };
}

function endOf(
  sums: { readonly usd: number; readonly input: number; readonly output: number; readonly bytes: number },
  stopped: Extract<ReplayOutcome, { kind: 'done' }>['stopped'],
  { key }: ReplayPlan,
  now: Date,
) {
  const reason = stopped !== null && typeof stopped === 'object' ? stopped.reason : stopped;
  return {
    ...{ ts: now.toISOString(), reason, model: key.model || null, promptBytes: sums.bytes },
    status: reason === null || reason === 'budget' ? ('done' as const) : ('failed' as const),
    ...{ inputTokens: sums.input, outputTokens: sums.output, costUsd: sums.usd, suggestionCount: null },
  };
}

/** What pairs say: of each arm what would be run, and how many pairs differ. */
export type PairCounts = {
  readonly without: Readonly<Record<Verdict, number>>;
  readonly told: Readonly<Record<Verdict, number>>;
  /** Only without the lesson, and only with it, the failure would be repeated. */
  readonly better: number;
  readonly worse: number;
  /** Pairs of which an answer could not be used; they count nowhere else. */
  readonly unusable: number;
};

/** Counts pairs. */
export function countPairs(pairs: readonly AnsweredPair[]): PairCounts {
  const usable = pairs.filter(({ without, told }) => without !== null && told !== null);
  const of = (arm: 'without' | 'told', verdict: Verdict) =>
    usable.filter((pair) => pair[arm] === verdict).length;
  const tally = (arm: 'without' | 'told') => ({
    repeats: of(arm, 'repeats'),
    advised: of(arm, 'advised'),
    other: of(arm, 'other'),
  });
  const differs = (arm: 'without' | 'told', other: 'without' | 'told') =>
    usable.filter((pair) => pair[arm] === 'repeats' && pair[other] !== 'repeats').length;
  return {
    ...{ without: tally('without'), told: tally('told') },
    ...{ better: differs('without', 'told'), worse: differs('told', 'without') },
    unusable: pairs.length - usable.length,
  };
}
