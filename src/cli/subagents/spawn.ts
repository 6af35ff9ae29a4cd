import { CLIENT_NAMES, type ClientName } from '../../core/client-name.ts';
import { counted } from '../../core/text.ts';
import { splitGrants } from '../../runs/model/permissions.ts';
import { THINKING_LEVELS, WORKTREE_MODES, type WorktreeMode } from '../../runs/model/run.ts';
import { ordinal } from '../../runs/model/stats.ts';
import { retryRun, type SpawnAnswer, seenByGit, spawnRun } from '../../runs/spawn.ts';
import type { SpawnRequest } from '../../runs/spawn-plan.ts';
import { type StopAnswer, type StopTarget, stopRuns, type WaitAnswer } from '../../runs/stop.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { choice, EXIT, type Given } from '../context.ts';
import { printJson } from '../output.ts';
import {
  aboutRun,
  complain,
  complainUsage,
  findRunOrAll,
  isAll,
  isPerson,
  type JsonFlag,
  nameOf,
  type RunsHere,
  readSeconds,
  refuse,
  type SubagentsCommand,
  shortId,
  visibleLine,
} from './runs-here.ts';
import { endLine, outcomeCode, reportOf, resultText, turnJson, waitAndTell } from './wait.ts';

type SpawnFlags = Given<'wait' | 'json'> &
  Given<'agent' | 'model' | 'thinking' | 'label' | 'permissions', string> &
  Given<'timeout', number> &
  Given<'cli', ClientName> &
  Given<'cleanup', 'delete' | 'keep'> &
  Given<'worktree', WorktreeMode>;

const TASK_BYTES_MAX = 1024 * 1024;

/** `subagents spawn`: starts a sub-agent in the background. */
export const spawn: SubagentsCommand = {
  name: 'spawn',
  does: 'spawn a sub-agent',
  description: 'start a sub-agent in the background',
  calls: [
    `'Look for dead code and list it'`,
    `--permissions edit --label docs 'Correct the README'`,
    `--cli codex --timeout 10m 'Which parts of the API have no tests?'`,
    '--worktree always --wait - < task.md',
  ],
  define: (command) =>
    command
      .argument('[task...]', 'what it is to do; "-" reads it from standard input')
      .addOption(choice('--cli <C>', 'the client that it runs in', CLIENT_NAMES))
      .option('--agent <ID>', 'as which agent of the settings')
      .option('--model <M>', 'as the client names its models')
      .addOption(choice('--thinking <T>', 'how much it thinks', THINKING_LEVELS))
      .option('--timeout <S>', 'stop it after so many seconds, or 10m, 2h; 0: never', readSeconds)
      .option('--label <L>', 'what it is called')
      .addOption(choice('--cleanup <HOW>', 'what becomes of it afterwards', ['delete', 'keep']))
      .addOption(choice('--worktree <M>', 'whether it works in a worktree of its own', WORKTREE_MODES))
      .option('--permissions <P>', PERMISSIONS)
      .option('--wait', 'wait for its result'),
  act: start,
};

const PERMISSIONS = 'what it may do without asking: edit, all, or rules like "edit,exec(npm test:*)"';

async function start(here: RunsHere, flags: SpawnFlags, words: readonly string[]): Promise<void> {
  const isStdin = words.length === 1 && words[0] === '-';
  const task = isStdin ? await here.read(TASK_BYTES_MAX + 1) : words.join(' ');
  if (task.trim() === '') return complainUsage('spawn [options] TASK', here);
  if (Buffer.byteLength(task) > TASK_BYTES_MAX)
    return complain('Spawn failed: the task is longer than 1 MiB', EXIT.failed, here);
  const request = await seenByGit(requestOf(task, flags), here.requester, here.world);
  const answer = spawnRun(request, here.requester, here.world);
  await tell(answer, flags, here);
}

/** `subagents retry`: a new run with the task and the settings of an earlier one. */
export const retry = aboutRun({
  name: 'retry',
  does: 'retry a sub-agent',
  description: 'start a run anew, with the same task and settings',
  calls: ['3'],
  define: (command) => command.option('--wait', 'wait for its result'),
  act: startAnew,
});

