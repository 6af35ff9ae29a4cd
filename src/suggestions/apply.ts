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
  type Refusal,
  readText,
  refused,
  withCopy,
} from '../setup/file-plan.ts';
import { SUGGESTION_ID } from '../setup/hook-command.ts';
import { type Place, sha256 } from '../setup/manifest.ts';
import { type Base, type BaseRequest, findBase, findTarget, type Target } from './apply-target.ts';
import { planRegistration } from './hook-settings.ts';
import { insertRule, objectionToRule, RULES_HEADINGS } from './rule-block.ts';
import { objectionToSkill, skillFile, skillNameOf } from './skill-file.ts';
import type { Suggestion } from './suggestion.ts';
import type { Applied } from './undo.ts';

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
