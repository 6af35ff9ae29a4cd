import { readdirSync, rmSync } from 'node:fs';
import { parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { insertEvent } from '../database/events.ts';
import { readDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import { type FilePlan, perform } from '../setup/file-plan.ts';
import { writeFileAtomic } from '../system/atomic-file.ts';
import { readPlainFile } from '../system/files.ts';
import { type Applied, readApplied } from './apply.ts';
import { decideSuggestion, findSuggestions, listSuggestions, type Verdict } from './store.ts';
import type { Suggestion } from './suggestion.ts';

/**
 * What apply is about to do, in a file that exists only while it does it. If the process is ended in between, the files
 * are changed and no verdict says by whom: when the same is applied again it would find its own work and take it for the
 * user's.
 */
const INTENT_NAME = /^applying-.+\.json$/;
const INTENTS_MAX = 1000;

export type Decision = {
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
 * Changes the files and records the verdict: both or neither. What is about to be made is noted before.
 * @throws Error when it cannot; then the files are as before.
 */
export function carryOut(
  { suggestion, verdict, change, event, store }: Decision,
  paths: StatePaths,
  now: Date,
): void {
  const ts = now.toISOString();
  writeDatabase(paths, (db) => {
    let rollBack = () => {};
    const applied = verdict.kind === 'applied' ? readApplied(verdict.applied) : undefined;
    const forget = applied === undefined ? () => {} : noteIntent(suggestion.id, applied, paths);
    try {
      db.sqlite.transaction(() => {
        const current = findSuggestions(suggestion.id, db).find(({ id }) => id === suggestion.id);
        if (verdictOf(current) !== verdictOf(suggestion))
          throw new Error(`Suggestion ${suggestion.id} has been decided on meanwhile`);
        rollBack = perform(change).rollBack;
        decideSuggestion(suggestion, verdict, ts, db);
        store?.(ts, db);
        if (event === undefined) return;
        const { scope, project, projectPath } = event;
        const type = suggestion.type === 'skill' ? 'skill_created' : 'suggestion_applied';
        const data = { suggestionId: suggestion.id, suggestionType: suggestion.type, scope };
        insertEvent({ type, ts, sessionId: 'cli', project, projectPath, data }, db);
      });
    } catch (error) {
      rollBack();
      throw error;
    } finally {
      forget();
    }
  });
}

/** What of all that was ever applied still is, but for one suggestion. */
export function listApplied(paths: StatePaths, exceptId?: string): Applied[] {
  const applied = readDatabase(paths, (db) => listSuggestions({ statuses: ['applied'] }, db)) ?? [];
  return applied
    .filter(({ id }) => id !== exceptId)
    .map((one) => readApplied(one.applied))
    .filter((one) => one !== undefined);
}

/** What was made for suggestions already: for those that are applied, and when a process ended in the middle of it. */
export function listEarlier(paths: StatePaths): Applied[] {
  return [...listApplied(paths), ...readIntents(paths)];
}

/** A new one may have been announced meanwhile: nobody has decided on it either way. */
function verdictOf(suggestion: Suggestion | undefined): Suggestion['status'] | 'none' | undefined {
  const status = suggestion?.status;
  return status === 'new' || status === 'shown' || status === 'expired' ? 'none' : status;
}

/** Gives what takes the note away again, once the verdict is recorded or the files are as before. */
function noteIntent(id: string, applied: Applied, { data }: StatePaths): () => void {
  const path = `${data}/applying-${id}.json`;
  writeFileAtomic(path, `${JSON.stringify(applied)}\n`, { mode: 0o600 });
  return () => rmSync(path, { force: true });
}

/** What was begun, and neither finished nor taken back. */
function readIntents({ data }: StatePaths): Applied[] {
  return intentsIn(data)
    .map((name) => readApplied(parseJson(readPlainFile(`${data}/${name}`).toString())))
    .filter((applied) => applied !== undefined);
}

function intentsIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => INTENT_NAME.test(name))
      .slice(0, INTENTS_MAX);
  } catch {
    return []; // Nothing has been learned here yet.
  }
}
