import { isRecord, type Json } from '../core/guards.ts';

/** What a client is told of our server, under one name in one object of its settings, and what may stand beside it. */
export type ServerEntry = {
  readonly holder: string;
  readonly name: string;
  /** What the entry is to hold; what else the user or the client has put into it stays. */
  readonly wanted: Json;
  readonly isOurs: (value: unknown) => boolean;
};

/** Codex's list of variables that it hands on. */
const NAMES_KEY = 'env_vars';

/**
 * The entry with what has to stand there. Everything else in it stays: other keys, other variables, and the value of a
 * variable that would only be handed on by its name.
 */
export function mergeEntry(current: Json, wanted: Json): Json {
  const merged: Json = { ...current };
  for (const [key, value] of Object.entries(wanted)) {
    const standing = current[key];
    if (isRecord(value) && isRecord(standing)) merged[key] = mergeVariables(standing, value);
    else if (key === NAMES_KEY && Array.isArray(value) && Array.isArray(standing))
      merged[key] = [...standing, ...value.filter((name) => !standing.some((one) => nameOf(one) === name))];
    else merged[key] = value;
  }
  return merged;
}

function mergeVariables(current: Json, wanted: Json): Json {
  const merged: Json = { ...current };
  for (const [name, value] of Object.entries(wanted)) {
    const isHandedOn = value === `\${${name}:-}`;
    if (!isHandedOn || !Object.hasOwn(current, name)) merged[name] = value;
  }
  return merged;
}

/** Codex takes a name, or a table with one. */
export function nameOf(variable: unknown): unknown {
  return isRecord(variable) ? variable.name : variable;
}

/** Why nothing is put in the place of an entry that starts another program. */
export function takenReason(name: string): string {
  return `a server of another program is called "${name}"; rename or remove it`;
}
