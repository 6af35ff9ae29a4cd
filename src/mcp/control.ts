import type { RunWithTurn } from '../runs/model/run.ts';
import { isTerminal } from '../runs/model/turn.ts';
import { readLog, readRunList } from '../runs/read-log.ts';
import { runsOf } from '../runs/requester.ts';
import { retryRun } from '../runs/send.ts';
import { stopRuns } from '../runs/stop.ts';
import { queuePosition } from '../runs/store/queue.ts';
import { runEvents } from '../runs/store/rows.ts';
import type { RunListing } from '../runs/store/runs.ts';
import { readRuns } from '../runs/store/runs-db.ts';
import { turnsAwaited, waitForRuns } from '../runs/wait.ts';
import type { StopTarget } from '../runs/world.ts';
import {
  type Answer,
  answered,
  failed,
  infoView,
  messageViews,
  nameOf,
  refusedBy,
  runView,
} from './answer.ts';
import {
  LIST_DEFAULT,
  LOG_DEFAULT,
  LOG_MAX,
  objectionToAction,
  type SubagentsParameters,
  WAIT_SECONDS_DEFAULT,
} from './parameters.ts';
import { findRun, sendMessage, spawnAnswer, type ToolCall } from './run-tool.ts';

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
