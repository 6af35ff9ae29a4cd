import { chmodSync, existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readAgentFiles, writingAgents } from '../clients/claude/agents.ts';
import { clientFeatures, clientWarnings, findClientVersion } from '../clients/claude/version.ts';
import { isRecord, reasonOf } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { HookEventName, HookMode } from '../hooks/hook-names.ts';
import { readPath } from '../settings/hook-setting-fields.ts';
import type { Config } from '../settings/hook-settings.ts';
import { parseSettings } from '../settings/load-hook-settings.ts';
import { loadRunSettings } from '../settings/load-run-settings.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import {
  copyFileAtomic,
  ensurePrivateDirectory,
  hasSameBytes,
  realPath,
  writeFileAtomic,
} from '../system/atomic-file.ts';
import { readPlainFile } from '../system/files.ts';
import type { RunCommand } from '../system/run-command.ts';
import { editFile, readText } from './file-plan.ts';
import {
  type DirectoriesChanged,
  type Failure,
  hookModeIn,
  knownManifest,
  locate,
  manifestText,
  mergeManifest,
  type Place,
  RUN_AGAIN,
  rollBack,
  type SetupProblem,
  type SetupStep,
  type Work,
} from './manifest.ts';
import { type McpReport, type McpRequest, mcpWarnings, registerMcp } from './mcp-registration.ts';
import {
  inspectHooks,
  type Registration,
  recogniseEntry,
  registerHooks,
  registrationFor,
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
  /** What the user answered; written where there are no settings yet. */
  readonly analysisOnSessionEnd?: boolean;
  readonly lessonsModel?: Config['lessons']['model'];
  readonly wake?: RunSettings['announce']['wake'];
  /** How the hooks are to be registered; undefined: as an earlier install did. */
  readonly hooks?: HookMode;
  /** With which clients the MCP server is to be registered; undefined: as an earlier install did. */
  readonly mcp?: McpRequest;
  /** `X.Y.Z`: taken instead of asking the client. */
  readonly clientVersion?: string;
  readonly run: RunCommand;
  readonly now: () => Date;
};

export type InstallReport =
  | {
      readonly kind: 'done';
      readonly steps: readonly SetupStep[];
      readonly warnings: readonly string[];
      readonly events: readonly HookEventName[];
      readonly hooks: HookMode;
      readonly clientVersion: string | undefined;
      readonly mcp: McpReport;
      /** Nothing had to be changed. */
      readonly upToDate: boolean;
    }
  | ({ readonly kind: 'failed' } & SetupProblem);

/**
 * Installs the running program and registers its hooks; repeating it repairs and updates. Whatever fails, the settings
 * file is as it was or complete. Never throws: a failure is a report that says what to do.
 */
