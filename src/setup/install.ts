import { chmodSync, existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  clientFeatures,
  clientWarnings,
  findClientVersion,
  readAgentFiles,
  writingAgents,
} from '../clients/claude/setup.ts';
import { writingSubAgents } from '../clients/opencode/agents.ts';
import type { ClientName } from '../core/client-name.ts';
import { isRecord, lookOr, parseJson, readTexts, reasonOf } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { HookEventName, HookMode } from '../hooks/hooks.ts';
import { readPath, writePath } from '../settings/all-settings.ts';
import { type Config, parseSettings } from '../settings/hook-settings.ts';
import { loadRunSettings, type RunSettings } from '../settings/run-settings.ts';
import { ensurePrivateDirectory, hasSameBytes, realPath, writeFileAtomic } from '../system/atomic-file.ts';
import { readPlainFile } from '../system/files.ts';
import type { RunCommand } from '../system/run-command.ts';
import type { Approves, Registering } from './clients/client-setup.ts';
import {
  type ClientChoices,
  type ClientReport,
  clientsMeant,
  holderOfOurs,
  registerClients,
} from './clients/set-up.ts';
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
  type Place,
} from './manifest.ts';
import { type McpReport, type McpRequest, mcpFile, registerMcp, titlesOf } from './mcp-registration.ts';
import {
  hasHook,
  inspectHooks,
  type Registration,
  recogniseEntry,
  registerHooks,
  registrationFor,
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
  readonly analysisOnSessionEnd?: boolean | undefined;
  readonly lessonsModel?: Config['lessons']['model'] | undefined;
  readonly wake?: RunSettings['announce']['wake'] | undefined;
  readonly holdOut?: Config['proof']['holdOut'] | undefined;
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
    const configWritten = writeConfig(place, clients, { ...options, earlier }, work);
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
        ...settings.flatMap((one) => one.directories),
        ...made,
        ...others.directories,
      ].sort(),
      modesBefore: directories.modesBefore,
      ownsHome,
      settings: settings.map(({ record }) => record),
      configWritten,
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

/** Without agent names in the settings, the agents of a plain Claude Code are told nothing. */
const NO_AGENTS = `it names no agent: self-generation config set subagentContext.agents '["general-purpose"]'`;

/** What is written also where there are settings, by its key. */
type Answers = Readonly<Record<string, unknown>>;

/** The settings with these answers; undefined where there are none, or comments would be lost. */
function withAnswers(text: string, answers: Answers): string | undefined {
  const values = parseJson(text);
  const given = Object.entries(answers).filter(([, answer]) => answer !== undefined);
  if (given.length === 0 || !isRecord(values)) return undefined;
  if (given.every(([key, answer]) => readPath(values, key) === answer)) return text;
  for (const [key, answer] of given) writePath(values, key, answer);
  return `${JSON.stringify(values, null, 2)}\n`;
}

/** A plugin of OpenCode that nobody has asked for tells what was learned, and leaves main sessions as they are. */
function prunes(clients: readonly ClientName[], options: InstallOptions, earlier: Manifest | undefined) {
  const isAsked = options.clients?.opencode === true;
  const isThere = earlier?.clients?.some(({ client }) => client === 'opencode') === true;
  return clients.includes('opencode') && !isAsked && !isThere ? false : undefined;
}

