import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { bringLogin, userOf } from '../../clients/agent-login.ts';
import { type TurnSession, turnCommand } from '../../clients/client.ts';
import { type LiveClient, launchClient, writeClientFiles } from '../../clients/client-process.ts';
import { clientNamed } from '../../clients/clients.ts';
import { addUsage } from '../../clients/reading.ts';
import { FOR_COMMANDS } from '../../clients/route.ts';
import type { McpServer } from '../../clients/tools.ts';
import type { Exit, ProcessIdentity } from '../../system/process-identity.ts';
import { readTextFile } from '../../system/runtime-bun.ts';
import { turnPermissions } from '../model/permissions.ts';
import { isAway } from '../model/pool-role.ts';
import { EXPLORE_TOOL } from '../model/profile.ts';
import type { Run, TurnFiles } from '../model/run.ts';
import { isToolAllowed, NO_TOOLS } from '../model/tool-policy.ts';
import { NO_USAGE, type Turn, type Usage } from '../model/turn.ts';
import type { AwayTurn } from '../pool/away-ending.ts';
import { type Away, specOf, worksAway } from '../pool/spec.ts';
import { usdLeft } from '../store/limits.ts';
import { changeRun, runsIn } from '../store/runs.ts';
import { turnsOf } from '../store/turns.ts';
import { firstPrompt } from '../workspace/first-prompt.ts';
import { prepareWorktree } from '../workspace/worktree.ts';
import { ownProgram } from '../world.ts';
import type { Supervision, TurnRow } from './turn-row.ts';

/** A client that works: a process of this machine, or, for another machine, what waits for that one. */
export type Working = Pick<LiveClient, 'exited'> & {
  readonly identity: ProcessIdentity | null;
  readonly away: AwayTurn | null;
};

type Launched = { readonly client: Working; readonly run: Run };

/** Starts the client of a turn that has a slot; undefined if the turn was stopped before. @throws Error with the cause, NotOurs */
export async function launchTurn(
  row: TurnRow,
  accepted: Run,
  files: TurnFiles,
): Promise<Launched | undefined> {
  const { supervision } = row;
  const { world } = supervision;
  const run = await withWorktree(accepted, supervision);
  supervision.checkpoint('after-place');
  const session = sessionOrThrow(row, run);
  const said = { session, prompt: await promptFor(run, session, row) };
  const { command, user } = commandHere(run, said, row, files);
  writeClientFiles(files, command);
  bringLogin(run.client, userOf(run, world.env), files.home);
  if (isStoppedBefore(row)) return undefined;
  let started: LiveClient;
  try {
    started = launchClient({ command, files, cwd: run.cwd, env: user.env, passedOn: FOR_COMMANDS });
  } catch (error) {
    row.change(() => ({ launchedAtMs: null }));
    throw error;
  }
  supervision.checkpoint('after-start');
  const client = { ...started, away: null };
  enterStart(row, run, client);
  supervision.checkpoint('after-process-stored');
  return { client, run };
}

/**
 * Has the turn done on another machine. `hasBegun`: a supervisor before this one asked for it, so that it is gone on with where
 * that one was; undefined if the turn was stopped before. @throws Error with the cause, NotOurs
 */
export async function launchAway(
  row: TurnRow,
  run: Away,
  files: TurnFiles,
  hasBegun: boolean,
): Promise<Launched | undefined> {
  const { turn, supervision } = row;
  const { world } = supervision;
  const loading = supervision.loadAway();
  // Once begun, it is what was asked for: nothing is told anew.
  const told = hasBegun ? readTextFile(files.prompt) : undefined;
  const session = sessionOrThrow(row, run);
  const prompt = told ?? (await promptFor(run, session, row));
  const spec = specOf(run, {
    prompt,
    session: session.kind === 'new' ? 'new' : 'goes on',
    permissions: turnPermissions(run, turn),
    budgetUsd: usdFor(turn, run, supervision),
  });
  const beginAwayTurn = await loading;
  if (hasBegun) mkdirSync(files.home, { recursive: true, mode: 0o700 });
  else {
    writeClientFiles(files, { stdin: prompt, files: {}, keeps: [] });
    if (isStoppedBefore(row)) return undefined;
    supervision.note(row.turn, 'asked', `the pool "${run.pool.pool}"`);
  }
  const onTrouble = (words: string) => supervision.note(row.turn, 'waiting', words);
  const away = beginAwayTurn({ run, number: turn.number, spec, world, onTrouble });
  supervision.checkpoint('after-start');
  const exited = away.ended.then(
    ({ exit, outcome }): Exit => exit ?? { code: outcome === 'success' ? 0 : 1, signal: null },
  );
  const client = { identity: null, exited, away };
  enterStart(row, run, client);
  supervision.checkpoint('after-process-stored');
  return { client, run };
}

