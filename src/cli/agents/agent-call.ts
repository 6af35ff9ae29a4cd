import type { Command } from 'commander';
import type { ClientName } from '../../core/client-name.ts';
import { counted } from '../../core/text.ts';
import { type AgentSetting, resultString, type SubAgentResult } from '../../runs/context/agents.ts';
import { seenText } from '../../runs/context/evidence.ts';
import type { AgentKind } from '../../runs/model/profile.ts';
import { THINKING_LEVELS } from '../../runs/model/run.ts';
import { formatCount, formatDuration } from '../../runs/model/stats.ts';
import { choice, EXIT, type Given, positiveUpTo, withClientOption } from '../context.ts';
import { shownText } from '../output.ts';
import {
  complain,
  complainUsage,
  type RunsHere,
  readSeconds,
  refuse,
  TASK_BYTES_MAX,
  typedText,
  visibleLine,
} from '../subagents/runs-here.ts';
import { progressOf, tellHeld } from '../subagents/wait.ts';
import { contextWish, type HandoverFlags, withContextHere } from './handover-options.ts';

/** What `explore` and `plan` share: their options, calling an agent in the foreground, and telling its result. */

export type AgentFlags = HandoverFlags &
  Given<'json'> &
  Given<'client', ClientName> &
  Given<'model' | 'thinking', string> &
  Given<'timeout' | 'maxIterations' | 'maxTokens' | 'maxUsd', number>;

/** The end of their help. */
export const AGENT_CODES = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 forbidden, 5 limit reached, 6 incomplete: a limit of the run
was reached, and what was found by then is told, 7 stopped, 130 interrupted.`;

const MOST = 1_000_000_000;

/** Adds the options of an agent: where it runs, and its limits. */
export function withAgentOptions(command: Command): Command {
  return withClientOption(command, 'the client that it runs in')
    .option('--model <M>', 'as the client names its models')
    .addOption(choice('--thinking <T>', 'how much it thinks', THINKING_LEVELS))
    .option('--timeout <S>', 'how long it may take, in seconds, or 10m, 2h; 0: no limit', readSeconds)
    .option('--max-iterations <N>', 'how often it may call tools', positiveUpTo(MOST))
    .option('--max-tokens <N>', 'how many tokens it may take', positiveUpTo(MOST))
    .option('--max-usd <N>', 'how much it may cost', positiveUpTo(MOST));
}

/** The text of a call; "-" is standard input. Ends a call without one. */
export async function readTask(name: AgentKind, words: readonly string[], here: RunsHere): Promise<string> {
  const task = (await typedText(words, here)).trim();
  if (task === '')
    return complainUsage(name === 'plan' ? 'plan [options] TASK' : 'explore [options] QUERY', here, '');
  if (Buffer.byteLength(task) <= TASK_BYTES_MAX) return task;
  return complain(
    `Cannot ${name}: what was given is longer than 1 MiB; put it into a file and name that`,
    EXIT.failed,
    here,
  );
}

/** What the flags ask for, with what of a conversation is handed over; ends the command when that cannot be had. */
export async function requestHanding(
  kind: AgentKind,
  task: string,
  flags: AgentFlags,
  here: RunsHere,
): Promise<AgentSetting['request']> {
  const asked = { ...requestOf(flags), task, profile: kind };
  const handed = await withContextHere(asked, contextWish(flags), here);
  if ('status' in handed) return refuse(handed, `Cannot ${kind}: `, here);
  for (const warning of handed.handover?.report.warnings ?? [])
    here.context.stderr(`warning: ${visibleLine(warning)}\n`);
  const { task: _task, profile: _profile, ...request } = handed;
  return request;
}

/** Calls agents with a line of progress, and sets the exit code by the result; Ctrl-C stops what they have started. */
export async function withAgents<T extends { readonly result: SubAgentResult }>(
  request: AgentSetting['request'],
  here: RunsHere,
  act: (setting: AgentSetting) => Promise<T>,
): Promise<T> {
  const { world, requester, context } = here;
  const interruption = new AbortController();
  const release = context.onInterrupt(() => interruption.abort());
  const progress = progressOf(here);
  const { onProgress } = progress;
  const waiting = { untilMs: null, signal: interruption.signal, stoppedBy: 'Ctrl-C', onProgress };
  try {
    const answer = await act({ world, requester, request, ...waiting });
    context.setExitCode(interruption.signal.aborted ? EXIT.interrupted : resultCode(answer.result));
    return answer;
  } finally {
    progress.stop();
    release();
  }
}

function requestOf(flags: AgentFlags): AgentSetting['request'] {
  const { client, model, thinking, timeout, maxIterations, maxTokens, maxUsd } = flags;
  const limits = { iterations: maxIterations, tokens: maxTokens, usd: maxUsd };
  return { client, model, thinking, runTimeoutSeconds: timeout, limits };
}

function resultCode({ status, refusal }: SubAgentResult): number {
  if (refusal?.limit === true) return EXIT.limit;
  if (refusal?.status === 'forbidden') return EXIT.forbidden;
  if (status === 'completed') return 0;
  if (status === 'incomplete') return EXIT.timedOut;
  return status === 'cancelled' ? EXIT.stopped : EXIT.failed;
}

/** Prints the result and what is known of it; a failure on standard error. */
export function tellResult(kind: AgentKind, result: SubAgentResult, { world, context }: RunsHere): void {
  const text = `${shownText(resultString(kind, result, world))}\n`;
  if (result.output === '') context.stderr(text);
  else context.verbatim(text);
  const { run, artifacts, toolCalls, executionTimeMs, tokenUsage } = result;
  if (run === null) return;
  if (run.warning !== null) context.stderr(`warning: ${visibleLine(run.warning)}\n`);
  const tokens =
    tokenUsage.input === null || tokenUsage.output === null ? null : tokenUsage.input + tokenUsage.output;
  const facts = [
    result.status,
    `run #${run.number}`,
    counted(toolCalls.length, 'tool call'),
    `${formatCount(tokens)} tokens`,
    formatDuration(executionTimeMs),
  ];
  const read = artifacts.filesRead.map((file) => `  ${visibleLine(seenText(file, run.cwd))}\n`);
  context.stderr(`${facts.join(' · ')}\n${read.length === 0 ? '' : `Read:\n${read.join('')}`}`);
}

/** The result as JSON, with the text that a parent is told. */
export function resultJson(kind: AgentKind, result: SubAgentResult, { world }: RunsHere) {
  return { text: resultString(kind, result, world), ...result };
}

/** Prints a result, which counts as told once it is written. */
export function tellOnce(result: SubAgentResult, tell: () => void, here: RunsHere): Promise<void> {
  return tellHeld(result.run === null ? [] : [result.run], tell, here);
}
