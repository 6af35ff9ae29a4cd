import type { z } from 'zod';
import type { Json } from '../core/guards.ts';
import {
  type AgentSetting,
  ExploreAgent,
  isOver,
  resultString,
  type SubAgentResult,
} from '../runs/context/agents.ts';
import type { SeenFile } from '../runs/context/evidence.ts';
import { missingSections } from '../runs/context/plan.ts';
import { currentVersion } from '../runs/context/plan-store.ts';
import { draftPlan } from '../runs/context/planning.ts';
import { withContext } from '../runs/context/with-context.ts';
import type { AgentKind } from '../runs/model/profile.ts';
import { isInsideRun } from '../runs/world.ts';
import { type ToolCall, unlessRefused } from './answer.ts';
import { AGENT_WAIT_SECONDS_DEFAULT, type EXPLORE_PARAMETERS, type PLAN_PARAMETERS } from './parameters.ts';

/** What answers `explore` and `plan`: the words of the result, and its parts. */

type Asked = Pick<z.infer<typeof EXPLORE_PARAMETERS>, 'context' | 'client' | 'model' | 'timeoutSeconds'>;

/** @throws RefusedCall */
export async function explore(parameters: z.infer<typeof EXPLORE_PARAMETERS>, call: ToolCall): Promise<Json> {
  const { query } = parameters;
  const setting = await settingOf('explore', query, parameters, call);
  const result = await new ExploreAgent('explore', setting).run(query, { task: query });
  return answerOf('explore', result, call);
}

const UNPLANNED =
  'No plan is begun: the agents that explore for it go on, and what they find comes by itself, after the answers of later calls. Call plan again then without "explore", or now with a longer timeoutSeconds.';

/** @throws RefusedCall */
export async function plan(parameters: z.infer<typeof PLAN_PARAMETERS>, call: ToolCall): Promise<Json> {
  const { task, explore: explorers = 0 } = parameters;
  const setting = await settingOf('plan', task, parameters, call);
  const { plan: drafted, result } = await draftPlan(task, explorers, setting);
  if (!isOver(result) && drafted.pending === null) return { status: 'timeout', note: UNPLANNED };
  const text = currentVersion(drafted)?.text;
  const lacking = text === undefined ? {} : { lacking: missingSections(text) };
  return { ...answerOf('plan', result, call), ...(result.run !== null && { plan: drafted.id }), ...lacking };
}

async function settingOf(
  profile: AgentKind,
  task: string,
  { context: mode, client, model, timeoutSeconds }: Asked,
  { world, requester, signal, progress }: ToolCall,
): Promise<AgentSetting> {
  const asked = { task, profile, client, model };
  const asking = { signal, onProgress: progress };
  // A plan has no conversation to hand on, and nothing is asked of a model for one.
  const isInside = isInsideRun(world);
  const handed = isInside ? asked : await withContext(asked, { mode }, requester, world, asking);
  const { task: _task, profile: _profile, ...request } = unlessRefused(handed);
  const seconds = timeoutSeconds ?? (isInside ? undefined : AGENT_WAIT_SECONDS_DEFAULT);
  const untilMs = seconds === undefined ? null : world.now().getTime() + seconds * 1000;
  const onProgress: AgentSetting['onProgress'] = ([one]) =>
    one && progress(`run ${one.run.number} is ${one.turn.state}`);
  return { world, requester, request, untilMs, signal, onProgress };
}

/** @throws RefusedCall when no run was started */
function answerOf(kind: AgentKind, result: SubAgentResult, { world, signal, holdTurn }: ToolCall): Json {
  if (result.refusal !== null) return unlessRefused(result.refusal);
  const { run, artifacts, contextUpdates, errors, executionTimeMs, tokenUsage } = result;
  const { cwd: _, warning, ...turn } = run ?? { cwd: '', warning: null };
  const name = { ...turn, ...(warning !== null && { warning }) };
  if (!isOver(result)) {
    const note = 'It goes on. The result comes by itself, after the answer of a later call.';
    return { status: 'timeout', ...name, note };
  }
  if (run !== null && !signal.aborted) holdTurn(run);
  return {
    status: result.status,
    text: resultString(kind, result, world),
    ...name,
    result: { ...brief(artifacts, contextUpdates), errors, executionTimeMs, tokenUsage },
  };
}

/** Beside the text: two clients cut an answer that is much longer. */
const FILES_LENGTH_MAX = 2000;
const RANGES_MAX = 10;

/** Of the files that were read the first ones that have room. */
function brief(artifacts: SubAgentResult['artifacts'], updates: SubAgentResult['contextUpdates']) {
  const filesRead: SeenFile[] = [];
  let room = FILES_LENGTH_MAX;
  for (const { path, lines } of artifacts.filesRead) {
    const file = { path, lines: lines.slice(0, RANGES_MAX) };
    room -= JSON.stringify(file).length;
    if (room >= 0) filesRead.push(file);
  }
  const examined = updates.filesExamined && { filesExamined: filesRead.map(({ path }) => path) };
  return { artifacts: { ...artifacts, filesRead }, contextUpdates: { ...updates, ...examined } };
}
