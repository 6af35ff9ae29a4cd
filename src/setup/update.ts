import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ClientName } from '../core/client-name.ts';
import { asRecord, parseJson, readRecords, readTexts, reasonOf } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { copyFileAtomic, hasSameBytes } from '../system/atomic-file.ts';
import { temporaryDirectory } from '../system/files.ts';
import type { CommandResult, RunCommand } from '../system/run-command.ts';
import { INSTALL_CLIENTS } from './clients/table.ts';
import { keepVersion, lockVersions, removeUnusedVersions } from './kept-versions.ts';
import { describeEnd, hasSucceeded } from './live-check.ts';
import { type Failure, knownManifest, locate, type Place, type SetupProblem } from './manifest.ts';
import { type Archive, archivesIn, CHECKSUMS, versionIn } from './release.ts';
import { type Source, sha256OfFile, sourceOf, unpackProgram } from './release-source.ts';

export type UpdateOptions = {
  readonly env: Environment;
  readonly platform: string;
  readonly run: RunCommand;
  /** What this machine's programs are built for; undefined where the source runs. */
  readonly target: string | undefined;
  /** A URL, or the absolute path of a folder or an archive; undefined: where nothing is published. */
  readonly from: string | undefined;
  /** Only says what there is. */
  readonly checksOnly: boolean;
  /** Loads, verifies and tries the new program, but does not put it into its place. */
  readonly dryRun: boolean;
  readonly allowsDowngrade: boolean;
  /** Called before each step, for progress. */
  readonly onStart: (step: string) => void;
};

export type UpdateReport =
  | {
      readonly kind: 'done';
      /** `available`: it was not asked for more than to look, or to try. */
      readonly state: 'up to date' | 'available' | 'updated';
      /** Undefined where the program in its place does not say. */
      readonly installed: string | undefined;
      readonly newest: string;
      readonly place: string;
      /** The program before the update, as long as it is kept. */
      readonly kept?: string;
      /** What `install` of the new program wants its user to know. */
      readonly notes?: readonly string[];
    }
  | Failure;

const CHECKSUMS_BYTES_MAX = 1024 * 1024;
const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024;
const VERSION_LIMIT_MS = 30_000;
const INSTALL_LIMIT_MS = 120_000;
const NEW = 'new-';
/** Of a client that the self-test need not ask for it. */
const SOME_CLIENT = '2.1.328';
const UNCHANGED = 'Nothing was changed.';

/** What ends an update, in words for the user. */
class Stopped extends Error {
  readonly problem: SetupProblem;

  constructor(action: string, reason: string, advice: string) {
    super(reason);
    this.problem = { action, reason, advice };
  }
}

/** What one update knows and works in. */
type Update = UpdateOptions & {
  readonly place: Place;
  readonly paths: StatePaths;
  readonly directory: string;
};

/**
 * Replaces the installed program by that of a release, while sessions run it. The archive is verified by its checksum, and the
 * new program has to install itself and pass its own checks in a throw-away home before it counts. At any moment the old program
 * or the new one is in its place; where `install` of the new one fails, the old one comes back. Never throws.
 */
export async function update(options: UpdateOptions): Promise<UpdateReport> {
  const place = locate(options.env, options.platform);
  if (place.kind === 'failed') return place;
  const { paths } = place;
  let unlock: (() => void) | undefined;
  try {
    if (!existsSync(paths.binary))
      throw new Stopped('update', `there is no ${paths.binary}`, 'Run "self-generation install" first.');
    unlock = lockVersions(paths);
    if (unlock === undefined)
      throw new Stopped('update', 'another update is going on', 'Run it again when that has ended.');
    using temporary = temporaryDirectory(paths.versions, NEW);
    return await updateIn({ ...options, place, paths, directory: temporary.path });
  } catch (error) {
    if (error instanceof Stopped) return { kind: 'failed', ...error.problem };
    return { kind: 'failed', action: 'update', reason: reasonOf(error), advice: UNCHANGED };
  } finally {
    if (unlock !== undefined) removeUnusedVersions(paths);
    unlock?.();
  }
}

