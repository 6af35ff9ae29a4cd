import { isRecord, readString } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { SuggestionType } from '../core/suggestion.ts';
import { listSuggestions } from '../store/suggestions.ts';
import { readDatabase } from '../store/use-database.ts';

/** What apply wrote for a suggestion, as far as setup needs to know. */
export type AppliedFile = {
  readonly id: string;
  readonly type: SuggestionType;
  readonly path: string;
  /** Of a file that is ours as a whole; of a hook: it is code, which an earlier version wrote. */
  readonly sha256: string | undefined;
};

/** What is applied at present. Throws what SQLite throws. */
export function listAppliedFiles(paths: StatePaths): AppliedFile[] {
  const suggestions = readDatabase(paths, (db) => listSuggestions({ statuses: ['applied'] }, db)) ?? [];
  return suggestions.flatMap(({ id, type, applied }) => {
    const record = isRecord(applied) ? applied : {};
    const path = readString(record, 'path');
    if (path === undefined) return [];
    return [{ id, type, path, sha256: readString(record, 'sha256') }];
  });
}
