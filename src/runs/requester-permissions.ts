import { userOf } from '../clients/agent-login.ts';
import { callersMode, clientNamed } from '../clients/clients.ts';
import { type ClientUser, RouteRefusal } from '../clients/route.ts';
import type { ClientName } from '../core/client-name.ts';
import { getProjectPath } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import {
  ASKS_FIRST,
  granted,
  narrower,
  type Permissions,
  parseRule,
  ruleText,
  withoutEditing,
} from './model/permissions.ts';
import type { Requester } from './model/run.ts';
import { agentMark } from './requester.ts';
import type { RunsWorld } from './world.ts';

/** What the one who asks has to say of it besides who it is. */
export type Grants = {
  /** `tools.subagents.allow` of the settings: for what an agent would be asked about. */
  readonly ofSettings: readonly string[];
  /** What a person grants with the run. */
  readonly ofPerson: readonly string[];
};

/** Whether a person asks, in a terminal of their own. */
export function isPerson({ client, session }: Requester, { env }: Pick<RunsWorld, 'env'>): boolean {
  return client === null && session === null && agentMark(env) === undefined;
}

/**
 * What a run may do that this requester asks for: as much as the client that works for a person has as its configured
 * mode; for an agent, as much as its own session may, by the mode in which it was last seen. Grants come on top, in plan
 * mode only a person's.
 */
export function requesterPermissions(
  requester: Requester,
  client: ClientName,
  grants: Grants,
  world: RunsWorld,
): Permissions {
  const base = isPerson(requester, world)
    ? configured(client, requester, world)
    : agentPermissions(requester, world);
  return withGrants(base, grants);
}

/** What a run may do at most upon this requester's message; null: as much as it may, since a person sends it. */
export function senderPermissions(
  requester: Requester,
  ofSettings: readonly string[],
  world: RunsWorld,
): Permissions | null {
  if (isPerson(requester, world)) return null;
  return withGrants(agentPermissions(requester, world), { ofSettings, ofPerson: [] });
}

function withGrants(base: Permissions, grants: Grants): Permissions {
  const ofSettings = base.mode === 'plan' ? [] : grants.ofSettings;
  return withoutSecrets(granted(base, [...ofSettings, ...grants.ofPerson]));
}

/** Of nobody that is known, nothing is taken for granted, and no rule of a client's changes files in plan mode. */
function agentPermissions(requester: Requester, world: RunsWorld): Permissions {
  if (requester.client === null) return ASKS_FIRST;
  const own = configured(requester.client, requester, world);
  const seen = { ...own, mode: callersMode(requester, world.env) ?? ASKS_FIRST.mode };
  // Of what cannot be read, what it forbids is not known either.
  if (own === ASKS_FIRST) return narrower(seen, ASKS_FIRST);
  return seen.mode === 'plan' ? withoutEditing(seen) : seen;
}

function configured(client: ClientName, { cwd }: Requester, { env }: RunsWorld): Permissions {
  const user: ClientUser = userOf({ client, agentDir: null, cwd: getProjectPath(cwd, env) ?? cwd }, env);
  try {
    return clientNamed(client).permissions(user);
  } catch (error) {
    if (error instanceof RouteRefusal) return ASKS_FIRST; // What cannot be read allows nothing.
    throw error;
  }
}

/** They are stored with the run. A rule that quotes a secret allows nothing, and forbids the whole of its tool. */
function withoutSecrets({ mode, allow, deny }: Permissions): Permissions {
  const isSafe = (text: string) => redactSecrets(text) === text;
  const whole = (text: string) => {
    const rule = parseRule(text);
    return rule === undefined ? [] : [ruleText({ ...rule, calls: null })];
  };
  return {
    mode,
    allow: allow.filter(isSafe),
    deny: deny.flatMap((text) => (isSafe(text) ? [text] : whole(text))),
  };
}
