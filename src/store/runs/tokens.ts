import type { Sqlite } from '../sqlite.ts';

/** Who may speak to the MCP server, and as what. Who reads the database learns no token from it. */

export type TokenRole = 'main' | 'subagent';

export type TokenHolder = {
  readonly role: TokenRole;
  readonly runId: string | null;
  readonly client: string | null;
};

export type TokenRequest = TokenHolder & {
  readonly nowMs: number;
  /** Null: never. */
  readonly expiresAtMs: number | null;
};

const TOKEN_BYTES = 32;

/** Makes a token and keeps its hash; the token itself is nowhere else but in the answer. */
export function issueToken(request: TokenRequest, db: Sqlite): string {
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES))).toString('base64url');
  db.transaction(() => {
    db.run('DELETE FROM tokens WHERE expires_at <= ?', request.nowMs);
    db.run(
      'INSERT INTO tokens(hash, role, run_id, client, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
      hashOf(token),
      request.role,
      request.runId,
      request.client,
      request.nowMs,
      request.expiresAtMs,
    );
  });
  return token;
}

/** Whose token it is; undefined when it is none of ours or has expired. */
export function readToken(token: string, nowMs: number, db: Sqlite): TokenHolder | undefined {
  const row = db.get(
    'SELECT role, run_id, client FROM tokens WHERE hash = ? AND (expires_at IS NULL OR expires_at > ?)',
    hashOf(token),
    nowMs,
  );
  if (row === undefined) return undefined;
  return {
    role: row.role === 'main' ? 'main' : 'subagent',
    runId: row.run_id === null ? null : String(row.run_id),
    client: row.client === null ? null : String(row.client),
  };
}

/** The tokens of a run are worth nothing any more. */
export function revokeTokens(runId: string, db: Sqlite): void {
  db.run('DELETE FROM tokens WHERE run_id = ?', runId);
}

function hashOf(token: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(token).digest('hex');
}
