import { COMMAND_CLIENTS } from '../../clients/claude/setup.ts';
import { clientNamed } from '../../clients/clients.ts';
import { CLIENT_NAMES, type ClientName } from '../../core/client-name.ts';
import { realPath, resolveLinks } from '../../system/atomic-file.ts';
import { findProgram } from '../../system/run-command.ts';
import type { CheckWorld, Finding } from '../checks.ts';
import {
  type FileChange,
  type FileRecord,
  orRefused,
  planRestore,
  readText,
  type SetupStep,
  sha256,
} from '../file-plan.ts';
import { knownManifest, locate, type Manifest, type Place } from '../manifest.ts';
import { clientsThere, type McpRequest, mcpFile } from '../mcp-registration.ts';
import {
  type OwnPart,
  type RefusedFile,
  type Registered,
  type Registering,
  registerClient,
} from './client-setup.ts';
import { CLIENT_SETUPS, INSTALL_CLIENTS } from './table.ts';

/** Which clients are set up, and everything of ours that stands in their files. */

/** What the user said of each client; of the others it matters whether they are there. */
export type ClientChoices = Partial<Readonly<Record<ClientName, boolean>>>;

/** What of an install's options speaks of clients. */
type Asked = {
  readonly clients?: ClientChoices;
  readonly clientVersion?: string | undefined;
  readonly mcp?: McpRequest | undefined;
};

export type ClientReport = {
  readonly client: ClientName;
  readonly isSetUp: boolean;
  readonly refused?: RefusedFile;
  /** What the user has to know or to do. */
  readonly notes: readonly string[];
};

/**
 * The clients that are to be set up: those that are asked for or there, and not unwanted. Without any it is Claude Code, and
 * whoever names a version of it has it.
 */
export function clientsMeant(
  { clients: choices = {}, clientVersion, mcp }: Asked,
  place: Place,
): ClientName[] {
  // Whoever names a client for the MCP server has it.
  const there = [...clientsThere(place), ...(Array.isArray(mcp) ? mcp : [])];
  const isMeant = (client: ClientName) => choices[client] ?? there.includes(client);
  const others = INSTALL_CLIENTS.filter((client) => client !== 'claude' && isMeant(client));
  const hasClaude = () =>
    clientVersion !== undefined || findProgram('claude', place.env, place.platform) !== undefined;
  const isClaude =
    isMeant('claude') || (choices.claude === undefined && (others.length === 0 || hasClaude()));
  return [...(isClaude ? ['claude'] : []), ...others];
}

/** Sets these clients up, Claude Code aside. A file that cannot be changed keeps its client out, and no other. */
export async function registerClients(clients: readonly ClientName[], registering: Registering) {
  const done: ({ client: ClientName } & Registered)[] = [];
  for (const client of clients) {
    const setup = CLIENT_SETUPS[client];
    if (setup !== undefined) done.push({ client, ...(await registerClient(client, setup, registering)) });
  }
  return {
    records: done.flatMap(({ records }) => records),
    directories: done.flatMap(({ directories }) => directories),
    reports: done.map(({ client, refused, notes }): ClientReport => {
      return { client, isSetUp: refused === undefined, notes, ...(refused && { refused }) };
    }),
  };
}

/** All that may be of ours in clients' files: by the records, and where it would stand for this user. */
function partsOf(place: Place, manifest: Manifest | undefined): OwnPart[] {
  const ofClients = Object.entries(CLIENT_SETUPS).flatMap(([client, setup]) => {
    const recorded = (manifest?.clients ?? []).filter((record) => record.client === client);
    const known = [...setup.paths(place), ...(setup.morePaths?.(place) ?? [])];
    const paths = [...recorded.map(({ path }) => path), ...known];
    return [...new Set(paths)].map((path) => setup.partAt(path, place));
  });
  return [
    ...ofClients,
    ...(manifest?.mcp ?? []).map(({ client, path }) => mcpFile(client, place, path)),
    ...[...CLIENT_NAMES, ...COMMAND_CLIENTS].map((client) => mcpFile(client, place)),
  ];
}

/** Tells whether a text of a file holds anything of ours. */
export function holderOfOurs(place: Place, manifest: Manifest | undefined): Registering['holdsOurs'] {
  const parts = partsOf(place, manifest);
  return (path, text) => parts.some((part) => part.path === path && part.holdsOurs(text));
}

/**
 * Plans to take out all that is ours from every recorded file and from those of this environment's clients, since an
 * interrupted install has recorded nothing. @throws UnreadableFile, RefusedRemoval
 */
export function planClientRemoval(place: Place, manifest: Manifest | undefined): FileChange[] {
  const records: readonly FileRecord[] = [...(manifest?.clients ?? []), ...(manifest?.mcp ?? [])];
  const byFile = Map.groupBy(partsOf(place, manifest), ({ path }) => realPath(path));
  return [...byFile].flatMap(([file, parts]) => {
    const recorded = records.filter(({ path }) => realPath(path) === file);
    if (recorded.length > 0) return [planFile(parts, recorded)];
    // Files of which nothing is known, and in which nothing is seen to be ours, are nobody's business here.
    const plan = orRefused(() => planFile(parts, recorded));
    return 'path' in plan && plan.before !== plan.after ? [plan] : [];
  });
}

/** One file, which may hold several parts and have several records: that counts which was written last. */
function planFile(parts: readonly OwnPart[], records: readonly FileRecord[]): FileChange {
  const [first] = parts as readonly [OwnPart];
  const text = readText(first.path) ?? '';
  const unknown = { path: first.path, ...(first.isWhole && { before: { kind: 'absent' as const } }) };
  const record = records.find(({ writtenSha256 }) => writtenSha256 === sha256(text)) ?? records[0] ?? unknown;
  const { what } = parts.find((part) => part.holdsOurs(text)) ?? first;
  return planRestore(record, what, {
    remove: (one, original) => parts.reduce((rest, part) => part.remove(rest, original), one),
    isEmpty: (rest) => rest.trim() === '' || parts.some((part) => part.isEmpty?.(rest)),
  });
}

/** Files of ours that the user has edited, which stay. */
export function keptFiles(
  files: readonly FileChange[],
  place: Place,
  manifest: Manifest | undefined,
): SetupStep[] {
  const whole = partsOf(place, manifest).filter(({ isWhole }) => isWhole);
  const paths = whole.map(({ path }) => resolveLinks(path));
  return files
    .filter(({ path, before, after }) => paths.includes(path) && before !== undefined && before === after)
    .map(({ what, path }) => ({ what, path, change: 'kept', note: 'you have changed it' }));
}

/** Doctor's findings of each client that install has set up, Claude Code aside. */
export async function checkClients(world: CheckWorld): Promise<Finding[]> {
  const recorded = knownManifest(world.paths.manifest)?.clients ?? [];
  const place = locate(world.env, world.platform);
  if (place.kind === 'failed') return []; // The check of the hooks says why there is no place.
  const found = Object.entries(CLIENT_SETUPS).map(async ([client, setup]) => {
    const records = recorded.filter((record) => record.client === client);
    const findings = records.length === 0 ? [] : await setup.check(world, place, records);
    return findings.map((finding) => ({ name: clientNamed(client).title, ...finding }));
  });
  return (await Promise.all(found)).flat();
}
