import { areDifferent, differingNames, errorTraits } from '../core/errors/similarity.ts';
import { isInformative } from '../core/normalize-error.ts';
import type { Db } from './connection.ts';
import { findResolution, type KnownError, knownError } from './find-resolution.ts';
import { mostSimilarError } from './similar-errors.ts';
import { type Scope, tellableScopes } from './tellable.ts';

const KB_COLUMNS = 'id, error_normalized, said, resolution, use_count, project_path';
const SAME_MAX = 8;
/** So much of an error's text a row has. */
const TEXT_STORED = 2000;

/**
 * The resolution that is known of this error (REQ-RA-002): of the one with the same normalised text, else of the most
 * similar one, first of those of the same names; what the project's own repository knows, else what a person shares of
 * another. `text` is the error as it was printed, redacted: it has the names and numbers that the normalised text masks,
 * and what lies behind its end. Null when nothing is near enough or the error says too little.
 */
export function searchErrorKB(
  normalizedError: string,
  projectPath: string | null,
  db: Db,
  text: string = normalizedError,
): KnownError | null {
  if (normalizedError === '' || !isInformative(normalizedError)) return null;
  if (!db.shape.has('error_kb_text', 'raw')) return findResolution(normalizedError, projectPath, db) ?? null;
  for (const scope of tellableScopes(projectPath, db)) {
    const same = sameError(normalizedError, text, scope, db);
    if (same !== undefined && same.differing === undefined) return same;
    const alike = alikeError(normalizedError, text, scope, db);
    const known = alike?.differing === undefined ? (alike ?? same) : (same ?? alike);
    if (known !== undefined) return known;
  }
  return null;
}

function alikeError(normalizedError: string, text: string, scope: Scope, db: Db): KnownError | undefined {
  const similar = mostSimilarError(errorTraits(text), scope, db);
  if (similar === undefined) return undefined;
  const row = db.sqlite.get(`SELECT ${KB_COLUMNS} FROM error_kb WHERE id = ?`, similar.id);
  return row && isOfProgram(normalizedError, String(row.error_normalized))
    ? { ...knownError(row, scope), differing: similar.differing }
    : undefined;
}

/** Between what was printed and what was called in a key; see lessons/failure.ts. */
const BESIDE = ' · ';

/** What helped one program helps no other, however alike what they print. */
function isOfProgram(key: string, other: string): boolean {
  const [program, known] = [key, other].map((one) => one.split(BESIDE)[1]?.split(' ', 1)[0]);
  return program === undefined || known === undefined || program === known;
}

/**
 * As findResolution(), but not what only looks the same because what differs is masked: `status code <N>`, `<STR> is
 * not recognized`; where that is a name, it is similar. Of a long error only what is stored can be compared.
 */
function sameError(normalizedError: string, text: string, scope: Scope, db: Db): KnownError | undefined {
  const rows = db.sqlite.all(
    `SELECT ${KB_COLUMNS}, error_raw FROM error_kb WHERE error_normalized = ? AND typeof(resolution) = 'text'
       AND ${scope.sql} ORDER BY use_count DESC LIMIT ?`,
    normalizedError,
    scope.value,
    SAME_MAX,
  );
  let similar: KnownError | undefined;
  for (const row of rows) {
    const known = knownError(row, scope);
    if (row.error_raw === null || text.startsWith(String(row.error_raw))) return known;
    const stored = errorTraits(String(row.error_raw));
    const asked = errorTraits(text.slice(0, TEXT_STORED));
    if (areDifferent(asked, stored)) continue;
    const differing = differingNames(asked, stored);
    if (differing === undefined) return known;
    similar ??= { ...known, differing };
  }
  return similar;
}
