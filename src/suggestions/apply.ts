import { readdirSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { lookOr, unreachable } from '../core/guards.ts';
import { isInstructionShaped } from '../core/inert-text.ts';
import type { Language } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import { lessonState, saveModelLesson } from '../lessons/store/model-lessons.ts';
import {
  type FileChange,
  type FilePlan,
  NO_CHANGE,
  orRefused,
  planRestore,
  type Refusal,
  Refused,
  readText,
  refused,
  sha256,
  withCopy,
} from '../setup/file-plan.ts';
import { SUGGESTION_ID } from '../setup/settings-file.ts';
import {
  type BaseRequest,
  findBase,
  findSpots,
  findTargetFile,
  planRegistration,
  planRemoval,
  type SettingsRequest,
  type SpotRequest,
  type Target,
} from './apply-target.ts';
import { type Applied, type AppliedFile, type AppliedLesson, filesOf, readApplied } from './decide.ts';
import {
  insertRule,
  LIKE_AN_INSTRUCTION,
  objectionToRule,
  objectionToSkill,
  RULES_HEADINGS,
  removeRule,
  skillFile,
  skillNameOf,
} from './markdown.ts';
import type { Suggestion } from './model/suggestion.ts';

/** What applying a suggestion, and taking it back, comes to: planned and shown before anything is changed. */

/** Plans what applying a lesson does. It changes no file: what is applied is a row of the knowledge base. */
export function planLesson({ text, projectPath, details }: Suggestion) {
  const { lesson } = details;
  if (lesson === undefined) return refused('it does not say which error it is about');
  if (isInstructionShaped(text)) return refused(LIKE_AN_INSTRUCTION);
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

export type ApplyRequest = BaseRequest &
  SpotRequest &
  SettingsRequest & {
    readonly language: Language;
    /** What is applied already: what was made for it is there for this one as well, and goes with the last. */
    readonly earlier: readonly Applied[];
  };

/** What is to be changed, and what the user should know of it. */
type Ready = { readonly kind: 'ready'; readonly change: FilePlan; readonly notes: readonly string[] };

export type ApplyPlan =
  | (Ready & { readonly applied: Applied })
  /** Somebody else wrote the same rule already: nothing is applied, and nothing recorded. */
  | { readonly kind: 'present'; readonly path: string; readonly line: number }
  | Refusal;

/** A file in a project is for everybody who works on it; the user's own are for nobody else. */
const MODES = { project: 0o644, global: 0o600 };
const NAMES_MAX = 10_000;
const HOOK_TIMEOUT_SECONDS = 5;
const SKILL_FILE = 'SKILL.md';
const NO_SPOT = 'no client is known that would read it';
/** Of a hook that an earlier version or another implementation proposed. */
export const CONTAINS_CODE = 'it contains code, and no code that a model wrote is run';

/** Plans what `apply` does: reads what is there, changes nothing. Never throws for what stands in a suggestion. */
export function planApply(suggestion: Suggestion, request: ApplyRequest): ApplyPlan {
  if (!SUGGESTION_ID.test(suggestion.id)) return refused('its id is none that an analysis gives');
  return orRefused(() => PLANS[suggestion.type](suggestion, request));
}

const PLANS = {
  skill: planSkill,
  claude_md: planRule,
  hook: planHook,
  lesson: () => refused('a lesson goes into no file'),
};

function planSkill(suggestion: Suggestion, request: ApplyRequest): ApplyPlan {
  const base = findBase(suggestion, request);
  const name = skillNameOf(suggestion);
  const text = skillFile(name, suggestion, request.language);
  const objection = objectionToSkill(suggestion, text);
  if (objection !== undefined) return refused(objection);
  const spots = findSpots('skills', base, request).map(({ path: skills, root }) => {
    const command = sameName(join(dirname(skills), 'commands', `${name}.md`));
    const directory = sameName(join(skills, name));
    const taken = command ?? (directory && join(directory, SKILL_FILE));
    const isThere = taken !== undefined && readText(taken) === text;
    if (taken !== undefined && !isThere)
      throw new Refused(`"${command ?? directory}" exists, and no file of yours is overwritten`);
    return { isThere, taken, root, target: findTargetFile(root, join(skills, name, SKILL_FILE)) };
  });
  const [first, ...others] = spots.map((spot) => fileRecord(spot, request));
  if (first === undefined) return refused(NO_SPOT);
  const applied = {
    kind: 'skill',
    scope: base.scope,
    ...first,
    ...withOthers(others),
    sha256: sha256(text),
  } as const;
  const mode = MODES[base.scope];
  const files = spots.flatMap(({ isThere, target: { path } }): FileChange[] =>
    isThere ? [] : [{ path, what: 'skill', before: undefined, after: text, mode }],
  );
  const notes = spots.flatMap(({ isThere, taken }) =>
    isThere ? [`"${taken}" is there already, exactly so`] : [],
  );
  return ready(files, applied, notes);
}

function withOthers<File>(others: readonly File[]) {
  return others.length > 0 ? { others: [...others] } : {};
}

/** The record of a file for undo, with the directories that were made for it or for an earlier one. */
function fileRecord(
  { root, target: { path, missing } }: { readonly root: string; readonly target: Target },
  { earlier }: ApplyRequest,
) {
  const known = earlier
    .flatMap(filesOf)
    .flatMap(({ directories }) => directories)
    .filter((one) => path.startsWith(one + sep));
  const directories = [...new Set([...known, ...missing])].sort(); // A directory sorts before what is in it.
  return { path, directories, root };
}

/** A file of this name in the directory, however its letters are written: some systems do not tell them apart. */
function sameName(path: string): string | undefined {
  const directory = dirname(path);
  const plain = (name: string) => name.normalize('NFC').toLowerCase();
  const names = lookOr(() => readdirSync(directory), []).slice(0, NAMES_MAX);
  const found = names.find((name) => plain(name) === plain(basename(path)));
  return found && join(directory, found);
}

function planRule(suggestion: Suggestion, request: ApplyRequest): ApplyPlan {
  const { language, earlier, place, now } = request;
  const rule = suggestion.text;
  const base = findBase(suggestion, request);
  const objection = objectionToRule(rule);
  if (objection !== undefined) return refused(objection);
  const edits = findSpots('rules', base, request).map(({ path: asked, root }) => {
    const target = findTargetFile(root, asked);
    const { path } = target;
    const before = readText(path);
    const createdFile =
      before === undefined ||
      earlier.flatMap(filesOf).some((one) => one.path === path && one.createdFile === true);
    const result = insertRule(before ?? '', rule, RULES_HEADINGS[language], path);
    return { before, result, record: { ...fileRecord({ root, target }, request), createdFile } };
  });
  const present = edits.flatMap(({ result, record: { path } }) =>
    typeof result === 'string' ? [] : [{ ...result, path }],
  );
  const foreign = present.filter(({ isOurs }) => !isOurs);
  const [first, ...others] = edits
    .map(({ record }) => record)
    .filter(({ path }) => !foreign.some((one) => one.path === path));
  const [said] = foreign;
  if (first === undefined)
    return said === undefined ? refused(NO_SPOT) : { kind: 'present', path: said.path, line: said.line };
  const applied = { kind: 'claude_md', scope: base.scope, ...first, ...withOthers(others), rule } as const;
  const files = edits.flatMap(({ before, result, record: { path } }, at) => {
    if (typeof result !== 'string') return [];
    const file = { path, what: 'rule', before, after: result, mode: MODES[base.scope] } as const;
    return withCopy(file, { backups: place.paths.backups, name: copyName(at), now });
  });
  const notes = present.map(({ line, path }) => `The rule is there already, in line ${line} of "${path}"`);
  return ready(files, applied, notes);
}

/** Of the file that is changed as this one, counted from 0. */
function copyName(at: number): string {
  return at === 0 ? 'apply-CLAUDE.md' : `apply-RULES${at}.md`;
}

/** Plans an entry in the client's settings that calls our program; what it answers is stored with the decision. */
function planHook({ id, details, projectPath }: Suggestion, request: ApplyRequest): ApplyPlan {
  const declaration = details.hook;
  if (declaration === undefined) return refused(CONTAINS_CODE);
  const { event, tools } = declaration;
  const hook = { id, event, matcher: tools.join('|'), timeoutSeconds: HOOK_TIMEOUT_SECONDS };
  const { files, isDisabled } = planRegistration(hook, request);
  const path = request.place.settings;
  const off = `"disableAllHooks" is true in "${path}": no hook runs until you remove that line`;
  const isEverywhere = request.scope === 'global' || projectPath === '';
  const applied: Applied = {
    kind: 'declaration',
    scope: isEverywhere ? 'global' : 'project',
    path,
    directories: [],
    declaration,
    projectPath: isEverywhere ? '' : projectPath,
  };
  return ready(files, applied, isDisabled ? [off] : []);
}

function ready(files: readonly FileChange[], applied: Applied, notes: readonly string[] = []): ApplyPlan {
  return { kind: 'ready', change: { files }, applied, notes };
}

/** What undoing a decision changes. */
export type UndoPlan = Ready | Refusal;

export type UndoRequest = SettingsRequest & {
  /** What else is applied: what it needs as well stays, and goes with the last. */
  readonly others: readonly Applied[];
};

/** Plans what `undo` does: takes away exactly what apply added, if it still is as apply left it. */
export function planUndo({ id, status, applied: record }: Suggestion, request: UndoRequest): UndoPlan {
  if (status === 'dismissed') return { kind: 'ready', change: NO_CHANGE, notes: [] };
  if (status !== 'applied') return refused('it waits for your decision');
  const applied = readApplied(record);
  if (applied === undefined) return refused('what was done is not recorded; take it back by hand');
  return orRefused(() => {
    const { path, kind } = applied;
    if (kind !== 'declaration') {
      for (const file of filesOf(applied)) {
        const target = findTargetFile(file.root, file.path);
        if (target.path !== file.path) return refused(`"${file.path}" leads to "${target.path}" now`);
      }
    }
    const removalFrom = (settings: string) =>
      planRemoval(id, { ...request, place: { ...request.place, settings } });
    switch (kind) {
      case 'skill':
        return undone(
          filesOf(applied).map((file) => ownFileRemoval({ ...applied, ...file }, 'skill')),
          filesOf(applied),
          `"${path}" is gone already`,
        );
      case 'claude_md':
        return undoRule(applied, request);
      case 'declaration':
        return undone(removalFrom(path), filesOf(applied), `It is no longer registered in "${path}"`);
      case 'hook': {
        const files = [...removalFrom(applied.settings), ownFileRemoval(applied, 'script')];
        return undone(files, filesOf(applied), 'The script and its entry are gone already');
      }
      default:
        return unreachable(kind);
    }
  });
}

type AppliedOf<Kind extends Applied['kind']> = Extract<Applied, { kind: Kind }>;

function undoRule(applied: AppliedOf<'claude_md'>, { others, place, now }: UndoRequest): UndoPlan {
  const { rule } = applied;
  const isKept = ({ path }: AppliedFile) =>
    others.some(
      (other) =>
        other.kind === 'claude_md' && other.rule === rule && filesOf(other).some((one) => one.path === path),
    );
  const [kept, own] = [filesOf(applied).filter(isKept), filesOf(applied).filter((file) => !isKept(file))];
  const notes = kept.map(
    ({ path }) => `The rule stays in "${path}": another suggestion that is applied put it there as well`,
  );
  if (own.length === 0) return { kind: 'ready', change: NO_CHANGE, notes };
  const files = own.flatMap(({ path, createdFile }, at) => {
    const before = { kind: createdFile ? 'absent' : 'edited-since' } as const;
    const file = planRestore({ path, before }, 'rule', { remove: (text) => removeRule(text, rule, path) });
    return withCopy(file, { backups: place.paths.backups, name: copyName(at), now });
  });
  const gone = own.map(({ path }) => `"${path}"`).join(' and ');
  const plan = undone(files, own, `The rule is no longer among ours in ${gone}`);
  return { ...plan, notes: [...notes, ...plan.notes] };
}

/** The file goes if it is as we wrote it; when it is gone there is nothing to do. */
function ownFileRemoval(
  { path, sha256 }: { readonly path: string; readonly sha256: string },
  what: 'skill' | 'script',
): FileChange {
  const keep = `"${path}" was changed since; remove it, or keep it under another name, and then run this again`;
  const record = { path, before: { kind: 'absent' }, writtenSha256: sha256 } as const;
  const remove = () => {
    throw new Refused(keep);
  };
  return planRestore(record, what, { remove });
}

/** `gone`: the note when nothing is left to undo. Directories that were made for it are removed in any case. */
function undone(files: readonly FileChange[], of: readonly AppliedFile[], gone: string): Ready {
  const changed = files.filter(({ before, after }) => before !== after);
  const removes = of.flatMap(({ directories }) => directories.toReversed());
  return { kind: 'ready', change: { files: changed, removes }, notes: changed.length === 0 ? [gone] : [] };
}
