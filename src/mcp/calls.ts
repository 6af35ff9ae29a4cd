import { agentOfKey, type Requester, type Run, type RunWithTurn } from '../runs/model/run.ts';
import { isTerminal } from '../runs/model/turn.ts';
import { readLog, readRunList } from '../runs/read-log.ts';
import { agentsFor, findOwnRun, runsOf } from '../runs/requester.ts';
import { retryRun, sendToRun } from '../runs/send.ts';
import { seenByGit, spawnRun } from '../runs/spawn.ts';
import { stopRuns } from '../runs/stop.ts';
import { queuePosition } from '../runs/store/queue.ts';
import { runEvents } from '../runs/store/rows.ts';
import { listRuns, type RunListing } from '../runs/store/runs.ts';
import { readRuns } from '../runs/store/runs-db.ts';
import { turnsAwaited, waitForRuns } from '../runs/wait.ts';
import type { RunsWorld, SpawnAnswer, StopTarget, TurnName } from '../runs/world.ts';
import {
  type Answer,
  answered,
  failed,
  infoView,
  lineText,
  messageText,
  messageViews,
  nameOf,
  refusedBy,
  runView,
  sessionView,
} from './answer.ts';
import {
  type HistoryParameters,
  LIST_DEFAULT,
  type ListParameters,
  LOG_DEFAULT,
  LOG_MAX,
  MESSAGES_DEFAULT,
  objectionToAction,
  type SendParameters,
  type SpawnParameters,
  type SubagentsParameters,
  WAIT_SECONDS_DEFAULT,
} from './parameters.ts';

const EVENTS_SHOWN = 5;

/** `subagents`. */
export function controlSubagents(parameters: SubagentsParameters, call: ToolCall): Answer | Promise<Answer> {
  const { action = 'list', target, message, timeoutSeconds } = parameters;
  const objection = objectionToAction(action, parameters);
  if (objection !== undefined) return failed(objection);
  const isAll = target === 'all' || target === '*';
  if (action === 'list') return list(parameters.limit ?? LIST_DEFAULT, call);
  if (action === 'stop' && (isAll || target === 'project'))
    return stop({ kind: isAll ? 'all' : 'project' }, call);
  if (action === 'wait' && (isAll || target === undefined))
    return wait(isAll ? 'project' : 'session', timeoutSeconds, call);
  if (action === 'send' && message === undefined) return failed('subagents send needs "message"');
  const found = findRun(target, call);
  if (found.kind !== 'found') return found;
  const runId = found.run.run.id;
  switch (action) {
    case 'info':
      return info(found.run, call);
    case 'log':
      return log(found.run, parameters, call);
    case 'send':
      return sendMessage(found.run, { message: message ?? '', timeoutSeconds }, call);
    case 'stop':
      return stop({ kind: 'run', runId }, call);
    case 'wait':
      return wait({ runId }, timeoutSeconds, call);
    case 'retry':
      return spawnAnswer(retryRun(runId, call.requester, call.world));
  }
}

function list(limit: number, { requester, world }: ToolCall): Answer {
  const nowMs = world.now().getTime();
  const { runs, ...counts } = readRunList({ requester: requester.key, limit }, world);
  const views = runs.map(({ listing, queuePosition }) => runView(listing, nowMs, queuePosition));
  return answered({ ...counts, runs: views });
}

function info(listing: RunListing, { world: { paths, now } }: ToolCall): Answer {
  const known = readRuns(paths, (db) => ({
    queuePosition: queuePosition(listing.run.id, db),
    events: runEvents(listing.run.id, EVENTS_SHOWN, db),
  }));
  return answered(infoView(listing, { events: [], ...known, nowMs: now().getTime() }, paths));
}

function log(
  listing: RunListing,
  { limit = LOG_DEFAULT, includeTools }: SubagentsParameters,
  { world }: ToolCall,
): Answer {
  const { run } = listing;
  const messages = messageViews(readLog(run, world), { limit: Math.min(limit, LOG_MAX), includeTools });
  return answered({ number: run.number, label: nameOf(listing), ...messages });
}

async function stop(target: StopTarget, { requester, world }: ToolCall): Promise<Answer> {
  const by = `a session of ${requester.client ?? 'a client'} over MCP`;
  const answer = await stopRuns(target, requester, by, world);
  if (answer.status !== 'done') return refusedBy(answer);
  const { othersActive } = answer;
  const note = `Runs of other sessions go on (${othersActive}): target "project" stops them too.`;
  return answered({ ...answer, ...(othersActive > 0 && { note }) });
}

/** Until the runs have ended and what they have to tell can be told, so that it goes with this very answer. */
async function wait(
  whose: Parameters<typeof turnsAwaited>[1],
  seconds: number | undefined,
  call: ToolCall,
): Promise<Answer> {
  const { requester, world, signal, progress } = call;
  const turns = turnsAwaited(requester, whose, world);
  const onProgress = (runs: readonly RunWithTurn[]) => {
    const left = runs.filter(({ turn }) => !isTerminal(turn.state)).length;
    progress(`${left} of ${runs.length} still at work`);
  };
  const patience = {
    timeoutMs: (seconds ?? WAIT_SECONDS_DEFAULT) * 1000,
    untilAnnounced: true,
    signal,
    onProgress,
  };
  const { kind } = await waitForRuns(turns, patience, world);
  const ids = new Set(turns.map(({ runId }) => runId));
  const nowMs = world.now().getTime();
  const runs = runsOf(call).filter(({ run }) => ids.has(run.id));
  return answered({ status: kind, runs: runs.map((listing) => runView(listing, nowMs, undefined)) });
}