/** Marks the turn as launched. The last check: a stop that was stored before this prevents the start. @throws NotOurs */
function isStoppedBefore(row: TurnRow): boolean {
  const { supervision } = row;
  supervision.checkpoint('before-launch-mark');
  const atMs = supervision.nowMs();
  const marked = row.change((now) => (now.stop === null ? { launchedAtMs: atMs, process: null } : {}));
  if (marked.stop !== null) return true;
  supervision.checkpoint('after-launch-mark');
  return false;
}

type Said = { readonly prompt: string; readonly session: TurnSession };

/** What the client is told: in a session that goes on, the message alone. */
async function promptFor(run: Run, session: TurnSession, row: TurnRow): Promise<string> {
  const { settings, world } = row.supervision;
  return session.kind === 'new' ? await firstPrompt(toldSoFar(run, row), settings, world) : row.turn.message;
}

function sessionOrThrow({ turn }: TurnRow, run: Run): TurnSession {
  const session = sessionOf(turn, run);
  if (session === undefined) throw new Error('there is no session of the client to go on with');
  return session;
}

function commandHere(run: Run, { prompt, session }: Said, { turn, supervision }: TurnRow, files: TurnFiles) {
  const client = clientNamed(run.client);
  const user = userOf(run, supervision.world.env);
  const command = turnCommand(client, {
    prompt,
    session,
    model: run.model.resolved,
    route: client.route(user, run.model.resolved),
    thinking: run.thinking,
    policy: turn.kind === 'announce' ? NO_TOOLS : run.policy,
    permissions: turnPermissions(run, turn),
    budgetUsd: client.keepsBudget ? usdFor(turn, run, supervision) : null,
    cwd: run.cwd,
    directory: files.home,
    mcp: turn.kind === 'announce' ? null : serverOf(run, supervision),
    agentDir: run.agentDir,
  });
  return { command, user };
}

/**
 * Stores the client's process and start, now or with a later change. A second try keeps the time of the first. For a client
 * that another supervisor started and could not store, the time is that just before its start.
 */
export function enterStart(row: TurnRow, run: Run, client: Pick<Working, 'identity' | 'exited'>): void {
  const { turn, supervision } = row;
  const isOwn = client.exited !== null;
  const nowMs = supervision.nowMs();
  const startedAtMs = turn.startedAtMs ?? (isOwn ? nowMs : (turn.launchedAtMs ?? nowMs));
  const limitMs = timeoutOf(row, run);
  const deadlineAtMs = limitMs === 0 ? null : startedAtMs + limitMs;
  const started = { process: client.identity, startedAtMs, deadlineAtMs };
  const error = row.changeSoon((now) =>
    now.state === 'starting' ? { ...started, state: 'running' } : started,
  );
  if (error !== undefined) supervision.note(turn, 'not stored', String(error));
  if (isOwn && client.identity !== null) supervision.note(turn, 'started', `process ${client.identity.pid}`);
}

/** How long the turn's client may run, in milliseconds; 0: as long as it takes. */
export function timeoutOf({ turn, supervision: { settings } }: TurnRow, run: Run): number {
  if (worksAway(run)) return 0; // It may wait for a machine for long: the time is counted there.
  if (turn.kind !== 'announce') return run.runTimeoutMs;
  return isLastAnswer(turn, run) ? LAST_ANSWER_TIMEOUT_MS : settings.announce.timeoutSeconds * 1000;
}

