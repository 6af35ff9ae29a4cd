import { chmodSync, existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, posix, win32 } from 'node:path';
import { isRecord } from '../core/guards.ts';
import { HOOKS, type HookEventName } from '../core/hook-names.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import {
  copyFileAtomic,
  ensurePrivateDirectory,
  hasSameBytes,
  realPath,
  writeFileAtomic,
} from '../sys/atomic-file.ts';
import type { RunCommand } from '../sys/run-command.ts';
import { readAgentFiles, writingAgents } from './agents.ts';
import {
  type ClientFeatures,
  type ClientVersion,
  clientFeatures,
  clientWarnings,
  findClientVersion,
} from './client-version.ts';
import {
  type DirectoriesChanged,
  type Manifest,
  manifestText,
  mergeManifest,
  readManifest,
  type SettingsBefore,
  type SettingsRecord,
  sha256,
  writeManifest,
} from './manifest.ts';
import {
  type Owner,
  type Registration,
  recogniseEntry,
  registerHooks,
  type SettingsNote,
  unregisterHooks,
} from './settings-file.ts';

export type InstallOptions = {
  readonly env: Environment;
  readonly platform: string;
  /** The running program, which is what gets installed. */
  readonly executablePath: string;
  /** Whether that is the product itself, and not a runtime that runs its source. */
  readonly isCompiled: boolean;
  /** Where the user is: its `.claude/agents` are read. */
  readonly projectDirectory: string;
  readonly dryRun: boolean;
  /** `X.Y.Z`: taken instead of asking the client. */
  readonly clientVersion?: string;
  readonly run: RunCommand;
  readonly now: () => Date;
};

/** One thing that was done, or in a dry run would be done. */
export type SetupStep = {
  readonly what: 'directory' | 'binary' | 'config' | 'backup' | 'settings' | 'manifest' | 'data';
  readonly path: string;
  readonly change: 'created' | 'updated' | 'removed' | 'restored' | 'unchanged' | 'kept';
  /** Why, where it does not go without saying. */
  readonly note?: string;
};

/** `Cannot <action>: <reason>. <advice>` */
export type SetupProblem = { readonly action: string; readonly reason: string; readonly advice: string };

export type InstallReport =
  | {
      readonly kind: 'done';
      readonly steps: readonly SetupStep[];
      readonly warnings: readonly string[];
      readonly events: readonly HookEventName[];
      readonly clientVersion: string | undefined;
      /** Nothing had to be changed. */
      readonly upToDate: boolean;
    }
  | ({ readonly kind: 'failed' } & SetupProblem);

export type Place = {
  readonly kind: 'found';
  readonly paths: StatePaths;
  readonly userHome: string | undefined;
  readonly claudeDirectory: string;
  readonly settings: string;
};

type Failure = { readonly kind: 'failed' } & SetupProblem;
type Work = { readonly dryRun: boolean; readonly steps: SetupStep[]; readonly undo: (() => void)[] };

const SETTINGS_ATTEMPTS_MAX = 2;
const RUN_AGAIN = 'Correct that and run the command again; nothing was changed.';

/**
 * Installs the running program and registers its hooks; repeating it repairs and updates. Whatever fails, the settings
 * file is as it was or complete. Never throws: a failure is a report that says what to do.
 */
