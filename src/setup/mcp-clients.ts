import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { codexVariables, opencodeVariables } from '../clients/environment.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { isRecord, type Json, readRecord } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { readText, type TextEdit, type TextRemoval } from './file-plan.ts';
import { readJsonEntry, removeJsonEntry, setJsonEntry } from './json-file.ts';
import type { Place } from './manifest.ts';
import { nameOf, type ServerEntry } from './server-entry.ts';
import { ownerOf } from './settings-file.ts';
import { COMMANDS, type CommandClient, commandEdits, commandText, isCommand } from './slash-command.ts';
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

/** Who is told of our server: a client in its settings, or Claude Code's user by the commands /subagents and /stop. */
export type McpClient = ClientName | CommandClient;

/** A file of a client, as far as our server goes. */
export type McpFile = {
  readonly path: string;
  /** The client's own directory, by which it is seen that there is one. */
  readonly directory: string;
  /** `isKnown`: an earlier install wrote that very text. */
  readonly set: (text: string | undefined, isKnown: (text: string) => boolean) => TextEdit;
  /** `original`: what stood there before install, where that is known. */
  readonly remove: (text: string, original?: string) => TextRemoval;
  /** What stands there under our name. */
  readonly read: (text: string) => unknown;
  /** Whether an entry starts our program, or is our command. */
  readonly isOurs: (entry: unknown) => boolean;
  /** Variables that a provider of the user's takes a key from, and that the client does not hand on to such an entry. */
  readonly heldBack: (entry: Json) => readonly string[];
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

/** The administrator's file, which Codex reads below the user's. */
const CODEX_SYSTEM_FILE = '/etc/codex/config.toml';

/** The file of this client, for this user. `known`: where an earlier install found it. */
export function mcpFile(client: McpClient, owner: McpOwner, known?: string): McpFile {
  if (isCommand(client)) {
    const { claudeDirectory: directory } = owner.place;
    const name = COMMANDS[client];
    const path = known ?? join(directory, 'commands', `${name}.md`);
    return { path, directory, heldBack: () => [], read: (text) => text, ...commandEdits(commandText(name)) };
  }
  const configured = HOLDS_BACK.includes(client) ? configuredVariables(owner) : [];
  const { directory, path, holder, wanted } = habitsOf(client, owner, configured);
  const isOurs = recogniser(owner);
  const heldBack = (entry: Json) => configured.filter((name) => !handsOn(entry, name));
  const entry = { holder, name: SERVER_NAME, wanted, isOurs };
  const file = { path: known ?? path, directory, isOurs, heldBack };
  if (client === 'codex')
    return {
      ...file,
      set: (text) => setTomlEntry(text, entry),
      remove: (text) => removeTomlEntry(text, entry),
      read: (text) => readTomlEntry(text, entry),
    };
  const fresh: Json = client === 'opencode' ? { $schema: 'https://opencode.ai/config.json' } : {};
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

type Habits = Pick<McpFile, 'directory' | 'path'> & Pick<ServerEntry, 'holder' | 'wanted'>;

/** Where a client has its settings, and how it words a server that is to be handed these variables too. */
function habitsOf(client: ClientName, { place, env }: McpOwner, configured: readonly string[] = []): Habits {
  const command = place.paths.binary;
  const home = place.userHome ?? place.paths.home;
  const moved = absolute(env.SELF_GENERATION_HOME);
  const variables = moved === undefined ? undefined : { SELF_GENERATION_HOME: moved };
  switch (client) {
    case 'claude': {
      const directory = place.claudeDirectory;
      // Beside ~/.claude, not in it; in a directory of one's own it is inside.
      const path = join(env.CLAUDE_CONFIG_DIR ? directory : home, '.claude.json');
      const wanted = { type: 'stdio', command, args: ['mcp'], env: variables ?? {} };
      return { directory, path, holder: 'mcpServers', wanted };
    }
    case 'codex': {
      const directory = absolute(env.CODEX_HOME) ?? join(home, '.codex');
      const environment = {
        env_vars: [...NAMED_VARIABLES, ...configured],
        ...(variables && { env: variables }),
      };
      const wanted = { command, args: ['mcp'], ...environment };
      return { directory, path: join(directory, 'config.toml'), holder: 'mcp_servers', wanted };
    }
    case 'gemini': {
      const directory = join(absolute(env.GEMINI_CLI_HOME) ?? home, '.gemini');
      const wanted = { command, args: ['mcp'], env: { ...filledIn(configured), ...variables } };
      return { directory, path: join(directory, 'settings.json'), holder: 'mcpServers', wanted };
    }
    case 'opencode': {
      const directory = join(absolute(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'opencode');
      const withComments = join(directory, 'opencode.jsonc');
      const path = existsSync(withComments) ? withComments : join(directory, 'opencode.json');
      const environment = variables && { environment: variables };
      return {
        directory,
        path,
        holder: 'mcp',
        wanted: { type: 'local', command: [command, 'mcp'], ...environment },
      };
    }
  }
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

const HOLDS_BACK: readonly ClientName[] = ['codex', 'gemini'];

/** What is named in the user's own configuration of Codex and OpenCode: each of them may be started by every client. */
function configuredVariables(owner: McpOwner): readonly string[] {
  const codex = [CODEX_SYSTEM_FILE, habitsOf('codex', owner).path].flatMap((path) =>
    namedIn(path, (text) =>
      Object.values(readRecord(Bun.TOML.parse(text) as Json, 'model_providers'))
        .filter(isRecord)
        .flatMap(codexVariables),
    ),
  );
  const opencode = namedIn(habitsOf('opencode', owner).path, opencodeVariables);
  return [...new Set([...codex, ...opencode])].filter((name) => !NAMED_VARIABLES.includes(name));
}

/** None where the file is missing or cannot be understood: then the client itself does not go by it. */
function namedIn(path: string, names: (text: string) => readonly string[]): readonly string[] {
  try {
    return names(readText(path) ?? '');
  } catch {
    return [];
  }
}

function handsOn({ env_vars: named, env }: Json, name: string): boolean {
  return (
    (Array.isArray(named) && named.some((one) => nameOf(one) === name)) || (isRecord(env) && name in env)
  );
}

/** Filled in by the client from its own environment; empty when it has none. No key is written into the file. */
function filledIn(configured: readonly string[]): Json {
  const names = [...NAMED_VARIABLES.filter((name) => /KEY|TOKEN/.test(name)), ...configured];
  return Object.fromEntries(names.map((name) => [name, `\${${name}:-}`]));
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
