import { unreachable } from '../../core/guards.ts';
import type { Suggestion } from '../../core/suggestion.ts';
import { sha256 } from '../../setup/manifest.ts';
import type { Place } from '../../setup/place.ts';
import { type Applied, type AppliedOf, readApplied } from './applied.ts';
import { findTarget, type Refusal } from './apply-target.ts';
import { type Change, type FileChange, NO_CHANGE, readText } from './file-change.ts';
import { planRemoval } from './hook-settings.ts';
import { removeRule } from './rule-block.ts';

/** What taking a verdict back comes to. Nothing has been changed. */
export type UndoPlan =
  | { readonly kind: 'ready'; readonly change: Change; readonly notes: readonly string[] }
  | Refusal;

export type UndoRequest = {
  readonly place: Place;
  readonly platform: string;
  /** What else is applied: what it needs as well stays, and goes with the last. */
  readonly others: readonly Applied[];
};

/** Plans what `undo` does: takes away exactly what apply added, if it still is as apply left it. */
export function planUndo(suggestion: Suggestion, request: UndoRequest): UndoPlan {
  if (suggestion.status === 'dismissed') return ready(NO_CHANGE);
  if (suggestion.status !== 'applied') return refused('it waits for your decision');
  const applied = readApplied(suggestion.applied);
  if (applied === undefined) return refused('what was done is not recorded; take it back by hand');
  if (applied.kind === 'declaration') return undoDeclaration(suggestion.id, applied, request);
  const target = findTarget(applied.root, applied.path);
  if (target.kind === 'refused') return target;
  if (target.path !== applied.path) return refused(`"${applied.path}" leads to "${target.path}" by now`);
  switch (applied.kind) {
    case 'skill':
      return undoSkill(applied);
    case 'claude_md':
      return undoRule(applied, request.others);
    case 'hook':
      return undoScript(suggestion.id, applied, request);
    default:
      return unreachable(applied);
  }
}

function undoSkill(applied: AppliedOf<'skill'>): UndoPlan {
  const file = planFileRemoval(applied);
  if (file.kind === 'refused') return file;
  if (file.files.length === 0) return gone(applied, `"${applied.path}" is gone already`);
  return ready(changeOf(file.files, applied));
}

function undoRule(applied: AppliedOf<'claude_md'>, others: readonly Applied[]): UndoPlan {
  const { path, rule, createdFile } = applied;
  const isShared = others.some(
    (other) => other.kind === 'claude_md' && other.path === path && other.rule === rule,
  );
  if (isShared) {
    const note = `The rule stays in "${path}": another suggestion that is applied put it there as well`;
    return { kind: 'ready', change: NO_CHANGE, notes: [note] };
  }
  const standing = readText(path);
  if (standing.kind === 'refused') return standing;
  const result = removeRule(standing.text ?? '', rule);
  if (result.kind === 'damaged')
    return refused(`"${path}", line ${result.line}: ${result.reason}; put it right there`);
  if (result.kind === 'absent') return gone(applied, `The rule is no longer among ours in "${path}"`);
  const after = createdFile && result.text.trim() === '' ? null : result.text;
  const file = {
    path,
    before: standing.text,
    after,
    mode: 0o600,
    backup: 'CLAUDE.md',
    isShown: true,
  } as const;
  return ready(changeOf([file], applied));
}

function undoDeclaration(
  id: string,
  applied: AppliedOf<'declaration'>,
  { place, platform }: UndoRequest,
): UndoPlan {
  const settings = planRemoval(id, { ...place, settings: applied.path }, platform);
  if (settings.kind === 'refused') return settings;
  if (settings.files.length === 0) return gone(applied, `It is registered no more in "${applied.path}"`);
  return ready(changeOf(settings.files, applied));
}

/** What an earlier version applied. */
function undoScript(id: string, applied: AppliedOf<'hook'>, { place, platform }: UndoRequest): UndoPlan {
  const script = planFileRemoval(applied);
  if (script.kind === 'refused') return script;
  const settings = planRemoval(id, { ...place, settings: applied.settings }, platform);
  if (settings.kind === 'refused') return settings;
  const files = [...settings.files, ...script.files];
  if (files.length === 0) return gone(applied, 'The script and its entry are gone already');
  return ready(changeOf(files, applied));
}

type FileRemoval = { readonly kind: 'planned'; readonly files: readonly FileChange[] };

/** The file goes if it is as we wrote it; when it is gone there is nothing to do. */
function planFileRemoval({ path, sha256: written }: AppliedOf<'skill' | 'hook'>): FileRemoval | Refusal {
  const standing = readText(path);
  if (standing.kind === 'refused') return standing;
  if (standing.text === null) return { kind: 'planned', files: [] };
  if (sha256(standing.text) !== written)
    return refused(
      `"${path}" was changed since; remove it, or keep it under another name, and then run this again`,
    );
  const file = { path, before: standing.text, after: null, mode: 0o600, isShown: true };
  return { kind: 'planned', files: [file] };
}

function changeOf(files: readonly FileChange[], { directories }: Applied): Change {
  return { files, makes: [], removes: directories.toReversed(), directoryMode: 0o700 };
}

/** Directories that were made for it go all the same. */
function gone(applied: Applied, note: string): UndoPlan {
  return { kind: 'ready', change: changeOf([], applied), notes: [note] };
}

function ready(change: Change): UndoPlan {
  return { kind: 'ready', change, notes: [] };
}

function refused(reason: string): Refusal {
  return { kind: 'refused', reason };
}