/** Other existing settings are the user's and are not changed: returns the commands that would, if an answer asks for it. */
function keptNote(place: Place, options: InstallOptions, isWritten: boolean) {
  const text = readPlainFile(place.paths.config).toString();
  const value = parseSettings(text);
  const named = isRecord(value) ? readPath(value, 'subagentContext.agents') : undefined;
  if (named === undefined) return NO_AGENTS;
  const { analysisOnSessionEnd, lessonsModel, wake, holdOut } = options;
  const asked = Object.keys(options.clients ?? {}).filter((client) => options.clients?.[client]);
  const agents = [...new Set([...readTexts(named), ...opencodeAgents(place, asked, options)])];
  const areMore = agents.length > readTexts(named).length;
  const answers = {
    'subagentContext.agents': areMore ? `'${JSON.stringify(agents)}'` : undefined,
    ...{ analysisOnSessionEnd, 'lessons.model': lessonsModel, 'announce.wake': wake },
    'proof.holdOut': isWritten ? undefined : holdOut,
  };
  const commands = Object.entries(answers)
    .filter(([, answer]) => answer !== undefined)
    .map(([key, answer]) => `self-generation config set ${key} ${answer}`);
  return commands.length === 0 ? undefined : `as you have it: ${commands.join('; ')}`;
}

/** Returns the text that is install's own, or undefined when the user has a config.json already. */
function writeConfig(
  place: Place,
  clients: readonly ClientName[],
  { earlier, ...options }: InstallOptions & { readonly earlier: Manifest | undefined },
  work: Work,
): string | undefined {
  const { projectDirectory, analysisOnSessionEnd, lessonsModel, wake, holdOut, now } = options;
  const { config: path, backups } = place.paths;
  const enabled = prunes(clients, options, earlier);
  if (existsSync(path)) {
    const text = readText(path) ?? '{}';
    const values = lookOr(() => parseSettings(text), undefined);
    const isDecided = isRecord(values) && readPath(values, 'prune.enabled') !== undefined;
    const answers = { 'proof.holdOut': holdOut, 'prune.enabled': isDecided ? undefined : enabled };
    const after = withAnswers(text, answers);
    const note = keptNote(place, options, after !== undefined);
    if (after === undefined || after === text) {
      work.steps.push({ what: 'config', path, change: 'unchanged', ...(note && { note }) });
      return undefined;
    }
    if (text === earlier?.configWritten) {
      work.steps.push({ what: 'config', path, change: 'updated' });
      if (!work.dryRun) writeFileAtomic(path, after, { mode: 0o600 });
      return after;
    }
    const edit = (standing = '{}') => withAnswers(standing, answers) ?? standing;
    editFile({ path, what: 'config', edit }, { backups, now, work });
    return undefined;
  }
  const directories = [join(place.claudeDirectory, 'agents'), join(projectDirectory, '.claude', 'agents')];
  const own = writingAgents(directories.flatMap(readAgentFiles).map(({ text }) => text));
  const agents = [...new Set(['general-purpose', ...own, ...opencodeAgents(place, clients, options)])];
  const [lessons, announce] = [lessonsModel && { model: lessonsModel }, wake && { wake }];
  const proof = holdOut && { holdOut };
  const prune = enabled === undefined ? undefined : { enabled };
  const settings = { subagentContext: { agents }, lessons, analysisOnSessionEnd, announce, proof, prune };
  const text = `${JSON.stringify(settings, null, 2)}\n`;
  const note = `for ${agents.join(', ')}`;
  const edit = (standing?: string) => standing ?? text;
  try {
    const { isChanged } = editFile({ path, what: 'config', edit, note }, { backups, now, work });
    return isChanged ? text : undefined;
  } catch (error) {
    if (error instanceof Refused) return undefined; // Somebody else writes it, and every setting has its default.
    throw error;
  }
}

/** The user's own of OpenCode, if that is set up. It reads both spellings of the folder. */
function opencodeAgents(
  place: Place,
  clients: readonly ClientName[],
  { projectDirectory }: InstallOptions,
): string[] {
  if (!clients.includes('opencode')) return [];
  const { path, directory } = mcpFile('opencode', place);
  const folders = [directory, join(projectDirectory, '.opencode')].flatMap((one) => [
    join(one, 'agent'),
    join(one, 'agents'),
  ]);
  const config = lookOr(() => readText(path), undefined) ?? '{}';
  return writingSubAgents(config, folders.flatMap(readAgentFiles));
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
