import { isRecord, type Json } from '../core/guards.ts';

/** What a client is told of our server, and what the user or the client itself has put beside it. */

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
