import { chmodSync, existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { clientFeatures, clientWarnings, findClientVersion } from '../clients/claude/setup.ts';
import { reasonOf } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { HookEventName, HookMode } from '../hooks/hooks.ts';
import { loadRunSettings } from '../settings/run-settings.ts';
import { ensurePrivateDirectory, hasSameBytes, realPath, writeFileAtomic } from '../system/atomic-file.ts';
import type { RunCommand } from '../system/run-command.ts';
import type { Approves, Registering } from './clients/client-setup.ts';
import {
  type ClientChoices,
  type ClientReport,
  clientsMeant,
  holderOfOurs,
  registerClients,
} from './clients/set-up.ts';
import { type CommandReport, linkCommand } from './command-link.ts';
import { type Answers, writeConfig } from './config/write-config.ts';
import { editFile, Refused, readText, rollBack, type SetupStep, type Work } from './file-plan.ts';
import { putProgram } from './kept-versions.ts';
import {
  type Failure,
  hookModeIn,
  knownManifest,
  locate,
  type Manifest,
  manifestText,
  mergeManifest,
} from './manifest.ts';
import { type McpReport, type McpRequest, registerMcp, titlesOf } from './mcp-registration.ts';
import {
  hasHook,
  inspectHooks,
  type Registration,
  recogniseEntry,
  registerHooks,
  registrationFor,
} from './settings-file.ts';

export type InstallOptions = Answers & {
  readonly env: Environment;
  readonly platform: string;
  /** The running program, which is what gets installed. */
  readonly executablePath: string;
  /** Whether that is the product itself, and not a runtime that runs its source. */
  readonly isCompiled: boolean;
  /** Where the user is: its `.claude/agents` are read. */
  readonly projectDirectory: string;
  readonly dryRun: boolean;
  /** False: no link to the program is made on the PATH; one that is there stays. */
  readonly link?: boolean | undefined;
  /** How the hooks are to be registered; undefined: as an earlier install did. */
  readonly hooks?: HookMode | undefined;
  /** With which clients the MCP server is to be registered; undefined: as an earlier install did. */
  readonly mcp?: McpRequest | undefined;
  /** Which clients are to be set up; of the others those that are there. */
  readonly clients?: ClientChoices;
  /** Asks whether Codex may run our hooks; undefined: the user is told to approve them there. */
  readonly approves?: Approves | undefined;
  /** `X.Y.Z`: taken instead of asking the client. */
  readonly clientVersion?: string | undefined;
  readonly run: RunCommand;
  readonly now: () => Date;
};

export type InstallReport =
  | {
      readonly kind: 'done';
      readonly steps: readonly SetupStep[];
      readonly warnings: readonly string[];
      readonly events: readonly HookEventName[];
      /** The plugin of Claude Code that runs the hooks, so that none is registered. */
      readonly plugin: string | undefined;
      readonly hooks: HookMode;
      readonly clientVersion: string | undefined;
      readonly mcp: McpReport;
      /** Whether the program is found by its name. */
      readonly command: CommandReport['state'];
      /** Claude Code aside: its hooks are in `events`, none where it was not set up. */
      readonly clients: readonly ClientReport[];
      /** Nothing had to be changed. */
      readonly upToDate: boolean;
    }
  | Failure;

/**
 * Installs the running program and registers its hooks; repeating it repairs and updates. Whatever fails, the settings
 * file is as it was or complete. Never throws: a failure is a report that says what to do.
 */
export async function install(options: InstallOptions): Promise<InstallReport> {
  const located = locate(options.env, options.platform);
  if (located.kind === 'failed') return located;
  if (!options.isCompiled) {
    const reason = `this is the source, run by "${options.executablePath}", and not the compiled program`;
    return failure('install', reason, 'Run "bun run build" and then "dist/self-generation install".');
  }
  const { paths } = located;
  const { now } = options;
  const client = options.clientVersion
    ? ({ kind: 'known', version: options.clientVersion, path: '' } as const)
    : await findClientVersion(options);
  // Not before the client was asked: another install may have ended meanwhile.
  const earlier = knownManifest(paths.manifest);
  const clientVersion = client.kind === 'known' ? client.version : earlier?.clientVersion;
  const features = clientFeatures(clientVersion);
  const place = { ...located, binaryBefore: earlier?.binary };
  const clients = clientsMeant(options, place);
  const work: Work = { dryRun: options.dryRun, steps: [], undo: [] };
  try {
    const mode = options.hooks ?? hookModeIn(earlier);
    const isConfigured = existsSync(paths.config);
    const wake = (isConfigured ? undefined : options.wake) ?? loadRunSettings(paths).announce.wake;
    const isClaude = clients.includes('claude');
    const text = isClaude ? readText(place.settings) : undefined;
    const registration = registrationFor(place, features, { mode, wakes: wake === 'on', text });
    if (isClaude) registerHooks(text, registration); // Refuses before anything is changed.
    const ownsHome = isMissingOrEmpty(paths.home);
    const directories = makeDirectories(paths, work);
    copyBinary(options, paths, work);
    const command = linkCommand(place, options.link !== false, work);
    const config = writeConfig(place, clients, { ...options, earlier }, work);
    const isOurs = (entry: unknown) => recogniseEntry(entry, registration)?.kind === 'ours';
    const settings = isClaude
      ? [
          editFile(
            {
              path: place.settings,
              what: 'settings',
              edit: (one) => registerHooks(one, registration),
              holdsOurs: (one) => hasHook(one, isOurs),
              known: earlier?.settings.find(({ path }) => path === place.settings),
            },
            { backups: paths.backups, now, work },
          ),
        ]
      : [];
    work.undo.length = 0; // The hooks are registered, so what they run has to stay.
    const registering: Registering = {
      ...{ place, earlier, work, now, run: options.run, approves: options.approves, written: [] },
      plugin: registration.plugin,
      holdsOurs: holderOfOurs(place, earlier),
    };
    const { records, directories: made, ...mcp } = registerMcp(options.mcp, registering);
    const others = await registerClients(clients, registering);
    // Other parts of ours may have come into the same file.
    const latest = records.map((record) => ({
      ...record,
      ...registering.written.find(({ path }) => path === record.path),
    }));
    saveManifest(paths.manifest, work, {
      version: 1,
      installedAt: now().toISOString(),
      binary: paths.binary,
      createdDirectories: [
        ...directories.created,
        ...command.directories,
        ...settings.flatMap((one) => one.directories),
        ...made,
        ...others.directories,
      ].sort(),
      modesBefore: directories.modesBefore,
      ownsHome,
      settings: settings.map(({ record }) => record),
      configWritten: config.written,
      config: config.record,
      link: command.link,
      mcp: latest.length === 0 ? undefined : latest,
      clients: others.records.length === 0 ? undefined : others.records,
      hooks: mode === 'per-call' ? mode : undefined,
      clientVersion,
    });
    return {
      kind: 'done',
      steps: work.steps,
      warnings: [
        ...(isClaude
          ? [
              ...clientWarnings(client, mode, earlier?.clientVersion),
              ...settingsWarnings(text ?? '', registration),
            ]
          : []),
        ...mcp.refused.map(({ path, reason }) => `The MCP server is not registered in "${path}": ${reason}.`),
        ...others.reports.flatMap(({ client: name, refused }) =>
          refused === undefined
            ? []
            : [`${titlesOf([name])} is not set up: "${refused.path}": ${refused.reason}.`],
        ),
        ...work.steps.flatMap(({ what, change, note }) =>
          what === 'config' && change === 'unchanged' && note ? [`${paths.config}: ${note}`] : [],
        ),
      ],
      plugin: registration.plugin,
      events: isClaude ? registration.hooks.map(({ event }) => event) : [],
      hooks: mode,
      clientVersion,
      mcp,
      command: command.state,
      clients: others.reports,
      upToDate: work.steps.every(({ change }) => change === 'unchanged' || change === 'kept'),
    };
  } catch (error) {
    rollBack(work.undo);
    const isRefused = error instanceof Refused;
    return failure(isRefused ? `register hooks in "${place.settings}"` : 'install', reasonOf(error));
  }
}

const TRY_AGAIN = 'Correct that and run the command again; nothing was changed.';

function failure(action: string, reason: string, advice = TRY_AGAIN): Failure {
  return { kind: 'failed', action, reason, advice };
}

/** Warnings about the settings as they were before. */
function settingsWarnings(text: string, registration: Registration): string[] {
  const found = inspectHooks(text, registration);
  const replaced = found.entries.filter(({ kind }) => kind === 'predecessor').length;
  const off = 'Your settings have "disableAllHooks": true: no hook runs until you remove it.';
  const twice = `Replaced ${replaced} hooks of an earlier self-generation, so that none runs twice.`;
  return [...(found.isDisabled ? [off] : []), ...(replaced > 0 ? [twice] : [])];
}

/** Makes our own directories; those of the client are made with the files in them. */
function makeDirectories(paths: StatePaths, { dryRun, steps, undo }: Work) {
  const created: string[] = [];
  const modesBefore: { path: string; mode: number }[] = [];
  for (const path of ourDirectories(paths)) {
    if (!existsSync(path)) steps.push({ what: 'directory', path, change: 'created' });
    if (dryRun) continue;
    const result = ensurePrivateDirectory(path);
    if (result.kind === 'created') {
      created.push(...result.directories);
      for (const directory of result.directories) undo.push(() => rmdirSync(directory));
    } else if (result.modeBefore !== 0o700) {
      modesBefore.push({ path, mode: result.modeBefore });
      undo.push(() => chmodSync(path, result.modeBefore));
      steps.push({ what: 'directory', path, change: 'updated', note: 'only you can look into it now' });
    }
  }
  return { created, modesBefore };
}

/** The directories that install makes, outermost first. */
export function ourDirectories(paths: StatePaths): string[] {
  const { home, hooks, data, heartbeats, given, tasks, hookLog, backups } = paths;
  return [home, hooks, data, heartbeats, given, tasks, dirname(hookLog), backups];
}

function isMissingOrEmpty(directory: string): boolean {
  return !existsSync(directory) || readdirSync(directory).length === 0;
}

function copyBinary(
  { executablePath: source, platform }: InstallOptions,
  paths: StatePaths,
  { dryRun, steps, undo }: Work,
): void {
  const target = paths.binary;
  const existed = existsSync(target);
  const isSame = existed && (realPath(source) === realPath(target) || hasSameBytes(source, target));
  const change = isSame ? 'unchanged' : existed ? 'updated' : 'created';
  steps.push({ what: 'binary', path: target, change });
  if (dryRun || isSame) return;
  putProgram(source, paths, platform);
  if (!existed) undo.push(() => rmSync(target));
}

/** The earlier manifest is read again: another install may have ended since this one began. */
function saveManifest(path: string, { dryRun, steps }: Work, manifest: Manifest): void {
  const earlier = knownManifest(path);
  const text = manifestText(mergeManifest(earlier, manifest));
  const isSame = earlier !== undefined && manifestText(earlier) === text;
  const change = isSame ? 'unchanged' : earlier === undefined ? 'created' : 'updated';
  steps.push({ what: 'manifest', path, change });
  if (!isSame && !dryRun) writeFileAtomic(path, text, { mode: 0o600 });
}
