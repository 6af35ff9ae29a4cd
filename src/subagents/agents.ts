import { allowlistOf, listAgents } from '../core/runs/agent-ids.ts';
import { loadRunSettings } from '../store/run-config.ts';
import type { RunsWorld } from './features.ts';

/** Which agents the requester's agent may spawn (R26). */
export function agentsFor(requester: string, { paths }: RunsWorld) {
  const settings = loadRunSettings(paths);
  const allowlist = allowlistOf(requester, settings);
  const agents = listAgents(requester, allowlist, settings.agents);
  return { requester, allowAny: allowlist.allowAny, agents };
}
