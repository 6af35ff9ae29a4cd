import { existsSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { writeFileAtomic } from '../sys/atomic-file.ts';
import { type SettingsBefore, type SettingsRecord, sha256 } from './manifest.ts';
import { readSettings } from './place.ts';
import type { SetupStep, Work } from './steps.ts';

/** What is to be made of a file of the user's: another text, nothing, or a reason why it is left alone. */
export type TextEdit =
  | { readonly kind: 'edited'; readonly text: string }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly reason: string };

export type FileEdit = {
  readonly path: string;
  readonly what: SetupStep['what'];
  /** Where its text is kept from before the change, and how the copy's name begins. */
  readonly backups: string;
  readonly backupName: string;
  /** Undefined: there is no such file. */
  readonly edit: (text: string | undefined) => TextEdit;
  /** Whether something of ours stands in a text; then it is not how the user had it. */
  readonly holdsOurs: (text: string) => boolean;
  /** What an earlier install wrote down about the file. */
  readonly known: SettingsRecord | undefined;
  readonly work: Work;
  readonly now: () => Date;
};

export type FileOutcome =
  /** `unchanged`: what an earlier manifest says of the file is better than this record. */
  | { readonly kind: 'edited' | 'unchanged'; readonly record: SettingsRecord }
  | { readonly kind: 'refused'; readonly reason: string };

const ATTEMPTS_MAX = 2;

/**
 * Changes a file of the user's, with a copy of what stood there. Somebody else may write it at the same time: what was
 * read has to be still there when we write. @throws Error when a file cannot be read or written.
 */
export function editFile({ path, what, edit, holdsOurs, known, work, ...rest }: FileEdit): FileOutcome {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const text = readSettings(path);
    const result = edit(text);
    if (result.kind === 'refused') return result;
    if (result.kind === 'unchanged') {
      work.steps.push({ what, path, change: 'unchanged' });
      const before = { kind: 'edited-since' } as const;
      return { kind: 'unchanged', record: { path, before, writtenSha256: sha256(text ?? '') } };
    }
    const backup = text === undefined ? undefined : backUp(text, { path, work, ...rest });
    if (readSettings(path) !== text) {
      if (backup !== undefined && !work.dryRun) rmSync(backup);
      continue;
    }
    if (!work.dryRun) writeFileAtomic(path, result.text, text === undefined ? { mode: 0o600 } : {});
    if (backup !== undefined) work.steps.push({ what: 'backup', path: backup, change: 'created' });
    work.steps.push({ what, path, change: text === undefined ? 'created' : 'updated' });
    const before = beforeOf(text, backup, known, holdsOurs);
    return { kind: 'edited', record: { path, before, writtenSha256: sha256(result.text) } };
  }
  return { kind: 'refused', reason: 'another program keeps changing the file' };
}

/** What uninstall may put back: the bytes from before our first edit, as long as nobody has mixed in their own. */
function beforeOf(
  text: string | undefined,
  backup: string | undefined,
  known: SettingsRecord | undefined,
  holdsOurs: FileEdit['holdsOurs'],
): SettingsBefore {
  if (text === undefined || backup === undefined) return { kind: 'absent' };
  if (!holdsOurs(text)) return { kind: 'saved', backup, sha256: sha256(text) };
  return known?.writtenSha256 === sha256(text) ? known.before : { kind: 'edited-since' };
}

function backUp(
  text: string,
  {
    path,
    backups,
    backupName,
    now,
    work,
  }: Pick<FileEdit, 'path' | 'backups' | 'backupName' | 'now' | 'work'>,
): string {
  const stamp = now().toISOString().replace(/[-:.]/g, '');
  const nameOf = (suffix: string) => join(backups, `${backupName}.${stamp}${suffix}${extname(path)}`);
  let backup = nameOf('');
  for (let copy = 2; existsSync(backup); copy++) backup = nameOf(`-${copy}`);
  if (work.dryRun) return backup;
  writeFileAtomic(backup, text, { mode: 0o600 });
  work.undo.push(() => rmSync(backup, { force: true }));
  return backup;
}
