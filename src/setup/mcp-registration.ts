import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import {
  COMMAND_CLIENTS,
  COMMANDS,
  type CommandClient,
  commandText,
  isCommand,
} from '../clients/claude/setup.ts';
import { clientNamed } from '../clients/clients.ts';
import { HANDED_ON, nameOf, type ServerUser } from '../clients/server-entry.ts';
import { MCP_SERVER_NAME } from '../clients/tools.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { isRecord, type Json, lookOr, reasonOf } from '../core/guards.ts';
import {
  editPart,
  type OwnPart,
  type RefusedFile,
  type Registering,
  userOf,
} from './clients/client-setup.ts';
import { Refused, type Removal, readText } from './file-plan.ts';
import { jsonEntry } from './json-file.ts';
import type { McpRecord, Place } from './manifest.ts';
import { ownerOf } from './settings-file.ts';
import { readTomlEntry, removeTomlEntry, setTomlEntry } from './toml-entry.ts';

/** With which clients: these, or all that are there. */
export type McpRequest = readonly ClientName[] | 'all';

export type McpReport = {
  readonly registered: readonly ClientName[];
  readonly refused: readonly RefusedFile[];
};

/**
 * Registers the MCP server with clients, and the commands /subagents and /stop with Claude Code. A file that cannot be changed
 * keeps its client out, and no other. What an earlier install registered is brought up to date. `request`: undefined: only
 * those that an earlier install registered with.
 */
export function registerMcp(request: McpRequest | undefined, registering: Registering) {
  const clients = clientsMeant(request, registering);
  const done: { record: McpRecord; directories: readonly string[] }[] = [];
  const refused: { path: string; reason: string }[] = [];
  for (const client of [...clients, ...(clients.includes('claude') ? COMMAND_CLIENTS : [])]) {
    const file = mcpFile(client, registering.place);
    const { path } = file;
    try {
      const { record, directories } = editPart(file, `mcp-${client}`, registering);
      done.push({ record: { ...record, client }, directories });
    } catch (error) {
      refused.push({ path, reason: reasonOf(error) });
    }
  }
  const records = done.map(({ record }) => record);
  return {
    registered: clients.filter((client) => records.some((record) => record.client === client)),
    refused,
    records,
    directories: done.flatMap(({ directories }) => directories),
  };
}

/** `Claude Code, Codex`. */
export function titlesOf(clients: readonly ClientName[]): string {
  return clients.map((client) => clientNamed(client).title).join(', ');
}

function clientsMeant(
  request: McpRequest | undefined,
  { place, earlier, plugin }: Registering,
): readonly ClientName[] {
  if (request !== undefined) {
    const wanted = request === 'all' ? clientsThere(place) : request;
    return plugin === undefined ? wanted : wanted.filter((client) => client !== 'claude');
  }
  const recorded = (earlier?.mcp ?? []).map(({ path }) => path).filter((path) => existsSync(path));
  return CLIENT_NAMES.filter((client) => recorded.includes(mcpFile(client, place).path));
}

/** Our MCP server, and the commands /subagents and /stop, in the files of clients. */

/** Who is told of our server: a client in its settings, or Claude Code's user by the commands /subagents and /stop. */
type McpClient = ClientName | CommandClient;

/** A file of a client, as far as our server goes. */
type McpFile = OwnPart & {
  /** The client's own directory, by which it is seen that there is one. */
  readonly directory: string;
  /** What stands there under our name. */
  readonly read: (text: string) => unknown;
  /** Whether an entry starts our program, or is our command. */
  readonly isOurs: (entry: unknown) => boolean;
  /** Variables that a provider of the user's takes a key from, and that the client does not hand on to such an entry. */
  readonly heldBack: (entry: Json) => readonly string[];
};

/** The file of this client, for this user. `known`: where an earlier install found it. */
export function mcpFile(client: McpClient, owner: Place, known?: string): McpFile {
  const user = userOf(owner);
  if (isCommand(client)) {
    const { claudeDirectory: directory } = user;
    const name = COMMANDS[client];
    const path = known ?? join(directory, 'commands', `${name}.md`);
    const edits = commandEdits(commandText(name));
    const whole = { what: 'mcp', isWhole: true, holdsOurs: edits.isOurs } as const;
    return { path, directory, heldBack: () => [], read: (text) => text, ...edits, ...whole };
  }
  const { place, format, holder, fresh = {}, entry: entryFor, holdsBack } = clientNamed(client).server;
  const { directory, path } = place(user);
  const configured = holdsBack ? configuredVariables(user) : [];
  const moved = owner.env.SELF_GENERATION_HOME;
  const wanted = entryFor({
    command: owner.paths.binary,
    variables: moved !== undefined && isAbsolute(moved) ? { SELF_GENERATION_HOME: moved } : undefined,
    handedOn: [...HANDED_ON, ...configured],
  });
  const isOurs = recogniser(owner);
  const entry = { holder, name: MCP_SERVER_NAME, wanted, isOurs };
  const edits: Removal & Pick<McpFile, 'set' | 'read'> =
    format === 'toml'
      ? {
          set: (text) => setTomlEntry(text, entry),
          remove: (text) => removeTomlEntry(text, entry),
          read: (text) => readTomlEntry(text, entry),
        }
      : jsonEntry(entry, fresh);
  return {
    path: known ?? path,
    what: 'mcp',
    directory,
    isOurs,
    heldBack: (standing) => configured.filter((name) => !handsOn(standing, name)),
    ...edits,
    holdsOurs: (text) => isOurs(edits.read(text)),
  };
}

/** The clients that this user seems to have. */
export function clientsThere(owner: Place): ClientName[] {
  return CLIENT_NAMES.filter((client) => {
    const { path, directory } = clientNamed(client).server.place(userOf(owner));
    return existsSync(path) || existsSync(directory);
  });
}

/** What is named in the user's own configuration of every client: each of them may be started by every other. */
function configuredVariables(user: ServerUser): readonly string[] {
  const named = CLIENT_NAMES.flatMap((client) => {
    const { keys, place } = clientNamed(client).server;
    const files = keys === undefined ? [] : [...(keys.files ?? []), place(user).path];
    // One that is missing or cannot be understood names none: then the client itself does not go by it.
    return files.flatMap((path) => lookOr(() => keys?.namedIn(readText(path) ?? ''), undefined) ?? []);
  });
  return [...new Set(named)].filter((name) => !HANDED_ON.includes(name));
}

function handsOn({ env_vars: named, env }: Json, name: string): boolean {
  return (
    (Array.isArray(named) && named.some((one) => nameOf(one) === name)) || (isRecord(env) && name in env)
  );
}

/** By what it starts: whatever else the user has added. */
function recogniser(place: Place): (entry: unknown) => boolean {
  const { binaries } = ownerOf(place);
  return (entry) => {
    if (!isRecord(entry)) return false;
    const words = Array.isArray(entry.command)
      ? entry.command
      : [entry.command, ...(Array.isArray(entry.args) ? entry.args : [])];
    const [program, first] = words;
    return typeof program === 'string' && binaries.includes(program) && first === 'mcp';
  };
}

/** How a command's file comes to be and goes; somebody else's is left alone, and one that the user has changed is the user's. */
function commandEdits(wanted: string) {
  return {
    isOurs: (text: unknown) => text === wanted,
    set(text: string | undefined, isKnown: (text: string) => boolean): string {
      if (text === undefined || text === wanted || isKnown(text)) return wanted;
      throw new Refused('a command of yours has that name; rename it and run again');
    },
    remove: (text: string) => (text === wanted ? '' : text),
  };
}
