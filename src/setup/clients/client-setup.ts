import type { ServerUser } from '../../clients/server-entry.ts';
import type { ClientName } from '../../core/client-name.ts';
import { reasonOf } from '../../core/guards.ts';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import type { RunCommand } from '../../system/run-command.ts';
import type { CheckWorld, Finding } from '../checks.ts';
import {
  type EditedFile,
  editFile,
  type FileRecord,
  type Removal,
  readText,
  type SetupStep,
  sha256,
  type Work,
} from '../file-plan.ts';
import type { ClientRecord, Manifest, Place } from '../manifest.ts';

/** What a client is given of ours beside the MCP server: hooks, an extension or a plugin. One file here for each client. */

/** Something of ours in a file of a client: how it is put in, taken out and seen. */
export type OwnPart = Removal & {
  readonly path: string;
  readonly what: SetupStep['what'];
  /** `isKnown`: an earlier install wrote that very text. @throws Refused */
  readonly set: (text: string | undefined, isKnown: (text: string) => boolean) => string;
  readonly holdsOurs: (text: string) => boolean;
  /** Nobody else writes anything into that file. */
  readonly isWhole?: true;
};

export type ClientSetup = {
  /** The files of this user's client in which something of ours has to stand. */
  readonly paths: (place: Place) => readonly string[];
  /** Those in which it may stand as well: written by `finish`, or by the client for its user. */
  readonly morePaths?: (place: Place) => readonly string[];
  /** What of ours stands in a file, one of these or one that an earlier install has recorded. */
  readonly partAt: (path: string, place: Place) => OwnPart;
  /** A file in our own directory that the client loads. */
  readonly script?: (place: Place) => { readonly path: string; readonly text: string };
  /** What can only be done, or said, once all of that is there. Not called in a dry run. */
  readonly finish?: (registering: Registering) => Promise<Pick<Registered, 'records' | 'notes'>>;
  /** Doctor's findings. `records`: of this client, one at least. */
  readonly check: (
    world: CheckWorld,
    place: Place,
    records: readonly ClientRecord[],
  ) => Finding[] | Promise<Finding[]>;
};

/** `hooks`: a line for each. */
export type Approves = (hooks: readonly string[]) => Promise<boolean>;

/** An install, as far as clients' files go. */
export type Registering = {
  readonly place: Place;
  readonly earlier: Manifest | undefined;
  readonly work: Work;
  readonly now: () => Date;
  readonly run: RunCommand;
  /** Whether the user approves that a client runs these hooks, of which it would ask the user itself; undefined: not asked. */
  readonly approves?: Approves | undefined;
  /** Whether a text of this file holds anything of ours. */
  readonly holdsOurs: (path: string, text: string) => boolean;
  /** Our plugin of Claude Code, where it is switched on: it brings hooks and the MCP server. */
  readonly plugin: string | undefined;
  /** Records of what this install has written so far; one file may have several. */
  readonly written: FileRecord[];
};

export type RefusedFile = { readonly path: string; readonly reason: string };

export type Registered = {
  readonly records: readonly ClientRecord[];
  /** Directories that were made, outermost first. */
  readonly directories: readonly string[];
  /** What the user has to know or to do. */
  readonly notes: readonly string[];
  readonly refused?: RefusedFile;
};

/** The user of a client, by where things are. */
export function userOf({ env, userHome, paths, claudeDirectory }: Place): ServerUser {
  return { env, home: userHome ?? paths.home, claudeDirectory };
}

/** Puts a part into its file. `name`: how the name of a copy begins. @throws Refused, UnreadableFile */
export function editPart(part: OwnPart, name: string, registering: Registering): EditedFile {
  const { place, earlier, work, now, written } = registering;
  const { path, what } = part;
  const records = [...written, ...(earlier?.clients ?? []), ...(earlier?.mcp ?? [])].filter(
    (record) => record.path === path,
  );
  // The one that was written last says how the file is now.
  const knownOf = (text: string | undefined) =>
    records.find(({ writtenSha256 }) => text !== undefined && writtenSha256 === sha256(text)) ?? records[0];
  const known = knownOf(readText(path));
  const { record, ...outcome } = editFile(
    {
      ...{ path, what, name, known },
      edit: (text) => part.set(text, (one) => known?.writtenSha256 === sha256(one)),
      holdsOurs: (text) => registering.holdsOurs(path, text),
    },
    { backups: place.paths.backups, now, work },
  );
  const { before, writtenSha256 } = record;
  const made: FileRecord = { path, before: part.isWhole ? { kind: 'absent' } : before, writtenSha256 };
  written.unshift(made);
  return { ...outcome, record: made };
}

/** Sets one client up. A file that cannot be changed is no failure: it is told, and what was written stays. */
export async function registerClient(
  client: ClientName,
  setup: ClientSetup,
  registering: Registering,
): Promise<Registered> {
  const { place, work } = registering;
  const records: ClientRecord[] = [];
  const directories: string[] = [];
  let at = '';
  try {
    const parts = setup.paths(place).map((path) => {
      at = path;
      const part = setup.partAt(path, place);
      const text = readText(path);
      const isKnown = (one: string) =>
        registering.earlier?.clients?.some(({ writtenSha256 }) => writtenSha256 === sha256(one)) === true;
      part.set(text, isKnown); // Refuses before anything is changed.
      return part;
    });
    if (setup.script !== undefined) writeScript(setup.script(place), work);
    for (const part of parts) {
      at = part.path;
      const edited = editPart(part, `client-${client}`, registering);
      records.push({ ...edited.record, client });
      directories.push(...edited.directories);
    }
    const last = work.dryRun ? undefined : await setup.finish?.(registering);
    return { records: [...records, ...(last?.records ?? [])], directories, notes: last?.notes ?? [] };
  } catch (error) {
    return { records, directories, notes: [], refused: { path: at, reason: reasonOf(error) } };
  }
}

function writeScript({ path, text }: { path: string; text: string }, { dryRun, steps }: Work): void {
  const standing = readText(path);
  const change = standing === text ? 'unchanged' : standing === undefined ? 'created' : 'updated';
  steps.push({ what: 'script', path, change });
  if (!dryRun && change !== 'unchanged') writeFileAtomic(path, text, { mode: 0o600 });
}
