import { runClient } from '../../src/clients/clients.ts';
import type { Route } from '../../src/clients/route.ts';
import type { ClientName } from '../../src/core/client-name.ts';
import type { Environment } from '../../src/core/state-paths.ts';

/** The route of a client whose configuration says nothing. */
export const NO_ROUTE: Route = { model: null, settings: {}, env: {}, passedOn: [] };

/** A user whose files are these, below `/home/dev` where their paths are relative. */
export type Made = {
  readonly files?: Readonly<Record<string, unknown>>;
  readonly env?: Environment;
  readonly agentDir?: string;
  readonly cwd?: string;
  readonly model?: string;
};

function routed(name: ClientName, { files = {}, env = {}, agentDir, cwd, model }: Made) {
  const texts = new Map(
    Object.entries(files).map(([path, content]) => [
      path.startsWith('/') ? path : `/home/dev/${path}`,
      typeof content === 'string' ? content : JSON.stringify(content),
    ]),
  );
  const user = {
    env: { HOME: '/home/dev', ...env },
    agentDir: agentDir ?? null,
    cwd: cwd ?? null,
    read: (path: string) => texts.get(path),
  };
  return runClient(name).route(user, model ?? null);
}

/** The route of the client of this user. */
export function routeOf(name: ClientName, made: Made): Route {
  const found = routed(name, made);
  if (found.kind === 'refused') throw new Error(`It was refused: ${found.reason}`);
  return found.route;
}

/** Why there is none. */
export function refusalOf(name: ClientName, made: Made): string {
  const found = routed(name, made);
  if (found.kind === 'route') throw new Error(`It was not refused: ${JSON.stringify(found.route)}`);
  return found.reason;
}
