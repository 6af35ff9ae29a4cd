import { join, posix, win32 } from 'node:path';
import { z } from 'zod';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { isRecord, parseJson, reasonOf } from '../core/guards.ts';
import { type Environment, type StatePaths, statePaths, userHomeOf } from '../core/state-paths.ts';
import type { HookMode } from '../hooks/hooks.ts';
import { readPlainFile } from '../system/files.ts';
import { FILE_RECORD } from './file-plan.ts';

/** Where everything is that install, uninstall and doctor deal with. */
export type Place = {
  readonly kind: 'found';
  readonly env: Environment;
  readonly platform: string;
  readonly paths: StatePaths;
  readonly userHome: string | undefined;
  readonly claudeDirectory: string;
  readonly settings: string;
  /** Where an earlier install put the program: entries that name it are ours as well. */
  readonly binaryBefore?: string | undefined;
};

/** `Cannot <action>: <reason>. <advice>` */
export type SetupProblem = { readonly action: string; readonly reason: string; readonly advice: string };
export type Failure = { readonly kind: 'failed' } & SetupProblem;

/** Where our files and the client's settings are: CLAUDE_CONFIG_DIR when it is set, else `~/.claude`. */
export function locate(env: Environment, platform: string): Place | Failure {
  const failed = (reason: string, advice: string): Failure => {
    return { kind: 'failed', action: 'find out where to install', reason, advice };
  };
  const paths = statePaths(env, platform);
  const userHome = userHomeOf(env, platform) ?? env.HOME;
  const claudeDirectory = env.CLAUDE_CONFIG_DIR || (userHome && `${userHome}/.claude`);
  if (paths === undefined || !claudeDirectory)
    return failed('HOME is not set to an absolute path', 'Set it and run again.');
  if (!(platform === 'win32' ? win32 : posix).isAbsolute(claudeDirectory)) {
    const own = env.CLAUDE_CONFIG_DIR;
    const variable = own ? `CLAUDE_CONFIG_DIR is "${own}"` : `HOME is "${userHome}"`;
    const advice = `Set it to an absolute path${own ? ', or unset it,' : ''} and run again.`;
    return failed(`${variable}, which is not an absolute path`, advice);
  }
  const settings = join(claudeDirectory, 'settings.json');
  return { kind: 'found', env, platform, paths, userHome, claudeDirectory, settings };
}

const CLIENT_RECORD = FILE_RECORD.extend({ client: z.enum(CLIENT_NAMES) });
/** A file of a client in which something of ours stands. */
export type ClientRecord = z.infer<typeof CLIENT_RECORD>;

/** What install did, so that uninstall can undo exactly that: `~/.self-generation/install.json`. */
const MANIFEST = z
  .object({
    /** Of this format. */
    version: z.literal(1),
    /** ISO 8601, of the first install. */
    installedAt: z.string(),
    binary: z.string(),
    /** Directories that did not exist before, outermost first. Everything else that install touched existed. */
    createdDirectories: z.array(z.string()).readonly(),
    /** Directories that existed with another mode than 0700. */
    modesBefore: z.array(z.object({ path: z.string(), mode: z.number() })).readonly(),
    /** Our home directory did not exist, or was empty: everything in it came from us. */
    ownsHome: z.boolean().catch(false),
    /** One for each settings file: people use more than one CLAUDE_CONFIG_DIR. */
    settings: z.array(FILE_RECORD).readonly(),
    /** The text of config.json when install wrote it; undefined when the file was there already. */
    configWritten: z.string().optional().catch(undefined),
    /** Of the user's own config.json, where install has added something. */
    config: FILE_RECORD.optional().catch(undefined),
    /** To the program, in a directory on the PATH. */
    link: z.object({ path: z.string(), target: z.string() }).optional().catch(undefined),
    /** One for each file with our MCP server in it, and the commands /subagents and /stop; none without `install --mcp`. */
    mcp: z
      .array(FILE_RECORD.extend({ client: z.enum([...CLIENT_NAMES, 'command', 'stop']) }))
      .readonly()
      .optional(),
    /** One for each file of another client than Claude Code with our hooks, extension or plugin in it. */
    clients: z.array(CLIENT_RECORD).readonly().optional(),
    /** Of OpenCode, as earlier versions wrote them. */
    plugin: z.array(FILE_RECORD).readonly().optional(),
    /** How the hooks are registered, where it is not the usual way. */
    hooks: z.literal('per-call').optional().catch(undefined),
    /** Of Claude Code, as it was when hooks were registered: an update may not find the client. */
    clientVersion: z.string().optional().catch(undefined),
  })
  .transform(({ plugin = [], ...manifest }) => {
    const ofPlugin = plugin.map((record): ClientRecord => ({ ...record, client: 'opencode' }));
    const clients: readonly ClientRecord[] = [...(manifest.clients ?? []), ...ofPlugin];
    return { ...manifest, clients: clients.length > 0 ? clients : undefined };
  });

export type Manifest = z.infer<typeof MANIFEST>;
/** What a client is told of the MCP server, or a command of Claude Code. */
export type McpRecord = NonNullable<Manifest['mcp']>[number];

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
export function mergeManifest(earlier: Manifest | undefined, now: Manifest): Manifest {
  if (earlier === undefined) return now;
  const without = <T extends { readonly path: string }>(
    records: readonly T[] = [],
    others: typeof records = [],
  ) => records.filter(({ path }) => !others.some((other) => other.path === path));
  // Each keeps its place: the same installs leave the same text.
  const renewed = <T extends { readonly path: string }>(
    records: readonly T[] = [],
    others: typeof records = [],
  ) => [
    ...records.map((record) => others.find(({ path }) => path === record.path) ?? record),
    ...without(others, records),
  ];
  const mcp = renewed(earlier.mcp, now.mcp);
  const clients = renewed(earlier.clients, now.clients);
  return {
    ...now,
    installedAt: earlier.installedAt,
    // A directory sorts before what is in it.
    createdDirectories: [...new Set([...earlier.createdDirectories, ...now.createdDirectories])].sort(),
    modesBefore: [...earlier.modesBefore, ...without(now.modesBefore, earlier.modesBefore)],
    ownsHome: now.ownsHome || earlier.ownsHome,
    settings: renewed(earlier.settings, now.settings),
    configWritten: now.configWritten ?? earlier.configWritten,
    config: now.config ?? earlier.config,
    link: now.link,
    clientVersion: now.clientVersion ?? earlier.clientVersion,
    mcp: mcp.length === 0 ? undefined : mcp,
    clients: clients.length === 0 ? undefined : clients,
  };
}

/** How the hooks are to be registered where nobody says otherwise: as they were. */
export function hookModeIn(manifest: Manifest | undefined): HookMode {
  return manifest?.hooks ?? 'session';
}

/** The manifest's text: the same bytes for the same manifest. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
