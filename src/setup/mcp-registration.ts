import { existsSync } from 'node:fs';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { reasonOf } from '../core/guards.ts';
import { realPath, resolveLinks } from '../system/atomic-file.ts';
import {
  type EditedFile,
  editFile,
  type FileChange,
  type FileEdit,
  type PlannedRestore,
  planRestore,
  type Refusal,
  type SetupStep,
  sha256,
  type Work,
} from './file-plan.ts';

import type { Manifest, McpRecord } from './manifest.ts';
import { CLIENT_TITLES, clientsThere, type McpClient, type McpOwner, mcpFile } from './mcp-clients.ts';
import { COMMAND_CLIENTS, isCommand } from './slash-command.ts';

/** With which clients: these, or all that are there. */
export type McpRequest = readonly ClientName[] | 'all';

export type McpReport = {
  readonly registered: readonly ClientName[];
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
};

export type McpOutcome = McpReport & {
  readonly records: readonly McpRecord[];
  readonly directories: readonly string[];
};

type Registering = {
  /** Undefined: only those that an earlier install registered with. */
  readonly request: McpRequest | undefined;
  readonly owner: McpOwner;
  readonly earlier: Manifest | undefined;
  readonly work: Work;
  readonly now: () => Date;
};

/**
 * Registers the MCP server with clients, and the commands /subagents and /stop with Claude Code. A file that cannot be changed
 * keeps its client out, and no other. What an earlier install registered is brought up to date.
 */
export function registerMcp(registering: Registering): McpOutcome {
  const clients = clientsMeant(registering);
  const records: McpRecord[] = [];
  const refused: { path: string; reason: string }[] = [];
  const directories: string[] = [];
  const refuse = (client: McpClient, reason: string) =>
    refused.push({ path: mcpFile(client, registering.owner).path, reason });
  for (const client of [...clients, ...(clients.includes('claude') ? COMMAND_CLIENTS : [])]) {
    try {
      const outcome = registerWith(client, registering);
      if (outcome.kind === 'refused') refuse(client, outcome.reason);
      else {
        records.push({ ...outcome.record, client });
        directories.push(...outcome.directories);
      }
    } catch (error) {
      refuse(client, reasonOf(error));
    }
  }
  const registered = clients.filter((client) => records.some((record) => record.client === client));
  return { registered, refused, records, directories };
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
  if (request !== undefined) return request === 'all' ? clientsThere(owner) : request;
  const recorded = (earlier?.mcp ?? []).map(({ path }) => path).filter((path) => existsSync(path));
  return CLIENT_NAMES.filter((client) => recorded.includes(mcpFile(client, owner).path));
}

function registerWith(client: McpClient, { owner, earlier, work, now }: Registering): EditedFile | Refusal {
  const file = mcpFile(client, owner);
  const known = earlier?.mcp?.find(({ path }) => path === file.path);
  const edit = {
    path: file.path,
    what: 'mcp',
    name: `mcp-${client}`,
    edit: (text) => file.set(text, (one) => known?.writtenSha256 === sha256(one)),
    holdsOurs: (text) => file.isOurs(file.read(text)),
    known,
  } as const satisfies FileEdit;
  const outcome = editFile(edit, { backups: owner.place.paths.backups, now, work });
  if (outcome.kind === 'refused' || !isCommand(client)) return outcome;
  return { ...outcome, record: { ...outcome.record, before: { kind: 'absent' } } }; // Nobody else writes that text.
}

type Known = Pick<McpRecord, 'client' | 'path'> & Partial<McpRecord>;

/**
 * What is to become of every file that install told of the MCP server, and of those of this environment's clients: an
 * install that was cut off has written nothing down. @throws UnreadableFile
 */
export function planMcpRemoval(owner: McpOwner, manifest: Manifest | undefined): PlannedRestore[] {
  const planFor = (one: Known) => planRestore(one, 'mcp', mcpFile(one.client, owner, one.path).remove);
  const recorded: readonly Known[] = manifest?.mcp ?? [];
  const here: Known[] = [
    ...CLIENT_NAMES.map((client) => ({ client, path: mcpFile(client, owner).path })),
    ...COMMAND_CLIENTS.map((client) => ({
      client,
      path: mcpFile(client, owner).path,
      before: { kind: 'absent' } as const,
    })),
  ];
  const isRecorded = ({ path }: Known) => recorded.some((one) => realPath(one.path) === realPath(path));
  const others = here.filter((one) => !isRecorded(one));
  return [...recorded.map(planFor), ...others.flatMap((one) => orNothing(() => planFor(one)))];
}

/** Files of which nothing is known, and in which nothing is seen to be ours, are nobody's business here. */
function orNothing(plan: () => PlannedRestore): PlannedRestore[] {
  try {
    const made = plan();
    return made.kind === 'refused' || made.file.before === made.file.after ? [] : [made];
  } catch {
    return [];
  }
}

/** Commands that the user has made their own: they stay. */
export function changedCommands(files: readonly FileChange[], manifest: Manifest | undefined): SetupStep[] {
  const commands = (manifest?.mcp ?? []).filter(({ client }) => isCommand(client));
  const paths = commands.map(({ path }) => resolveLinks(path));
  return files
    .filter(({ path, before, after }) => paths.includes(path) && before !== undefined && before === after)
    .map(({ path }) => ({ what: 'mcp', path, change: 'kept', note: 'you have changed it' }));
}
