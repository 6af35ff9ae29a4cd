import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HOOKS } from '../core/hook-names.ts';
import { writeFileAtomic } from '../sys/atomic-file.ts';
import type { ClientFeatures } from './client-version.ts';
import { type Owner, recogniseEntry } from './hook-command.ts';
import { type Manifest, type SettingsBefore, type SettingsRecord, sha256 } from './manifest.ts';
import { ownerOf, type Place, readSettings } from './place.ts';
import { type Registration, registerHooks, type SettingsNote, unregisterHooks } from './settings-file.ts';
import { type Failure, RUN_AGAIN, type Work } from './steps.ts';

const SETTINGS_ATTEMPTS_MAX = 2;

/** What has to stand in the settings of a client with these features. */
export function registrationFor(options: {
  readonly place: Place;
  readonly platform: string;
  readonly features: ClientFeatures;
  /** Where an earlier install put the program: entries that name it are ours as well. */
  readonly binaryBefore: string | undefined;
}): Registration {
  const { place, platform, features, binaryBefore } = options;
  return {
    ...ownerOf(place, platform, binaryBefore),
    binary: place.paths.binary,
    form: features.execForm ? 'exec' : 'shell',
    hooks: HOOKS.filter((hook) => features.events.includes(hook.event)),
  };
}

export type SettingsEdit = {
  readonly place: Place;
  readonly registration: Registration;
  readonly earlier: Manifest | undefined;
  readonly work: Work;
  readonly now: () => Date;
};
export type SettingsOutcome = {
  /** `unchanged`: what an earlier manifest says of the file is better than this record. */
  readonly kind: 'edited' | 'unchanged';
  readonly record: SettingsRecord;
  readonly notes: readonly SettingsNote[];
};

/**
 * Registers the hooks in the settings file. Somebody else may write it at the same time: what was read has to be still
 * there when we write. @throws Error when a file cannot be read or written.
 */
export function editSettings({
  place,
  registration,
  earlier,
  work,
  now,
}: SettingsEdit): SettingsOutcome | Failure {
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

/** The failure of not being able to register hooks, with nothing changed. */
export function refused(place: Place, reason: string): Failure {
  return { kind: 'failed', action: `register hooks in "${place.settings}"`, reason, advice: RUN_AGAIN };
}

/** A note for the user, as a sentence. */
export function describeNote(note: SettingsNote): string {
  if (note.kind === 'hooks-disabled') {
    return 'Your settings have "disableAllHooks": true: no hook runs until you remove it.';
  }
  return `Replaced ${note.commands.length} hooks of an earlier self-generation, so that none runs twice.`;
}
