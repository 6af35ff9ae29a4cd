import { createHash } from 'node:crypto';

import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { isRecord, parseJson, readString } from '../core/guards.ts';
import type { HookMode } from '../core/hook-names.ts';
import { writeFileAtomic } from '../sys/atomic-file.ts';
import { readPlainFile } from '../sys/plain-file.ts';

/** What install did, so that uninstall can undo exactly that: `~/.self-generation/install.json`. */
export type Manifest = {
  /** Of this format. */
  readonly version: 1;
  /** ISO 8601, of the first install. */
  readonly installedAt: string;
  readonly binary: string;
  /** Directories that did not exist before, outermost first. Everything else that install touched existed. */
  readonly createdDirectories: readonly string[];
  /** Directories that existed with another mode than 0700. */
  readonly modesBefore: readonly ModeBefore[];
  /** Our home directory did not exist, or was empty: everything in it came from us. */
  readonly ownsHome: boolean;
  /** One for each settings file: people use more than one CLAUDE_CONFIG_DIR. */
  readonly settings: readonly SettingsRecord[];
  /** The text of config.json when install wrote it; undefined when the file was there already. */
  readonly configWritten?: string;
  /** One for each file with our MCP server in it, and the command /subagents; none without `install --mcp`. */
  readonly mcp?: readonly McpRecord[];
  /** How the hooks are registered, where it is not the usual way. */
  readonly hooks?: 'per-call';
};

export type DirectoriesChanged = Pick<Manifest, 'createdDirectories' | 'modesBefore'>;

export type ModeBefore = { readonly path: string; readonly mode: number };

export type SettingsRecord = {
  readonly path: string;
  /** What stood there before the first install; `edited-since` when the user's edits and ours are mixed by now. */
  readonly before: SettingsBefore;
  /** SHA-256 of the text that install wrote, in hexadecimal digits. */
  readonly writtenSha256: string;
};

/** What a client is told of the MCP server, or the command of Claude Code. */
export type McpRecord = SettingsRecord & { readonly client: ClientName | 'command' };

export type SettingsBefore =
  | { readonly kind: 'absent' }
  | { readonly kind: 'saved'; readonly backup: string; readonly sha256: string }
  | { readonly kind: 'edited-since' };

export type ManifestResult =
  | { readonly kind: 'read'; readonly manifest: Manifest }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Reads install.json. Never throws: without a usable manifest uninstall still works, with less knowledge. */
export function readManifest(path: string): ManifestResult {
  let text: string;
  try {
    text = readPlainFile(path).toString();
  } catch (error) {
    if (isRecord(error) && error.code === 'ENOENT') return { kind: 'missing' };
    return { kind: 'unreadable', reason: error instanceof Error ? error.message : String(error) };
  }
  const manifest = parseManifest(parseJson(text));
  return manifest === undefined
    ? { kind: 'unreadable', reason: `"${path}" is not a manifest of version 1` }
    : { kind: 'read', manifest };
}

/** Writes install.json (0600) in one step. @throws Error when it cannot be written. */
export function writeManifest(path: string, manifest: Manifest): void {
  writeFileAtomic(path, manifestText(manifest), { mode: 0o600 });
}

