import { Option } from 'commander';
import { counted } from '../../core/text.ts';
import { type StopAnswer, type StopTarget, stopRuns } from '../../runs/stop.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { alias, EXIT } from '../context.ts';
import { printJson } from '../output.ts';
import {
  complainUsage,
  findRunOrAll,
  isAll,
  isPerson,
  type JsonFlag,
  nameOf,
  type RunsHere,
  refuse,
  type SubagentsCommand,
  visibleLine,
} from './runs-here.ts';

type Done = Extract<StopAnswer, { status: 'done' }>;
type StopFlags = JsonFlag & { readonly allSessions?: true };

/** `subagents stop`: ends a run, all of this session or, with --all-sessions, of the project, and waits until no process is left. */
export const stop: SubagentsCommand = {
  name: 'stop',
  does: 'stop sub-agents',
  description: 'stop a run, or all that you have asked for',
  calls: ['3', 'last', 'all', 'all --all-sessions'],
  define: (command) =>
    command
      .argument('[target]', 'the run, or "all" for all that this session has asked for')
      .option('--all-sessions', 'with "all": also what other sessions of this project have asked for')
      .addOption(alias(new Option('--project'), 'allSessions')),
  act: end,
};

async function end(here: RunsHere, { allSessions }: StopFlags, target?: string): Promise<void> {
  const call = 'stop <id|#|all [--all-sessions]>';
  if (allSessions && !isAll(target)) return complainUsage(call, here);
  const listing = findRunOrAll(target, call, here);
  const { requester, world, context } = here;
  context.progress('stopping …');
  const every: StopTarget = { kind: allSessions ? 'project' : 'all' };
  const wanted: StopTarget = listing === undefined ? every : { kind: 'run', runId: listing.run.id };
  const by = `${isPerson(here) ? 'a person' : `a session of ${requester.client}`} (subagents stop)`;
  // A person may stop what another project has asked for.
  const key = listing?.run.requester.key ?? requester.key;
  const answer = await stopRuns(wanted, { ...requester, key }, by, world);
  context.progress('');
  if (answer.status !== 'done') return refuse(answer, '', here);
  if (answer.failedToStop.length > 0 || answer.survivors.length > 0) context.setExitCode(EXIT.failed);
  if (here.isJson) printJson(answer, context);
  else tellStopped(answer, listing, here);
}

function tellStopped(answer: Done, listing: RunListing | undefined, { context }: RunsHere): void {
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

function tellAll({ stopped, alreadyFinished, failedToStop, othersActive }: Done): string[] {
  const others = [
    ...(alreadyFinished.length === 0 ? [] : [`Already finished: ${alreadyFinished.length}`]),
    ...(failedToStop.length === 0 ? [] : [`Failed to stop: ${failedToStop.length}`]),
  ];
  const messages = stopped.reduce((sum, { waitingMessages }) => sum + waitingMessages, 0);
  const works = stopped.filter(({ work }) => work).length;
  const what = [
    ...(works > 0 || messages === 0 ? [counted(works, 'subagent')] : []),
    ...(messages > 0 ? [counted(messages, 'waiting message')] : []),
  ];
  const goOn = `${counted(othersActive, 'run')} of other sessions ${othersActive === 1 ? 'goes' : 'go'} on; --all-sessions stops them too.`;
  return [
    `⚙️ Stopped ${what.join(' and ')}.`,
    ...(others.length === 0 ? [] : [others.join(' · ')]),
    ...(othersActive === 0 ? [] : [goOn]),
  ];
}

function tellOne(answer: Done, { run }: RunListing): string[] {
  const isFinished = answer.stopped.length === 0 && answer.failedToStop.length === 0;
  if (isFinished) return ['⚙️ Subagent already finished.'];
  return [`⚙️ Stop requested for ${nameOf(run)}.`, ...tellAll(answer)];
}
