import { isRecord, type Json } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';

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
    if (isRecord(value) && isRecord(standing)) {
      const isHandedOn = ([name, one]: [string, unknown]) =>
        one === `\${${name}:-}` && Object.hasOwn(standing, name);
      const set = Object.entries(value).filter((variable) => !isHandedOn(variable));
      merged[key] = { ...standing, ...Object.fromEntries(set) };
    } else if (key === NAMES_KEY && Array.isArray(value) && Array.isArray(standing))
      merged[key] = [...standing, ...value.filter((name) => !standing.some((one) => nameOf(one) === name))];
    else merged[key] = value;
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

/** Where a client has its MCP servers, and what has to stand there for ours. */
export type McpRegistration = {
  /** The client's own directory, by which it is seen that there is one, and its file with the servers. */
  readonly place: (user: ServerUser) => { readonly directory: string; readonly path: string };
  readonly format: 'json' | 'toml';
  /** The object in that file that holds the servers, by their names. */
  readonly holder: string;
  /** What a file begins with that is made for our server alone. */
  readonly fresh?: Json;
  readonly entry: (server: OurServer) => Json;
  /** It gives its servers no variable with a key that is not named in the entry. */
  readonly holdsBack?: true;
  /** Variables from which the user's configuration takes keys: files to read besides that of `place`, and those named in a text. */
  readonly keys?: {
    readonly files?: readonly string[];
    readonly namedIn: (text: string) => readonly string[];
  };
};

/** The user of a client. `claudeDirectory` holds Claude Code's settings; `home` is the home directory. */
export type ServerUser = {
  readonly env: Environment;
  readonly home: string;
  readonly claudeDirectory: string;
};

type OurServer = {
  readonly command: string;
  /** Set for it: `SELF_GENERATION_HOME`, where that is not the usual one. */
  readonly variables: Readonly<Record<string, string>> | undefined;
  /** To be handed on from the client's environment, for a client that holds them back. */
  readonly handedOn: readonly string[];
};

/**
 * What a sub-agent's client may need to be logged in and to reach its service: Codex gives its servers no variable that
 * is not named, and Gemini CLI none that looks like a key and is not named. The other two hand theirs on.
 */
export const HANDED_ON: readonly string[] = [
  ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN'],
  ...['CLAUDE_CONFIG_DIR', 'CODEX_API_KEY', 'CODEX_CA_CERTIFICATE', 'CODEX_HOME', 'GEMINI_API_KEY'],
  ...['GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'OPENAI_API_KEY', 'OPENCODE_CONFIG', 'OPENROUTER_API_KEY'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'],
  ...['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME'],
];
