import { rmSync } from 'node:fs';
import { askClient, NOTHING_SPENT, type Asking as OneQuestion } from '../clients/ask-client.ts';
import type { Client } from '../clients/client.ts';
import { endLeftClient } from '../clients/client-process.ts';
import { addUsage } from '../clients/reading.ts';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import { analysisFiles } from '../runs/model/run.ts';
import type { Usage } from '../runs/model/turn.ts';
import { isGone } from '../system/process-identity.ts';
import { abandonedRuns, endAbandonedRun } from './analysis-store.ts';
import { type AnalysisAnswer, type AnswerResult, readAnalysisAnswer } from './answer.ts';
import { type AnalysisPrompt, buildRepairPrompt } from './prompt.ts';

/** Longer than an analysis may take: one that began before is not waited for. */
const STALE_MS = 15 * 60_000;

/**
 * Ends what an analysis that was killed left behind: its client, its directory, its row in the ledger, in this order, so
 * that a process that is killed in between leaves the rest to the next.
 */
export async function endAbandoned(paths: StatePaths, now: Date): Promise<void> {
  const staleBefore = new Date(now.getTime() - STALE_MS).toISOString();
  for (const run of writeDatabase(paths, (db) => abandonedRuns({ staleBefore, isGone }, db))) {
    const files = analysisFiles(paths, run);
    await endLeftClient(run, files);
    try {
      rmSync(files.directory, { recursive: true, force: true });
    } catch {
      // What a client has made so that it cannot be removed stays: it must not stop every later analysis.
    }
    writeDatabase(paths, (db) => endAbandonedRun(run, now.toISOString(), db));
  }
}

type Asking = OneQuestion & {
  /** Of all questions together. */
  readonly budgetUsd: number;
  readonly onProgress: (what: string) => void;
};

/** Reasons and what was dropped hold no secrets, and `usage.costUsd` is null unless the whole cost is known. */
export type Asked =
  | {
      readonly kind: 'answered';
      readonly answer: AnalysisAnswer;
      /** Why suggestions and lessons of the answer were left out. */
      readonly dropped: readonly string[];
      readonly usage: Usage;
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

const REASON_LENGTH_MAX = 500;

/** One question, and one more when the answer cannot be used. Never throws. */
export async function askModel(client: Client, prompt: AnalysisPrompt, asking: Asking): Promise<Asked> {
  const first = await askClient(client, prompt.text, asking);
  if (first.kind === 'failed') return first;
  const read = readAnalysisAnswer(first.text, prompt.groups);
  if (read.kind === 'valid') return answered(read.answer, [], first.usage);
  const problems = read.problems.map(redactSecrets);
  asking.onProgress(`the answer could not be used (${problems[0]}); asking once more …`);
  // Where the client kept to a budget and does not say what it took, that may have been all of it.
  const spentUsd = first.usage.costUsd ?? (client.keepsBudget ? asking.budgetUsd : 0);
  const budgetUsd = asking.budgetUsd - spentUsd;
  const second =
    budgetUsd > 0
      ? await askClient(client, buildRepairPrompt(prompt, first.text, problems), { ...asking, budgetUsd })
      : undefined;
  const usage = second === undefined ? first.usage : added(first.usage, second.usage);
  const again = second?.kind === 'answered' ? readAnalysisAnswer(second.text, prompt.groups) : undefined;
  return concluded(again ?? read, usage, second?.kind === 'failed' ? second.reason : undefined);
}

/** An answer from elsewhere than a model, read as strictly; there is no second turn. */
export function readGivenAnswer(text: string, prompt: AnalysisPrompt): Asked {
  return concluded(readAnalysisAnswer(text, prompt.groups), NOTHING_SPENT);
}

/** What is left of an answer after which nobody is asked any more. `failure`: why there is no later one. */
function concluded(read: AnswerResult, usage: Usage, failure?: string): Asked {
  if (read.kind === 'valid') return answered(read.answer, [], usage);
  const dropped = read.problems.map(redactSecrets);
  if (read.usable !== undefined) return answered(read.usable, dropped, usage);
  const reason = failure ?? `the answer cannot be used: ${dropped.join('; ')}`;
  return { kind: 'failed', reason: reason.slice(0, REASON_LENGTH_MAX), usage };
}

function answered(answer: AnalysisAnswer, dropped: readonly string[], usage: Usage): Asked {
  return { kind: 'answered', answer, dropped: [...dropped, ...answer.refused.map(redactSecrets)], usage };
}

/** Of the tokens what is known; a cost of which a part is not known is not known. */
function added(first: Usage, second: Usage): Usage {
  const isKnown = first.costUsd !== null && second.costUsd !== null;
  const sum = addUsage(first, second);
  return isKnown ? sum : { ...sum, costUsd: null };
}
