import { existsSync, lstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { ClientName } from '../core/client-name.ts';
import { lookOr } from '../core/guards.ts';
import { type AgentFileKind, clientsSetUp, readBy } from '../setup/clients/agent-files.ts';
import {
  type FileChange,
  type FileRecord,
  orRefused,
  planRestore,
  Refused,
  RefusedRemoval,
  readText,
  sha256,
  withCopy,
} from '../setup/file-plan.ts';
import { knownManifest, manifestText, type Place } from '../setup/manifest.ts';
import {
  type AppliedRegistration,
  hookRemoval,
  inspectHooks,
  isApplied,
  type Owner,
  ownerOf,
  registerApplied,
} from '../setup/settings-file.ts';
import { realPath, resolveLinks } from '../system/atomic-file.ts';
import type { Suggestion } from './model/suggestion.ts';

/** Which files a suggestion changes: below the project or the user's directory, and the client's settings. */

/** Below which directory a suggestion is applied. */
export type Base = {
  readonly scope: 'project' | 'global';
  /** Where CLAUDE.md and commands/ are. */
  readonly directory: string;
  /** Nothing outside of this is written; without symbolic links. */
  readonly root: string;
};

export type BaseRequest = {
  /** `global`: into the user's own directory, whatever the suggestion is about. */
  readonly scope: 'own' | 'global';
  readonly place: Pick<Place, 'claudeDirectory'>;
  /** Where the user is, for suggestions that are about no project in particular. */
  readonly project: { readonly name: string; readonly path: string };
};

/** Where a suggestion belongs: into its own project, or that of the user's current directory. @throws Refused */
export function findBase(
  suggestion: Pick<Suggestion, 'project' | 'projectPath'>,
  { scope, place: { claudeDirectory }, project }: BaseRequest,
): Base {
  if (scope === 'global') {
    const root = realPlace(claudeDirectory)?.path;
    if (root === undefined) throw new Refused(`"${claudeDirectory}" is a symbolic link that leads nowhere`);
    return { scope, directory: claudeDirectory, root };
  }
  const isElsewhere =
    suggestion.projectPath === '' && suggestion.project !== 'all' && suggestion.project !== project.name;
  if (isElsewhere)
    throw new Refused(
      `it is about the project "${suggestion.project}", whose directory is not recorded; run it there`,
    );
  const path = suggestion.projectPath || project.path;
  if (!isAbsolute(path) || !statOf(path)?.isDirectory())
    throw new Refused(
      `its project "${path}" is no directory of this machine; --global applies it for all projects`,
    );
  const directory = join(path, '.claude');
  if (realPath(directory) === realPath(claudeDirectory))
    throw new Refused(`"${directory}" is your own settings for all projects; say --global if that is meant`);
  return { scope: 'project', directory, root: realPath(path) };
}

export type SpotRequest = {
  readonly place: Place;
  /** Undefined: those that are set up and have such a file or folder, and the first of them for a skill, or where none has. */
  readonly client?: ClientName | undefined;
};

/** A place where a client reads rules, or has its skills; nothing outside of `root` is written. */
export type Spot = { readonly path: string; readonly root: string };

/**
 * Where a rule or a skill goes, so that each client that is meant reads it once: several read the same file, or one under two
 * names, and some read more than one. @throws Refused
 */
export function findSpots(kind: AgentFileKind, base: Base, { place, client }: SpotRequest): Spot[] {
  const project = base.scope === 'project' ? dirname(base.directory) : null;
  const read = (one: ClientName) => readBy(one, kind, place, project);
  const known = client === undefined ? clientsSetUp(place) : [client];
  const having = known.filter((one) => read(one).some((path) => existsSync(path)));
  const first = known.filter((one, at) => at === 0 && !having.includes(one));
  // A skill of another client's does not reach the first one; a rule of one that is there is enough.
  const meant = having.length === 0 || kind === 'skills' ? [...first, ...having] : having;
  const found: string[] = [];
  // Who reads one place alone comes first: others may read that one too.
  for (const paths of meant.map(read).toSorted((one, other) => one.length - other.length)) {
    const isServed = paths.some((path) => found.some((one) => realPath(one) === realPath(path)));
    if (!isServed) found.push(...paths.slice(0, 1));
  }
  return found.map((path) => {
    const root = project === null ? realPlace(dirname(path))?.path : base.root;
    if (root === undefined) throw new Refused(`"${dirname(path)}" is a symbolic link that leads nowhere`);
    return { path, root };
  });
}

/** Where a file is or will be once links are followed. */
export type Target = {
  readonly path: string;
  /** Directories that have to be made first, outermost first. */
  readonly missing: readonly string[];
};

/** What agents read, under the names that clients have for it: one of them is often a link to another. */
const INSTRUCTIONS = ['claude.md', 'claude.local.md', 'agents.md', 'gemini.md'];

/**
 * The place of a file below a root. A link in a cloned repository may lead anywhere: what does not end up inside the
 * root, in git's own files, or in a file of another kind than the link's name says, is refused. @throws Refused
 */
export function findTargetFile(root: string, path: string): Target {
  const place = realPlace(path);
  if (place === undefined)
    throw new Refused(`"${path}" is a symbolic link that leads nowhere or in a circle`);
  const { path: final, ancestor, missing } = place;
  const way = relative(root, final);
  const via = final === path ? `"${path}"` : `"${path}" leads to "${final}", which`;
  const [asked, name] = [basename(path).toLowerCase(), basename(final).toLowerCase()];
  const objections: readonly (readonly [isSo: boolean, words: string])[] = [
    [way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way), `is outside "${root}"`],
    [way.split(sep).some((one) => one.toLowerCase() === '.git'), 'is inside .git'],
    [name !== asked && !INSTRUCTIONS.includes(name), 'is something else by its name'],
    [statOf(final)?.isFile() === false, 'is no regular file'],
  ];
  const [, objection] = objections.find(([isSo]) => isSo) ?? [];
  if (objection !== undefined) throw new Refused(`${via} ${objection}`);
  if (missing.length > 0 && !statOf(ancestor)?.isDirectory())
    throw new Refused(`"${ancestor}" is not a directory`);
  const directories = missing.slice(0, -1).map((_, index) => join(ancestor, ...missing.slice(0, index + 1)));
  return { path: final, missing: directories };
}

