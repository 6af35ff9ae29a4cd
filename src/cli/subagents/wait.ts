import { isTerminal } from '../../core/runs/turn.ts';
import type { WaitAnswer } from '../../subagents/features.ts';
import { runsOf } from '../../subagents/own-run.ts';
import { isComing } from '../../subagents/wait.ts';
import { EXIT_FAILED } from '../context.ts';
import { printJson } from '../visible.ts';
import { complainUsage, findRun, type JsonFlag, type RunsHere } from './runs-here.ts';
import { endLine, resultText, turnJson, waitFor } from './waiting.ts';

export type WaitFlags = JsonFlag & { readonly timeout?: number };

/** `subagents wait`: until the run, or every active one, has ended. */
export async function wait(here: RunsHere, { timeout }: WaitFlags, target?: string): Promise<void> {
  if (target === undefined || target.trim() === '') return complainUsage('wait <id|#|all>', here);
  const isAll = target === 'all' || target === '*';
  const listings = isAll
    ? runsOf(here)
        .filter((listing) => isComing(listing, here.world))
        .toReversed()
    : [findRun(target, here)];
  const known = listings.filter((listing) => listing !== undefined);
  if (!isAll && known.length === 0) return;
  const turns = known.map(({ run, turn }) => ({ runId: run.id, turn: turn.number }));
  const timeoutMs = timeout === undefined ? null : timeout * 1000;
  const answer = await waitFor(turns, { timeoutMs, untilAnnounced: true }, here);
  tell(answer, isAll, here);
}

function tell({ kind, runs }: WaitAnswer, isAll: boolean, { context, isJson }: RunsHere): void {
  const nowMs = context.now().getTime();
  const isGood = kind === 'ended' && runs.every(({ turn }) => turn.state === 'success');
  if (!isGood) context.setExitCode(EXIT_FAILED);
  if (isJson) {
    printJson({ kind, runs: runs.map((run) => turnJson(run, nowMs)) }, context);
    return;
  }
  if (runs.length === 0) context.stdout('No subagent is active.\n');
  for (const run of runs) {
    context.stdout(endLine(run, nowMs));
    if (!isAll && isTerminal(run.turn.state)) context.stdout(resultText(run));
  }
  if (kind === 'timeout') context.stderr('⏳ The time is over; what has not ended goes on.\n');
}
