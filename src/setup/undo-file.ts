import { rmSync } from 'node:fs';
import { resolveLinks, writeFileAtomic } from '../sys/atomic-file.ts';
import type { TextRemoval } from './json-entry.ts';
import { type SettingsBefore, type SettingsRecord, sha256 } from './manifest.ts';
import { readSettings } from './place.ts';
import type { SetupStep } from './steps.ts';

/** What is to become of a file of the user's that install has changed. */
export type FilePlan = { readonly path: string; readonly textNow: string | undefined } & (
  | { readonly kind: 'leave' }
  | { readonly kind: 'delete' }
  | { readonly kind: 'write'; readonly text: string; readonly change: 'restored' | 'updated' }
  | { readonly kind: 'refused'; readonly reason: string }
);

/**
 * As it was before, to the byte, if nobody has touched it since; otherwise without what is ours, which `remove` takes
 * out. @throws Error when a file cannot be read.
 */
export function planUndo(
  { path, before, writtenSha256 }: { readonly path: string } & Partial<SettingsRecord>,
  remove: (text: string, original?: string) => TextRemoval,
): FilePlan {
  const textNow = readSettings(path);
  if (textNow === undefined) return { kind: 'leave', path, textNow };
  const original = originalOf(before);
  if (writtenSha256 === sha256(textNow)) {
    if (before?.kind === 'absent') return { kind: 'delete', path, textNow };
    if (original !== undefined && remove(original).kind === 'unchanged') {
      return { kind: 'write', path, textNow, text: original, change: 'restored' };
    }
  }
  return planEdit({ path, textNow }, remove(textNow, original), before?.kind === 'absent');
}

/** The copy from before install; undefined when there is none, or it is not what was copied. */
function originalOf(before: SettingsBefore | undefined): string | undefined {
  if (before?.kind !== 'saved') return undefined;
  const text = readSettings(before.backup);
  return text !== undefined && sha256(text) === before.sha256 ? text : undefined;
}

function planEdit(at: { path: string; textNow: string }, result: TextRemoval, wasAbsent: boolean): FilePlan {
  if (result.kind === 'unchanged') return { kind: 'leave', ...at };
  if (result.kind === 'refused') return { kind: 'refused', ...at, reason: result.reason };
  if (result.kind === 'emptied' && wasAbsent) return { kind: 'delete', ...at };
  return { kind: 'write', ...at, text: result.text, change: 'updated' };
}

export type UndoWork = { readonly dryRun: boolean; readonly steps: SetupStep[] };

/** Does it. @throws Error when somebody else has written the file since it was read. */
export function carryOut(plan: FilePlan, what: SetupStep['what'], { dryRun, steps }: UndoWork): void {
  const { path } = plan;
  if (plan.kind === 'leave' || plan.kind === 'refused') {
    steps.push({ what, path, change: 'unchanged' });
    return;
  }
  const change = plan.kind === 'delete' ? 'removed' : plan.change;
  if (!dryRun) {
    if (readSettings(path) !== plan.textNow) throw new Error(`another program has just changed "${path}"`);
    if (plan.kind === 'delete') rmSync(resolveLinks(path));
    else writeFileAtomic(path, plan.text);
  }
  steps.push({ what, path, change });
}
