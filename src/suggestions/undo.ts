import { z } from 'zod';
import { unreachable } from '../core/guards.ts';
import {
  type FileChange,
  type FilePlan,
  NO_CHANGE,
  orRefused,
  planRestore,
  type Refusal,
  refused,
  type TextRemoval,
  withCopy,
} from '../setup/file-plan.ts';
import { findTarget } from './apply-target.ts';
import { planRemoval, type SettingsRequest } from './hook-settings.ts';
import { removeRule } from './rule-block.ts';
import type { Suggestion } from './suggestion.ts';

/** What apply did, as it is kept with the suggestion: everything that undo needs, and what a hook does when it is asked. */
const COMMON = {
  scope: z.enum(['project', 'global']),
  /** The file that was written. */
  path: z.string(),
  /** Directories that were made for it, outermost first. */
  directories: z.array(z.string()),
};
/** Of a file below which directory it has to stay. */
const FILE = { ...COMMON, root: z.string() };

const APPLIED = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('skill'), ...FILE, sha256: z.string() }),
  z.object({
    kind: z.literal('claude_md'),
    ...FILE,
    rule: z.string(),
    /** There was no such file before. */
    createdFile: z.boolean(),
  }),
  /** `path`: the settings in which it is registered. */
  z.object({
    kind: z.literal('declaration'),
    ...COMMON,
    /** Read again each time that it is asked: a later version may know better what must not be said. */
    declaration: z.unknown(),
    /** Empty: in every project. */
    projectPath: z.string(),
  }),
  /** A script that an earlier version wrote and registered. Nothing runs it any more. */
  z.object({ kind: z.literal('hook'), ...FILE, sha256: z.string(), settings: z.string() }),
]);

export type Applied = z.infer<typeof APPLIED>;
type AppliedOf<Kind extends Applied['kind']> = Extract<Applied, { kind: Kind }>;

/** The record of an applied suggestion; undefined when it is none of ours. */
export function readApplied(value: unknown): Applied | undefined {
  return APPLIED.safeParse(value).data;
}

/** What taking a verdict back comes to. Nothing has been changed. */
export type UndoPlan =
  | { readonly kind: 'ready'; readonly change: FilePlan; readonly notes: readonly string[] }
  | Refusal;

export type UndoRequest = SettingsRequest & {
  /** What else is applied: what it needs as well stays, and goes with the last. */
  readonly others: readonly Applied[];
};

/** Plans what `undo` does: takes away exactly what apply added, if it still is as apply left it. */
export function planUndo(suggestion: Suggestion, request: UndoRequest): UndoPlan {
  if (suggestion.status === 'dismissed') return { kind: 'ready', change: NO_CHANGE, notes: [] };
  if (suggestion.status !== 'applied') return refused('it waits for your decision');
  const applied = readApplied(suggestion.applied);
  if (applied === undefined) return refused('what was done is not recorded; take it back by hand');
  return orRefused(() => {
    if (applied.kind === 'declaration') return undoDeclaration(suggestion.id, applied, request);
    const target = findTarget(applied.root, applied.path);
    if (target.kind === 'refused') return target;
    if (target.path !== applied.path) return refused(`"${applied.path}" leads to "${target.path}" by now`);
    switch (applied.kind) {
      case 'skill':
        return undoSkill(applied);
      case 'claude_md':
        return undoRule(applied, request);
      case 'hook':
        return undoScript(suggestion.id, applied, request);
      default:
        return unreachable(applied);
    }
  });
}

function undoSkill(applied: AppliedOf<'skill'>): UndoPlan {
  const plan = planFileRemoval(applied, 'skill');
  if (plan.kind === 'refused') return plan;
  return readyToUndo([plan.file], applied, `"${applied.path}" is gone already`);
}

function undoRule(applied: AppliedOf<'claude_md'>, { others, place, now }: UndoRequest): UndoPlan {
  const { path, rule, createdFile } = applied;
  const isShared = others.some(
    (other) => other.kind === 'claude_md' && other.path === path && other.rule === rule,
  );
  if (isShared) {
    const note = `The rule stays in "${path}": another suggestion that is applied put it there as well`;
    return { kind: 'ready', change: NO_CHANGE, notes: [note] };
  }
  const before = { kind: createdFile ? 'absent' : 'edited-since' } as const;
  const plan = planRestore({ path, before }, 'rule', (text) => withoutRule(text, rule, path));
  if (plan.kind === 'refused') return plan;
  const files = withCopy(plan.file, { backups: place.paths.backups, name: 'apply-CLAUDE.md', now });
  return readyToUndo(files, applied, `The rule is no longer among ours in "${path}"`);
}

function withoutRule(text: string, rule: string, path: string): TextRemoval {
  const result = removeRule(text, rule);
  if (result.kind === 'damaged')
    return refused(`"${path}", line ${result.line}: ${result.reason}; put it right there`);
  if (result.kind === 'absent') return { kind: 'unchanged' };
  return { kind: result.text.trim() === '' ? 'emptied' : 'edited', text: result.text };
}

function undoDeclaration(id: string, applied: AppliedOf<'declaration'>, request: UndoRequest): UndoPlan {
  const settings = planRemoval(id, { ...request, place: { ...request.place, settings: applied.path } });
  if (settings.kind === 'refused') return settings;
  return readyToUndo(settings.files, applied, `It is registered no more in "${applied.path}"`);
}

/** What an earlier version applied. */
function undoScript(id: string, applied: AppliedOf<'hook'>, request: UndoRequest): UndoPlan {
  const script = planFileRemoval(applied, 'script');
  if (script.kind === 'refused') return script;
  const settings = planRemoval(id, { ...request, place: { ...request.place, settings: applied.settings } });
  if (settings.kind === 'refused') return settings;
  return readyToUndo([...settings.files, script.file], applied, 'The script and its entry are gone already');
}

/** The file goes if it is as we wrote it; when it is gone there is nothing to do. */
function planFileRemoval({ path, sha256 }: AppliedOf<'skill' | 'hook'>, what: 'skill' | 'script') {
  const keep = `"${path}" was changed since; remove it, or keep it under another name, and then run this again`;
  return planRestore({ path, before: { kind: 'absent' }, writtenSha256: sha256 }, what, () => refused(keep));
}

/** `gone`: what is said where nothing is left to take back. Directories that were made for it go all the same. */
function readyToUndo(files: readonly FileChange[], { directories }: Applied, gone: string): UndoPlan {
  const changed = files.filter(({ before, after }) => before !== after);
  const change = { files: changed, removes: directories.toReversed() };
  return { kind: 'ready', change, notes: changed.length === 0 ? [gone] : [] };
}
