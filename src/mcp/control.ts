import { isTerminal } from '../core/runs/turn.ts';
import { queuePosition } from '../store/runs/lane.ts';
import { runEvents } from '../store/runs/run-events.ts';
import { countRuns, listRuns, type RunListing } from '../store/runs/runs.ts';
import { readRuns } from '../store/runs/runs-db.ts';
import { runsOf } from '../subagents/own-run.ts';
import { readLog } from '../subagents/read-log.ts';
import { retryRun } from '../subagents/retry.ts';
import { stopRuns } from '../subagents/stop.ts';
import { turnsAwaited, waitForRuns } from '../subagents/wait.ts';
import { type Answer, answered, failed } from './answer.ts';
import {
  LIST_DEFAULT,
  LOG_DEFAULT,
  LOG_MAX,
  objectionToAction,
  type SubagentsParameters,
  WAIT_SECONDS_DEFAULT,
} from './parameters.ts';
import { findRun, refusedBy, sendMessage, spawnAnswer, type ToolCall } from './run-tool.ts';
import { infoView, messageViews, nameOf, runView } from './views.ts';

const EVENTS_SHOWN = 5;

/** `subagents`. */
export function controlSubagents(parameters: SubagentsParameters, call: ToolCall): Answer | Promise<Answer> {
  const { action = 'list', target, message, timeoutSeconds } = parameters;
  const objection = objectionToAction(action, parameters);
  if (objection !== undefined) return failed(objection);
  switch (action) {
    case 'list':
      return list(parameters.limit ?? LIST_DEFAULT, call);
    case 'info':
      return info(target, call);
    case 'log':
      return log(parameters, call);
    case 'send':
      if (message === undefined) return failed('subagents send needs "message"');
      return sendMessage(target, { message, timeoutSeconds }, call);
    case 'stop':
      return stop(target, call);
    case 'wait':
      return wait(target, timeoutSeconds ?? WAIT_SECONDS_DEFAULT, call);
    case 'retry':
      return retry(target, call);
  }
}

function list(limit: number, { requester, world }: ToolCall): Answer {
  const nowMs = world.now().getTime();
  const shown = readRuns(world.paths, (db) => ({
    ...countRuns(requester.key, db),
    runs: listRuns({ requester: requester.key, limit }, db).map((listing) =>
      runView(
        listing,
        nowMs,
        placeOf(listing, (id) => queuePosition(id, db)),
      ),
    ),
  }));
  return answered(shown ?? { active: 0, done: 0, runs: [] });
}

function info(target: string | undefined, call: ToolCall): Answer {
  const found = findRun(target, call);
  if (found.kind !== 'found') return found;
  const { listing } = found;
  const { paths, now } = call.world;
  const more = readRuns(paths, (db) => ({
    queuePosition: placeOf(listing, (id) => queuePosition(id, db)),
    events: runEvents(listing.run.id, EVENTS_SHOWN, db),
  })) ?? { queuePosition: undefined, events: [] };
  return answered(infoView(listing, { ...more, nowMs: now().getTime(), paths }));
}

function placeOf(listing: RunListing, position: (runId: string) => number | undefined): number | undefined {
  return listing.waiting > 0 || listing.turn.state === 'queued' ? position(listing.run.id) : undefined;
}

function log({ target, limit, includeTools = false }: SubagentsParameters, call: ToolCall): Answer {
  const found = findRun(target, call);
  if (found.kind !== 'found') return found;
  const { run } = found.listing;
  const most = Math.min(limit ?? LOG_DEFAULT, LOG_MAX);
  const messages = messageViews(readLog(run, call.world), { limit: most, includeTools });
  return answered({ number: run.number, label: nameOf(found.listing), ...messages });
}

async function stop(target: string | undefined, call: ToolCall): Promise<Answer> {
  const { requester, world } = call;
  const by = `a session of ${requester.client ?? 'a client'} over MCP`;
  if (target === 'all' || target === '*' || target === 'project') {
    const kind = target === 'project' ? 'project' : 'all';
    return stopped(await stopRuns({ kind }, requester, by, world));
  }
  const found = findRun(target, call);
  if (found.kind !== 'found') return found;
  const { id } = found.listing.run;
  return stopped(await stopRuns({ kind: 'run', runId: id }, requester, by, world));
}

function stopped(answer: Awaited<ReturnType<typeof stopRuns>>): Answer {
  if (answer.status !== 'done') return refusedBy(answer);
  const { othersActive } = answer;
  if (othersActive === 0) return answered({ ...answer });
  const note = `Runs of other sessions go on (${othersActive}): target "project" stops them too.`;
  return answered({ ...answer, note });
}

function retry(target: string | undefined, call: ToolCall): Answer {
  const found = findRun(target, call);
  if (found.kind !== 'found') return found;
  return spawnAnswer(retryRun(found.listing.run.id, call.requester, call.world));
}

/** Until the runs have ended and what they have to tell can be told, so that it goes with this very answer. */
async function wait(target: string | undefined, seconds: number, call: ToolCall): Promise<Answer> {
  const meant = whoseRuns(target, call);
  if (typeof meant === 'object' && 'kind' in meant) return meant;
  const turns = turnsAwaited(call.requester, meant, call.world);
  const { kind } = await waitForRuns(
    turns,
    {
      timeoutMs: seconds * 1000,
      untilAnnounced: true,
      signal: call.signal,
      onProgress: (runs) => {
        const left = runs.filter(({ turn }) => !isTerminal(turn.state)).length;
        call.progress(`${left} of ${runs.length} still at work`);
      },
    },
    call.world,
  );
  const ids = new Set(turns.map(({ runId }) => runId));
  const nowMs = call.world.now().getTime();
  const runs = runsOf(call).filter(({ run }) => ids.has(run.id));
  return answered({ status: kind, runs: runs.map((listing) => runView(listing, nowMs, undefined)) });
}

/** Those of this session, with `all` all that work on the project, or the one that is named. */
function whoseRuns(target: string | undefined, call: ToolCall) {
  if (target === undefined) return 'session';
  if (target === 'all' || target === '*') return 'project';
  const found = findRun(target, call);
  return found.kind === 'found' ? { runId: found.listing.run.id } : found;
}
