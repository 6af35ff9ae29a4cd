import { fingerprint } from '../core/fingerprint.ts';
import type { Db } from './connection.ts';
import { findErrors } from './error-entries.ts';
import { recordResolution } from './error-kb.ts';

export type Fix = { readonly summary: string; readonly ts: string };

/**
 * Stores a person's own words for how an error is solved. They stay until a person writes again, and the error is no
 * longer forgotten, nor open in any session of its project. The error has to say enough to be recognised. False when
 * there is none of this id.
 */
export function resolveError(id: number, { summary, ts }: Fix, db: Db): boolean {
  const { sqlite } = db;
  return sqlite.transaction(() => {
    const [entry] = findErrors([id], db);
    if (entry === undefined) return false;
    const { error, raw, tool, seen, solved } = entry;
    const when = laterOf(ts, sqlite.get('SELECT last_used FROM error_kb WHERE id = ?', id)?.last_used);
    const projectPath = entry.project === '' ? null : entry.project;
    sqlite.run('DELETE FROM forgotten_errors WHERE fingerprint = ?', fingerprint(error));
    recordResolution(
      error,
      { summary, resolvedBy: 'user', errorRaw: raw, ...(tool === null ? {} : { tool }) },
      { ts: when, projectPath, files: [], seenCount: seen },
      db,
    );
    // It counts how often the error was seen to go away. Writing that down, twice perhaps, is not one time more.
    sqlite.run('UPDATE error_kb SET use_count = ? WHERE id = ?', Math.max(solved, 1), id);
    sqlite.run(
      'DELETE FROM open_errors WHERE error_normalized = ? AND project_path IS ?',
      error,
      projectPath,
    );
    return true;
  });
}

/** What comes in late does not replace what is newer; but a person means now, whatever the clock was before. */
function laterOf(ts: string, other: unknown): string {
  return typeof other === 'string' && other > ts ? other : ts;
}
