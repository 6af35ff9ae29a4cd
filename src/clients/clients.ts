import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import type { Environment } from '../core/state-paths.ts';
import type { PermissionMode } from '../runs/model/permissions.ts';
import type { Requester } from '../runs/model/run.ts';
import type { Client } from './client.ts';
import * as TABLE from './table.ts';

/** Every client by its name. */
export const CLIENTS: Readonly<Record<ClientName, Client>> = TABLE;

/** The client of this name. @throws Error where there is none: it was asked for by another release. */
export function clientNamed(name: ClientName): Client {
  const client = CLIENTS[name];
  if (client === undefined)
    throw new Error(`There is no client "${name}": there are ${CLIENT_NAMES.join(', ')}`);
  return client;
}

/** All variables that clients set for whatever their tools start. */
export const CALLER_MARKS: readonly string[] = Object.values(CLIENTS).flatMap(({ caller }) =>
  Object.keys(caller.marks),
);

/** The client whose tool started this process, by what each of them sets for its tools; null: none did. */
export function clientAround(env: Environment): Client | null {
  const isMarked = ({ caller }: Client) =>
    Object.entries(caller.marks).some(([name, value]) => (value === 'any' ? env[name] : env[name] === value));
  return Object.values(CLIENTS).find(isMarked) ?? null;
}

/** The client that calls itself so when it connects to our MCP server; null: another one. */
export function clientConnecting(mcpName: string | undefined): Client | null {
  return Object.values(CLIENTS).find(({ caller }) => caller.mcpName === mcpName) ?? null;
}

/** The model that the session works with which asks (R16); null when nobody says. */
export function callersModel({ client, session }: Requester, env: Environment): string | null {
  return (client === null ? undefined : clientNamed(client).caller.model?.(session, env)) ?? null;
}

/** The mode in which the session that asks was last seen, by its client's own record; undefined: nobody says. */
export function callersMode({ client, session }: Requester, env: Environment): PermissionMode | undefined {
  return client === null ? undefined : clientNamed(client).caller.mode?.(session, env);
}