type RealPlace = { readonly path: string; readonly ancestor: string; readonly missing: readonly string[] };

/** Where a path leads, what of it exists, and the names below that which do not yet. */
function realPlace(path: string): RealPlace | undefined {
  const target = lookOr(() => resolveLinks(path), undefined);
  if (target === undefined) return undefined;
  const missing: string[] = [];
  let at = target;
  while (
    lookOr(() => lstatSync(at, { throwIfNoEntry: false }), undefined) === undefined &&
    dirname(at) !== at
  ) {
    missing.unshift(basename(at));
    at = dirname(at);
  }
  const ancestor = lookOr(() => realpathSync(at), undefined);
  return ancestor === undefined ? undefined : { path: join(ancestor, ...missing), ancestor, missing };
}

/** What cannot be looked at, because a file stands in the place of a directory or a link leads nowhere, is not there. */
function statOf(path: string): Stats | undefined {
  return lookOr(() => statSync(path, { throwIfNoEntry: false }), undefined);
}

/** Where the settings are, and when they are changed. */
export type SettingsRequest = { readonly place: Place; readonly now: () => Date };

/**
 * The changes for one more entry in the client's settings, for an applied hook. Needs our own hooks there: they show what
 * this client understands. `isDisabled`: the client runs no hook at all as these settings stand. @throws Refused
 */
export function planRegistration(hook: AppliedRegistration, { place, now }: SettingsRequest) {
  const { paths, settings } = place;
  const install = 'Run "self-generation install" first';
  if (!existsSync(paths.binary)) throw new Refused(`there is no "${paths.binary}" to answer it. ${install}`);
  const before = readText(settings);
  if (before === undefined) throw new Refused(`there is no "${settings}". ${install}`);
  const owner = { ...settingsOwner(place), binary: paths.binary };
  const after = orRefused(() => registerApplied(before, hook, owner));
  if (typeof after !== 'string') throw new Refused(`${settings}: ${after.reason}. ${install}`);
  const { isDisabled } = inspectHooks(before, owner);
  const file = { path: resolveLinks(settings), what: 'settings', before, after, mode: 0o600 } as const;
  return { files: withBookkeeping(file, place, now), isDisabled };
}

/** The entry of this applied hook goes, wherever it stands; without one nothing is changed. @throws Refused */
export function planRemoval(id: string, { place, now }: SettingsRequest): FileChange[] {
  const { settings } = place;
  const owner = settingsOwner(place);
  const removal = hookRemoval((entry) => isApplied(entry, id, owner));
  try {
    return withBookkeeping(planRestore({ path: settings }, 'settings', removal), place, now);
  } catch (error) {
    throw error instanceof RefusedRemoval ? new Refused(`${settings}: ${error.message}`) : error;
  }
}

function settingsOwner(place: Place): Owner {
  return ownerOf({ ...place, binaryBefore: knownManifest(place.paths.manifest)?.binary });
}

/** As long as the settings are as install wrote them, the manifest says so also when we have changed them. */
function withBookkeeping(file: FileChange, { paths, settings }: Place, now: () => Date): FileChange[] {
  const { before = '', after = '' } = file;
  if (before === after) return [];
  const files = withCopy(file, { backups: paths.backups, name: 'apply-settings.json', now });
  const manifest = knownManifest(paths.manifest);
  const written = sha256(before);
  const isKnown = (record: FileRecord) => record.path === settings && record.writtenSha256 === written;
  if (!manifest?.settings.some(isKnown)) return files;
  const records = manifest.settings.map((record) =>
    isKnown(record) ? { ...record, writtenSha256: sha256(after) } : record,
  );
  const bookkeeping = {
    path: paths.manifest,
    what: 'manifest',
    before: readText(paths.manifest),
    after: manifestText({ ...manifest, settings: records }),
    mode: 0o600,
  } as const;
  return [...files, bookkeeping];
}
