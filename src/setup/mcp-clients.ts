import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { isRecord, type Json } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import type { TextEdit, TextRemoval } from './file-plan.ts';
import { readJsonEntry, removeJsonEntry, setJsonEntry } from './json-entry.ts';
import { ownerOf, type Place } from './place.ts';
import { readTomlEntry, removeTomlEntry, setTomlEntry } from './toml-entry.ts';

/** Where each client has its MCP servers, and what has to stand there for ours. */

/** The server's name in every client; its tools are `mcp__self-generation__sessions_spawn` and so on. */
export const SERVER_NAME = 'self-generation';

export const CLIENT_TITLES: Readonly<Record<ClientName, string>> = {
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  opencode: 'OpenCode',
};

/** A client's settings file, as far as MCP servers go. */
export type McpFile = {
  readonly client: ClientName;
  readonly path: string;
  /** The client's own directory, by which it is seen that there is one. */
  readonly directory: string;
  readonly set: (text: string | undefined) => TextEdit;
  /** `original`: what stood there before install, where that is known. */
  readonly remove: (text: string, original?: string) => TextRemoval;
  /** What stands there under our name. */
  readonly read: (text: string) => unknown;
  /** Whether an entry starts our program. */
  readonly isOurs: (entry: unknown) => boolean;
};

export type McpOwner = {
  readonly place: Place;
  readonly env: Environment;
  readonly platform: string;
  /** Where an earlier install put the program. */
  readonly binaryBefore: string | undefined;
};

/**
 * What a sub-agent's client may need to be logged in and to reach its service: Codex gives its servers no variable that
 * is not named, and Gemini CLI none that looks like a key and is not named. The other two hand theirs on.
 */
const NAMED_VARIABLES = [
  ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN'],
  ...['CLAUDE_CONFIG_DIR', 'CODEX_API_KEY', 'CODEX_CA_CERTIFICATE', 'CODEX_HOME', 'GEMINI_API_KEY'],
  ...['GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'OPENAI_API_KEY', 'OPENCODE_CONFIG', 'OPENROUTER_API_KEY'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'],
  ...['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME'],
];

/** Filled in by the client from its own environment; empty when it has none. No key is written into the file. */
const KEYS_BY_NAME = Object.fromEntries(
  NAMED_VARIABLES.filter((name) => /KEY|TOKEN/.test(name)).map((name) => [name, `\${${name}:-}`]),
);

/** The settings file of this client, for this user. `path`: where an earlier install found it. */
export function mcpFile(client: ClientName, owner: McpOwner, path?: string): McpFile {
  const directory = directoryOf(client, owner);
  const isOurs = recogniser(owner);
  const holder = { claude: 'mcpServers', codex: 'mcp_servers', gemini: 'mcpServers', opencode: 'mcp' }[
    client
  ];
  const entry = { holder, name: SERVER_NAME, wanted: wantedEntry(client, owner), isOurs };
  const fresh: Json = client === 'opencode' ? { $schema: 'https://opencode.ai/config.json' } : {};
  const file = { client, path: path ?? fileOf(client, directory, owner), directory, isOurs };
  if (client === 'codex')
    return {
      ...file,
      set: (text) => setTomlEntry(text, entry),
      remove: (text) => removeTomlEntry(text, entry),
      read: (text) => readTomlEntry(text, entry),
    };
  return {
    ...file,
    set: (text) => setJsonEntry(text, entry, fresh),
    remove: (text, original) => removeJsonEntry(text, entry, original),
    read: (text) => readJsonEntry(text, entry),
  };
}

/** The clients that this user seems to have. */
export function clientsThere(owner: McpOwner): ClientName[] {
  return CLIENT_NAMES.filter((client) => {
    const { path, directory } = mcpFile(client, owner);
    return existsSync(path) || existsSync(directory);
  });
}

function directoryOf(client: ClientName, { place, env }: McpOwner): string {
  const home = place.userHome ?? place.paths.home;
  switch (client) {
    case 'claude':
      return place.claudeDirectory;
    case 'codex':
      return absolute(env.CODEX_HOME) ?? join(home, '.codex');
    case 'gemini':
      return join(absolute(env.GEMINI_CLI_HOME) ?? home, '.gemini');
    case 'opencode':
      return join(absolute(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'opencode');
  }
}

function fileOf(client: ClientName, directory: string, { place, env }: McpOwner): string {
  switch (client) {
    case 'claude':
      // Beside ~/.claude, not in it; in a directory of one's own it is inside.
      return env.CLAUDE_CONFIG_DIR
        ? join(directory, '.claude.json')
        : join(place.userHome ?? place.paths.home, '.claude.json');
    case 'codex':
      return join(directory, 'config.toml');
    case 'gemini':
      return join(directory, 'settings.json');
    case 'opencode': {
      const withComments = join(directory, 'opencode.jsonc');
      return existsSync(withComments) ? withComments : join(directory, 'opencode.json');
    }
  }
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function wantedEntry(client: ClientName, { place, env }: McpOwner): Json {
  const command = place.paths.binary;
  const moved = absolute(env.SELF_GENERATION_HOME);
  const variables = moved === undefined ? undefined : { SELF_GENERATION_HOME: moved };
  switch (client) {
    case 'claude':
      return { type: 'stdio', command, args: ['mcp'], env: variables ?? {} };
    case 'codex':
      return { command, args: ['mcp'], env_vars: NAMED_VARIABLES, ...(variables && { env: variables }) };
    case 'gemini':
      return { command, args: ['mcp'], env: { ...KEYS_BY_NAME, ...variables } };
    case 'opencode':
      return { type: 'local', command: [command, 'mcp'], ...(variables && { environment: variables }) };
  }
}

/** By what it starts: whatever else the user has added. */
function recogniser({ place, platform, binaryBefore }: McpOwner): (entry: unknown) => boolean {
  const { binaries } = ownerOf(place, platform, binaryBefore);
  return (entry) => {
    if (!isRecord(entry)) return false;
    const words = Array.isArray(entry.command)
      ? entry.command
      : [entry.command, ...(Array.isArray(entry.args) ? entry.args : [])];
    const [program, first] = words;
    return typeof program === 'string' && binaries.includes(program) && first === 'mcp';
  };
}
