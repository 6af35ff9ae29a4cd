import { clientNamed } from '../../clients/clients.ts';
import type { Environment } from '../../core/state-paths.ts';
import { loadRunConfig } from '../../settings/all-settings.ts';
import type { RunSettings } from '../../settings/run-settings.ts';
import {
  type ContextWish,
  HANDOVER_DEFAULTS,
  type HandoverSettings,
  handOver,
  handoverInEnvironment,
  resolveHandover,
} from '../model/handover.ts';
import { agentOfKey, type Requester } from '../model/run.ts';
import type { SpawnRequest } from '../spawn-plan.ts';
import { logRunFailure, type Refusal, type RunsWorld } from '../world.ts';
import { chooseSession } from './callers-session.ts';

/**
 * The request with what its run is handed of a conversation, or why that cannot be. Nothing is handed over unless the
 * call, the agent's settings or the profile say so. Call it before spawnRun(), which is synchronous.
 */
export async function withContext(
  request: SpawnRequest,
  wish: ContextWish,
  requester: Requester,
  world: RunsWorld,
): Promise<SpawnRequest | Refusal> {
  const config = loadRunConfig(world.paths);
  if (config.kind === 'refused') return request; // The spawn says why.
  const resolved = contextSettings(request, wish, requester, world.env, config.settings);
  const { settings, warnings } = resolved;
  if (settings.mode === 'none') return request;
  const choice = chooseSession(wish.session, requester, world);
  if (choice.kind !== 'found') {
    const isAsked = choice.kind === 'several' || isAnythingSaid(wish);
    return isAsked ? { status: 'error', error: choice.error } : withNothing(request, settings, choice.error);
  }
  const { client, session } = choice;
  try {
    const { text, report } = handOver(clientNamed(client).sessions.read(session, world.env), settings);
    const handover = { text, report: { ...report, session: { client, id: session.id }, warnings } };
    return { ...request, handover };
  } catch (error) {
    logRunFailure('', error, world.paths);
    const words = `Cannot read the session ${session.id} of ${clientNamed(client).title}: ${session.path}`;
    return { status: 'error', error: `${words}; logs/runs.log says why` };
  }
}

/** As the call, the agent, and for a plan the environment and the configuration have them, in this order. */
function contextSettings(
  { agentId, profile }: SpawnRequest,
  wish: ContextWish,
  requester: Requester,
  env: Environment,
  { agents, context }: RunSettings,
) {
  const id = agentId?.trim().toLowerCase() || agentOfKey(requester.key);
  const ofAgent = agents.find((agent) => agent.id === id)?.context;
  const ofPlan = profile === 'plan' ? [handoverInEnvironment(env), context] : [];
  const isSaid = isAnythingSaid(wish) || profile === 'plan';
  // Who says how many messages means the newest ones.
  const said = { ...wish, mode: wish.mode ?? (wish.recentN === undefined ? undefined : 'recent') };
  return resolveHandover([said, ofAgent ?? {}, ...ofPlan, isSaid ? {} : { mode: 'none' }]);
}

function isAnythingSaid(wish: ContextWish): boolean {
  return Object.values(wish).some((value) => value !== undefined);
}

/** Nobody has asked for it, and there is nothing: that is said, and the run is started. */
function withNothing(request: SpawnRequest, settings: HandoverSettings, warning: string): SpawnRequest {
  const { text, report } = handOver([], { ...HANDOVER_DEFAULTS, mode: settings.mode });
  return { ...request, handover: { text, report: { ...report, warnings: [warning] } } };
}
