import { existsSync } from 'node:fs';
import { type Manifest, manifestText, readManifest, sha256 } from '../../setup/manifest.ts';
import { ownerOf, type Place } from '../../setup/place.ts';
import {
  type AppliedRegistration,
  isApplied,
  type RegisterResult,
  registerApplied,
  unregisterHooks,
} from '../../setup/settings-file.ts';
import type { Refusal } from './apply-target.ts';
import { type FileChange, readText } from './file-change.ts';

/** The change of the client's settings, and of the manifest by which uninstall puts the settings back. */
export type SettingsChange = {
  readonly kind: 'planned';
  readonly files: readonly FileChange[];
  /** Whether the client runs no hook at all as these settings stand. */
  readonly isDisabled: boolean;
};

/** One more entry, for an applied hook. Needs our own hooks there: they show what this client understands. */
export function planRegistration(
  hook: AppliedRegistration,
  place: Place,
  platform: string,
): SettingsChange | Refusal {
  const { paths, settings } = place;
  const install = 'Run "self-generation install" first';
  if (!existsSync(paths.binary)) return refused(`there is no "${paths.binary}" to answer it. ${install}`);
  const read = readText(settings);
  if (read.kind === 'refused') return read;
  if (read.text === null) return refused(`there is no "${settings}". ${install}`);
  const manifest = manifestOf(place);
  const owner = { ...ownerOf(place, platform, manifest?.binary), binary: paths.binary };
  const result: RegisterResult = registerApplied(read.text, hook, owner);
  if (result.kind === 'refused') return refused(`${settings}: ${result.reason}. ${install}`);
  const isDisabled = result.notes.some(({ kind }) => kind === 'hooks-disabled');
  const after = result.kind === 'edited' ? result.text : read.text;
  return { kind: 'planned', files: filesOf(place, manifest, read.text, after), isDisabled };
}

/** The entry of this applied hook goes, wherever it stands; without one nothing is changed. */
export function planRemoval(
  id: string,
  place: Place,
  platform: string,
): Pick<SettingsChange, 'kind' | 'files'> | Refusal {
  const read = readText(place.settings);
  if (read.kind === 'refused') return read;
  if (read.text === null) return { kind: 'planned', files: [] };
  const manifest = manifestOf(place);
  const owner = ownerOf(place, platform, manifest?.binary);
  const result = unregisterHooks(read.text, (entry) => isApplied(entry, id, owner));
  if (result.kind === 'refused') return refused(`${place.settings}: ${result.reason}`);
  const after = result.kind === 'unchanged' ? read.text : result.text;
  return { kind: 'planned', files: filesOf(place, manifest, read.text, after) };
}

function refused(reason: string): Refusal {
  return { kind: 'refused', reason };
}

function manifestOf({ paths }: Place): Manifest | undefined {
  const read = readManifest(paths.manifest);
  return read.kind === 'read' ? read.manifest : undefined;
}

/** As long as the settings are as install wrote them, they still are when we have changed them. */
function filesOf(
  { paths, settings }: Place,
  manifest: Manifest | undefined,
  before: string,
  after: string,
): FileChange[] {
  if (before === after) return [];
  const mode = 0o600;
  const edit: FileChange = {
    path: settings,
    before,
    after,
    mode,
    backup: 'settings.json',
    isShown: true,
  };
  const bookkept = readText(paths.manifest);
  const known = manifest?.settings.find(
    ({ path, writtenSha256 }) => path === settings && writtenSha256 === sha256(before),
  );
  if (manifest === undefined || known === undefined || bookkept.kind === 'refused') return [edit];
  const records = manifest.settings.map((record) =>
    record === known ? { ...record, writtenSha256: sha256(after) } : record,
  );
  const bookkeeping: FileChange = {
    path: paths.manifest,
    before: bookkept.text,
    after: manifestText({ ...manifest, settings: records }),
    mode,
    isShown: false,
  };
  return [edit, bookkeeping];
}
