import { clientNamed } from '../../clients/clients.ts';
import type { SessionStep } from '../../core/conversation.ts';
import { inertText } from '../../core/inert-text.ts';
import type { Environment } from '../../core/state-paths.ts';
import { loadRunConfig } from '../../settings/all-settings.ts';
import { loadPruneSettings } from '../../settings/prune-settings.ts';
import type { RunSettings } from '../../settings/run-settings.ts';
import { type Handover, handOver, summarised } from '../model/handover.ts';
import {
  type ContextWish,
  HANDOVER_DEFAULTS,
  type HandoverSettings,
  handoverInEnvironment,
  resolveHandover,
} from '../model/handover-settings.ts';
import { agentOfKey, type Requester } from '../model/run.ts';
import { surroundings } from '../spawn.ts';
import { planSpawn, type SpawnRequest } from '../spawn-plan.ts';
import { logRunFailure, type Refusal, type RunsWorld } from '../world.ts';
import { askSummary, type Summariser, type SummaryOptions } from './ask-summary.ts';
import { type ClientSession, chooseSession } from './callers-session.ts';
import { prunedResults, withoutPlaceholders } from './pruned-steps.ts';

/** While a model is asked for a summary. */
export type Asking = Pick<SummaryOptions, 'signal' | 'onProgress'>;

/** A summary is no longer, whatever else may be handed over. */
const SUMMARY_CHARS_MAX = 8000;
const REASON_LENGTH_MAX = 300;

/**
 * The request with what its run is handed of a conversation, or why that cannot be. Nothing is handed over unless the
 * call, the agent's settings or the profile say so. Call it before spawnRun(), which is synchronous.
 */
export async function withContext(
  request: SpawnRequest,
  wish: ContextWish,
  requester: Requester,
  world: RunsWorld,
  asking: Asking = {},
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
    const { read, pruned } = reading({ client, session }, settings, requester, world);
    const whose = { session: { client, id: session.id }, warnings };
    const withReport = ({ text, report }: Handover): SpawnRequest => ({
      ...request,
      handover: {
        text,
        report: { ...report, ...whose, ...pruned, warnings: [...warnings, ...report.warnings] },
      },
    });
    if (settings.mode !== 'summary') return withReport(handOver(read(), settings));
    const plan = planSpawn(request, surroundings(requester, config.settings, world));
    if (plan.kind === 'refused') return plan.refusal;
    const by = { ...plan.run, model: plan.run.model.resolved, budgetUsd: config.settings.budget.run.usd };
    return withReport(await summaryOf(read, settings, by, asking, world));
  } catch (error) {
    logRunFailure('', error, world.paths);
    const words = `Cannot read the session ${session.id} of ${clientNamed(client).title}: ${session.path}`;
    return { status: 'error', error: `${words}; logs/runs.log says why` };
  }
}

/** How the session is read, and how many of its results are left out then where that is asked for. */
function reading(
  { client, session }: ClientSession,
  { pruned }: HandoverSettings,
  { cwd }: Requester,
  { env, paths }: RunsWorld,
) {
  const stored = () => withoutPlaceholders(clientNamed(client).sessions.read(session, env));
  if (!pruned) return { read: stored, pruned: {} };
  const left = prunedResults(stored(), loadPruneSettings(paths), cwd);
  const isKept = (step: SessionStep) => step.kind !== 'result' || !left.has(step.id);
  return { read: () => stored().filter(isKept), pruned: { pruned: left.size } };
}

/** The summary, or, where there is none that can be handed over, the text itself. */
async function summaryOf(
  read: () => Iterable<SessionStep>,
  settings: HandoverSettings,
  by: Summariser,
  asking: Asking,
  world: RunsWorld,
): Promise<Handover> {
  const whole = handOver(read(), { ...settings, mode: 'full', maxChars: 0 });
  const empty = { ...whole, report: { ...whole.report, mode: 'summary' } } as const;
  if (whole.text === '') return empty;
  const charsMax = Math.min(settings.maxChars || SUMMARY_CHARS_MAX, SUMMARY_CHARS_MAX);
  const answer = await askSummary(whole.text, by, { ...asking, charsMax }, world);
  const made = answer.kind === 'usable' ? summarised(whole, answer.summary) : undefined;
  if (made !== undefined && (settings.maxChars === 0 || made.text.length <= settings.maxChars)) return made;
  const reason = answer.kind === 'unusable' ? answer.reason : 'it is longer than may be handed over';
  const { text, report } = handOver(read(), { ...settings, mode: 'full' });
  const warnings = [`no summary by ${by.client}: ${inertText(reason, REASON_LENGTH_MAX)}`];
  return { text, report: { ...report, mode: 'summary', degraded: true, warnings } };
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