async function updateIn(work: Update): Promise<UpdateReport> {
  const { paths, checksOnly, dryRun, onStart } = work;
  const installed = await versionOf(paths.binary, work);
  const { source, archive } = await newestArchive(work);
  const found = { kind: 'done', installed, newest: archive.version, place: source.place } as const;
  const order = installed === undefined ? 1 : Bun.semver.order(archive.version, installed);
  if (order === 0) return { ...found, state: 'up to date' };
  if (order < 0 && checksOnly) return { ...found, state: 'up to date' };
  if (order < 0 && !work.allowsDowngrade) {
    const reason = `${archive.version} is older than ${installed}, which is installed, and may not understand what that has recorded`;
    throw new Stopped('update', reason, 'If you want it all the same: --allow-downgrade.');
  }
  if (checksOnly) return { ...found, state: 'available' };
  onStart(`loading ${archive.name}`);
  const program = await verifiedProgram(source, archive, work);
  onStart(`trying ${archive.version}`);
  await tryOut(program, archive.version, work);
  if (dryRun) return { ...found, state: 'available' };
  onStart(`installing ${archive.version}`);
  const kept = keepVersion(paths, installed ?? 'unknown');
  const notes = await putInPlace(program, kept, work);
  const stays = removeUnusedVersions(paths).stay.includes(kept);
  return { ...found, state: 'updated', notes, ...(stays && { kept }) };
}

async function versionOf(program: string, { env, run }: Update): Promise<string | undefined> {
  const end = await run(program, ['--version'], { env, cwd: dirname(program), timeoutMs: VERSION_LIMIT_MS });
  return end.kind === 'exited' ? versionIn(end.stdout) : undefined;
}

async function newestArchive(work: Update): Promise<{ readonly source: Source; readonly archive: Archive }> {
  const { target, from, directory } = work;
  const action = 'find a new version';
  if (target === undefined)
    throw new Stopped(action, 'this is the source, and not the compiled program', UNCHANGED);
  if (from === undefined) {
    const advice =
      'Name a folder, an archive or a URL that has checksums.txt and the archives: --from PLACE.';
    throw new Stopped(action, 'this program does not know where releases are published', advice);
  }
  const verify = 'Without it nothing can be verified. Take the folder of a release, with all that is in it.';
  const stopped = (error: unknown) => new Stopped(action, reasonOf(error), verify);
  const path = join(directory, CHECKSUMS);
  let source: Source;
  try {
    source = sourceOf(from);
    await source.get(CHECKSUMS, path, CHECKSUMS_BYTES_MAX);
  } catch (error) {
    throw stopped(error);
  }
  const archives = archivesIn(readFileSync(path, 'utf8'), target);
  const isWanted = ({ name, version }: Archive) =>
    source.only === undefined ? !version.includes('-') : source.only === name; // What is not yet released only by its name.
  const archive = archives.find(isWanted);
  if (archive !== undefined) return { source, archive };
  const reason = `${CHECKSUMS} of "${source.place}" has no ${source.only ?? 'archive'} for ${target}`;
  throw new Stopped(action, reason, verify);
}

/** Unpacks the archive, once it is known to be that of the release. */
async function verifiedProgram(source: Source, archive: Archive, work: Update): Promise<string> {
  const path = join(work.directory, archive.name);
  await source.get(archive.name, path, ARCHIVE_BYTES_MAX);
  const sha256 = await sha256OfFile(path);
  if (sha256 !== archive.sha256) {
    const reason = `its SHA-256 is ${sha256}, and ${CHECKSUMS} says ${archive.sha256}`;
    throw new Stopped(
      `use "${archive.name}"`,
      reason,
      `${UNCHANGED} Get it again; if it stays so, do not use it.`,
    );
  }
  const folder = join(work.directory, 'unpacked');
  mkdirSync(folder);
  return unpackProgram(path, folder, work);
}

