import { fingerprint } from '../core/fingerprint.ts';
import type { Db } from './connection.ts';
import { findErrors } from './error-entries.ts';
import { recordPersonsFix } from './error-kb.ts';

export type Fix = { readonly summary: string; readonly ts: string };

/**
 * Stores a person's own words for how an error is solved. They stay until a person writes again, and the error is no
 * longer forgotten. False when
 * there is none of this id.
 */
export function resolveError(id: number, { summary, ts }: Fix, db: Db): boolean {
  const { sqlite } = db;
  return sqlite.transaction(() => {
    const [entry] = findErrors([id], db);
    if (entry === undefined) return false;
    const { error, project } = entry;
    const when = laterOf(ts, sqlite.get('SELECT last_used FROM error_kb WHERE id = ?', id)?.last_used);
    sqlite.run('DELETE FROM forgotten_errors WHERE fingerprint = ?', fingerprint(error));
    recordPersonsFix(error, { ts: when, projectPath: project, summary }, db);
    return true;
  });
}

/** What comes in late does not replace what is newer; but a person means now, whatever the clock was before. */
function laterOf(ts: string, other: unknown): string {
  return typeof other === 'string' && other > ts ? other : ts;
}