export async function install(options: InstallOptions): Promise<InstallReport> {
  const place = locate(options.env, options.platform);
  if (place.kind === 'failed') return place;
  if (!options.isCompiled) return notCompiled(options.executablePath);
  const client = options.clientVersion
    ? ({ kind: 'known', version: options.clientVersion, path: '' } as const)
    : await findClientVersion(options);
  const clientVersion = client.kind === 'known' ? client.version : undefined;
  const features = clientFeatures(clientVersion);
  const work: Work = { dryRun: options.dryRun, steps: [], undo: [] };
  try {
    const earlier = knownManifest(place.paths.manifest);
    const mode = options.hooks ?? hookModeIn(earlier);
    const owner = { ...options, place, binaryBefore: earlier?.binary };
    const isConfigured = existsSync(place.paths.config);
    const wake = (isConfigured ? undefined : options.wake) ?? loadRunSettings(place.paths).announce.wake;
    const registration = registrationFor({ ...owner, features, mode, wakes: wake === 'on' });
    const text = readText(place.settings);
    const preview = registerHooks(text, registration);
    if (preview.kind === 'refused') return refused(place, preview.reason);
    const ownsHome = isMissingOrEmpty(place.paths.home);
    const directories = makeDirectories(place, work);
    copyBinary(options.executablePath, place.paths.binary, work);
    const configWritten = writeConfig(place, options, work);
    const settings = editFile(
      {
        path: place.settings,
        what: 'settings',
        edit: (one) => registerHooks(one, registration),
        holdsOurs: (one) =>
          unregisterHooks(one, (entry) => recogniseEntry(entry, registration)?.kind === 'ours').kind !==
          'unchanged',
        known: earlier?.settings.find((record) => record.path === place.settings),
      },
      { backups: place.paths.backups, now: options.now, work },
    );
    if (settings.kind === 'refused') {
      rollBack(work.undo);
      return refused(place, settings.reason);
    }
    work.undo.length = 0; // The hooks are registered, so what they run has to stay.
    const mcp = registerMcp({ request: options.mcp, owner, earlier, work, now: options.now });
    saveManifest(place.paths.manifest, work, {
      installedAt: options.now().toISOString(),
      binary: place.paths.binary,
      ownsHome,
      configWritten,
      createdDirectories: [...directories.createdDirectories, ...settings.directories, ...mcp.directories],
      modesBefore: directories.modesBefore,
      settings: settings.record,
      mcp: mcp.records,
      mode,
    });
    const ignored = work.steps.flatMap(({ what, change, note }) =>
      what === 'config' && change === 'unchanged' && note !== undefined ? [note] : [],
    );
    const warnings = [
      ...clientWarnings(client, mode),
      ...settingsWarnings(text ?? '', registration),
      ...mcpWarnings(mcp),
      ...ignored.map((note) => `${place.paths.config}: ${note}`),
    ];
    const upToDate = work.steps.every((step) => step.change === 'unchanged' || step.change === 'kept');
    const { registered, refused: unregistered } = mcp;
    return {
      kind: 'done',
      steps: work.steps,
      warnings,
      events: registration.hooks.map(({ event }) => event),
      hooks: mode,
      clientVersion,
      mcp: { registered, refused: unregistered },
      upToDate,
    };
  } catch (error) {
    rollBack(work.undo);
    return { kind: 'failed', action: 'install', reason: reasonOf(error), advice: RUN_AGAIN };
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

/** The failure of not being able to register hooks, with nothing changed. */
function refused(place: Place, reason: string): Failure {
  return { kind: 'failed', action: `register hooks in "${place.settings}"`, reason, advice: RUN_AGAIN };
}

/** What the user should know of the settings as they stood. */
function settingsWarnings(text: string, registration: Registration): string[] {
  const found = inspectHooks(text, registration);
  if (found.kind === 'refused') return [];
  const replaced = found.entries.filter(({ kind }) => kind === 'predecessor').length;
  const off = 'Your settings have "disableAllHooks": true: no hook runs until you remove it.';
  const twice = `Replaced ${replaced} hooks of an earlier self-generation, so that none runs twice.`;
  return [...(found.isDisabled ? [off] : []), ...(replaced > 0 ? [twice] : [])];
}

/** Ours; those of the client are made with the files that go into them. */
function makeDirectories({ paths }: Place, work: Work): DirectoriesChanged {
  const createdDirectories: string[] = [];
  const modesBefore: { path: string; mode: number }[] = [];
  for (const path of ourDirectories(paths)) {
    if (!existsSync(path)) work.steps.push({ what: 'directory', path, change: 'created' });
    if (work.dryRun) continue;
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

/** What install makes, outermost first. */
export function ourDirectories(paths: StatePaths): string[] {
  return [
    ...[paths.home, paths.hooks, paths.data, paths.heartbeats, paths.given, paths.tasks],
    ...[dirname(paths.hookLog), paths.backups],
  ];
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

/** What a plain Claude Code needs, whose agents have none of the built-in names. */
const NO_AGENTS = `it names no agent: self-generation config set subagentContext.agents '["general-purpose"]'`;

/** Settings that are there are the user's: an answer does not change them. */
function keptNote({ analysisOnSessionEnd, lessonsModel, wake }: InstallOptions): string | undefined {
  const commands = [
    ...(analysisOnSessionEnd === undefined ? [] : ['analysisOnSessionEnd true']),
    ...(lessonsModel === undefined ? [] : [`lessons.model ${lessonsModel}`]),
    ...(wake === undefined ? [] : [`announce.wake ${wake}`]),
  ].map((setting) => `self-generation config set ${setting}`);
  return commands.length === 0 ? undefined : `as you have it: ${commands.join('; ')}`;
}

function namesAgents(configPath: string): boolean {
  const value = parseSettings(readPlainFile(configPath).toString());
  return isRecord(value) && readPath(value, 'subagentContext.agents') !== undefined;
}

/** The text that was written, or undefined when the user has a config.json already. */
function writeConfig(place: Place, options: InstallOptions, work: Work): string | undefined {
  const { projectDirectory, analysisOnSessionEnd, lessonsModel, wake, now } = options;
  const path = place.paths.config;
  if (existsSync(path)) {
    const note = namesAgents(path) ? keptNote(options) : NO_AGENTS;
    work.steps.push({ what: 'config', path, change: 'unchanged', ...(note === undefined ? {} : { note }) });
    return undefined;
  }
  const directories = [join(place.claudeDirectory, 'agents'), join(projectDirectory, '.claude', 'agents')];
  const own = writingAgents(directories.flatMap(readAgentFiles));
  const agents = [...new Set(['general-purpose', ...own])];
  const analysis = analysisOnSessionEnd === undefined ? {} : { analysisOnSessionEnd };
  const lessons = lessonsModel === undefined ? {} : { lessons: { model: lessonsModel } };
  const announce = wake === undefined ? {} : { announce: { wake } };
  const settings = { subagentContext: { agents }, ...lessons, ...analysis, ...announce };
  const text = `${JSON.stringify(settings, null, 2)}\n`;
  const edit = (standing?: string) =>
    standing === undefined ? ({ kind: 'edited', text } as const) : ({ kind: 'unchanged' } as const);
  const note = `for ${agents.join(', ')}`;
  const written = editFile({ path, what: 'config', edit, note }, { backups: place.paths.backups, now, work });
  return written.kind === 'edited' ? text : undefined;
}

/** The earlier manifest is read again: another install may have ended since this one began. */
function saveManifest(path: string, work: Work, now: Parameters<typeof mergeManifest>[1]): void {
  const earlier = knownManifest(path);
  const text = manifestText(mergeManifest(earlier, now));
  const isSame = earlier !== undefined && manifestText(earlier) === text;
  const change = isSame ? 'unchanged' : earlier === undefined ? 'created' : 'updated';
  work.steps.push({ what: 'manifest', path, change });
  if (!isSame && !work.dryRun) writeFileAtomic(path, text, { mode: 0o600 });
}