/** Whether the new program runs here: it installs itself in a throw-away home, where all hooks have to pass its own checks. */
async function tryOut(program: string, version: string, work: Update): Promise<void> {
  const said = await versionOf(program, work);
  const home = join(work.directory, 'home');
  mkdirSync(home);
  const { SystemRoot, ComSpec, TMPDIR, TEMP } = work.env;
  const env = { HOME: home, USERPROFILE: home, PATH: '', SystemRoot, ComSpec, TMPDIR, TEMP };
  const run = async (...words: string[]) => {
    const end = await work.run(program, words, { env, cwd: home, timeoutMs: INSTALL_LIMIT_MS });
    if (!hasSucceeded(end)) throw new Error(failureOf(words[0] ?? '', end));
  };
  try {
    if (said !== version) throw new Error(`it says that it is ${said ?? 'none'}`);
    await run('install', '--json', '--client-version', SOME_CLIENT);
    await run('doctor');
  } catch (error) {
    const action = `use the program of ${version}`;
    throw new Stopped(action, `it does not work on this machine: ${reasonOf(error)}`, UNCHANGED);
  }
}

/** Has the new program install itself. Returns what it wants its user to know. @throws Stopped, with the program from before back in its place. */
async function putInPlace(program: string, kept: string, work: Update): Promise<string[]> {
  const { paths } = work;
  const installs = installsOf(work);
  try {
    return await installWith(program, installs, work);
  } catch (error) {
    if (!hasSameBytes(kept, paths.binary)) copyFileAtomic(kept, paths.binary, { mode: 0o700 });
    const back = await installWith(paths.binary, installs, work).then(
      () => 'The program from before is back in its place.',
      (cause) => `The program from before is back in its place, but ${reasonOf(cause)}.`,
    );
    throw new Stopped('update', `the new program: ${reasonOf(error)}`, back);
  }
}

async function installWith(program: string, installs: readonly Install[], { paths, run }: Update) {
  const notes: string[] = [];
  for (const { words, env } of installs) {
    const end = await run(program, words, { env, cwd: paths.home, timeoutMs: INSTALL_LIMIT_MS });
    const report = reportIn(end);
    if (!hasSucceeded(end)) throw new Error(failureOf('install', end));
    notes.push(...readRecords(report.clients).flatMap((client) => readTexts(client.notes)));
    notes.push(...readTexts(report.warnings));
  }
  return [...new Set(notes)];
}

/** What a command of ours has said as JSON. */
function reportIn(end: CommandResult) {
  return end.kind === 'exited' ? asRecord(parseJson(end.stdout)) : {};
}

function failureOf(command: string, end: CommandResult): string {
  const { action, reason } = reportIn(end);
  return typeof reason === 'string' ? `it cannot ${action}: ${reason}` : `"${command}" ${describeEnd(end)}`;
}

type Install = { readonly words: readonly string[]; readonly env: Environment };

/** One for each settings file of Claude Code that has our hooks. An update sets up no other clients than are set up. */
function installsOf({ env, paths, place }: Update): Install[] {
  const { settings = [], clients = [] } = knownManifest(paths.manifest) ?? {};
  const isSetUp = (name: ClientName) =>
    name === 'claude' ? settings.length > 0 : clients.some(({ client }) => client === name);
  const words = [
    'install',
    '--json',
    '--no-link', // The program's place stays, and with it a link that is there.
    ...INSTALL_CLIENTS.map((client) => `--${isSetUp(client) ? '' : 'no-'}${client}`),
  ];
  if (settings.length === 0) return [{ words, env }];
  return settings.map(({ path }) => {
    const directory = dirname(path);
    const isDefault = directory === join(place.userHome ?? '', '.claude');
    return { words, env: { ...env, CLAUDE_CONFIG_DIR: isDefault ? undefined : directory } };
  });
}
