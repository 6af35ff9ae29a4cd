import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { lookOr, reasonOf } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { HOOKS } from '../hooks/hooks.ts';
import { realPath, temporariesOf } from '../system/atomic-file.ts';
import { activeRuns, keptTreeWarnings, treesLeft } from './background-runs.ts';
import { keptFiles, planClientRemoval } from './clients/set-up.ts';
import { removeLink } from './command-link.ts';
import {
  type FileChange,
  performSteps,
  planRestore,
  RefusedRemoval,
  readText,
  type SetupStep,
  type Work,
} from './file-plan.ts';
import { listAppliedFiles } from './inspect-store.ts';
import { ourDirectories } from './install.ts';
import { removeProgram } from './kept-versions.ts';
import { type Failure, locate, type Manifest, type Place, readManifest } from './manifest.ts';
import {
  enabledPlugin,
  hasHook,
  hookRemoval,
  type Owner,
  ownerOf,
  recogniseEntry,
  SCRIPT_FILE,
} from './settings-file.ts';

export type UninstallOptions = {
  readonly env: Environment;
  readonly platform: string;
  /** Also what was learned: data, spool, config.json and everything else under our home directory. */
  readonly purge: boolean;
  readonly dryRun: boolean;
};

export type UninstallReport =
  | { readonly kind: 'done'; readonly steps: readonly SetupStep[]; readonly warnings: readonly string[] }
  | (Failure & { readonly steps: readonly SetupStep[] });

/** What is removed and from where, and what has been done so far. */
type Uninstall = Work & {
  readonly place: Place;
  readonly paths: StatePaths;
  readonly manifest: Manifest | undefined;
  readonly owner: Owner;
  readonly purge: boolean;
  readonly warnings: string[];
};

const ENTRIES_MAX = 10_000;
/** What our directory is called where no variable says otherwise. */
const OWN_NAME = '.self-generation';
const TASK_NAMES = /^[0-9a-z]{1,4}\.json$/;
/** In the words of a failure, what is taken out of a file. */
const OURS: Partial<Readonly<Record<SetupStep['what'], string>>> = {
  ...{ mcp: 'the MCP server', plugin: 'the plugin', extension: 'the extension' },
  approval: 'the approval of the hooks',
};
const EVENT_NAMES = new RegExp(
  `^(?:(?:${CLIENT_NAMES.join('|')})-)?(?:${HOOKS.map((hook) => hook.event).join('|')})$`,
);
/** Copies of files from before install, apply or undo changed them. */
const BACKUP_NAMES =
  /^(settings|config|apply-settings|apply-CLAUDE|apply-RULES\d|mcp-[a-z]+|client-[a-z]+|plugin)\.\d{8}T\d{9}Z(-\d+)?\.(jsonc?|md|toml)$/;
const LOG_NAMES = /^(hooks|runs|opencode)\.log(\.|$)|^unread\.json$/;
const DATABASE_NAMES = /^(self-gen|runs)\.db|^catch-up-\w+\.lock/;
const RUN_AGAIN = 'Correct that and run the command again.';
const PREDECESSOR_BACK =
  'The hooks of an earlier self-generation are registered again, as they were before install.';

/**
 * Takes the hooks out of every settings file that install wrote and removes what install put on the disk; what was
 * learned stays, unless `purge`. The settings come first: while they cannot be edited, the program that they name
 * stays. While sub-agents are at work nothing is done, and working trees of theirs stay in any case: whoever can tell
 * that nothing would be lost removes them first. Never throws: a failure is a report that says what to do.
 */
export function uninstall(options: UninstallOptions): UninstallReport {
  const { env, platform, purge, dryRun } = options;
  const located = locate(env, platform);
  if (located.kind === 'failed') return { ...located, steps: [] };
  const { paths } = located;
  const read = readManifest(paths.manifest);
  const manifest = read.kind === 'read' ? read.manifest : undefined;
  const place = { ...located, binaryBefore: manifest?.binary };
  const owner = ownerOf(place);
  const steps: SetupStep[] = [];
  const warnings: string[] = [];
  const removal: Uninstall = { place, paths, manifest, owner, purge, dryRun, steps, undo: [], warnings };
  const failed = (action: string, reason: string, advice = RUN_AGAIN) =>
    ({ kind: 'failed', action, reason, advice, steps }) as const;
  if (read.kind === 'unreadable') warnings.push(`Went on without the manifest: ${read.reason}.`);
  try {
    const active = findActiveRuns(removal);
    if (active !== undefined) return failed('uninstall', active.reason, active.advice);
    const objection = purge ? objectionToPurge(place) : undefined;
    if (objection !== undefined) return failed('remove everything', objection);
    const config = manifest?.config && planRestore(manifest.config, 'config', { remove: (text) => text });
    const plans = [
      ...planSettings(removal),
      ...planClientRemoval(place, manifest),
      ...(config ? [config] : []),
    ];
    if (purge) warnings.push(...appliedThatStays(removal));
    // Two paths may lead to one file.
    const files = plans.filter(({ path }, at) => plans.findIndex((other) => other.path === path) === at);
    performSteps({ files }, removal);
    for (const path of [...files.map((file) => file.path), paths.binary])
      for (const temporary of temporariesOf(path)) remove(temporary, 'data', removal);
    steps.push(...keptFiles(files, place, manifest));
    if (files.some((file) => bringsPredecessorBack(file, owner))) warnings.push(PREDECESSOR_BACK);
    const plugin = enabledPlugin(readText(place.settings) ?? '');
    if (plugin !== undefined) warnings.push(pluginStays(plugin));
    removeInstalled(removal);
    if (purge) purgeHome(removal);
    else reportKept(removal);
    restoreDirectories(removal);
    return { kind: 'done', steps, warnings };
  } catch (error) {
    if (!(error instanceof RefusedRemoval)) return failed('uninstall', reasonOf(error));
    const { what, path } = error.file;
    return failed(`take ${OURS[what] ?? 'the hooks'} out of "${path}"`, error.message);
  }
}

