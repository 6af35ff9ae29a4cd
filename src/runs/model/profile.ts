import type { SaidOrDone } from './run-log.ts';
import { NO_TOOLS, SUBAGENT_DENY, type ToolPolicy } from './tool-policy.ts';
import { NO_USAGE, type Turn, type Usage } from './turn.ts';

/**
 * Runs that only look, and answer one question, write one plan (seed 001: ExploreAgent, PlanAgent), or judge what others
 * have done; `ask`: one question, without tools.
 */

export const PROFILE_KINDS = ['explore', 'plan', 'ask', 'review'] as const;
export type ProfileKind = (typeof PROFILE_KINDS)[number];
/** Those that agents are called with. */
export type AgentKind = Extract<ProfileKind, 'explore' | 'plan'>;

/** What a run is for, stored with it. Its time is the run's own limit. */
export type Profile = { readonly kind: ProfileKind; readonly limits: ProfileLimits };

/** Null: no limit. */
export type ProfileLimits = {
  /** How often the model may call tools; calls at once count as one. */
  readonly iterations: number | null;
  readonly tokens: number | null;
  readonly usd: number | null;
  /** Of all that its tools answer, in characters. */
  readonly observationChars: number | null;
};

/** The tool of our server with which a plan run has something looked up, by its name in a policy. */
export const EXPLORE_TOOL = 'mcp__self-generation__explore';

const DENIED = ['write', 'edit', 'apply_patch', 'web_search', 'web_fetch'];

/** All that such a run may use (seed 001, R20, R21). `readsBy`: what its client reads by besides, see Client. */
export function profilePolicy(kind: ProfileKind, readsBy: readonly string[]): ToolPolicy {
  if (kind === 'ask') return NO_TOOLS;
  const allow = ['read', 'todo', ...readsBy, ...(kind === 'plan' ? [EXPLORE_TOOL] : [])];
  return { deny: [...SUBAGENT_DENY, ...DENIED], allow };
}

/** What a turn has done so far, as far as its limits are about it. */
export type Work = {
  readonly iterations: number;
  readonly observationChars: number;
  readonly usage: Pick<Usage, 'inputTokens' | 'outputTokens' | 'costUsd'>;
};

/** What is looked at of a client's output; AgentEvent is one of these. */
type WorkEvent =
  | SaidOrDone
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'session' | 'reasoning' | 'refused' | 'warning' | 'result' };

/** Counts a turn's work, event by event. Calls with no word and no answer between them are one iteration. */
export function workCounter() {
  let isCalling = false;
  let [iterations, observationChars] = [0, 0];
  let usage: Work['usage'] = NO_USAGE;
  return {
    observe(event: WorkEvent): void {
      if (event.kind === 'usage') usage = event.usage;
      if (event.kind === 'tool-call' && !isCalling) iterations++;
      if (event.kind === 'tool-result') observationChars += event.text.length;
      if (['tool-call', 'tool-result', 'text'].includes(event.kind)) isCalling = event.kind === 'tool-call';
    },
    work: (): Work => ({ iterations, observationChars, usage }),
  };
}

/** Which limit a turn has gone beyond, in words; undefined: none. What a client does not say counts as nothing. */
export function limitReached(limits: ProfileLimits, { iterations, observationChars, usage }: Work) {
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  const amounts: readonly (readonly [taken: number, most: number | null, words: string])[] = [
    [iterations - 1, limits.iterations, 'calls of tools one after the other'],
    [tokens, limits.tokens, 'tokens'],
    [usage.costUsd ?? 0, limits.usd, 'USD'],
    [observationChars, limits.observationChars, 'characters of what its tools answered'],
  ];
  const over = amounts.find(([taken, most]) => most !== null && taken >= most);
  return over && `limit reached: ${over[1]} ${over[2]}`;
}

/** What became of it (seed 001, AgentStatus, with `incomplete`: a limit was reached, the answer is a part). */
export type AgentStatus =
  | ('pending' | 'planning' | 'running')
  | ('completed' | 'incomplete' | 'failed' | 'cancelled');

/** The status of a turn of a run with a profile. An answer without a word in it is none. */
export function agentStatus({ state, stop, result }: Pick<Turn, 'state' | 'stop' | 'result'>): AgentStatus {
  if (state === 'queued') return 'pending';
  if (state === 'starting') return 'planning';
  if (state === 'running' || state === 'stopping') return 'running';
  if (stop !== null)
    return stop.reason === 'requested' || stop.reason === 'shutdown' ? 'cancelled' : 'incomplete';
  return state === 'success' && (result ?? '').trim() !== '' ? 'completed' : 'failed';
}
