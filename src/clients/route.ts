import { isRecord, type Json } from '../core/guards.ts';
import { type Environment, isAbsolutePath } from '../core/state-paths.ts';

/**
 * Where a client of the user's sends what it is asked: provider, address, model, login. A client that we start is kept
 * from most of the user's configuration, so this part of it is read here and carried over, or nothing is started.
 */
export type Route = {
  /** The model that the user's configuration names; null: the client chooses, as it would without us. */
  readonly model: string | null;
  /** For the client's configuration, in its own terms; may be seen by everybody on the machine where it has to be. */
  readonly settings: Json;
  /** Keys that stand in the user's configuration, by the variables in which the client is given them. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the caller that belong to this route: names, and beginnings that end in `*`. */
  readonly passedOn: readonly string[];
};

/** The user of a client, as far as it says where questions go. */
export type ClientUser = {
  readonly env: Environment;
  /** The directory of an agent's own login, in the layout of the client's own directory; null: the user's. */
  readonly agentDir: string | null;
  /** Where the client is to work; null: in an empty directory. */
  readonly cwd: string | null;
  /** The text of a file, undefined where there is none. @throws Error when there is one that cannot be read. */
  readonly read: (path: string) => string | undefined;
};

/** A setting because of which nothing may be sent. */
export class RouteRefusal extends Error {}

/** Why nothing may be sent, or null. `ask` asks a client for its route. */
export function refusalOf(ask: () => unknown): string | null {
  try {
    ask();
    return null;
  } catch (error) {
    if (error instanceof RouteRefusal) return error.message;
    throw error;
  }
}

/** The object in a file of the user's; empty when there is none. @throws RouteRefusal when it cannot be understood. */
export function configIn(
  path: string,
  { read }: Pick<ClientUser, 'read'>,
  parse: (text: string) => unknown = Bun.JSONC.parse,
): Json {
  let value: unknown;
  try {
    const text = read(path);
    if (text === undefined || text.trim() === '') return {};
    value = parse(text.replace(/^\uFEFF/, ''));
  } catch {
    value = undefined;
  }
  if (isRecord(value)) return value;
  throw new RouteRefusal(`Cannot tell where questions would go: "${path}" cannot be read`);
}

/** Both together, table by table; what they both say is the stronger one's. */
export function merged(weaker: Json, stronger: Json): Json {
  const both = Object.entries(stronger).map(([key, value]) => {
    const other = weaker[key];
    return [key, isRecord(value) && isRecord(other) ? merged(other, value) : value];
  });
  return { ...weaker, ...Object.fromEntries(both) };
}

/** The user's home directory. */
export function homeOf({ env }: Pick<ClientUser, 'env'>): string {
  return env.HOME ?? env.USERPROFILE ?? '';
}

/** The directory or file that a variable names. @throws RouteRefusal when it would be another one in each directory. */
export function pathIn(name: string, { env }: Pick<ClientUser, 'env'>): string | undefined {
  const path = env[name];
  if (!path || isAbsolutePath(path)) return path || undefined;
  throw new RouteRefusal(`Cannot tell where questions would go: ${name} is no absolute path: "${path}"`);
}

/** Whether a variable of a switch is set to something that means yes. */
export function isOn(value: unknown): boolean {
  return typeof value === 'string' && !/^(?:|0|false|no|off)$/i.test(value.trim());
}

/** The absolute path that a variable names; undefined when it names none. */
export function absoluteIn(name: string, env: Environment): string | undefined {
  const path = env[name];
  return path !== undefined && isAbsolutePath(path) ? path : undefined;
}
