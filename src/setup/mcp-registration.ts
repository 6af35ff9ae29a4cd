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
import { realPath, resolveLinks, writeFileAtomic } from '../system/atomic-file.ts';
import {
  type EditedFile,
  editFile,
  type FileChange,
  orRefused,
  planRestore,
  Refused,
  type Removal,
  readText,
  type SetupStep,
  sha256,
  type Work,
} from './file-plan.ts';
import { jsonEntry } from './json-file.ts';
import type { Manifest, McpRecord, Place } from './manifest.ts';
import { PLUGIN_TEXT, pluginEntry, pluginPath } from './opencode-plugin.ts';
import { ownerOf } from './settings-file.ts';
import { readTomlEntry, removeTomlEntry, setTomlEntry } from './toml-entry.ts';

/** With which clients: these, or all that are there. */
export type McpRequest = readonly ClientName[] | 'all';

type RefusedFile = { readonly path: string; readonly reason: string };

export type McpReport = {
  readonly registered: readonly ClientName[];
  readonly refused: readonly RefusedFile[];
};

type Registering<Request = McpRequest> = {
  /** Undefined: only those that an earlier install registered with. */
  readonly request: Request | undefined;
  readonly place: Place;
  readonly earlier: Manifest | undefined;
  readonly work: Work;
  readonly now: () => Date;
};

/**
 * Registers the MCP server with clients, and the commands /subagents and /stop with Claude Code. A file that cannot be changed
 * keeps its client out, and no other. What an earlier install registered is brought up to date.
 */
