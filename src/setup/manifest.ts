import { createHash } from 'node:crypto';
import { join, posix, win32 } from 'node:path';
import { z } from 'zod';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { isRecord, parseJson, reasonOf } from '../core/guards.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import type { HookMode } from '../hooks/hook-names.ts';
import { readPlainFile } from '../system/files.ts';

/** Where everything is that install, uninstall and doctor deal with. */
export type Place = {
  readonly kind: 'found';
  readonly paths: StatePaths;
  readonly userHome: string | undefined;
  readonly claudeDirectory: string;
  readonly settings: string;
};

/** Where our files and the client's settings are: CLAUDE_CONFIG_DIR when it is set, else `~/.claude`. */
export function locate(env: Environment, platform: string): Place | Failure {
  const failed = (reason: string, advice: string): Failure => {
    return { kind: 'failed', action: 'find out where to install', reason, advice };
  };
  const paths = statePaths(env, platform);
  const userHome = (platform === 'win32' ? env.USERPROFILE : undefined) ?? env.HOME;
  const claudeDirectory = env.CLAUDE_CONFIG_DIR || (userHome && `${userHome}/.claude`);
  if (paths === undefined || !claudeDirectory)
    return failed('HOME is not set to an absolute path', 'Set it and run again.');
  if (!(platform === 'win32' ? win32 : posix).isAbsolute(claudeDirectory)) {
    const [name, value] = env.CLAUDE_CONFIG_DIR
      ? ['CLAUDE_CONFIG_DIR', env.CLAUDE_CONFIG_DIR]
      : ['HOME', userHome];
    const advice = `Set it to an absolute path${name === 'HOME' ? '' : ', or unset it,'} and run again.`;
    return failed(`${name} is "${value}", which is not an absolute path`, advice);
  }
  return {
    kind: 'found',
    paths,
    userHome,
    claudeDirectory,
    settings: join(claudeDirectory, 'settings.json'),
  };
}

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

type ManifestResult =
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

/** One thing that was done, or in a dry run would be done. */
export type SetupStep = {
  readonly what:
    | 'directory'
    | 'binary'
    | 'script'
    | 'config'
    | 'backup'
    | 'settings'
    | 'mcp'
    | 'rule'
    | 'skill'
    | 'manifest'
    | 'data';
  readonly path: string;
  readonly change: 'created' | 'updated' | 'removed' | 'restored' | 'unchanged' | 'kept';
  /** Why, where it does not go without saying. */
  readonly note?: string;
};

/** `Cannot <action>: <reason>. <advice>` */
export type SetupProblem = { readonly action: string; readonly reason: string; readonly advice: string };

export type Failure = { readonly kind: 'failed' } & SetupProblem;

/** Takes one thing back. */
export type Undo = () => void;

/** Collects what has been done, and how to undo it. */
export type Work = { readonly dryRun: boolean; readonly steps: SetupStep[]; readonly undo: Undo[] };

/** What to say when an attempt has been undone. */
export const RUN_AGAIN = 'Correct that and run the command again; nothing was changed.';

/** Undoes what has been done, the last first. Never throws. */
export function rollBack(undo: Undo[]): void {
  for (const step of undo.splice(0).reverse()) {
    try {
      step();
    } catch {
      // What cannot be undone is left; the failure that led here is the one to report.
    }
  }
}
