import { randomUUID } from 'node:crypto';
import { bringLogin, userOf } from '../../clients/agent-login.ts';
import { type TurnSession, turnCommand } from '../../clients/client.ts';
import { type LiveClient, launchClient, writeClientFiles } from '../../clients/client-process.ts';
import { clientNamed } from '../../clients/clients.ts';
import { FOR_COMMANDS } from '../../clients/environment.ts';
import { addUsage } from '../../clients/reading.ts';
import { turnPermissions } from '../model/permissions.ts';
import type { Run, TurnFiles } from '../model/run.ts';
import { NO_TOOLS } from '../model/tool-policy.ts';
import type { Turn } from '../model/turn.ts';
import { NO_USAGE, type Usage } from '../model/turn.ts';
import { changeRun, runsIn } from '../store/runs.ts';
import { turnsOf } from '../store/turns.ts';
import { firstPrompt } from '../workspace/first-prompt.ts';
import { prepareWorktree } from '../workspace/worktree.ts';
import { checkpoint } from '../world.ts';
import { sharesOf, usdLeft } from './turn-ending.ts';
import type { TurnRow } from './turn-row.ts';
import { noteEvent, type Supervision } from './turn-row.ts';

/** From a turn with a slot to its running client; undefined: a stop came before. @throws Error with the cause, NotOurs */
export async function launchTurn(
  row: TurnRow,
  accepted: Run,
  files: TurnFiles,
  supervision: Supervision,
): Promise<{ readonly client: LiveClient; readonly run: Run } | undefined> {
  const { world, settings } = supervision;
  const { turn } = row;
  const run = await withPlace(accepted, supervision);
  checkpoint('after-place', world.env);
  const session = sessionOf(turn, run);
  if (session === undefined) throw new Error('there is no session of the client to go on with');
  const client = clientNamed(run.client);
  const user = userOf(run, world.env);
  const command = turnCommand(client, {
    prompt: turn.kind === 'task' ? await firstPrompt(run, settings, world) : turn.message,
    session,
    model: run.model.resolved,
    route: client.route(user, run.model.resolved),
    thinking: run.thinking,
    policy: turn.kind === 'announce' ? NO_TOOLS : run.policy,
    permissions: turnPermissions(run, turn),
    budgetUsd: client.keepsBudget ? usdLeft(sharesOf(run, turn, supervision), NO_USAGE) : null,
    cwd: run.cwd,
    directory: files.home,
    mcp: null, // Of our own tools there is none that a sub-agent may have.
    agentDir: run.agentDir,
  });
  writeClientFiles(files, command);
  bringLogin(run.client, user, files.home);
  checkpoint('before-launch-mark', world.env);
  const atMs = world.now().getTime();
  // The last look: whoever wrote a stop before this has prevented the start.
  const marked = row.change((now) => (now.stop === null ? { launchedAtMs: atMs, process: null } : {}));
  if (marked.stop !== null) return undefined;
  checkpoint('after-launch-mark', world.env);
  let started: LiveClient;
  try {
    started = launchClient({ command, files, cwd: run.cwd, env: user.env, passedOn: FOR_COMMANDS });
  } catch (error) {
    row.change(() => ({ launchedAtMs: null }));
    throw error;
  }
  checkpoint('after-start', world.env);
  enterStart(row, run, started, supervision);
  checkpoint('after-process-stored', world.env);
  return { client: started, run };
}

/**
 * The client runs, whether this can be written just now or not. A second try keeps the time of the first; of a client that
 * another supervisor started, and did not live to write down, the time is that just before its start.
 */
export function enterStart(row: TurnRow, run: Run, client: LiveClient, supervision: Supervision): void {
  const { turn } = row;
  const isOwn = client.exited !== null;
  const nowMs = supervision.world.now().getTime();
  const startedAtMs = turn.startedAtMs ?? (isOwn ? nowMs : (turn.launchedAtMs ?? nowMs));
  const limitMs = timeoutOf(turn, run, supervision);
  const deadlineAtMs = limitMs === 0 ? null : startedAtMs + limitMs;
  row.changeSoon(
    (now) => ({
      ...(now.state === 'starting' ? { state: 'running' } : {}),
      ...{ process: client.identity, startedAtMs, deadlineAtMs },
    }),
    (error) => noteEvent(turn, 'not stored', String(error), supervision),
  );
  if (isOwn) noteEvent(turn, 'started', `process ${client.identity.pid}`, supervision);
}

/** How long the turn's client may run, in milliseconds; 0: as long as it takes. */
export function timeoutOf(turn: Turn, run: Run, { settings }: Supervision): number {
  return turn.kind === 'announce' ? settings.announce.timeoutSeconds * 1000 : run.runTimeoutMs;
}

/** The session that the client is asked for; undefined: the run never had one. */
export function sessionOf(turn: Turn, run: Run): TurnSession | undefined {
  if (turn.kind === 'task') return { kind: 'new', id: randomUUID() };
  return run.sessionId === null ? undefined : { kind: 'resume', id: run.sessionId };
}

/** What the session had used before this turn. */
export function usageBefore(turn: Turn, { db }: Supervision): Usage {
  const earlier = turnsOf(turn.runId, db).filter(({ number }) => number < turn.number);
  return earlier.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
}

/** The run with its working tree, when it is to have one. @throws Error with what git says */
async function withPlace(run: Run, supervision: Supervision): Promise<Run> {
  const { world, db } = supervision;
  const mayShare = run.worktree === null && run.worktreeMode === 'auto';
  const isShared = mayShare && runsIn(run.cwd, 'started', db).some(({ id }) => id !== run.id);
  const prepared = await prepareWorktree(run, world.paths, { env: world.env, isShared });
  if (prepared.kind === 'failed') throw new Error(prepared.reason);
  if (prepared.kind === 'none') return run;
  const { worktree, cwd } = prepared;
  if (worktree !== run.worktree) changeRun(run.id, { worktree, cwd }, db);
  return { ...run, worktree, cwd };
}
