import { isTerminal } from '../core/runs/turn.ts';
import { queuePosition } from '../store/runs/lane.ts';
import { runEvents } from '../store/runs/run-events.ts';
import { countRuns, listRuns, type RunListing } from '../store/runs/runs.ts';
import { readRuns } from '../store/runs/runs-db.ts';
import { runsOf } from '../subagents/own-run.ts';
import { readLog } from '../subagents/read-log.ts';
import { retryRun } from '../subagents/retry.ts';
import { stopRuns } from '../subagents/stop.ts';
import { isComing, waitForRuns } from '../subagents/wait.ts';
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

function placeOf(
  { run, turn }: RunListing,
  position: (runId: string) => number | undefined,
): number | undefined {
  return turn.state === 'queued' ? position(run.id) : undefined;
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
  const by = `${requester.client ?? 'a client'} over MCP`;
  if (target === 'all' || target === '*') {
    return stopped(await stopRuns({ kind: 'all' }, requester, by, world));
  }
  const found = findRun(target, call);
  if (found.kind !== 'found') return found;
  const { id } = found.listing.run;
  return stopped(await stopRuns({ kind: 'run', runId: id }, requester, by, world));
}

function stopped(answer: Awaited<ReturnType<typeof stopRuns>>): Answer {
  return answer.status === 'done' ? answered({ ...answer }) : refusedBy(answer);
}

function retry(target: string | undefined, call: ToolCall): Answer {
  const found = findRun(target, call);
  if (found.kind !== 'found') return found;
  return spawnAnswer(retryRun(found.listing.run.id, call.requester, call.world));
}

/** Until the runs have ended and what they have to tell can be told, so that it goes with this very answer. */
async function wait(target: string | undefined, seconds: number, call: ToolCall): Promise<Answer> {
  const meant = isMany(target) ? activeRuns(target, call) : findRun(target, call);
  if (!Array.isArray(meant) && meant.kind !== 'found') return meant;
  const listings = Array.isArray(meant) ? meant : [meant.listing];
  const { kind } = await waitForRuns(
    listings.map(({ run, turn }) => ({ runId: run.id, turn: turn.number })),
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
  const ids = new Set(listings.map(({ run }) => run.id));
  const nowMs = call.world.now().getTime();
  const runs = runsOf(call).filter(({ run }) => ids.has(run.id));
  return answered({ status: kind, runs: runs.map((listing) => runView(listing, nowMs, undefined)) });
}

function isMany(target: string | undefined): target is 'all' | '*' | undefined {
  return target === undefined || target === 'all' || target === '*';
}

/** Of this session, or with `all` of all that work on the project. */
function activeRuns(target: 'all' | '*' | undefined, call: ToolCall): RunListing[] {
  const { session } = call.requester;
  const isMeant = ({ run }: RunListing) => target !== undefined || run.requester.session === session;
  return runsOf(call).filter((listing) => isComing(listing, call.world) && isMeant(listing));
}
