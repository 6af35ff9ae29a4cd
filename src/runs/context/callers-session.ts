import { clientNamed } from '../../clients/clients.ts';
import type { StoredSession } from '../../clients/sessions.ts';
import { CLIENT_NAMES, type ClientName } from '../../core/client-name.ts';
import { inertText } from '../../core/inert-text.ts';
import { canonicalProjectPath } from '../../core/project.ts';
import { pathExists, readTextFile } from '../../system/runtime-bun.ts';
import { type Requester, repositoryOf } from '../model/run.ts';
import { timeAgo } from '../model/stats.ts';
import { isPerson } from '../requester.ts';
import { readRuns } from '../store/rows.ts';
import { sessionsOfRuns } from '../store/runs.ts';
import type { RunsWorld } from '../world.ts';

/** A session with the client in whose store it stands. */
export type ClientSession = { readonly client: ClientName; readonly session: StoredSession };

export type SessionChoice =
  | (ClientSession & { readonly kind: 'found' })
  | { readonly kind: 'none' | 'several'; readonly error: string };

/** A session that was written within this time is one in which somebody works. */
const LIVE_MS = 10 * 60_000;
const NAMED_MAX = 4;
const ECHO_LENGTH_MAX = 80;
const SAY_WHICH = 'say which one is meant: "--session ID", over MCP "session"';

/**
 * Whose conversation is handed over: the session of this id, else the one that the requester asks from, else, for a person,
 * the newest of the project. Sessions of background runs and of sub-agents never count, unless they are named. An agent is
 * given none of another project.
 */
export function chooseSession(
  wanted: string | undefined,
  requester: Requester,
  world: RunsWorld,
): SessionChoice {
  if (wanted) return named(wanted, requester, world);
  if (requester.client === null) return requester.session === null ? newestHere(requester, world) : UNKNOWN;
  const { storedSessionVariable = '' } = clientNamed(requester.client).caller;
  const own = world.env[storedSessionVariable];
  return own ? withId(own, requester.client, world) : onlyLive(requester.client, requester, world);
}

const UNKNOWN: SessionChoice = {
  kind: 'none',
  error: `Cannot hand over the conversation of a client that is not known: ${SAY_WHICH}`,
};

function named(id: string, requester: Requester, world: RunsWorld): SessionChoice {
  const { client } = requester;
  const first = client === null ? [] : [client];
  const words = `Cannot hand over the session "${inertText(id, ECHO_LENGTH_MAX)}"`;
  for (const name of new Set([...first, ...CLIENT_NAMES])) {
    const session = clientNamed(name).sessions.withId(id, world.env);
    if (session === undefined) continue;
    const isOfProject = () => startedHere([name], requester, world).some((one) => one.session.id === id);
    if (isPerson(requester, world) || isOfProject()) return { kind: 'found', client: name, session };
    const error = `${words}: it was not started in "${requester.cwd}"; only a person hands over what was said in another project`;
    return { kind: 'none', error };
  }
  return {
    kind: 'none',
    error: `${words}: no client has one with this id. Use the id that the client shows`,
  };
}

function withId(id: string, client: ClientName, { env }: RunsWorld): SessionChoice {
  const { sessions, title } = clientNamed(client);
  const session = sessions.withId(id, env);
  if (session !== undefined) return { kind: 'found', client, session };
  const words = `Cannot hand over the session "${inertText(id, ECHO_LENGTH_MAX)}" of ${title}`;
  return { kind: 'none', error: `${words}: it is not in its store, perhaps because it is not saved` };
}

/** The session in which the client works here by now; it does not say which one asks. */
function onlyLive(client: ClientName, requester: Requester, world: RunsWorld): SessionChoice {
  const live = sessionsHere([client], requester, world).filter((one) => isLive(one, world));
  const [only, ...others] = live;
  if (only === undefined) {
    const { title } = clientNamed(client);
    const error = `Cannot tell which session of ${title} asks: none in "${requester.cwd}" was written a moment ago; ${SAY_WHICH}`;
    return { kind: 'none', error };
  }
  return others.length === 0 ? { kind: 'found', ...only } : several(live, world);
}

function newestHere(requester: Requester, world: RunsWorld): SessionChoice {
  const found = sessionsHere(CLIENT_NAMES, requester, world);
  const live = found.filter((one) => isLive(one, world));
  if (live.length > 1) return several(live, world);
  const [newest] = found;
  if (newest !== undefined) return { kind: 'found', ...newest };
  return {
    kind: 'none',
    error: `Cannot find a session that was started in "${requester.cwd}": ${SAY_WHICH}`,
  };
}

function several(live: readonly ClientSession[], world: RunsWorld): SessionChoice {
  const names = live.slice(0, NAMED_MAX).map(({ client, session: { id, modifiedMs } }) => {
    const age = timeAgo(modifiedMs, world.now().getTime());
    return `${clientNamed(client).title} ${inertText(id, ECHO_LENGTH_MAX)} (${age})`;
  });
  const more = live.length > names.length ? ', …' : '';
  const error = `Cannot tell whose conversation to hand over: there is work in ${names.join(', ')}${more}; ${SAY_WHICH}`;
  return { kind: 'several', error };
}

function isLive({ session }: ClientSession, world: RunsWorld): boolean {
  return world.now().getTime() - session.modifiedMs <= LIVE_MS;
}

/** Those of persons and of agents that they talk to, the one written last first. */
function sessionsHere(
  clients: readonly ClientName[],
  requester: Requester,
  world: RunsWorld,
): ClientSession[] {
  const found = startedHere(clients, requester, world);
  const ids = found.map(({ session }) => session.id);
  const own = readRuns(world.paths, (db) => sessionsOfRuns(ids, db));
  return found
    .filter(({ session }) => own?.has(session.id) !== true)
    .sort((one, other) => other.session.modifiedMs - one.session.modifiedMs);
}

/** The sessions of these clients that were started here, at the root of the repository, or in its main working tree. */
function startedHere(
  clients: readonly ClientName[],
  { cwd }: Requester,
  { env }: RunsWorld,
): ClientSession[] {
  return clients.flatMap((client) =>
    directoriesOf(cwd).flatMap((directory) =>
      clientNamed(client)
        .sessions.startedIn(directory, env)
        .map((session) => ({ client, session })),
    ),
  );
}

function directoriesOf(directory: string): readonly string[] {
  const here = [directory, repositoryOf(directory, PROBE)];
  return [...new Set([...here, ...here.map((path) => canonicalProjectPath(path, PROBE))])];
}

const PROBE = { pathExists, readTextFile };
