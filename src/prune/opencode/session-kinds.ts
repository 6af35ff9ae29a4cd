import { isOfSubAgent } from '../../clients/opencode/session.ts';
import { asRecord, isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import { type HostClient, type HostMessage, within } from './host.ts';
import type { PluginLog } from './plugin-log.ts';

/** `unknown`: nobody could say in time; then it is as untouchable as a sub-agent's. */
export type SessionKind = 'main' | 'sub' | 'unknown';

/** Sub-agents of OpenCode's own. */
const BUILT_IN = ['general', 'explore'];

export type SessionKinds = {
  /** Takes in what OpenCode tells of its sessions, which is before their first request. */
  event(input: { readonly event: Json }): void;
  /** Takes in which agents are sub-agents. */
  config(config: Json): void;
  /** Looks up what it has not been told, as long as it may, and never throws. */
  kindOf(sessionId: string, messages: readonly HostMessage[]): Promise<SessionKind>;
};

/** What is known of the sessions of one server, each by its own id. What is once known of a session holds for ever. */
export function sessionKinds(client: HostClient, log: PluginLog, waitMs: number): SessionKinds {
  const kinds = new Map<string, SessionKind>();
  const lookUps = new Map<string, Promise<SessionKind>>();
  const logged = new Map<string, SessionKind>();
  const subAgents = new Set(BUILT_IN);
  const learn = (id: string, kind: SessionKind) => {
    // A sign that it is a sub-agent's counts more than that nothing said so.
    if (kind === 'sub' || (kind === 'main' && !kinds.has(id))) kinds.set(id, kind);
    return kinds.get(id) ?? kind;
  };
  // What is not known in time is looked up again for the next request; an answer that comes late counts then.
  const lookUp = (id: string): Promise<SessionKind> => {
    const running =
      lookUps.get(id) ??
      within(
        waitMs,
        'unknown',
        kindFrom(client, id).then((kind) => learn(id, kind)),
      );
    lookUps.set(id, running);
    return running.finally(() => lookUps.delete(id));
  };
  return {
    event: ({ event: { type, properties } }) => {
      if (type !== 'session.created' && type !== 'session.updated') return;
      const info = readRecord(asRecord(properties), 'info');
      const id = readString(info, 'id');
      if (id !== undefined) learn(id, kindIn(info));
    },
    config: (config) => {
      for (const [name, agent] of Object.entries(readRecord(config, 'agent'))) {
        const mode = isRecord(agent) ? agent.mode : undefined;
        if (mode === 'subagent') subAgents.add(name);
        else if (mode !== undefined) subAgents.delete(name);
      }
    },
    kindOf: async (id, messages) => {
      // A fork of a sub-agent's session has no parent, but what the sub-agent was asked.
      if (messages.some(({ info }) => info.role === 'user' && subAgents.has(String(info.agent))))
        learn(id, 'sub');
      const kind = kinds.get(id) ?? (await lookUp(id));
      if (kind === 'unknown') log.failure(`look up whose session ${id} is`, 'it is left as it is');
      else if (logged.get(id) !== kind) {
        logged.set(id, kind);
        log.info('state', `session ID = ${id}`);
        log.info('state', `isSubAgent = ${kind === 'sub'}`);
      }
      return kind;
    },
  };
}

/** Whether the session is a sub-agent's: one that has a parent. False where that cannot be looked up. */
export async function isSubAgentSession(client: HostClient, sessionId: string): Promise<boolean> {
  return (await kindFrom(client, sessionId)) === 'sub';
}

async function kindFrom(client: HostClient, id: string): Promise<SessionKind> {
  try {
    const { data, error } = await client.session.get({ path: { id } });
    return error !== undefined || !isRecord(data) || data.id !== id ? 'unknown' : kindIn(data);
  } catch {
    return 'unknown';
  }
}

function kindIn(session: Json): SessionKind {
  return isOfSubAgent(session) ? 'sub' : 'main';
}
