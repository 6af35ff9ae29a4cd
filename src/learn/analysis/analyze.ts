import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { oneShotClient } from '../../clients/clients.ts';
import type { ClientName, OneShotClient, Usage } from '../../clients/one-shot.ts';
import type { Config } from '../../core/config.ts';
import { parseJson } from '../../core/guards.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import type { Suggestion } from '../../core/suggestion.ts';
import { type AnalysisKey, findAnalysis, saveAnalysis } from '../../store/analysis-cache.ts';
import { type AnalysisRun, claimRun, endRun, type RunClaim } from '../../store/analysis-runs.ts';
import type { Db } from '../../store/connection.ts';
import { loadSkills, skillPlaces } from '../../store/skill-files.ts';
import { expireSuggestions, listSuggestions, saveProposals } from '../../store/suggestions.ts';
import { writeDatabase } from '../../store/use-database.ts';
import type { CommandResult, RunCommand } from '../../sys/run-command.ts';
import { type AnalysisAnswer, readAnalysisAnswer } from './analysis-answer.ts';
import { type AnalysisScope, collectAnalysisData } from './analysis-data.ts';
import {
  type AnalysisPrompt,
  buildAnalysisPrompt,
  buildRepairPrompt,
  DATA_BYTES_MAX,
} from './analysis-prompt.ts';

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
  readonly now: () => Date;
  readonly pid: number;
  readonly isAlive: (pid: number) => boolean;
  readonly run: RunCommand;
  /** Ends the analysis early. */
  readonly signal?: AbortSignal;
  readonly onProgress: (what: string) => void;
};

export type AnalyzeOutcome =
  | {
      readonly kind: 'done';
      readonly answer: Omit<AnalysisAnswer, 'proposals'>;
      readonly suggestions: readonly Suggestion[];
      /** The same was asked before, so nothing was sent. */
      readonly isCached: boolean;
      readonly usage: Usage;
      /** Why suggestions of the answer were dropped. */
      readonly dropped: readonly string[];
    }
  | { readonly kind: 'insufficient'; readonly promptCount: number }
  | (Extract<RunClaim, { kind: 'refused' }> & { readonly budgetUsd: number })
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

export const PROMPTS_MIN = 5;
const ANSWER_TIMEOUT_MS = 180_000;
const STALE_MS = 15 * 60_000;
const RUNS_PER_DAY_MAX = 24;
const EXPIRY_DAYS = 30;
const MS_PER_DAY = 86_400_000;
const MS_PER_MINUTE = 60_000;
const NO_USAGE: Usage = { inputTokens: null, outputTokens: null, costUsd: null, model: null };

/** What would be sent: for a person to look at before anything leaves the machine. */
export function prepareAnalysis(
  { env, config, scope, days, now }: AnalyzeOptions,
  db: Db,
): { readonly prompt: AnalysisPrompt; readonly promptCount: number } {
  const skills = loadSkills(skillPlaces(env, scope.kind === 'project' ? scope.path : null));
  const data = collectAnalysisData(scope, { days, now: now() }, skills, db);
  const { language } = config;
  const prompt = buildAnalysisPrompt(data, { scope, days, language, dataBytesMax: DATA_BYTES_MAX });
  return { prompt, promptCount: data.prompts.length };
}

/**
 * Asks a model what could be learned from the log and stores its proposals (REQ-AA-002). At most one runs at a time,
 * within the day's budget; each attempt is a row in the ledger. Throws only when the database cannot be used.
 */
export async function analyze(options: AnalyzeOptions): Promise<AnalyzeOutcome> {
  const { paths, scope, days, cli, now } = options;
  const { prompt, promptCount } = writeDatabase(paths, (db) => prepareAnalysis(options, db));
  if (promptCount < PROMPTS_MIN) return { kind: 'insufficient', promptCount };
  const client = oneShotClient(cli);
  const model = modelFor(options);
  const key: AnalysisKey = {
    project: scope.kind === 'project' ? scope.name : 'all',
    projectPath: scope.kind === 'project' ? scope.path : null,
    days,
    inputHash: createHash('sha256')
      .update(`${cli}\n${model ?? ''}\n${prompt.text}`)
      .digest('hex'),
  };
  const known = writeDatabase(paths, (db) => findAnalysis(key, db));
  if (known !== undefined) return reuse(known, key, prompt, options);
  const claim = writeDatabase(paths, (db) => enterRun(options, model, db));
  if (claim.kind === 'refused') return { ...claim, budgetUsd: options.config.analysisDailyBudgetUsd };
  options.onProgress(`asking ${cli} …`);
  const asked = await ask(client, prompt, { ...options, model, budgetLeftUsd: claim.budgetLeftUsd }).catch(
    (error: unknown): Asked => ({
      kind: 'failed',
      reason: error instanceof Error ? error.message : String(error),
      usage: NO_USAGE,
    }),
  );
  const ts = now().toISOString();
  return writeDatabase(paths, (db) =>
    db.sqlite.transaction(() => {
      const saved = asked.kind === 'answered' ? save(asked.answer, key, ts, db) : undefined;
      endRun(
        claim.id,
        {
          ts,
          status: asked.kind === 'answered' ? 'done' : 'failed',
          reason: asked.kind === 'answered' ? asked.dropped.join('; ').slice(0, 500) || null : asked.reason,
          promptBytes: Buffer.byteLength(prompt.text),
          suggestionCount: saved?.length ?? null,
          ...asked.usage,
        },
        db,
      );
      if (asked.kind === 'failed') return asked;
      const { answer, dropped, usage } = asked;
      return {
        kind: 'done',
        answer: withoutProposals(answer),
        suggestions: saved ?? [],
        isCached: false,
        usage,
        dropped,
      };
    }),
  );
}

