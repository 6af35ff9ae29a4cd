import type { ClientName } from '../../core/client-name.ts';
import { cutText, oneLine } from '../../core/text.ts';
import type { AgentSettings, RunSettings } from '../../settings/run-settings.ts';
import { agentId as idType } from '../../settings/run-settings.ts';

/** Which agents may be spawned (R25), and which of them there are. */

const MAIN_AGENT = 'main';
const ECHO_LENGTH_MAX = 80;
/** So many letters may be wrong in an id that is taken for another one. */
const TYPOS_MAX = 3;

type Allowlist = { readonly allowAny: boolean; readonly ids: readonly string[] };

/** What the requester's agent may spawn besides itself. */
export function allowlistOf(
  requesterAgentId: string,
  { agents, allowAgents }: Pick<RunSettings, 'agents' | 'allowAgents'>,
): Allowlist {
  const own = agents.find(({ id }) => id === requesterAgentId)?.allowAgents ?? null;
  const names = new Set(own ?? allowAgents ?? []);
  return { allowAny: names.delete('*'), ids: [...names] };
}

/** The agent of that id, or why it cannot be spawned. With none, it is the requester's own. */
export function chooseAgent(
  wanted: string | undefined,
  requesterAgentId: string,
  settings: Pick<RunSettings, 'agents' | 'allowAgents'>,
) {
  const word = (wanted ?? '').trim() || requesterAgentId;
  const shown = `"${cutText(oneLine(word), ECHO_LENGTH_MAX)}"`;
  const id = idType.read(word, () => {});
  if (id === undefined) {
    const error = `Invalid agentId ${shown}: it has at most 64 letters, digits, - and _, and begins with a letter or digit`;
    return refused('error', error);
  }
  const allowlist = allowlistOf(requesterAgentId, settings);
  const ids = listAgents(requesterAgentId, allowlist, settings.agents).map((agent) => agent.id);
  if (ids.includes(id)) return { kind: 'chosen', id } as const;
  const { allowAny, ids: listed } = allowlist;
  if (!allowAny) {
    const allowed = listed.length > 0 ? listed.join(', ') : 'none';
    const error = `agentId is not allowed for sessions_spawn (allowed: ${allowed}): to spawn ${shown}, add it to allowAgents in the settings`;
    return refused('forbidden', error);
  }
  const meant = nearest(id, ids);
  const guess = meant === undefined ? `Configured: ${ids.join(', ')}` : `Did you mean "${meant}"?`;
  const error = `No agent ${shown} is configured. ${guess} A new one is added to agents.list in the settings`;
  return refused('error', error);
}

function refused(status: 'error' | 'forbidden', error: string) {
  return { kind: 'refused', status, error } as const;
}

function nearest(id: string, ids: readonly string[]): string | undefined {
  const [found] = ids
    .map((other) => ({ other, typos: typosBetween(id, other) }))
    .filter(({ typos, other }) => typos <= Math.min(TYPOS_MAX, other.length / 2))
    .sort((one, other) => one.typos - other.typos);
  return found?.other;
}

/** How many letters have to be added, left out or changed to get from one word to the other. */
function typosBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...from].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...to].entries()) {
      const changed = (row[index] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(changed, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/** Every agent that may be spawned: the requester's own first, then by their ids. */
export function listAgents(
  requesterAgentId: string,
  { allowAny, ids }: Allowlist,
  agents: readonly AgentSettings[],
) {
  const named = new Set([...ids, ...(allowAny ? [MAIN_AGENT, ...agents.map(({ id }) => id)] : [])]);
  named.delete(requesterAgentId);
  return [requesterAgentId, ...[...named].sort()].map((id) => {
    const settings = agents.find((agent) => agent.id === id);
    // The main agent is there without a word about it.
    const configured = settings !== undefined || id === MAIN_AGENT;
    return settings?.name ? { id, name: settings.name, configured } : { id, configured };
  });
}

/** A model that somebody wants, and for which client; null: for whichever it is. */
export type WantedModel = { readonly model: string | null; readonly client: ClientName | null };

/** A client, as far as it names models. */
type ModelClient = {
  readonly name: ClientName;
  readonly modelProblem?: (model: string) => string | undefined;
};

const NAME_LENGTH_MAX = 200;
const MODEL_ECHO_LENGTH_MAX = 80;

/**
 * The first of these that can be a model of the client (R16): what was asked for, the agent's, the defaults', the caller's;
 * null: the client chooses. Others are left out, with a warning (R20) unless the settings mean another client.
 */
export function chooseModel(
  requested: string | undefined,
  others: readonly WantedModel[],
  client: ModelClient,
) {
  const asked = requested?.trim() || null;
  const warnings: string[] = [];
  const wanted = [{ model: asked, client: client.name }, ...others];
  for (const { model, client: meantFor } of wanted) {
    const name = model?.trim() ?? '';
    if (name === '' || (meantFor !== null && meantFor !== client.name)) continue;
    const problem = modelProblem(name, client);
    if (problem === undefined) return { requested: asked, resolved: name, warnings };
    const shown = cutText(oneLine(name), MODEL_ECHO_LENGTH_MAX);
    warnings.push(`model "${shown}" is not used: ${problem}; the default is used instead`);
  }
  return { requested: asked, resolved: null, warnings };
}

function modelProblem(name: string, client: ModelClient): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return 'it is too long for a name';
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._:/@[\]+-]*$/u.test(name)) return 'a model has no such name';
  return client.modelProblem?.(name);
}
