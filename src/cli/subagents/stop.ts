import { counted } from '../../setup/check.ts';
import type { RunListing } from '../../store/runs/runs.ts';
import type { StopAnswer } from '../../subagents/features.ts';
import { stopRuns } from '../../subagents/stop.ts';
import { EXIT_FAILED } from '../context.ts';
import { printJson } from '../visible.ts';
import { nameOf, visibleLine } from './run-words.ts';
import { complainUsage, findRun, isPerson, type JsonFlag, type RunsHere, refuse } from './runs-here.ts';

type Done = Extract<StopAnswer, { status: 'done' }>;

/** `subagents stop`: ends one run, or all of this project, and waits until no process of theirs is left. */
export async function stop(here: RunsHere, _flags: JsonFlag, target?: string): Promise<void> {
  if (target === undefined || target.trim() === '') return complainUsage('stop <id|#|all>', here);
  const isAll = target === 'all' || target === '*';
  const listing = isAll ? undefined : findRun(target, here);
  if (!isAll && listing === undefined) return;
  const { requester, world, context } = here;
  context.progress('stopping …');
  const wanted =
    listing === undefined ? { kind: 'all' as const } : { kind: 'run' as const, runId: listing.run.id };
  const by = isPerson(here) ? 'a person (subagents stop)' : 'the requester (subagents stop)';
  // A person may stop what another project has asked for.
  const answer = await stopRuns(
    wanted,
    { ...requester, key: listing?.run.requester.key ?? requester.key },
    by,
    world,
  );
  context.progress('');
  if (answer.status !== 'done') return refuse(answer, '', here);
  if (answer.failedToStop.length > 0 || answer.survivors.length > 0) context.setExitCode(EXIT_FAILED);
  if (here.isJson) printJson(answer, context);
  else tell(answer, listing, here);
}

function tell(answer: Done, listing: RunListing | undefined, { context }: RunsHere): void {
  const { stopped, alreadyFinished, failedToStop, survivors } = answer;
  const lines = listing === undefined ? tellAll(answer) : tellOne(answer, listing);
  context.stdout(lines.map((line) => `${line}\n`).join(''));
  for (const { number, reason } of failedToStop)
    context.stderr(`⚠️ #${number} was not stopped: ${visibleLine(reason)}\n`);
  const numbers = new Map(
    [...stopped, ...alreadyFinished, ...failedToStop].map((one) => [one.runId, one.number]),
  );
  for (const { runId, pid } of survivors) {
    const name = numbers.get(runId);
    context.stderr(`⚠️ Process ${pid} of ${name === undefined ? 'it' : `#${name}`} still lives.\n`);
  }
}

function tellAll({ stopped, alreadyFinished, failedToStop }: Done): string[] {
  const others = [
    ...(alreadyFinished.length === 0 ? [] : [`Already finished: ${alreadyFinished.length}`]),
    ...(failedToStop.length === 0 ? [] : [`Failed to stop: ${failedToStop.length}`]),
  ];
  const line = `⚙️ Stopped ${counted(stopped.length, 'subagent')}.`;
  return others.length === 0 ? [line] : [line, others.join(' · ')];
}

function tellOne(answer: Done, { run }: RunListing): string[] {
  const isFinished = answer.stopped.length === 0 && answer.failedToStop.length === 0;
  if (isFinished) return ['⚙️ Subagent already finished.'];
  return [`⚙️ Stop requested for ${nameOf(run)}.`, ...tellAll(answer)];
}