/** The default model is a name of Claude's; the other programs have defaults of their own. */
function modelFor({ cli, model, config }: AnalyzeOptions): string | undefined {
  if (model !== undefined) return model;
  return cli === 'claude' || config.analysisModel !== 'sonnet' ? config.analysisModel : undefined;
}

function enterRun(options: AnalyzeOptions, model: string | undefined, db: Db): RunClaim {
  const { scope, days, cli, trigger, now, pid, config, isAlive } = options;
  const nowMs = now().getTime();
  const iso = (ms: number) => new Date(ms).toISOString();
  const isAutomatic = trigger === 'session-end';
  return claimRun(
    {
      ts: iso(nowMs),
      pid,
      trigger,
      project: scope.kind === 'project' ? scope.name : 'all',
      projectPath: scope.kind === 'project' ? scope.path : '',
      days,
      cli,
      model: model ?? null,
    },
    {
      staleBefore: iso(nowMs - STALE_MS),
      notSince: isAutomatic ? iso(nowMs - config.analysisMinIntervalMinutes * MS_PER_MINUTE) : null,
      budgetSince: iso(nowMs - MS_PER_DAY),
      budgetUsd: config.analysisDailyBudgetUsd,
      runsMax: RUNS_PER_DAY_MAX,
      isAlive,
    },
    db,
  );
}

