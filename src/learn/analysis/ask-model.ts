import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { variablesNamed } from '../../clients/environment.ts';
import { NOTHING_SAID, oneShotCommand, readAnswer, type Usage } from '../../clients/one-shot.ts';
import type { RunClient } from '../../clients/runs/run-client.ts';
import { reasonOf } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { readRegularFile } from '../../sys/read-regular-file.ts';
import type { CommandResult, RunCommand } from '../../sys/run-command.ts';
import { type AnalysisAnswer, readAnalysisAnswer } from './analysis-answer.ts';
import { type AnalysisPrompt, buildRepairPrompt } from './analysis-prompt.ts';
import { DIRECTORY_PREFIX } from './left-behind.ts';

export type Asking = {
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly model: string | undefined;
  /** Of all turns together; a client that can be told is told what is left of it. */
  readonly budgetUsd: number;
  readonly run: RunCommand;
  /** Told the client's process id, at each turn. */
  readonly onStart: (pid: number) => void;
  readonly onProgress: (what: string) => void;
  readonly signal?: AbortSignal;
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

const ANSWER_TIMEOUT_MS = 180_000;
const REASON_LENGTH_MAX = 500;
/** Messages of clients are cut at 300; see clients/answer.ts. */
const CUT_REASON_LENGTH_MIN = 299;
/** Of a run whose client was never started. */
const NOTHING_SPENT: Usage = { ...NOTHING_SAID, costUsd: 0 };

/** One question, and one more when the answer cannot be used. Never throws. */
export async function askModel(client: RunClient, prompt: AnalysisPrompt, asking: Asking): Promise<Asked> {
  const first = await askOnce(client, prompt.text, asking);
  if (first.kind === 'failed') return first;
  const read = readAnalysisAnswer(first.text, prompt.groups);
  if (read.kind === 'valid') return answered(read.answer, [], first.usage);
  const problems = read.problems.map(redactSecrets);
  asking.onProgress(`the answer could not be used (${problems[0]}); asking once more …`);
  // Where the client kept to a budget and does not say what it took, that may have been all of it.
  const spentUsd = first.usage.costUsd ?? (client.capabilities.keepsBudget ? asking.budgetUsd : 0);
  const budgetUsd = asking.budgetUsd - spentUsd;
  const second =
    budgetUsd > 0
      ? await askOnce(client, buildRepairPrompt(prompt, first.text, problems), { ...asking, budgetUsd })
      : undefined;
  const usage = second === undefined ? first.usage : added(first.usage, second.usage);
  const again = second?.kind === 'answered' ? readAnalysisAnswer(second.text, prompt.groups) : undefined;
  if (again?.kind === 'valid') return answered(again.answer, [], usage);
  const last = again ?? read;
  const dropped = last.problems.map(redactSecrets);
  if (last.usable !== undefined) return answered(last.usable, dropped, usage);
  const reason =
    second?.kind === 'failed' ? second.reason : `the answer cannot be used: ${dropped.join('; ')}`;
  return { kind: 'failed', reason: reason.slice(0, REASON_LENGTH_MAX), usage };
}

/** An answer from elsewhere than a model, read as strictly; there is no second turn. */
export function readGivenAnswer(text: string, prompt: AnalysisPrompt): Asked {
  const read = readAnalysisAnswer(text, prompt.groups);
  if (read.kind === 'valid') return answered(read.answer, [], NOTHING_SPENT);
  const problems = read.problems.map(redactSecrets);
  if (read.usable !== undefined) return answered(read.usable, problems, NOTHING_SPENT);
  const reason = `the answer cannot be used: ${problems.join('; ')}`.slice(0, REASON_LENGTH_MAX);
  return { kind: 'failed', reason, usage: NOTHING_SPENT };
}

function answered(answer: AnalysisAnswer, dropped: readonly string[], usage: Usage): Asked {
  return { kind: 'answered', answer, dropped: [...dropped, ...answer.refused.map(redactSecrets)], usage };
}

type Reply =
  | { readonly kind: 'answered'; readonly text: string; readonly usage: Usage }
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

/** One run of the client in a new, empty, private directory. */
async function askOnce(client: RunClient, prompt: string, asking: Asking): Promise<Reply> {
  let isStarted = false;
  const onStart = (pid: number) => {
    isStarted = true;
    asking.onStart(pid);
  };
  const reply = await runClient(client, prompt, { ...asking, onStart }).catch(
    (error: unknown): Reply => ({
      kind: 'failed',
      reason: reasonOf(error),
      usage: NOTHING_SAID,
    }),
  );
  if (reply.kind === 'answered') return reply;
  return {
    kind: 'failed',
    reason: withoutSecrets(reply.reason),
    usage: isStarted ? reply.usage : NOTHING_SPENT,
  };
}

async function runClient(client: RunClient, prompt: string, asking: Asking): Promise<Reply> {
  const { env, paths, model, budgetUsd, run, signal, onStart } = asking;
  const user = { env, agentDir: null, cwd: null, read: readRegularFile };
  const routed = client.route(user, model ?? null);
  if (routed.kind === 'refused') return { kind: 'failed', reason: routed.reason, usage: NOTHING_SAID };
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const directory = mkdtempSync(join(paths.home, DIRECTORY_PREFIX));
  try {
    const command = oneShotCommand(client, { prompt, model, route: routed.route, budgetUsd, directory });
    for (const [name, text] of Object.entries(command.files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true, mode: 0o700 });
      writeFileSync(join(directory, name), text, { mode: 0o600 });
    }
    const end = await run(command.program, command.args, {
      cwd: directory,
      env: { ...variablesNamed(env, command.passedOn), ...command.env },
      stdin: command.stdin,
      timeoutMs: ANSWER_TIMEOUT_MS,
      onStart,
      ...(signal === undefined ? {} : { signal }),
    });
    return readEnd(client, end);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function readEnd(client: RunClient, end: CommandResult): Reply {
  if (end.kind === 'exited') return readAnswer(client, end);
  const reason =
    end.kind === 'timed-out'
      ? `${client.program} did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`
      : `${client.program} could not be run: ${end.reason}`;
  return { kind: 'failed', reason, usage: NOTHING_SAID };
}

/** A message may have been cut within a secret, of which the rest has no known shape: then its last word goes. */
function withoutSecrets(reason: string): string {
  return redactSecrets(reason.length < CUT_REASON_LENGTH_MIN ? reason : reason.replace(/\S*$/, '…'));
}

/** Of the tokens what is known; a cost of which a part is not known is not known. */
function added(left: Usage, right: Usage): Usage {
  const sum = (one: number | null, other: number | null) =>
    one === null && other === null ? null : (one ?? 0) + (other ?? 0);
  return {
    inputTokens: sum(left.inputTokens, right.inputTokens),
    outputTokens: sum(left.outputTokens, right.outputTokens),
    costUsd: left.costUsd === null || right.costUsd === null ? null : left.costUsd + right.costUsd,
    model: right.model ?? left.model,
  };
}