function startAnew(here: RunsHere, flags: SpawnFlags, { run }: RunListing): Promise<void> {
  return tell(retryRun(run.id, here.requester, here.world), flags, here);
}

function requestOf(task: string, flags: SpawnFlags): SpawnRequest {
  const { cli, agent, model, thinking, timeout, label, cleanup, worktree, permissions } = flags;
  const grants = permissions === undefined ? undefined : splitGrants(permissions);
  const named = { client: cli, agentId: agent, runTimeoutSeconds: timeout, permissions: grants };
  return { task, ...named, model, thinking, label, cleanup, worktree };
}

async function tell(answer: SpawnAnswer, flags: SpawnFlags, here: RunsHere): Promise<void> {
  if (answer.status !== 'accepted') return refuse(answer, 'Spawn failed: ', here);
  const { context, isJson } = here;
  if (isJson && !flags.wait) return printJson(answer, context);
  if (!isJson) tellAccepted(answer, flags, here);
  if (!flags.wait) return;
  const tellEnd = ({ runs: [run] }: WaitAnswer) => {
    const nowMs = context.now().getTime();
    context.setExitCode(run === undefined ? EXIT.failed : outcomeCode([run]));
    if (isJson)
      printJson({ ...answer, outcome: run === undefined ? null : turnJson(run, nowMs, here) }, context);
    else if (run !== undefined) context.stdout(endLine(run, nowMs) + resultText(run, reportOf(run, here)));
  };
  const turns = [{ runId: answer.runId, turn: 1 }];
  await waitAndTell(turns, { timeoutMs: null, untilAnnounced: true, tell: tellEnd }, here);
}

type Accepted = Extract<SpawnAnswer, { status: 'accepted' }>;

function tellAccepted(answer: Accepted, { wait }: SpawnFlags, { context }: RunsHere): void {
  const { childSessionKey, runId, number, queuePosition, deduplicated, warning, note } = answer;
  const agentId = /^agent:([^:]+):/.exec(childSessionKey)?.[1] ?? 'main';
  const facts = [
    `#${number}`,
    ...(queuePosition === undefined ? [] : [`queued (${ordinal(queuePosition)})`]),
    ...(deduplicated ? ['the same was asked for a moment ago: this is its run'] : []),
  ];
  const run = `session ${visibleLine(childSessionKey)}, run ${shortId(runId)}`;
  context.stdout(`Spawned subagent ${visibleLine(agentId)} (${run}).\n${facts.join(' · ')}\n`);
  if (note !== undefined) context.stdout(`Note: ${visibleLine(note)}.\n`);
  if (warning !== undefined) context.stderr(`warning: ${visibleLine(warning)}\n`);
  if (!wait) context.stdout(`"self-generation subagents wait ${number}" waits for its result.\n`);
}

type Done = Extract<StopAnswer, { status: 'done' }>;
type StopFlags = JsonFlag & { readonly project?: true };

/** `subagents stop`: ends a run, all of this session or, with --project, of the project, and waits until no process is left. */
export const stop: SubagentsCommand = {
  name: 'stop',
  does: 'stop sub-agents',
  description: 'stop a run, or all that you have asked for',
  calls: ['3', 'last', 'all', 'all --project'],
  define: (command) =>
    command
      .argument('[target]', 'the run, or "all" for all that this session has asked for')
      .option('--project', 'with "all": also what other sessions of this project have asked for'),
  act: end,
};

async function end(here: RunsHere, { project }: StopFlags, target?: string): Promise<void> {
  const call = 'stop <id|#|all [--project]>';
  if (project && !isAll(target)) return complainUsage(call, here);
  const listing = findRunOrAll(target, call, here);
  const { requester, world, context } = here;
  context.progress('stopping …');
  const every: StopTarget = { kind: project ? 'project' : 'all' };
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
  const goOn = `${counted(othersActive, 'run')} of other sessions ${othersActive === 1 ? 'goes' : 'go'} on; --project stops them too.`;
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