/** Our server for a plan run, which may have something looked up; no other sub-agent may use one of our tools. */
function serverOf({ profile, policy }: Run, { world, settings }: Supervision): McpServer | null {
  if (profile?.kind !== 'plan' || !isToolAllowed(policy, EXPLORE_TOOL)) return null;
  const [command, ...args] = ownProgram(world);
  const runMs = Math.min(settings.explore.timeoutSeconds * 1000 || DAY_MS, DAY_MS);
  const timeoutMs = runMs + LAST_ANSWER_TIMEOUT_MS + EXPLORE_MARGIN_MS;
  return { command, args: [...args, 'mcp'], env: { SELF_GENERATION_HOME: world.paths.home }, timeoutMs };
}

/** For a place in the queue, for starting and for ending the client. */
const EXPLORE_MARGIN_MS = 60_000;
/** Clients take what is much longer for none at all. */
const DAY_MS = 86_400_000;

/** What the client itself is to keep to, in USD: of the budgets and of its profile. Null: nothing. */
function usdFor(turn: Turn, run: Run, supervision: Supervision): number | null {
  if (isLastAnswer(turn, run)) return null;
  const budget = usdLeft(supervision.sharesOf(run, turn), NO_USAGE);
  const asked = run.pool?.kind === 'served' ? run.pool.budgetUsd : null;
  const left = [budget, asked, run.profile?.limits.usd ?? null].filter((usd) => usd !== null);
  return left.length === 0 ? null : Math.min(...left);
}

/** A plan is longer than a report. */
export const LAST_ANSWER_TIMEOUT_MS = 120_000;

/** Whether the turn asks for the partial answer of a run with a profile. */
export function isLastAnswer({ kind }: Turn, { profile }: Run): boolean {
  return kind === 'announce' && profile !== null;
}

/** The session that the client works in; undefined: it would go on with one, but the run has none. A part begins one then. */
export function sessionOf(turn: Turn, run: Run): TurnSession | undefined {
  if (run.sessionId !== null && !beginsSession(turn, run)) return { kind: 'resume', id: run.sessionId };
  return turn.kind === 'task' || run.part !== null ? { kind: 'new', id: randomUUID() } : undefined;
}

/** Whether the session of the turn is the run's from then on. Of a part, a message that went ahead may have begun it before the task. */
export function beginsSession({ kind }: Turn, { part, sessionId }: Run): boolean {
  return sessionId === null || (kind === 'task' && part === null);
}

/** The run with all that it was told as its task: messages too, where those before them never came to have a session. */
function toldSoFar(run: Run, { turn, supervision: { db } }: TurnRow): Run {
  if (turn.kind === 'task') return run;
  const told = turnsOf(run.id, db).filter(
    ({ number, claimedAtMs }) => number === turn.number || (number < turn.number && claimedAtMs !== null),
  );
  return { ...run, task: told.map(({ message }) => message).join('\n\n') };
}

/** What the session had used before this turn. */
export function usageBefore({ turn, supervision: { db } }: TurnRow): Usage {
  const earlier = turnsOf(turn.runId, db).filter(({ number }) => number < turn.number);
  return earlier.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
}

/** The run with its working tree, when it is to have one. @throws Error with what git says */
async function withWorktree(run: Run, supervision: Supervision): Promise<Run> {
  const { world, db } = supervision;
  const mayShare = run.worktree === null && run.worktreeMode === 'auto';
  const isShared =
    mayShare && runsIn(run.cwd, 'started', db).some((one) => one.id !== run.id && !isAway(one));
  const prepared = await prepareWorktree(run, world.paths, { env: world.env, isShared });
  if (prepared.kind === 'failed') throw new Error(prepared.reason);
  if (prepared.kind === 'none') return run;
  const { worktree, cwd } = prepared;
  if (worktree !== run.worktree) changeRun(run.id, { worktree, cwd }, db);
  return { ...run, worktree, cwd };
}
