import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { isRecord, parseJson, reasonOf } from '../core/guards.ts';
import type { HookMode } from '../core/hook-names.ts';
import { readPlainFile } from '../sys/plain-file.ts';

const MODE_BEFORE = z.object({ path: z.string(), mode: z.number() });

const SETTINGS_RECORD = z.object({
  path: z.string(),
  /** What stood there before the first install; `edited-since` when the user's edits and ours are mixed by now. */
  before: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('absent') }),
    z.object({ kind: z.literal('saved'), backup: z.string(), sha256: z.string() }),
    z.object({ kind: z.literal('edited-since') }),
  ]),
  /** SHA-256 of the text that install wrote, in hexadecimal digits. */
  writtenSha256: z.string(),
});

/** What a client is told of the MCP server, or a command of Claude Code. */
const MCP_RECORD = SETTINGS_RECORD.extend({ client: z.enum([...CLIENT_NAMES, 'command', 'stop']) });

/** What install did, so that uninstall can undo exactly that: `~/.self-generation/install.json`. */
const MANIFEST = z.object({
  /** Of this format. */
  version: z.literal(1),
  /** ISO 8601, of the first install. */
  installedAt: z.string(),
  binary: z.string(),
  /** Directories that did not exist before, outermost first. Everything else that install touched existed. */
  createdDirectories: z.array(z.string()).readonly(),
  /** Directories that existed with another mode than 0700. */
  modesBefore: z.array(MODE_BEFORE).readonly(),
  /** Our home directory did not exist, or was empty: everything in it came from us. */
  ownsHome: z.boolean().catch(false),
  /** One for each settings file: people use more than one CLAUDE_CONFIG_DIR. */
  settings: z.array(SETTINGS_RECORD).readonly(),
  /** The text of config.json when install wrote it; undefined when the file was there already. */
  configWritten: z.string().optional().catch(undefined),
  /** One for each file with our MCP server in it, and the commands /subagents and /stop; none without `install --mcp`. */
  mcp: z.array(MCP_RECORD).readonly().optional(),
  /** How the hooks are registered, where it is not the usual way. */
  hooks: z.literal('per-call').optional().catch(undefined),
});

export type Manifest = z.infer<typeof MANIFEST>;
export type DirectoriesChanged = Pick<Manifest, 'createdDirectories' | 'modesBefore'>;
export type SettingsRecord = z.infer<typeof SETTINGS_RECORD>;
export type SettingsBefore = SettingsRecord['before'];
export type McpRecord = z.infer<typeof MCP_RECORD>;

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
    return { kind: 'unreadable', reason: reasonOf(error) };
  }
  const { data: manifest } = MANIFEST.safeParse(parseJson(text));
  return manifest === undefined
    ? { kind: 'unreadable', reason: `"${path}" is not a manifest of version 1` }
    : { kind: 'read', manifest };
}

/** What install wrote down, where that can be read. */
export function knownManifest(path: string): Manifest | undefined {
  const result = readManifest(path);
  return result.kind === 'read' ? result.manifest : undefined;
}

/** One more install on top of an earlier one: what that one created stays ours, although it stood there this time. */
export function mergeManifest(
  earlier: Manifest | undefined,
  now: Omit<Manifest, 'version' | 'settings' | 'mcp' | 'hooks'> & {
    readonly settings: SettingsRecord;
    readonly mcp: readonly McpRecord[];
    readonly mode: HookMode;
  },
): Manifest {
  const isOf = (path: string) => (record: { readonly path: string }) => record.path === path;
  const created = [...(earlier?.createdDirectories ?? []), ...now.createdDirectories];
  const modes = earlier?.modesBefore ?? [];
  const mcp = [...(earlier?.mcp?.filter(({ path }) => !now.mcp.some(isOf(path))) ?? []), ...now.mcp];
  return {
    version: 1,
    installedAt: earlier?.installedAt ?? now.installedAt,
    binary: now.binary,
    createdDirectories: [...new Set(created)].sort(), // A directory sorts before what is in it.
    modesBefore: [...modes, ...now.modesBefore.filter(({ path }) => !modes.some(isOf(path)))],
    ownsHome: now.ownsHome || earlier?.ownsHome === true,
    settings: [...(earlier?.settings.filter(({ path }) => path !== now.settings.path) ?? []), now.settings],
    configWritten: now.configWritten ?? earlier?.configWritten,
    mcp: mcp.length === 0 ? undefined : mcp,
    hooks: now.mode === 'per-call' ? now.mode : undefined,
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
