import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { Json } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import { cutText } from '../core/text.ts';
import { readOrchestration } from '../orchestrate/engine.ts';
import { leftNote, statusOf } from '../orchestrate/standing.ts';
import { planOrchestration, startEngine } from '../orchestrate/start.ts';
import { isCarriedOn, orchestrationsOf } from '../orchestrate/store.ts';
import { worklogMarkdown } from '../orchestrate/worklog.ts';
import { readRuns } from '../runs/store/rows.ts';
import { messageText, RefusedCall, type ToolCall, unlessRefused } from './answer.ts';
import type { ORCHESTRATE_PARAMETERS, WORKLOG_PARAMETERS } from './parameters.ts';

/** What answers `orchestrate` and `worklog`: a team of agents, with the permissions of who asks, and how far it is. */

/** Two clients cut an answer that is much longer. */
const WORKLOG_LENGTH_MAX = 10_000;
const LOOK_MS = 500;
/** Within this time the process that carries it on has begun. */
const BEGIN_MS = 5000;
const NOTE = 'It goes on by itself. worklog with timeoutSeconds waits for its end.';

/** Begins one, which a process of its own carries on: it outlives this server. Whoever calls this has decided that a team does it. @throws RefusedCall */
export function orchestrate(
  { task }: z.infer<typeof ORCHESTRATE_PARAMETERS>,
  { requester, world }: ToolCall,
): Json {
  if (task.trim() === '') throw new RefusedCall('orchestrate needs "task"');
  const how = { mode: 'pipeline', permissions: [] } as const;
  const begun = unlessRefused(planOrchestration(task.trim(), how, requester, world));
  startEngine(begun, world);
  return { status: 'accepted', id: begun.id, number: begun.number, note: NOTE };
}

/** How one of this project stands, its end if that comes in time. @throws RefusedCall */
export async function worklog(
  { number, timeoutSeconds = 0 }: z.infer<typeof WORKLOG_PARAMETERS>,
  { requester, world, signal, progress }: ToolCall,
): Promise<Json> {
  const all = readRuns(world.paths, (db) => orchestrationsOf(requester.key, db)) ?? [];
  const meant = number === undefined ? all[0] : all.find((one) => one.number === number);
  if (meant === undefined) {
    const known = all.map((one) => one.number).join(', ') || 'none';
    throw new RefusedCall(`There is no such orchestration in this project; known: ${known}`);
  }
  const endMs = performance.now() + timeoutSeconds * 1000;
  let seenMs = performance.now();
  for (;;) {
    if (readRuns(world.paths, (db) => isCarriedOn(meant.id, db))) seenMs = performance.now();
    const isLeft = performance.now() - seenMs > BEGIN_MS;
    const state = readOrchestration(meant.id, world);
    if (state === undefined) throw new RefusedCall(`Orchestration ${meant.number} is gone`);
    const leftMs = endMs - performance.now();
    if (state.ended === null && leftMs > 0 && !isLeft && !signal.aborted) {
      progress(`orchestration ${state.number}: ${statusOf(state)}`);
      await sleep(Math.min(LOOK_MS, leftMs), undefined, { signal }).catch(() => {}); // An abort ends it early.
      continue;
    }
    const text = redactSecrets(worklogMarkdown(state));
    const shown = cutText(text, WORKLOG_LENGTH_MAX);
    const result = state.ended === null ? null : messageText(state.ended.text).text;
    const isCut = shown.length < text.length;
    return {
      ...{ number: state.number, status: statusOf(state), result, worklog: shown },
      ...(isLeft && { left: leftNote(state, false) }),
      ...(isCut && { note: `The rest: self-generation worklog ${state.number}` }),
    };
  }
}
