import { type HookMode, hooksIn } from '../core/hook-names.ts';
import type { ClientFeatures } from './client-version.ts';
import { editFile } from './edit-file.ts';
import { recogniseEntry } from './hook-command.ts';
import type { Manifest, SettingsRecord } from './manifest.ts';
import { ownerOf, type Place } from './place.ts';
import { type Registration, registerHooks, type SettingsNote, unregisterHooks } from './settings-file.ts';
import { type Failure, RUN_AGAIN, type Work } from './steps.ts';

/** What has to stand in the settings of a client with these features. */
export function registrationFor(options: {
  readonly place: Place;
  readonly platform: string;
  readonly features: ClientFeatures;
  readonly mode: HookMode;
  /** Where an earlier install put the program: entries that name it are ours as well. */
  readonly binaryBefore: string | undefined;
}): Registration {
  const { place, platform, features, mode, binaryBefore } = options;
  return {
    ...ownerOf(place, platform, binaryBefore),
    binary: place.paths.binary,
    form: features.execForm ? 'exec' : 'shell',
    knowsAsync: features.asyncHooks,
    hooks: hooksIn(mode).filter((hook) => features.events.includes(hook.event)),
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

/** Registers the hooks in the settings file. @throws Error when a file cannot be read or written. */
export function editSettings({
  place,
  registration,
  earlier,
  work,
  now,
}: SettingsEdit): SettingsOutcome | Failure {
  const isOurs = (entry: unknown) => recogniseEntry(entry, registration)?.kind === 'ours';
  let notes: readonly SettingsNote[] = [];
  const outcome = editFile({
    path: place.settings,
    what: 'settings',
    backups: place.paths.backups,
    backupName: 'settings',
    edit: (text) => {
      const result = registerHooks(text, registration);
      if (result.kind !== 'refused') notes = result.notes;
      return result;
    },
    holdsOurs: (text) => unregisterHooks(text, isOurs).kind !== 'unchanged',
    known: earlier?.settings.find((record) => record.path === place.settings),
    work,
    now,
  });
  return outcome.kind === 'refused' ? refused(place, outcome.reason) : { ...outcome, notes };
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
