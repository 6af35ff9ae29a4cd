import { existsSync } from 'node:fs';
import {
  type FileChange,
  planRestore,
  type Refusal,
  readText,
  refused,
  withCopy,
} from '../setup/file-plan.ts';
import { ownerOf } from '../setup/hook-command.ts';
import { knownManifest, manifestText, type Place, sha256 } from '../setup/manifest.ts';
import {
  type AppliedRegistration,
  inspectHooks,
  isApplied,
  registerApplied,
  unregisterHooks,
} from '../setup/settings-file.ts';
import { resolveLinks } from '../system/atomic-file.ts';

/** Where the settings are, and when they are changed. */
export type SettingsRequest = { readonly place: Place; readonly platform: string; readonly now: () => Date };

/** The change of the client's settings, and of the manifest by which uninstall puts the settings back. */
export type SettingsChange = { readonly kind: 'planned'; readonly files: readonly FileChange[] };

/**
 * One more entry, for an applied hook. Needs our own hooks there: they show what this client understands. `isDisabled`:
 * the client runs no hook at all as these settings stand. @throws UnreadableFile
 */
export function planRegistration(
  hook: AppliedRegistration,
  { place, platform, now }: SettingsRequest,
): (SettingsChange & { readonly isDisabled: boolean }) | Refusal {
  const { paths, settings } = place;
  const install = 'Run "self-generation install" first';
  if (!existsSync(paths.binary)) return refused(`there is no "${paths.binary}" to answer it. ${install}`);
  const before = readText(settings);
  if (before === undefined) return refused(`there is no "${settings}". ${install}`);
  const owner = {
    ...ownerOf(place, platform, knownManifest(paths.manifest)?.binary),
    binary: paths.binary,
  };
  const result = registerApplied(before, hook, owner);
  if (result.kind === 'refused') return refused(`${settings}: ${result.reason}. ${install}`);
  const standing = inspectHooks(before, owner);
  const isDisabled = standing.kind === 'read' && standing.isDisabled;
  const after = result.kind === 'edited' ? result.text : before;
  const file = { path: resolveLinks(settings), what: 'settings', before, after, mode: 0o600 } as const;
  return { kind: 'planned', files: withBookkeeping(file, place, now), isDisabled };
}

/**
 * The entry of this applied hook goes, wherever it stands; without one nothing is changed. @throws UnreadableFile
 */
export function planRemoval(id: string, { place, platform, now }: SettingsRequest): SettingsChange | Refusal {
  const { paths, settings } = place;
  const owner = ownerOf(place, platform, knownManifest(paths.manifest)?.binary);
  const plan = planRestore({ path: settings }, 'settings', (text) =>
    unregisterHooks(text, (entry) => isApplied(entry, id, owner)),
  );
  if (plan.kind === 'refused') return refused(`${settings}: ${plan.reason}`);
  return { kind: 'planned', files: withBookkeeping(plan.file, place, now) };
}

/** As long as the settings are as install wrote them, they still are when we have changed them. */
function withBookkeeping(file: FileChange, { paths, settings }: Place, now: () => Date): FileChange[] {
  const { before = '', after = '' } = file;
  if (before === after) return [];
  const files = withCopy(file, { backups: paths.backups, name: 'apply-settings.json', now });
  const manifest = knownManifest(paths.manifest);
  const isKnown = (record: { path: string; writtenSha256: string }) =>
    record.path === settings && record.writtenSha256 === sha256(before);
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
