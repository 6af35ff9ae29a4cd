import { readdirSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { z } from 'zod';
import { unreachable } from '../core/guards.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import type { Language } from '../core/messages.ts';
import type { Db } from '../database/connection.ts';
import { lessonState, saveModelLesson } from '../lessons/store/model-lessons.ts';
import {
  type FileChange,
  type FilePlan,
  NO_CHANGE,
  orRefused,
  planRestore,
  type Refusal,
  readText,
  refused,
  sha256,
  type TextRemoval,
  withCopy,
} from '../setup/file-plan.ts';

import type { Place } from '../setup/manifest.ts';
import { SUGGESTION_ID } from '../setup/settings-file.ts';
import {
  type Base,
  type BaseRequest,
  findBase,
  findTarget,
  planRegistration,
  planRemoval,
  type SettingsRequest,
  type Target,
} from './apply-target.ts';
import {
  insertRule,
  objectionToRule,
  objectionToSkill,
  RULES_HEADINGS,
  removeRule,
  skillFile,
  skillNameOf,
} from './markdown.ts';
import type { Suggestion } from './suggestion.ts';

/** A lesson changes no file: what is applied is a row of the knowledge base. */
const APPLIED_LESSON = z.object({
  kind: z.literal('lesson'),
  key: z.string(),
  projectPath: z.string(),
  advice: z.string(),
});
type AppliedLesson = z.infer<typeof APPLIED_LESSON>;

/** What apply stores with a lesson; undefined when it is none of ours. */
export function readAppliedLesson(value: unknown): AppliedLesson | undefined {
  return APPLIED_LESSON.safeParse(value).data;
}

/** Plans what applying a lesson does. Nothing has been changed. */
export function planLesson({ text, projectPath, details }: Suggestion) {
  const { lesson } = details;
  if (lesson === undefined) return refused('it does not say which error it is about');
  if (isInstructionShaped(text))
    return refused('it reads like an instruction to ignore, fetch, send, delete or hide something');
  const { errorKey: key, ...known } = lesson;
  const applied: AppliedLesson = { kind: 'lesson', key, projectPath, advice: text };
  return {
    kind: 'ready' as const,
    applied,
    /** Stores it, in the transaction of the verdict. */
    store: (ts: string, db: Db) => {
      const saved = { ...known, key, projectPath, advice: text, ts, by: 'user' } as const;
      if (lessonState(key, projectPath, db).state === 'withdrawn')
        throw new Error('what is told of this error was withdrawn; "errors resolve" writes it anew');
      if (!saveModelLesson(saved, db)) throw new Error('a person has written meanwhile what helps');
    },
  };
}

export type ApplyRequest = BaseRequest & {
  readonly place: Place;
  readonly platform: string;
  readonly language: Language;
  readonly now: () => Date;
  /** What is applied already: what was made for it is there for this one as well, and goes with the last. */
  readonly earlier: readonly Applied[];
};

type Ready = {
  readonly kind: 'ready';
  readonly change: FilePlan;
  readonly applied: Applied;
  /** What the user should know of it. */
  readonly notes: readonly string[];
};

/** What applying a suggestion comes to. Nothing has been changed. */
export type ApplyPlan =
  | Ready
  /** Somebody else wrote the same rule already: nothing is applied, and nothing recorded. */
  | { readonly kind: 'present'; readonly path: string; readonly line: number }
  | Refusal;

/** A file in a project is for everybody who works on it; the user's own are for nobody else. */
const MODES = { project: 0o644, global: 0o600 };
const NAMES_MAX = 10_000;
const HOOK_TIMEOUT_SECONDS = 5;
/** Of a hook that an earlier version or another implementation proposed. */
export const CONTAINS_CODE = 'it contains code, and no code that a model wrote is run';

/** Plans what `apply` does: reads what is there, changes nothing. Never throws for what stands in a suggestion. */
export function planApply(suggestion: Suggestion, request: ApplyRequest): ApplyPlan {
  if (!SUGGESTION_ID.test(suggestion.id)) return refused('its id is none that an analysis gives');
  return orRefused(() => {
    if (suggestion.type === 'hook') return planHook(suggestion, request);
    if (suggestion.type === 'lesson') return refused('a lesson goes into no file');
    const base = findBase(suggestion, request);
    if (base.kind === 'refused') return base;
    switch (suggestion.type) {
      case 'skill':
        return planSkill(suggestion, base, request);
      case 'claude_md':
        return planRule(suggestion, base, request);
      default:
        return unreachable(suggestion.type);
    }
  });
}

function planSkill(suggestion: Suggestion, base: Base, { language, earlier }: ApplyRequest): ApplyPlan {
  const name = skillNameOf(suggestion);
  if (name.kind === 'refused') return name;
  const text = skillFile(name.name, suggestion, language);
  const objection = objectionToSkill(suggestion, text);
  if (objection !== undefined) return refused(objection);
  const path = join(base.directory, 'commands', `${name.name}.md`);
  const target = findTarget(base.root, path);
  if (target.kind === 'refused') return target;
  const applied: Applied = {
    kind: 'skill',
    scope: base.scope,
    path: target.path,
    root: base.root,
    directories: madeFor(target, earlier),
    sha256: sha256(text),
  };
  const taken = sameName(path);
  if (taken !== undefined) {
    return readText(taken) === text
      ? ready([], applied, [`"${taken}" is there already, exactly so`])
      : refused(`"${taken}" exists, and no file of yours is overwritten`);
  }
  const mode = MODES[base.scope];
  const file = { path: target.path, what: 'skill', before: undefined, after: text, mode } as const;
  return ready([file], applied);
}

/** The directories above a file that were made for it, or for an earlier one. */
function madeFor({ path, missing }: Target, earlier: readonly Applied[]): string[] {
  const known = earlier.flatMap(({ directories }) => directories).filter((one) => path.startsWith(one + sep));
  return [...new Set([...known, ...missing])].sort(); // A directory sorts before what is in it.
}

/** A file of this name in the directory, however its letters are written: some systems do not tell them apart. */
function sameName(path: string): string | undefined {
  const directory = dirname(path);
  const plain = (name: string) => name.normalize('NFC').toLowerCase();
  try {
    const names = readdirSync(directory).slice(0, NAMES_MAX);
    const found = names.find((name) => plain(name) === plain(basename(path)));
    return found === undefined ? undefined : join(directory, found);
  } catch {
    return undefined; // There is no such directory yet.
  }
}

function planRule(
  suggestion: Suggestion,
  base: Base,
  { language, earlier, place, now }: ApplyRequest,
): ApplyPlan {
  const rule = suggestion.text;
  const objection = objectionToRule(rule);
  if (objection !== undefined) return refused(objection);
  if (isInstructionShaped(rule))
    return refused('it reads like an instruction to ignore, fetch, send, delete or hide something');
  const target = findTarget(base.root, join(base.directory, 'CLAUDE.md'));
  if (target.kind === 'refused') return target;
  const before = readText(target.path);
  const result = insertRule(before ?? '', rule, RULES_HEADINGS[language]);
  if (result.kind === 'damaged')
    return refused(`"${target.path}", line ${result.line}: ${result.reason}; put it right there`);
  const applied: Applied = {
    kind: 'claude_md',
    scope: base.scope,
    path: target.path,
    root: base.root,
    directories: madeFor(target, earlier),
    rule,
    createdFile:
      before === undefined ||
      earlier.some((one) => one.kind === 'claude_md' && one.path === target.path && one.createdFile),
  };
  if (result.kind === 'present') {
    const { path } = target;
    return result.isOurs
      ? ready([], applied, [`The rule is there already, in line ${result.line} of "${path}"`])
      : { kind: 'present', path, line: result.line };
  }
  const mode = MODES[base.scope];
  const file = { path: target.path, what: 'rule', before, after: result.text, mode } as const;
  return ready(withCopy(file, { backups: place.paths.backups, name: 'apply-CLAUDE.md', now }), applied);
}

/** An entry in the client's settings by which our program is asked; what it says then is kept with the verdict. */
function planHook({ id, details, projectPath }: Suggestion, request: ApplyRequest): ApplyPlan {
  const { place, scope } = request;
  const declaration = details.hook;
  if (declaration === undefined) return refused(CONTAINS_CODE);
  const registration = {
    id,
    event: declaration.event,
    matcher: declaration.tools.join('|'),
    timeoutSeconds: HOOK_TIMEOUT_SECONDS,
  };
  const settings = planRegistration(registration, request);
  if (settings.kind === 'refused') return settings;
  const isEverywhere = scope === 'global' || projectPath === '';
  const notes = settings.isDisabled
    ? [`"disableAllHooks" is true in "${place.settings}": no hook runs until you remove that line`]
    : [];
  const applied: Applied = {
    kind: 'declaration',
    scope: isEverywhere ? 'global' : 'project',
    path: place.settings,
    directories: [],
    declaration,
    projectPath: isEverywhere ? '' : projectPath,
  };
  return ready(settings.files, applied, notes);
}

function ready(files: readonly FileChange[], applied: Applied, notes: readonly string[] = []): Ready {
  return { kind: 'ready', change: { ...NO_CHANGE, files }, applied, notes };
}

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