/** What starts nothing any more. */
function pluginStays(plugin: string): string {
  return `The plugin ${plugin} stays in Claude Code, and does nothing without the program. To remove it: claude plugin uninstall ${plugin}`;
}

/** A database that cannot be read must not keep the program on the machine. */
function findActiveRuns({ paths, warnings }: Uninstall): ReturnType<typeof activeRuns> {
  try {
    return activeRuns(paths);
  } catch (error) {
    warnings.push(`It is not known whether sub-agents are at work: ${reasonOf(error)}`);
    return undefined;
  }
}

/** Warnings about applied files, which undo could remove only as long as the database is there. */
function appliedThatStays({ paths, dryRun }: Uninstall): string[] {
  const applied = lookOr(() => listAppliedFiles(paths), undefined);
  if (applied === undefined)
    return ['The database cannot be read; what you applied from suggestions stays where it is.'];
  return applied
    .filter(({ type, path }) => type !== 'hook' && existsSync(path))
    .map(({ id, type, path }) => {
      const advice = dryRun ? `take it back first: self-generation undo ${id}` : 'remove it there by hand';
      return `The ${type === 'skill' ? 'skill' : 'rule'} that you applied stays in "${path}"; ${advice}.`;
    });
}

/** Every settings file that is known to hold our hooks, and the one that a client of this environment reads. */
function planSettings({ place, manifest, owner, purge }: Uninstall): FileChange[] {
  const records = manifest?.settings ?? [];
  const isRecorded = records.some((record) => realPath(record.path) === realPath(place.settings));
  const others = isRecorded ? [] : [{ path: place.settings }];
  // With purge the predecessor's scripts go as well, so its entries would only fail at every event.
  const isOurs = (entry: unknown) => {
    const kind = recogniseEntry(entry, owner)?.kind;
    return kind === 'ours' || kind === 'applied' || (purge && kind === 'predecessor');
  };
  return [...records, ...others].map((record) => planRestore(record, 'settings', hookRemoval(isOurs)));
}

function bringsPredecessorBack({ what, restores, after }: FileChange, owner: Owner): boolean {
  if (what !== 'settings' || !restores || after === undefined) return false;
  return hasHook(after, (entry) => recogniseEntry(entry, owner)?.kind === 'predecessor');
}

function removeInstalled(removal: Uninstall): void {
  const { paths, manifest, dryRun } = removal;
  const kept = namesIn(paths.versions).map((name) => join(paths.versions, name));
  const programs = [paths.binary, ...kept].filter((path) => statOf(path)?.isDirectory() === false);
  for (const path of programs) {
    if (!dryRun) removeProgram(path, removal.place.platform);
    removal.steps.push({ what: 'binary', path, change: 'removed' });
  }
  remove(paths.versions, 'binary', removal);
  if (manifest?.link !== undefined) removeLink(manifest.link, removal);
  remove(paths.opencodePlugin, 'script', removal);
  removeNamed(paths.scripts, SCRIPT_FILE, 'script', removal);
  if (!dryRun && isEmptyDirectory(paths.scripts)) rmdirSync(paths.scripts);
  removeNamed(paths.backups, BACKUP_NAMES, 'backup', removal);
  removeNamed(paths.heartbeats, EVENT_NAMES, 'data', removal);
  removeNamed(paths.tasks, TASK_NAMES, 'data', removal);
  removeNamed(dirname(paths.hookLog), LOG_NAMES, 'data', removal);
  const config = fileText(paths.config);
  if (config !== undefined && config === manifest?.configWritten) remove(paths.config, 'config', removal);
  remove(paths.manifest, 'manifest', removal);
}

