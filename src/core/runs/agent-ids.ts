import type { AgentSettings, RunSettings } from './settings.ts';

/** Which agents may be spawned (R25), and which of them there are. */

const ID_LENGTH_MAX = 64;
const MAIN_AGENT = 'main';

export type Allowlist = { readonly allowAny: boolean; readonly ids: readonly string[] };

/** An id as it is compared: lower case, only letters, digits, `-` and `_`; `main` when nothing is left. */
export function normalizeAgentId(id: string): string {
  const word = id
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, ID_LENGTH_MAX);
  return word || MAIN_AGENT;
}

/** What the requester's agent may spawn besides itself. */
export function allowlistOf(
  requesterAgentId: string,
  { agents, allowAgents }: Pick<RunSettings, 'agents' | 'allowAgents'>,
): Allowlist {
  const own = agents.find(({ id }) => id === requesterAgentId)?.allowAgents ?? null;
  const names = (own ?? allowAgents ?? []).map((name) => name.trim()).filter((name) => name !== '');
  const ids = names.filter((name) => name !== '*').map(normalizeAgentId);
  return { allowAny: names.includes('*'), ids: [...new Set(ids)] };
}

/** What is said when the agent may not be spawned; undefined when it may. */
export function agentRefusal(
  agentId: string,
  requesterAgentId: string,
  { allowAny, ids }: Allowlist,
): string | undefined {
  if (agentId === requesterAgentId || allowAny || ids.includes(agentId)) return undefined;
  return `agentId is not allowed for sessions_spawn (allowed: ${ids.length > 0 ? ids.join(', ') : 'none'})`;
}

export type ListedAgent = { readonly id: string; readonly name?: string; readonly configured: boolean };

/** Every agent that may be spawned: the requester's own first, then by their ids. */
export function listAgents(
  requesterAgentId: string,
  { allowAny, ids }: Allowlist,
  agents: readonly AgentSettings[],
): ListedAgent[] {
  const named = new Set([...ids, ...(allowAny ? agents.map(({ id }) => id) : [])]);
  named.delete(requesterAgentId);
  return [requesterAgentId, ...[...named].sort()].map((id) => {
    const settings = agents.find((agent) => agent.id === id);
    // The main agent is there without a word about it.
    const configured = settings !== undefined || id === MAIN_AGENT;
    return settings?.name ? { id, name: settings.name, configured } : { id, configured };
  });
}