/** What a tool may use while it runs. */
export type ToolCall = {
  readonly world: RunsWorld;
  readonly requester: Requester;
  /** The client has given up. */
  readonly signal: AbortSignal;
  /** Tells the client that it is worth waiting. */
  readonly progress: (message: string) => void;
  /** The reply of this turn stands in the answer, so that it need not be told as well. */
  readonly holdTurn: (turn: TurnName) => void;
};

const RUNS_MAX = 10_000;
const MINUTE_MS = 60_000;

/** `sessions_spawn`. */
export async function spawnSession(request: SpawnParameters, call: ToolCall): Promise<Answer> {
  const { requester, world } = call;
  return spawnAnswer(spawnRun(await seenByGit(request, requester, world), requester, world));
}

/** What a spawn has come to; the fields that the seed names come first. */
function spawnAnswer(answer: SpawnAnswer): Answer {
  if (answer.status !== 'accepted') return refusedBy(answer);
  const { status, runId, childSessionKey, ...others } = answer;
  return answered({ status, runId, childSessionKey, ...others });
}

/** `sessions_list`. */
export function listSessions(parameters: ListParameters, call: ToolCall): Answer {
  const { limit = LIST_DEFAULT, activeMinutes, messageLimit = 0, includeArchived = false } = parameters;
  const { requester, world } = call;
  const isAnyAge = activeMinutes === undefined;
  const sinceMs = isAnyAge ? 0 : world.now().getTime() - activeMinutes * MINUTE_MS;
  const filter = { requester: requester.key, includeArchived, limit: isAnyAge ? limit : RUNS_MAX };
  const found = (readRuns(world.paths, (db) => listRuns(filter, db)) ?? [])
    .filter(({ changedAtMs }) => changedAtMs >= sinceMs)
    .slice(0, limit);
  const lastMessages = (run: Run) => messageViews(readLog(run, world), { limit: messageLimit }).messages;
  const sessions = found.map((listing) => ({
    ...sessionView(listing, world.paths),
    ...(messageLimit > 0 && { messages: lastMessages(listing.run) }),
  }));
  return answered({ count: sessions.length, sessions });
}

/** `sessions_history`. */
export function sessionHistory(parameters: HistoryParameters, call: ToolCall): Answer {
  const { sessionKey, limit = MESSAGES_DEFAULT, includeTools } = parameters;
  const found = findRun(sessionKey, call);
  if (found.kind !== 'found') return found;
  const { run } = found.run;
  const messages = messageViews(readLog(run, call.world), { limit, includeTools });
  return answered({ sessionKey: run.childKey, ...messages });
}

/** `sessions_send`. */
export async function sendToSession(parameters: SendParameters, call: ToolCall): Promise<Answer> {
  const { sessionKey, label, message, timeoutSeconds } = parameters;
  const target = sessionKey ?? label;
  if (target === undefined) return failed('sessions_send needs "sessionKey" or "label"');
  const found = findRun(target, call);
  return found.kind === 'found' ? sendMessage(found.run, { message, timeoutSeconds }, call) : found;
}

/** One more turn, and its reply if it comes in time. */
async function sendMessage(
  { run }: RunListing,
  { message, timeoutSeconds = WAIT_SECONDS_DEFAULT }: { message: string; timeoutSeconds: number | undefined },
  call: ToolCall,
): Promise<Answer> {
  const sent = sendToRun(run.id, message, call.requester, call.world);
  if (sent.status !== 'accepted') return refusedBy(sent);
  const name = { runId: run.id, sessionKey: run.childKey, turn: sent.turn };
  const later = 'The result comes by itself, after the answer of a later call.';
  if (timeoutSeconds === 0) return answered({ status: 'accepted', ...name, note: later });
  const onProgress = () => call.progress(`waiting for run ${run.number}`);
  const patience = { timeoutMs: timeoutSeconds * 1000, signal: call.signal, onProgress };
  const { kind, runs } = await waitForRuns([name], patience, call.world);
  const turn = runs[0]?.turn;
  if (kind === 'timeout' || turn === undefined) {
    const state = turn?.state === 'queued' ? 'queued' : 'running';
    return answered({ status: 'timeout', ...name, note: `It is still ${state}. ${later}` });
  }
  if (turn.state === 'success') {
    if (!call.signal.aborted) call.holdTurn(name);
    const notes = turn.notes.length === 0 ? {} : { notes: turn.notes.map(lineText) };
    return answered({ status: 'ok', ...name, reply: messageText(turn.result ?? '').text, ...notes });
  }
  // With a last message there is more to tell than the reason.
  if (turn.result === null && turn.notes.length === 0 && !call.signal.aborted) call.holdTurn(name);
  const reason = turn.error === null ? turn.state : messageText(turn.error).text;
  return failed(`Subagent error: ${reason} (run ${run.id.slice(0, 8)}).`);
}

/** `agents_list`. */
export function listAgents({ requester, world }: ToolCall): Answer {
  return answered({ ...agentsFor(agentOfKey(requester.key), world) });
}

/** The run that is meant, among those of this requester, archived ones too. */
function findRun(target: string | undefined, call: ToolCall) {
  const found = findOwnRun(target, call);
  return found.kind === 'found' ? found : failed(found.error);
}