export function registerMcp(registering: Registering) {
  const clients = clientsMeant(registering);
  const done: { record: McpRecord; directories: readonly string[] }[] = [];
  const refused: { path: string; reason: string }[] = [];
  for (const client of [...clients, ...(clients.includes('claude') ? COMMAND_CLIENTS : [])]) {
    const { path } = mcpFile(client, registering.place);
    try {
      const { record, directories } = registerWith(client, registering);
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

export type PluginReport = { readonly isRegistered: boolean; readonly refused?: RefusedFile };

/**
 * Puts the plugin of OpenCode into our directory and its entry into OpenCode's configuration. `mcp`: what has just been
 * registered, maybe in the same file.
 */
export function registerPlugin(
  { request, place, earlier, work, now }: Registering<true>,
  mcp: readonly McpRecord[],
) {
  const file = mcpFile('opencode', place, pluginPath(mcpFile('opencode', place).path));
  const recorded =
    earlier?.plugin?.some(({ path }) => pluginPath(path) === file.path) && existsSync(file.path);
  const none = { isRegistered: false, records: [], directories: [], refused: undefined };
  if (!request && !recorded) return none;
  try {
    const { set } = pluginEntry(place);
    set(readText(file.path)); // Refuses before anything is changed.
    writePlugin(place.paths.opencodePlugin, work);
    const known = [...mcp, ...recordsIn(earlier)].find(({ path }) => path === file.path);
    const edit = { path: file.path, what: 'plugin', edit: set, holdsOurs: file.holdsOurs, known } as const;
    const { record, directories } = editFile(edit, { backups: place.paths.backups, now, work });
    const { path, before, writtenSha256 } = record;
    const records = [{ path, before, writtenSha256 }];
    return { ...none, isRegistered: true, records, directories };
  } catch (error) {
    return { ...none, refused: { path: file.path, reason: reasonOf(error) } };
  }
}

function writePlugin(path: string, { dryRun, steps }: Work): void {
  const standing = readText(path);
  const isSame = standing === PLUGIN_TEXT;
  steps.push({
    what: 'script',
    path,
    change: isSame ? 'unchanged' : standing === undefined ? 'created' : 'updated',
  });
  if (!dryRun && !isSame) writeFileAtomic(path, PLUGIN_TEXT, { mode: 0o600 });
}

/** One file may have two; that of the plugin, which is written last, says how it is now. */
function recordsIn(manifest: Manifest | undefined): readonly McpRecord[] {
  const ofPlugin = (manifest?.plugin ?? []).map((record) => ({ ...record, client: 'opencode' as const }));
  return [...ofPlugin, ...(manifest?.mcp ?? [])];
}

function clientsMeant({ request, place, earlier }: Registering): readonly ClientName[] {
  if (request !== undefined) return request === 'all' ? clientsThere(place) : request;
  const recorded = (earlier?.mcp ?? []).map(({ path }) => path).filter((path) => existsSync(path));
  return CLIENT_NAMES.filter((client) => recorded.includes(mcpFile(client, place).path));
}

function registerWith(client: McpClient, { place, earlier, work, now }: Registering): EditedFile {
  const file = mcpFile(client, place);
  const known = recordsIn(earlier).find(({ path }) => path === file.path);
  const edit = (text: string | undefined) => file.set(text, (one) => known?.writtenSha256 === sha256(one));
  const { path, holdsOurs } = file;
  const outcome = editFile(
    { path, what: 'mcp', name: `mcp-${client}`, edit, holdsOurs, known },
    { backups: place.paths.backups, now, work },
  );
  if (!isCommand(client)) return outcome;
  return { ...outcome, record: { ...outcome.record, before: { kind: 'absent' } } }; // Nobody else writes that text.
}

type Known = Pick<McpRecord, 'client' | 'path'> & Partial<McpRecord>;

/**
 * Plans to remove our server and our plugin from every recorded file and from those of this environment's clients, since an interrupted
 * install has recorded nothing. @throws UnreadableFile, RefusedRemoval
 */
export function planMcpRemoval(place: Place, manifest: Manifest | undefined): FileChange[] {
  const hasPlugin = ({ path }: Known) => manifest?.plugin?.some((one) => one.path === path) === true;
  const planFor = (one: Known) =>
    planRestore(one, hasPlugin(one) ? 'plugin' : 'mcp', mcpFile(one.client, place, one.path));
  const recorded = recordsIn(manifest);
  const usual = [...CLIENT_NAMES, ...COMMAND_CLIENTS].map((client): Known => {
    const { path } = mcpFile(client, place);
    return { client, path, ...(isCommand(client) && { before: { kind: 'absent' } }) };
  });
  const path = pluginPath(mcpFile('opencode', place).path);
  const hasOwn = !usual.some((one) => one.path === path);
  const others = [...usual, ...(hasOwn ? [{ client: 'opencode', path } as const] : [])].filter(
    ({ path }) => !recorded.some((one) => realPath(one.path) === realPath(path)),
  );
  // Files of which nothing is known, and in which nothing is seen to be ours, are nobody's business here.
  const changed = others.flatMap((one) => {
    const plan = orRefused(() => planFor(one));
    return 'path' in plan && plan.before !== plan.after ? [plan] : [];
  });
  return [...recorded.map(planFor), ...changed];
}

/** The commands that the user has edited, which stay. */
export function changedCommands(files: readonly FileChange[], manifest: Manifest | undefined): SetupStep[] {
  const commands = (manifest?.mcp ?? []).filter(({ client }) => isCommand(client));
  const paths = commands.map(({ path }) => resolveLinks(path));
  return files
    .filter(({ path, before, after }) => paths.includes(path) && before !== undefined && before === after)
    .map(({ path }) => ({ what: 'mcp', path, change: 'kept', note: 'you have changed it' }));
}

/** Our MCP server, and the commands /subagents and /stop, in the files of clients. */

/** Who is told of our server: a client in its settings, or Claude Code's user by the commands /subagents and /stop. */
type McpClient = ClientName | CommandClient;

/** A file of a client, as far as our server goes. */
type McpFile = Removal & {
  readonly path: string;
  /** The client's own directory, by which it is seen that there is one. */
  readonly directory: string;
  /** `isKnown`: an earlier install wrote that very text. @throws Refused */
  readonly set: (text: string | undefined, isKnown: (text: string) => boolean) => string;
  /** What stands there under our name. */
  readonly read: (text: string) => unknown;
  /** Whether an entry starts our program, or is our command. */
  readonly isOurs: (entry: unknown) => boolean;
  /** Whether a text has our server in it, or our plugin, or is our command. */
  readonly holdsOurs: (text: string) => boolean;
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
    return { path, directory, heldBack: () => [], read: (text) => text, ...edits, holdsOurs: edits.isOurs };
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
  const plugin = client === 'opencode' ? pluginEntry(owner) : undefined;
  return {
    path: known ?? path,
    directory,
    isOurs,
    heldBack: (standing) => configured.filter((name) => !handsOn(standing, name)),
    ...edits,
    remove: (text, original) => {
      const rest = edits.remove(text, original);
      return plugin?.remove(rest, original) ?? rest;
    },
    holdsOurs: (text) => isOurs(edits.read(text)) || plugin?.isIn(text) === true,
  };
}

function userOf({ env, userHome, paths, claudeDirectory }: Place): ServerUser {
  return { env, home: userHome ?? paths.home, claudeDirectory };
}

/** The clients that this user seems to have. */
function clientsThere(owner: Place): ClientName[] {
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
