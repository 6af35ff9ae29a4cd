import { readdirSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { lookOr, parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { insertEvent } from '../database/events.ts';
import { readDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import { type FilePlan, perform } from '../setup/file-plan.ts';
import { writeFileAtomic } from '../system/atomic-file.ts';
import { readPlainFile } from '../system/files.ts';
import { decideSuggestion, findSuggestions, listSuggestions, type Verdict } from './model/store.ts';
import type { Suggestion } from './model/suggestion.ts';

/** Carries a decision of the user out on the disk and in the database together, and records it for undo. */

const COMMON = {
  scope: z.enum(['project', 'global']),
  /** The file that was written. */
  path: z.string(),
  /** Directories that were made for it, outermost first. */
  directories: z.array(z.string()),
};
/** Of a file below which directory it has to stay. */
const FILE = { ...COMMON, root: z.string() };
/** The same for clients that read other files. */
const OTHERS = z
  .array(
    z.object({
      ...{ path: COMMON.path, directories: COMMON.directories, root: FILE.root },
      createdFile: z.boolean().optional(),
    }),
  )
  .optional();

/** What apply did: everything that undo needs, and what a hook does when it is asked. */
const APPLIED = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('skill'), ...FILE, sha256: z.string(), others: OTHERS }),
  /** `createdFile`: there was no such file before. */
  z.object({
    kind: z.literal('claude_md'),
    ...{ ...FILE, rule: z.string(), createdFile: z.boolean(), others: OTHERS },
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
const APPLIED_LESSON = z.object({
  kind: z.literal('lesson'),
  key: z.string(),
  projectPath: z.string(),
  advice: z.string(),
});

export type Applied = z.infer<typeof APPLIED>;
export type AppliedLesson = z.infer<typeof APPLIED_LESSON>;

export type AppliedFile = {
  readonly path: string;
  readonly directories: readonly string[];
  readonly root: string;
  readonly createdFile?: boolean | undefined;
};

/** Every file that an applied rule or skill stands in, or a hook is registered in. */
export function filesOf(applied: Applied): AppliedFile[] {
  const first = { root: '', ...applied };
  return [first, ...('others' in applied ? (applied.others ?? []) : [])];
}

/** The record of a suggestion that was applied to files; undefined when it is none of ours. */
export function readApplied(value: unknown): Applied | undefined {
  return APPLIED.safeParse(value).data;
}

/** The record of a lesson that was applied; undefined when it is none of ours. */
export function readAppliedLesson(value: unknown): AppliedLesson | undefined {
  return APPLIED_LESSON.safeParse(value).data;
}

/**
 * What apply is about to do, in a file that exists only while it does it. If the process is ended in between, the files
 * are changed and no verdict says by whom: when the same is applied again it would find its own work and take it for the
 * user's.
 */
const INTENT_NAME = /^applying-.+\.json$/;
const INTENTS_MAX = 1000;

type DecisionRequest = {
  readonly suggestion: Suggestion;
  readonly verdict: Verdict;
  readonly change: FilePlan;
  /** What else is stored with the verdict. */
  readonly store?: (ts: string, db: Db) => void;
  /** For an applied one: in which project it was. */
  readonly event?: {
    readonly scope: Applied['scope'];
    readonly project: string;
    readonly projectPath: string;
  };
};

/**
 * Changes the files and records the verdict, both or neither. What apply is about to make is recorded first.
 * @throws Error when either fails; then the files are as before.
 */
export function carryOut(
  { suggestion, verdict, change, event, store }: DecisionRequest,
  paths: StatePaths,
  now: Date,
): void {
  const { id, type } = suggestion;
  const ts = now.toISOString();
  const applied = verdict.kind === 'applied' ? readApplied(verdict.applied) : undefined;
  const intent = `${paths.data}/applying-${id}.json`;
  writeDatabase(paths, (db) => {
    let rollBack = () => {};
    if (applied !== undefined) writeFileAtomic(intent, `${JSON.stringify(applied)}\n`, { mode: 0o600 });
    try {
      db.sqlite.transaction(() => {
        const current = findSuggestions(id, db).find((one) => one.id === id);
        if (decisionOn(current) !== decisionOn(suggestion))
          throw new Error(`Suggestion ${id} has been decided on meanwhile`);
        rollBack = perform(change).rollBack;
        decideSuggestion(suggestion, verdict, ts, db);
        store?.(ts, db);
        if (event === undefined) return;
        const { scope, project, projectPath } = event;
        const eventType = type === 'skill' ? 'skill_created' : 'suggestion_applied';
        const data = { suggestionId: id, suggestionType: type, scope };
        insertEvent({ type: eventType, ts, sessionId: 'cli', project, projectPath, data }, db);
      });
    } catch (error) {
      rollBack();
      throw error;
    } finally {
      if (applied !== undefined) rmSync(intent, { force: true });
    }
  });
}

/** A new one may have been announced meanwhile: nobody has decided on it either way. */
function decisionOn(suggestion: Suggestion | undefined): string | undefined {
  const status = suggestion?.status;
  return status === 'new' || status === 'shown' || status === 'expired' ? 'none' : status;
}

/** The records of all suggestions that are applied now, except one. */
export function listApplied(paths: StatePaths, exceptId?: string): Applied[] {
  const applied = readDatabase(paths, (db) => listSuggestions({ statuses: ['applied'] }, db)) ?? [];
  return applied.flatMap((one) => (one.id === exceptId ? [] : (readApplied(one.applied) ?? [])));
}

/** The records of what was made for suggestions: of those that are applied, and of those where apply was interrupted. */
export function listEarlier(paths: StatePaths): Applied[] {
  const names = lookOr(() => readdirSync(paths.data), []); // Nothing may have been learned here yet.
  const begun = names.filter((name) => INTENT_NAME.test(name)).slice(0, INTENTS_MAX);
  const texts = begun.map((name) => readPlainFile(`${paths.data}/${name}`).toString());
  return [...listApplied(paths), ...texts.flatMap((text) => readApplied(parseJson(text)) ?? [])];
}
