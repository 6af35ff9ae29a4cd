import { existsSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { ensurePrivateDirectory } from '../sys/atomic-file.ts';
import { editFile } from './edit-file.ts';
import { type Manifest, type McpRecord, sha256 } from './manifest.ts';
import { CLIENT_TITLES, clientsThere, type McpOwner, mcpFile } from './mcp-clients.ts';
import { commandPath, removeCommand, setCommand } from './slash-command.ts';
import type { Work } from './steps.ts';

/** With which clients: the named ones, all that are there, or only those that an earlier install registered with. */
export type McpRequest =
  | { readonly kind: 'named'; readonly clients: readonly ClientName[] }
  | { readonly kind: 'all' | 'earlier' };

export type McpReport = {
  readonly registered: readonly ClientName[];
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
};

export type McpOutcome = McpReport & {
  readonly records: readonly McpRecord[];
  readonly createdDirectories: readonly string[];
};

type Registering = {
  readonly request: McpRequest;
  readonly owner: McpOwner;
  readonly earlier: Manifest | undefined;
  readonly work: Work;
  readonly now: () => Date;
};

/**
 * Registers the MCP server with clients, and the command /subagents with Claude Code. A file that cannot be changed
 * keeps its client out, and no other. What an earlier install registered is brought up to date.
 */
export function registerMcp(registering: Registering): McpOutcome {
  const { owner } = registering;
  const clients = clientsMeant(registering);
  const records: McpRecord[] = [];
  const refused: { path: string; reason: string }[] = [];
  const createdDirectories: string[] = [];
  const registered: ClientName[] = [];
  const attempt = (path: string, act: () => McpRecord | string) => {
    try {
      createdDirectories.push(...makeDirectory(dirname(path), registering.work));
      const outcome = act();
      if (typeof outcome === 'string') refused.push({ path, reason: outcome });
      else records.push(outcome);
      return typeof outcome !== 'string';
    } catch (error) {
      refused.push({ path, reason: error instanceof Error ? error.message : String(error) });
      return false;
    }
  };
  for (const client of clients) {
    const { path } = mcpFile(client, owner);
    if (attempt(path, () => registerWith(client, registering))) registered.push(client);
  }
  if (clients.includes('claude')) attempt(commandPath(owner.place), () => writeCommand(registering));
  return { registered, refused, records, createdDirectories };
}

/** What the user should know: whom it could not be registered with. */
export function mcpWarnings({ refused }: McpReport): string[] {
  return refused.map(({ path, reason }) => `The MCP server is not registered in "${path}": ${reason}.`);
}

/** `Claude Code, Codex`. */
export function titlesOf(clients: readonly ClientName[]): string {
  return clients.map((client) => CLIENT_TITLES[client]).join(', ');
}

function clientsMeant({ request, owner, earlier }: Registering): readonly ClientName[] {
  if (request.kind === 'named') return request.clients;
  if (request.kind === 'all') return clientsThere(owner);
  const recorded = (earlier?.mcp ?? []).map(({ path }) => path).filter((path) => existsSync(path));
  return CLIENT_NAMES.filter((client) => recorded.includes(mcpFile(client, owner).path));
}

function registerWith(client: ClientName, { owner, earlier, work, now }: Registering): McpRecord | string {
  const file = mcpFile(client, owner);
  const known = earlier?.mcp?.find(({ path }) => path === file.path);
  const outcome = editFile({
    path: file.path,
    what: 'mcp',
    backups: owner.place.paths.backups,
    backupName: `mcp-${client}`,
    edit: file.set,
    holdsOurs: (text) => file.isOurs(file.read(text)),
    known,
    work,
    now,
  });
  if (outcome.kind === 'refused') return outcome.reason;
  return outcome.kind === 'unchanged' && known !== undefined ? known : { ...outcome.record, client };
}

function writeCommand({ owner, earlier, work, now }: Registering): McpRecord | string {
  const path = commandPath(owner.place);
  const known = earlier?.mcp?.find((record) => record.path === path);
  const outcome = editFile({
    path,
    what: 'mcp',
    backups: owner.place.paths.backups,
    backupName: 'mcp-command',
    edit: (text) => setCommand(text, (one) => known?.writtenSha256 === sha256(one)),
    holdsOurs: (text) => removeCommand(text).kind !== 'unchanged' || known?.writtenSha256 === sha256(text),
    known,
    work,
    now,
  });
  if (outcome.kind === 'refused') return outcome.reason;
  // Nobody else writes this very text.
  return { ...outcome.record, before: { kind: 'absent' }, client: 'command' };
}

/** Directories that are there are the user's, and stay as they are. */
function makeDirectory(path: string, work: Work): readonly string[] {
  if (existsSync(path) || work.dryRun) return [];
  const change = ensurePrivateDirectory(path);
  const directories = change.kind === 'created' ? change.directories : [];
  for (const directory of directories) {
    work.steps.push({ what: 'directory', path: directory, change: 'created' });
    work.undo.push(() => rmdirSync(directory));
  }
  return directories;
}