/** One more install on top of an earlier one: what that one created stays ours, although it stood there this time. */
export function mergeManifest(
  earlier: Manifest | undefined,
  now: {
    readonly installedAt: string;
    readonly binary: string;
    readonly ownsHome: boolean;
    readonly directories: DirectoriesChanged;
    readonly settings: SettingsRecord;
    readonly configWritten: string | undefined;
    readonly mcp: readonly McpRecord[];
    readonly mode: HookMode;
  },
): Manifest {
  const { installedAt, binary, ownsHome, directories, settings, configWritten } = now;
  const created = [...(earlier?.createdDirectories ?? []), ...directories.createdDirectories];
  const modes = earlier?.modesBefore ?? [];
  const newModes = directories.modesBefore.filter(({ path }) => !modes.some((known) => known.path === path));
  const config = configWritten ?? earlier?.configWritten;
  const others = earlier?.settings.filter(({ path }) => path !== settings.path) ?? [];
  const isRenewed = (record: McpRecord) => now.mcp.some(({ path }) => path === record.path);
  const mcp = [...(earlier?.mcp?.filter((record) => !isRenewed(record)) ?? []), ...now.mcp];
  return {
    version: 1,
    installedAt,
    binary,
    createdDirectories: [...new Set(created)].sort(), // A directory sorts before what is in it.
    modesBefore: [...modes, ...newModes],
    ownsHome: ownsHome || earlier?.ownsHome === true,
    settings: [...others, settings],
    ...(config === undefined ? {} : { configWritten: config }),
    ...(mcp.length === 0 ? {} : { mcp }),
    ...(now.mode === 'per-call' ? { hooks: now.mode } : {}),
  };
}

/** How the hooks are to be registered where nobody says otherwise: as they were. */
export function hookModeIn(manifest: Manifest | undefined): HookMode {
  return manifest?.hooks ?? 'session';
}

/** The manifest's text: the same manifest gives the same bytes. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** SHA-256 of a text's UTF-8 bytes, in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function parseManifest(value: unknown): Manifest | undefined {
  if (!isRecord(value) || value.version !== 1) return undefined;
  const binary = readString(value, 'binary');
  const installedAt = readString(value, 'installedAt');
  const createdDirectories = listOf(value.createdDirectories, (path) =>
    typeof path === 'string' ? path : undefined,
  );
  const modesBefore = listOf(value.modesBefore, parseModeBefore);
  const settings = listOf(value.settings, parseSettingsRecord);
  const configWritten = readString(value, 'configWritten');
  const mcp = value.mcp === undefined ? [] : listOf(value.mcp, parseMcpRecord);
  if (binary === undefined || installedAt === undefined) return undefined;
  if (createdDirectories === undefined || modesBefore === undefined || settings === undefined)
    return undefined;
  if (mcp === undefined) return undefined;
  return {
    version: 1,
    installedAt,
    binary,
    createdDirectories,
    modesBefore,
    ownsHome: value.ownsHome === true,
    settings,
    ...(configWritten === undefined ? {} : { configWritten }),
    ...(mcp.length === 0 ? {} : { mcp }),
    ...(value.hooks === 'per-call' ? { hooks: value.hooks } : {}),
  };
}

function parseModeBefore(value: unknown): ModeBefore | undefined {
  if (!isRecord(value) || typeof value.path !== 'string' || typeof value.mode !== 'number') return undefined;
  return { path: value.path, mode: value.mode };
}

function parseSettingsRecord(value: unknown): SettingsRecord | undefined {
  if (!isRecord(value) || typeof value.path !== 'string' || typeof value.writtenSha256 !== 'string') {
    return undefined;
  }
  const before = parseBefore(value.before);
  return before && { path: value.path, before, writtenSha256: value.writtenSha256 };
}

function parseMcpRecord(value: unknown): McpRecord | undefined {
  const record = parseSettingsRecord(value);
  const name = isRecord(value) ? value.client : undefined;
  const client = ([...CLIENT_NAMES, 'command'] as const).find((one) => one === name);
  return record && client && { ...record, client };
}

function parseBefore(value: unknown): SettingsBefore | undefined {
  if (!isRecord(value)) return undefined;
  if (value.kind === 'absent' || value.kind === 'edited-since') return { kind: value.kind };
  if (value.kind !== 'saved' || typeof value.backup !== 'string' || typeof value.sha256 !== 'string') {
    return undefined;
  }
  return { kind: 'saved', backup: value.backup, sha256: value.sha256 };
}

/** Undefined when one item is: half a manifest would undo half an install. */
function listOf<Item>(value: unknown, parse: (item: unknown) => Item | undefined): Item[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items = value.map(parse).filter((item) => item !== undefined);
  return items.length === value.length ? items : undefined;
}
