import { existsSync } from 'node:fs';
import { COMMAND_CLIENTS, isCommand } from '../clients/claude/setup.ts';
import { clientNamed } from '../clients/clients.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { reasonOf } from '../core/guards.ts';
import { realPath, resolveLinks } from '../system/atomic-file.ts';
import {
  type EditedFile,
  editFile,
  type FileChange,
  orRefused,
  type PlannedRestore,
  planRestore,
  type Refusal,
  type SetupStep,
  sha256,
  type Work,
} from './file-plan.ts';
import type { Manifest, McpRecord } from './manifest.ts';
import { clientsThere, type McpClient, type McpOwner, mcpFile } from './mcp-clients.ts';

/** With which clients: these, or all that are there. */
export type McpRequest = readonly ClientName[] | 'all';

export type McpReport = {
  readonly registered: readonly ClientName[];
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
};

type McpOutcome = McpReport & {
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
  const done: { record: McpRecord; directories: readonly string[] }[] = [];
  const refused: { path: string; reason: string }[] = [];
  for (const client of [...clients, ...(clients.includes('claude') ? COMMAND_CLIENTS : [])]) {
    const { path } = mcpFile(client, registering.owner);
    try {
      const outcome = registerWith(client, registering);
      if (outcome.kind === 'refused') refused.push({ path, reason: outcome.reason });
      else done.push({ record: { ...outcome.record, client }, directories: outcome.directories });
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

/** One warning for each client with which it could not be registered. */
export function mcpWarnings({ refused }: McpReport): string[] {
  return refused.map(({ path, reason }) => `The MCP server is not registered in "${path}": ${reason}.`);
}

/** `Claude Code, Codex`. */
export function titlesOf(clients: readonly ClientName[]): string {
  return clients.map((client) => clientNamed(client).title).join(', ');
}

function clientsMeant({ request, owner, earlier }: Registering): readonly ClientName[] {
  if (request !== undefined) return request === 'all' ? clientsThere(owner) : request;
  const recorded = (earlier?.mcp ?? []).map(({ path }) => path).filter((path) => existsSync(path));
  return CLIENT_NAMES.filter((client) => recorded.includes(mcpFile(client, owner).path));
}

function registerWith(client: McpClient, { owner, earlier, work, now }: Registering): EditedFile | Refusal {
  const file = mcpFile(client, owner);
  const known = earlier?.mcp?.find(({ path }) => path === file.path);
  const edit = (text: string | undefined) => file.set(text, (one) => known?.writtenSha256 === sha256(one));
  const holdsOurs = (text: string) => file.isOurs(file.read(text));
  const outcome = editFile(
    { path: file.path, what: 'mcp', name: `mcp-${client}`, edit, holdsOurs, known },
    { backups: owner.place.paths.backups, now, work },
  );
  if (outcome.kind === 'refused' || !isCommand(client)) return outcome;
  return { ...outcome, record: { ...outcome.record, before: { kind: 'absent' } } }; // Nobody else writes that text.
}

type Known = Pick<McpRecord, 'client' | 'path'> & Partial<McpRecord>;

/**
 * Plans to remove our server from every recorded file and from those of this environment's clients, since an interrupted
 * install has recorded nothing. @throws UnreadableFile
 */
export function planMcpRemoval(owner: McpOwner, manifest: Manifest | undefined): PlannedRestore[] {
  const planFor = (one: Known) => planRestore(one, 'mcp', mcpFile(one.client, owner, one.path).remove);
  const recorded: readonly Known[] = manifest?.mcp ?? [];
  const others = [...CLIENT_NAMES, ...COMMAND_CLIENTS]
    .map((client): Known => {
      const { path } = mcpFile(client, owner);
      return { client, path, ...(isCommand(client) && { before: { kind: 'absent' } }) };
    })
    .filter(({ path }) => !recorded.some((one) => realPath(one.path) === realPath(path)));
  // Files of which nothing is known, and in which nothing is seen to be ours, are nobody's business here.
  const changed = others.flatMap((one) => {
    const plan = orRefused(() => planFor(one));
    return plan.kind === 'planned' && plan.file.before !== plan.file.after ? [plan] : [];
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
