import { clientNamed } from '../../src/clients/clients.ts';
import { type Route, refusalOf as whyNot } from '../../src/clients/route.ts';
import type { Environment } from '../../src/core/state-paths.ts';
import type { ClientName } from '../support/clients.ts';

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

/** The route of the client of this user. */
export function routeOf(name: ClientName, { files = {}, env = {}, agentDir, cwd, model }: Made): Route {
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
  return clientNamed(name).route(user, model ?? null);
}

/** Why there is none. */
export function refusalOf(name: ClientName, made: Made): string {
  const refusal = whyNot(() => routeOf(name, made));
  if (refusal === null) throw new Error('It was not refused');
  return refusal;
}
