import type { ClientName } from '../../core/client-name.ts';
import { handoverLine } from '../../runs/model/handover.ts';
import { splitGrants } from '../../runs/model/permissions.ts';
import { THINKING_LEVELS, WORKTREE_MODES, type WorktreeMode } from '../../runs/model/run.ts';
import { ordinal } from '../../runs/model/stats.ts';
import { retryRun, type SpawnAnswer, seenByGit, spawnRun } from '../../runs/spawn.ts';
import type { SpawnRequest } from '../../runs/spawn-plan.ts';
import type { WaitAnswer } from '../../runs/stop.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import {
  contextWish,
  type HandoverFlags,
  withContextHere,
  withHandoverOptions,
} from '../agents/handover-options.ts';
import { choice, EXIT, type Given, withClientOption } from '../context.ts';
import { printJson } from '../output.ts';
import {
  aboutRun,
  complain,
  complainUsage,
  type RunsHere,
  readSeconds,
  refuse,
  type SubagentsCommand,
  shortId,
  TASK_BYTES_MAX,
  typedText,
  visibleLine,
} from './runs-here.ts';
import { endLine, outcomeCode, reportOf, resultText, turnJson, waitAndTell } from './wait.ts';

type SpawnFlags = HandoverFlags &
  Given<'wait' | 'json'> &
  Given<'agent' | 'model' | 'thinking' | 'label' | 'permissions' | 'on', string> &
  Given<'timeout', number> &
  Given<'client', ClientName> &
  Given<'cleanup', 'delete' | 'keep'> &
  Given<'worktree', WorktreeMode>;

/** `subagents spawn`: starts a sub-agent in the background. */
export const spawn: SubagentsCommand = {
  name: 'spawn',
  does: 'spawn a sub-agent',
  description: 'start a sub-agent in the background',
  calls: [
    `'Look for dead code and list it'`,
    `--permissions edit --label docs 'Correct the README'`,
    `--client codex --timeout 10m 'Which parts of the API have no tests?'`,
    '--worktree always --wait - < task.md',
    `--on build 'Run all tests and say which fail'`,
  ],
  define: (command) =>
    withClientOption(withHandoverOptions(command), 'the client that it runs in')
      .argument('[task...]', 'what it is to do; "-" reads it from standard input')
      .option('--agent <ID>', 'the agent of the settings to run as')
      .option('--model <M>', 'as the client names its models')
      .addOption(choice('--thinking <T>', 'how much it thinks', THINKING_LEVELS))
      .option('--timeout <S>', 'stop it after so many seconds, or 10m, 2h; 0: never', readSeconds)
      .option('--label <L>', 'a short name for it')
      .addOption(
        choice('--cleanup <HOW>', 'whether it is archived once its result is delivered', ['delete', 'keep']),
      )
      .addOption(choice('--worktree <M>', 'whether it works in a worktree of its own', WORKTREE_MODES))
      .option('--permissions <P>', PERMISSIONS)
      .option('--on <POOL>', 'a pool of machines of your team, where it works')
      .option('--wait', 'wait for its result'),
  act: start,
};

export const PERMISSIONS = 'what it may do without asking: edit, all, or rules like "edit,exec(npm test:*)"';

async function start(here: RunsHere, flags: SpawnFlags, words: readonly string[]): Promise<void> {
  const task = await typedText(words, here);
  if (task.trim() === '') return complainUsage('spawn [options] TASK', here);
  if (Buffer.byteLength(task) > TASK_BYTES_MAX)
    return complain('Spawn failed: the task is longer than 1 MiB', EXIT.failed, here);
  if (flags.on !== undefined && flags.worktree !== undefined)
    return complain(
      'Spawn failed: with --on its changes come back into a worktree of its own',
      EXIT.usage,
      here,
    );
  const { requester, world } = here;
  const request = await withContextHere(requestOf(task, flags), contextWish(flags), here);
  if ('status' in request) return tell(request, flags, here);
  const answer = spawnRun(await seenByGit(request, requester, world), requester, world);
  await tell(answer, flags, here);
}

/** `subagents retry`: a new run with the task and the settings of an earlier one. */
export const retry = aboutRun({
  name: 'retry',
  does: 'retry a sub-agent',
  description: 'run the same task again, with the same settings',
  calls: ['3'],
  define: (command) => command.option('--wait', 'wait for its result'),
  act: startAnew,
});

function startAnew(here: RunsHere, flags: SpawnFlags, { run }: RunListing): Promise<void> {
  return tell(retryRun(run.id, here.requester, here.world), flags, here);
}

function requestOf(task: string, flags: SpawnFlags): SpawnRequest {
  const { client, agent, model, thinking, timeout, label, cleanup, worktree, permissions, on } = flags;
  const grants = permissions === undefined ? undefined : splitGrants(permissions);
  const named = { client, agentId: agent, runTimeoutSeconds: timeout, permissions: grants };
  return { task, ...named, model, thinking, label, cleanup, worktree, on };
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
  const { childSessionKey, runId, number, queuePosition, deduplicated, warning, note, handover } = answer;
  const agentId = /^agent:([^:]+):/.exec(childSessionKey)?.[1] ?? 'main';
  const facts = [
    `#${number}`,
    ...(queuePosition === undefined ? [] : [`queued (${ordinal(queuePosition)})`]),
    ...(deduplicated ? ['the same was asked for a moment ago: this is its run'] : []),
  ];
  const run = `session ${visibleLine(childSessionKey)}, run ${shortId(runId)}`;
  context.stdout(`Spawned subagent ${visibleLine(agentId)} (${run}).\n${facts.join(' · ')}\n`);
  if (handover !== undefined) context.stdout(`Context: ${visibleLine(handoverLine(handover))}.\n`);
  if (note !== undefined) context.stdout(`Note: ${visibleLine(note)}.\n`);
  if (warning !== undefined) context.stderr(`warning: ${visibleLine(warning)}\n`);
  if (!wait) context.stdout(`"self-generation subagents wait ${number}" waits for its result.\n`);
}