export async function install(options: InstallOptions): Promise<InstallReport> {
  const place = locate(options.env, options.platform);
  if (place.kind === 'failed') return place;
  if (!options.isCompiled) return notCompiled(options.executablePath);
  const client = await askVersion(options);
  const clientVersion = client.kind === 'known' ? client.version : undefined;
  const features = clientFeatures(clientVersion);
  const work: Work = { dryRun: options.dryRun, steps: [], undo: [] };
  try {
    const earlier = earlierManifest(place.paths);
    const registration = registrationFor(options, place, features);
    const preview = registerHooks(readSettings(place.settings), registration);
    if (preview.kind === 'refused') return refused(place, preview.reason);
    const ownsHome = isMissingOrEmpty(place.paths.home);
    const directories = makeDirectories(place, work);
    copyBinary(options.executablePath, place.paths.binary, work);
    const configWritten = writeConfig(place, options.projectDirectory, work);
    const settings = editSettings({ place, registration, earlier, work, now: options.now });
    if (settings.kind === 'failed') {
      rollBack(work);
      return settings;
    }
    work.undo.length = 0; // The hooks are registered, so what they run has to stay.
    saveManifest(place, { ownsHome, directories, configWritten, settings, now: options.now }, work);
    const warnings = [...clientWarnings(client), ...settings.notes.map(describeNote)];
    const upToDate = work.steps.every((step) => step.change === 'unchanged' || step.change === 'kept');
    return { kind: 'done', steps: work.steps, warnings, events: features.events, clientVersion, upToDate };
  } catch (error) {
    rollBack(work);
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', action: 'install', reason, advice: RUN_AGAIN };
  }
}

/** Where our files and the client's settings are: CLAUDE_CONFIG_DIR when it is set, else `~/.claude`. */
export function locate(env: Environment, platform: string): Place | Failure {
  const action = 'find out where to install';
  const paths = statePaths(env, platform);
  const userHome = (platform === 'win32' ? env.USERPROFILE : undefined) ?? env.HOME;
  const claudeDirectory = env.CLAUDE_CONFIG_DIR || (userHome && `${userHome}/.claude`);
  if (paths === undefined || !claudeDirectory) {
    return {
      kind: 'failed',
      action,
      reason: 'HOME is not set to an absolute path',
      advice: 'Set it and run again.',
    };
  }
  if (!(platform === 'win32' ? win32 : posix).isAbsolute(claudeDirectory)) {
    const reason = `CLAUDE_CONFIG_DIR is "${claudeDirectory}", which is not an absolute path`;
    return {
      kind: 'failed',
      action,
      reason,
      advice: 'Set it to an absolute path, or unset it, and run again.',
    };
  }
  return {
    kind: 'found',
    paths,
    userHome,
    claudeDirectory,
    settings: join(claudeDirectory, 'settings.json'),
  };
}

/** By what our entries are recognised: every spelling of the binary's path that a settings file may hold. */
export function ownerOf(place: Place, platform: string, binaryBefore: string | undefined): Owner {
  const { paths, userHome } = place;
  const inRealDirectory = `${realPath(paths.hooks)}/${basename(paths.binary)}`;
  const binaries = [paths.binary, realPath(paths.binary), inRealDirectory, binaryBefore ?? paths.binary];
  const scripts =
    userHome === undefined ? [paths.hooks] : [paths.hooks, `${userHome}/.self-generation/hooks`];
  return {
    binaries: [...new Set(binaries)],
    predecessorDirectories: [...new Set(scripts)],
    userHome,
    platform,
  };
}

/**
 * The settings file's text, byte order mark included, or undefined when there is none.
 * @throws Error when it cannot be read, or is not UTF-8 and so could not be written back unharmed.
 */
export function readSettings(path: string): string | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (isRecord(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Error(`"${path}" is not a UTF-8 text`, { cause });
  }
}

function notCompiled(executablePath: string): Failure {
  return {
    kind: 'failed',
    action: 'install',
    reason: `this is the source, run by "${executablePath}", and not the compiled program`,
    advice: 'Run "bun run build" and then "dist/self-generation install".',
  };
}

function refused(place: Place, reason: string): Failure {
  return { kind: 'failed', action: `register hooks in "${place.settings}"`, reason, advice: RUN_AGAIN };
}

async function askVersion(options: InstallOptions): Promise<ClientVersion> {
  if (options.clientVersion !== undefined) return { kind: 'known', version: options.clientVersion, path: '' };
  return findClientVersion(options);
}

function earlierManifest(paths: StatePaths): Manifest | undefined {
  const result = readManifest(paths.manifest);
  return result.kind === 'read' ? result.manifest : undefined;
}