type Asking = AnalyzeOptions & { readonly model: string | undefined; readonly budgetLeftUsd: number };
type Asked =
  | {
      readonly kind: 'answered';
      readonly answer: AnalysisAnswer;
      readonly dropped: readonly string[];
      readonly usage: Usage;
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

/** One question, and one more when the answer cannot be used. */
async function ask(client: OneShotClient, prompt: AnalysisPrompt, asking: Asking): Promise<Asked> {
  const first = await askOnce(client, prompt.text, asking);
  if (first.kind === 'failed') return first;
  const read = readAnalysisAnswer(first.text, prompt.errors);
  if (read.kind === 'valid')
    return { kind: 'answered', answer: read.answer, dropped: [], usage: first.usage };
  asking.onProgress(`the answer could not be used (${read.problems[0]}); asking once more …`);
  const budgetLeftUsd = asking.budgetLeftUsd - (first.usage.costUsd ?? 0);
  const isAffordable = budgetLeftUsd > 0 && (asking.budgetUsd ?? budgetLeftUsd) > (first.usage.costUsd ?? 0);
  const second = isAffordable
    ? await askOnce(client, buildRepairPrompt(prompt, first.text, read.problems), {
        ...asking,
        budgetLeftUsd,
        budgetUsd: asking.budgetUsd && asking.budgetUsd - (first.usage.costUsd ?? 0),
      })
    : undefined;
  const usage = second === undefined ? first.usage : added(first.usage, second.usage);
  const again = second?.kind === 'answered' ? readAnalysisAnswer(second.text, prompt.errors) : undefined;
  if (again?.kind === 'valid') return { kind: 'answered', answer: again.answer, dropped: [], usage };
  const last = again ?? read;
  if (last.usable !== undefined)
    return { kind: 'answered', answer: last.usable, dropped: last.problems, usage };
  const reason =
    second?.kind === 'failed' ? second.reason : `the answer cannot be used: ${last.problems.join('; ')}`;
  return { kind: 'failed', reason: reason.slice(0, 500), usage };
}

type Reply =
  | { readonly kind: 'answered'; readonly text: string; readonly usage: Usage }
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

/** One run of the client in a new, empty, private directory. */
async function askOnce(client: OneShotClient, prompt: string, asking: Asking): Promise<Reply> {
  const { env, paths, model, run, signal } = asking;
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const directory = mkdtempSync(join(paths.home, 'analysis-'));
  try {
    const budgetUsd = Math.min(asking.budgetUsd ?? asking.budgetLeftUsd, asking.budgetLeftUsd);
    const command = client.command({ prompt, model, budgetUsd, directory });
    for (const [name, text] of Object.entries(command.files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true, mode: 0o700 });
      writeFileSync(join(directory, name), text, { mode: 0o600 });
    }
    const end = await run(command.program, command.args, {
      cwd: directory,
      env: { ...passedOn(env, command.passedOn), ...command.env },
      stdin: command.stdin,
      timeoutMs: ANSWER_TIMEOUT_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    return readEnd(client, end);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function readEnd(client: OneShotClient, end: CommandResult): Reply {
  if (end.kind === 'exited') return client.readAnswer(end);
  const reason =
    end.kind === 'timed-out'
      ? `${client.program} did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`
      : `${client.program} could not be run: ${end.reason}`;
  return { kind: 'failed', reason, usage: NO_USAGE };
}

/** The variables of these names; a name that ends with `*` stands for all that begin so. */
function passedOn(env: Environment, names: readonly string[]): Record<string, string> {
  const isWanted = (name: string) =>
    names.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => isWanted(entry[0]) && entry[1] !== undefined,
    ),
  );
}

function added(left: Usage, right: Usage): Usage {
  const sum = (one: number | null, other: number | null) =>
    one === null && other === null ? null : (one ?? 0) + (other ?? 0);
  return {
    inputTokens: sum(left.inputTokens, right.inputTokens),
    outputTokens: sum(left.outputTokens, right.outputTokens),
    costUsd: sum(left.costUsd, right.costUsd),
    model: right.model ?? left.model,
  };
}

/** Stores the answer and its proposals; the analysis in the cache carries the ids that commands know. */
function save(answer: AnalysisAnswer, key: AnalysisKey, ts: string, db: Db): Suggestion[] {
  const projectPath = key.projectPath ?? '';
  const proposed = { ts, project: key.project, projectPath, origin: 'analysis' } as const;
  const ids = saveProposals(answer.proposals, proposed, db);
  const suggestions = answer.proposals.map((proposal, index) => cached(proposal, ids[index] ?? '', key));
  saveAnalysis(key, JSON.stringify({ ...withoutProposals(answer), suggestions }), ts, db);
  expireSuggestions(new Date(Date.parse(ts) - EXPIRY_DAYS * MS_PER_DAY).toISOString(), db);
  return suggestionsOf(ids, db);
}

/** In the shape that analysis_cache has always had. */
function cached(proposal: AnalysisAnswer['proposals'][number], id: string, key: AnalysisKey) {
  const { type, summary, evidence, priority, text, details } = proposal;
  const content =
    type === 'claude_md' ? { rule: text } : type === 'skill' ? { action: text } : { hookCode: text };
  const project = key.projectPath === null ? null : key.project;
  return { type, id, summary, evidence, priority, project, ...content, ...details };
}

function suggestionsOf(ids: readonly string[], db: Db): Suggestion[] {
  return listSuggestions({}, db).filter(({ id }) => ids.includes(id));
}

/** The same question again: the stored answer is the newest from now on, and nothing is sent. */
function reuse(
  known: string,
  key: AnalysisKey,
  prompt: AnalysisPrompt,
  { paths, now }: AnalyzeOptions,
): AnalyzeOutcome {
  const ts = now().toISOString();
  return writeDatabase(paths, (db) =>
    db.sqlite.transaction(() => {
      saveAnalysis(key, known, ts, db);
      const parsed = parseJson(known) as { suggestions?: { id?: unknown }[] } | undefined;
      const ids = (parsed?.suggestions ?? []).map(({ id }) => String(id));
      const read = readAnalysisAnswer(known, prompt.errors);
      const answer = read.kind === 'valid' ? read.answer : read.usable;
      return {
        kind: 'done',
        answer: { clusters: [], workflows: [], errorPatterns: [], ...(answer && withoutProposals(answer)) },
        suggestions: suggestionsOf(ids, db),
        isCached: true,
        usage: NO_USAGE,
        dropped: [],
      } as const;
    }),
  );
}

function withoutProposals({
  clusters,
  workflows,
  errorPatterns,
}: AnalysisAnswer): Omit<AnalysisAnswer, 'proposals'> {
  return { clusters, workflows, errorPatterns };
}
