import { isRecord, type Json, lookOr } from '../core/guards.ts';
import { type Environment, isAbsolutePath, userHomeOf } from '../core/state-paths.ts';
import { type ClientUser, RouteRefusal } from './route.ts';

/** The user's files and directories, as clients find them. */

const UNCLEAR = 'Cannot tell where questions would go:';

/** The object in a file of the user's; empty when there is none. @throws RouteRefusal when it cannot be understood. */
export function configIn(
  path: string,
  { read }: Pick<ClientUser, 'read'>,
  parse: (text: string) => unknown = Bun.JSONC.parse,
): Json {
  const text = (textOf(path, read) ?? '').replace(/^\uFEFF/, '');
  const value = text.trim() === '' ? {} : lookOr(() => parse(text), undefined);
  if (isRecord(value)) return value;
  throw new RouteRefusal(`${UNCLEAR} "${path}" cannot be read`);
}

/** The text of a file, undefined where there is none. @throws RouteRefusal when there is one that cannot be read. */
export function textOf(path: string, read: ClientUser['read']): string | undefined {
  try {
    return read(path);
  } catch {
    throw new RouteRefusal(`${UNCLEAR} "${path}" cannot be read`);
  }
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
  return userHomeOf(env, process.platform) ?? env.HOME ?? '';
}

/** The directory or file that a variable names. @throws RouteRefusal when it would be another one in each directory. */
export function pathIn(name: string, { env }: Pick<ClientUser, 'env'>): string | undefined {
  const path = env[name];
  if (!path || isAbsolutePath(path)) return path || undefined;
  throw new RouteRefusal(`${UNCLEAR} ${name} is no absolute path: "${path}"`);
}

/** The directory that a variable names, else the one of the user's home. @throws RouteRefusal as pathIn() does. */
export function directoryIn(name: string, inHome: string, user: Pick<ClientUser, 'env'>): string {
  return pathIn(name, user) ?? `${homeOf(user)}/${inHome}`;
}

/** These of the settings, as far as they are there. */
export function picked(config: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.flatMap((name) => (name in config ? [[name, config[name]]] : [])));
}

/** The absolute path that a variable names; undefined when it names none. */
export function absoluteIn(name: string, env: Environment): string | undefined {
  const path = env[name];
  return path !== undefined && isAbsolutePath(path) ? path : undefined;
}

/** The block of YAML that a text begins with; empty without one. */
export function frontmatterOf(text: string): string {
  return /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[1] ?? '';
}