function registrationFor(options: InstallOptions, place: Place, features: ClientFeatures): Registration {
  return {
    ...ownerOf(place, options.platform, earlierManifest(place.paths)?.binary),
    binary: place.paths.binary,
    form: features.execForm ? 'exec' : 'shell',
    hooks: HOOKS.filter((hook) => features.events.includes(hook.event)),
  };
}

function makeDirectories({ paths, claudeDirectory }: Place, work: Work): DirectoriesChanged {
  const ours = [paths.home, paths.hooks, paths.data, paths.heartbeats, dirname(paths.hookLog), paths.backups];
  const createdDirectories: string[] = [];
  const modesBefore: { path: string; mode: number }[] = [];
  for (const path of [...ours, claudeDirectory]) {
    const existed = existsSync(path);
    const isPrivate = path !== claudeDirectory;
    if (!existed) work.steps.push({ what: 'directory', path, change: 'created' });
    if (work.dryRun || (existed && !isPrivate)) continue;
    const result = ensurePrivateDirectory(path);
    if (result.kind === 'created') {
      createdDirectories.push(...result.directories);
      for (const directory of result.directories) work.undo.push(() => rmdirSync(directory));
    } else if (result.modeBefore !== 0o700) {
      modesBefore.push({ path, mode: result.modeBefore });
      work.undo.push(() => chmodSync(path, result.modeBefore));
      work.steps.push({ what: 'directory', path, change: 'updated', note: 'only you can look into it now' });
    }
  }
  return { createdDirectories, modesBefore };
}

function isMissingOrEmpty(directory: string): boolean {
  return !existsSync(directory) || readdirSync(directory).length === 0;
}

function copyBinary(source: string, target: string, work: Work): void {
  const existed = existsSync(target);
  if (existed && (realPath(source) === realPath(target) || hasSameBytes(source, target))) {
    work.steps.push({ what: 'binary', path: target, change: 'unchanged' });
    return;
  }
  work.steps.push({ what: 'binary', path: target, change: existed ? 'updated' : 'created' });
  if (work.dryRun) return;
  copyFileAtomic(source, target, { mode: 0o700 });
  if (!existed) work.undo.push(() => rmSync(target));
}

/** The text that was written, or undefined when the user has a config.json already. */
function writeConfig(place: Place, projectDirectory: string, work: Work): string | undefined {
  const path = place.paths.config;
  if (existsSync(path)) {
    work.steps.push({ what: 'config', path, change: 'unchanged' });
    return undefined;
  }
  const directories = [join(place.claudeDirectory, 'agents'), join(projectDirectory, '.claude', 'agents')];
  const own = writingAgents(directories.flatMap(readAgentFiles));
  const agents = [...new Set(['general-purpose', ...own])];
  const text = `${JSON.stringify({ subagentContext: { agents } }, null, 2)}\n`;
  work.steps.push({ what: 'config', path, change: 'created', note: `for ${agents.join(', ')}` });
  if (work.dryRun) return text;
  writeFileAtomic(path, text, { mode: 0o600 });
  work.undo.push(() => rmSync(path));
  return text;
}

type SettingsEdit = {
  readonly place: Place;
  readonly registration: Registration;
  readonly earlier: Manifest | undefined;
  readonly work: Work;
  readonly now: () => Date;
};
type SettingsOutcome = {
  /** `unchanged`: what an earlier manifest says of the file is better than this record. */
  readonly kind: 'edited' | 'unchanged';
  readonly record: SettingsRecord;
  readonly notes: readonly SettingsNote[];
};