function reportKept({ paths, manifest, steps }: Uninstall): void {
  const { config, data, spool, given, scripts, runs, inboxMarks, worktrees } = paths;
  const { plans, summaries, memory, pruned } = paths;
  const text = fileText(config);
  const isRestored = steps.some(({ what, change }) => what === 'config' && change === 'restored');
  if (text !== undefined && text !== manifest?.configWritten && !isRestored) {
    const note = manifest?.configWritten === undefined ? 'install did not write it' : 'you have changed it';
    steps.push({ what: 'config', path: config, change: 'kept', note });
  }
  const keep = (directories: readonly string[], note: string) => {
    for (const path of directories)
      if (namesIn(path).length > 0) steps.push({ what: 'data', path, change: 'kept', note });
  };
  keep([data, spool, given, scripts], 'what was learned; --purge removes it');
  keep([runs, inboxMarks], 'of background sub-agents; --purge removes it');
  keep([plans], 'your plans; --purge removes them');
  keep([summaries], 'summaries of conversations; --purge removes them');
  keep([memory], 'what is remembered of conversations; --purge removes it');
  keep([pruned], 'what was pruned from sessions of OpenCode; --purge removes it');
  keep([worktrees], 'working trees of sub-agents; --purge removes those without work of their own');
}

/** Why this directory must not be removed as a whole, or undefined. Nothing there at all is fine. */
function objectionToPurge({ paths, userHome }: Place): string | undefined {
  const { home, manifest, database, config } = paths;
  const stats = statOf(home);
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) return `"${home}" is a symbolic link; remove what it points to by hand`;
  if (!stats.isDirectory()) return `"${home}" is not a directory`;
  const real = realpathSync(home);
  const way = relative(real, realPath(userHome ?? '/'));
  const isInside = way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  if (isInside || dirname(real) === real) return `"${home}" holds more than our files`;
  const isNamed = basename(real) === OWN_NAME; // An install that was cut off may have made no more than directories.
  const isOurs = isNamed || [manifest, database, config].some((path) => existsSync(path));
  if (isOurs || readdirSync(home).length === 0) return undefined;
  return `"${home}" holds neither install.json nor data/self-gen.db nor config.json, so it may not be ours`;
}

/**
 * Our own directory goes as a whole. One that SELF_GENERATION_HOME names and that had something in it before install
 * may be anything: there only directories that install made and our databases go.
 */
function purgeHome(removal: Uninstall): void {
  const { paths, manifest, steps } = removal;
  const created = manifest?.createdDirectories ?? [];
  const hasTrees = keepTrees(removal);
  const isWholeOurs = basename(paths.home) === OWN_NAME || created.includes(paths.home);
  if (isWholeOurs && !hasTrees) {
    remove(paths.home, 'data', removal);
    return;
  }
  removeNamed(paths.data, DATABASE_NAMES, 'data', removal);
  remove(paths.config, 'config', removal);
  for (const name of namesIn(paths.home)) {
    const path = join(paths.home, name);
    if (path === paths.worktrees && hasTrees) continue;
    if (isWholeOurs || manifest?.ownsHome || created.includes(path)) remove(path, 'data', removal);
    else steps.push({ what: 'data', path, change: 'kept', note: 'it may not be ours' });
  }
}

/** Working trees may hold what nobody has committed: they stay, and the user is told how to remove them. */
function keepTrees({ paths, dryRun, steps, warnings }: Uninstall): boolean {
  if (treesLeft(paths).length === 0) return false;
  const note = dryRun ? 'but for working trees without work of their own' : 'work of sub-agents is in it';
  steps.push({ what: 'data', path: paths.worktrees, change: 'kept', note });
  if (!dryRun) warnings.push(...keptTreeWarnings(paths));
  return true;
}

/** Directories that install made go when nothing is in them, innermost first; the others get their mode back. */
function restoreDirectories({ paths, manifest, dryRun, steps }: Uninstall): void {
  if (dryRun) return;
  const created = manifest?.createdDirectories ?? ourDirectories(paths);
  for (const path of created.toReversed()) {
    if (!isEmptyDirectory(path)) continue;
    rmdirSync(path);
    steps.push({ what: 'directory', path, change: 'removed' });
  }
  for (const { path, mode } of manifest?.modesBefore ?? [])
    if (((statOf(path)?.mode ?? 0) & 0o777) === 0o700) chmodSync(path, mode);
}

/** Removes the files in a directory whose names are ours; what else is in it stays. */
function removeNamed(directory: string, names: RegExp, what: SetupStep['what'], removal: Uninstall): void {
  for (const name of namesIn(directory)) if (names.test(name)) remove(join(directory, name), what, removal);
}

/** Removes a file, a link (not what it points to) or a directory with all that is in it. */
function remove(path: string, what: SetupStep['what'], { dryRun, steps }: Uninstall): void {
  if (statOf(path) === undefined) return;
  if (!dryRun) rmSync(path, { recursive: true });
  steps.push({ what, path, change: 'removed' });
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function namesIn(directory: string): string[] {
  return statOf(directory)?.isDirectory() === true ? readdirSync(directory).slice(0, ENTRIES_MAX) : [];
}

function isEmptyDirectory(path: string): boolean {
  return statOf(path)?.isDirectory() === true && namesIn(path).length === 0;
}

function fileText(path: string): string | undefined {
  return statOf(path)?.isFile() === true ? readFileSync(path, 'utf8') : undefined;
}