/** Somebody else may write the file at the same time: what was read has to be still there when we write. */
function editSettings({ place, registration, earlier, work, now }: SettingsEdit): SettingsOutcome | Failure {
  const path = place.settings;
  const known = earlier?.settings.find((record) => record.path === path);
  for (let attempt = 1; attempt <= SETTINGS_ATTEMPTS_MAX; attempt++) {
    const text = readSettings(path);
    const result = registerHooks(text, registration);
    if (result.kind === 'refused') return refused(place, result.reason);
    if (result.kind === 'unchanged') {
      work.steps.push({ what: 'settings', path, change: 'unchanged' });
      const before = { kind: 'edited-since' } as const;
      const record = { path, before, writtenSha256: sha256(text ?? '') };
      return { kind: 'unchanged', record, notes: result.notes };
    }
    const backup = text === undefined ? undefined : backUp(text, place.paths.backups, now(), work);
    if (readSettings(path) !== text) {
      if (backup !== undefined && !work.dryRun) rmSync(backup);
      continue;
    }
    if (!work.dryRun) writeFileAtomic(path, result.text, text === undefined ? { mode: 0o600 } : {});
    if (backup !== undefined) work.steps.push({ what: 'backup', path: backup, change: 'created' });
    work.steps.push({ what: 'settings', path, change: text === undefined ? 'created' : 'updated' });
    const before = beforeOf(text, backup, known, registration);
    return {
      kind: 'edited',
      record: { path, before, writtenSha256: sha256(result.text) },
      notes: result.notes,
    };
  }
  return refused(place, 'another program keeps changing the file');
}

/** What uninstall may put back: the bytes from before our first edit, as long as nobody has mixed in their own. */
function beforeOf(
  text: string | undefined,
  backup: string | undefined,
  known: SettingsRecord | undefined,
  owner: Owner,
): SettingsBefore {
  if (text === undefined || backup === undefined) return { kind: 'absent' };
  const isOurs = (entry: unknown) => recogniseEntry(entry, owner)?.kind === 'ours';
  if (unregisterHooks(text, isOurs).kind === 'unchanged')
    return { kind: 'saved', backup, sha256: sha256(text) };
  return known?.writtenSha256 === sha256(text) ? known.before : { kind: 'edited-since' };
}

function backUp(text: string, directory: string, now: Date, work: Work): string {
  const stamp = now.toISOString().replace(/[-:.]/g, '');
  let path = join(directory, `settings.${stamp}.json`);
  for (let copy = 2; existsSync(path); copy++) path = join(directory, `settings.${stamp}-${copy}.json`);
  if (work.dryRun) return path;
  writeFileAtomic(path, text, { mode: 0o600 });
  work.undo.push(() => rmSync(path, { force: true }));
  return path;
}

type ManifestParts = {
  readonly ownsHome: boolean;
  readonly directories: DirectoriesChanged;
  readonly configWritten: string | undefined;
  readonly settings: SettingsOutcome;
  readonly now: () => Date;
};

/** The earlier manifest is read again: another install may have ended since this one began. */
function saveManifest({ paths }: Place, parts: ManifestParts, work: Work): void {
  const { settings, now, ...changes } = parts;
  const earlier = earlierManifest(paths);
  const known = earlier?.settings.find(({ path }) => path === settings.record.path);
  const record = settings.kind === 'unchanged' && known !== undefined ? known : settings.record;
  const installedAt = earlier?.installedAt ?? now().toISOString();
  const manifest = mergeManifest(earlier, {
    ...changes,
    settings: record,
    binary: paths.binary,
    installedAt,
  });
  const isSame = earlier !== undefined && manifestText(earlier) === manifestText(manifest);
  const change = isSame ? 'unchanged' : earlier === undefined ? 'created' : 'updated';
  work.steps.push({ what: 'manifest', path: paths.manifest, change });
  if (!isSame && !work.dryRun) writeManifest(paths.manifest, manifest);
}

function rollBack(work: Work): void {
  for (const undo of work.undo.splice(0).reverse()) {
    try {
      undo();
    } catch {
      // What cannot be undone is left; the failure that led here is the one to report.
    }
  }
}

function describeNote(note: SettingsNote): string {
  if (note.kind === 'hooks-disabled') {
    return 'Your settings have "disableAllHooks": true: no hook runs until you remove it.';
  }
  return `Replaced ${note.commands.length} hooks of an earlier self-generation, so that none runs twice.`;
}
