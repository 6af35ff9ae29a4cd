import { openSqlite } from '#sqlite';
import type { SessionStep } from '../../core/conversation.ts';
import { type Json, lookOr, parseJson } from '../../core/guards.ts';
import { type Environment, isAbsolutePath } from '../../core/state-paths.ts';
import { type Row, recordIn, type Sqlite } from '../../database/sqlite.ts';
import type { ExportedSession } from '../session-format.ts';
import type { ListedSession, SessionStore, StoredSession } from '../sessions.ts';
import { directoryIn } from '../user-files.ts';
import { opencodeFormat, stepsOf } from './session.ts';

const BUSY_TIMEOUT_MS = 2000;

/** The client's database: a row for each session, message and part of one. It is only read. */
export const opencodeSessions: SessionStore = {
  startedIn: (cwd, env) =>
    withDatabase(env, [], (database, path) =>
      database
        .all(
          'SELECT id, time_updated FROM session WHERE directory = ? AND parent_id IS NULL ORDER BY time_updated DESC',
          cwd,
        )
        .map((row) => stored(row, path)),
    ),
  withId: (id, env) =>
    withDatabase(env, undefined, (database, path) => {
      const row = database.get('SELECT id, time_updated FROM session WHERE id = ?', id);
      return row === undefined ? undefined : stored(row, path);
    }),
  all: (env) =>
    withDatabase(env, [], (database, path) =>
      database.all(`${LISTED} ORDER BY session.time_created`).map((row) => listed(row, path)),
    ),
  withAgents: (id, env) =>
    withDatabase(env, [], (database, path) =>
      database.all(`${LISTED} WHERE ? IN (session.id, main)`, id).map((row) => listed(row, path)),
    ),
  read: function* ({ id, path }, _env, sinceMs = 0): Generator<SessionStep> {
    const database = openSqlite(path, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      for (const message of messagesOf(database, id, sinceMs)) {
        const parts = database.all('SELECT data FROM part WHERE message_id = ? ORDER BY id', message);
        const data = recordIn(database.get('SELECT data FROM message WHERE id = ?', message)?.data);
        yield* stepsOf({ id: message, data, parts: parts.map((part) => recordIn(part.data)) });
      }
    } finally {
      database.close();
    }
  },
  format: { ...opencodeFormat, exported: ({ id, path }) => exported(id, path) },
};

/** What `opencode export` prints of a session; its messages are read from the database one by one. */
function exported(id: string, path: string): ExportedSession {
  const database = openSqlite(path, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    const row = database.get('SELECT * FROM session WHERE id = ?', id);
    return { info: infoOf(row ?? {}), messages: exportedMessages(id, path) };
  } finally {
    database.close();
  }
}

function* exportedMessages(session: string, path: string): Generator<Json> {
  const database = openSqlite(path, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    const ids = database.all(
      'SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id',
      session,
    );
    for (const id of ids.map((row) => String(row.id))) {
      const data = recordIn(database.get('SELECT data FROM message WHERE id = ?', id)?.data);
      const parts = database.all('SELECT id, data FROM part WHERE message_id = ? ORDER BY id', id);
      const ofMessage = { sessionID: session, messageID: id };
      yield {
        info: { ...data, id, sessionID: session },
        parts: parts.map((part) => ({ ...recordIn(part.data), id: part.id, ...ofMessage })),
      };
    }
  } finally {
    database.close();
  }
}

/** By the names that the client gives its columns outside; what is not set is left out. */
function infoOf(row: Row): Json {
  const document = (name: string) => (row[name] == null ? undefined : parseJson(String(row[name])));
  const set = (record: Json) =>
    Object.fromEntries(Object.entries(record).filter(([, value]) => value != null));
  const cache = { read: row.tokens_cache_read, write: row.tokens_cache_write };
  const tokens = {
    input: row.tokens_input,
    output: row.tokens_output,
    reasoning: row.tokens_reasoning,
    cache,
  };
  const [additions, deletions, files] = [row.summary_additions, row.summary_deletions, row.summary_files];
  const summary = set({ additions, deletions, files, diffs: document('summary_diffs') });
  const [created, updated] = [row.time_created, row.time_updated];
  return set({
    ...{ id: row.id, slug: row.slug, projectID: row.project_id, workspaceID: row.workspace_id },
    ...{ directory: row.directory, path: row.path, parentID: row.parent_id, title: row.title },
    ...{ agent: row.agent, model: document('model'), version: row.version },
    summary: additions == null ? undefined : summary,
    ...{ cost: row.cost, tokens: row.tokens_input == null ? undefined : tokens },
    share: row.share_url == null ? undefined : { url: row.share_url },
    ...{ metadata: document('metadata'), revert: document('revert'), permission: document('permission') },
    time: set({ created, updated, compacting: row.time_compacting, archived: row.time_archived }),
  });
}

/** The ids of its messages of which something was written since, without those that the user has taken back. */
function messagesOf(database: Sqlite, session: string, sinceMs: number): string[] {
  const revert = recordIn(database.get('SELECT revert FROM session WHERE id = ?', session)?.revert);
  const ids = database.all('SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id', session);
  const messages = ids.map(({ id }) => String(id));
  const end = messages.indexOf(String(revert.messageID ?? ''));
  const standing = end < 0 ? messages : messages.slice(0, end);
  if (sinceMs === 0) return standing;
  const written = 'SELECT DISTINCT message_id FROM part WHERE session_id = ? AND time_updated >= ?';
  const changed = new Set(database.all(written, session, sinceMs).map((part) => String(part.message_id)));
  return standing.filter((message) => changed.has(message));
}

/** A sub-agent's session may have one of its own; `written`: a part may be written without its session. */
const LISTED = `WITH RECURSIVE tree(id, main, title) AS (
    SELECT id, NULL, NULL FROM session WHERE parent_id IS NULL
    UNION ALL SELECT session.id, COALESCE(main, parent_id), session.title FROM session JOIN tree ON parent_id = tree.id)
  SELECT session.id, directory, main, tree.title,
    MAX(time_updated, COALESCE((SELECT MAX(time_updated) FROM part WHERE session_id = session.id), 0)) AS time_updated
  FROM tree JOIN session USING (id)`;

function listed(row: Row, path: string): ListedSession {
  const agentType = /\(@(\S+) subagent\)$/.exec(String(row.title ?? ''))?.[1] ?? null;
  const parentId = row.main === null ? null : String(row.main);
  return { ...stored(row, path), cwd: String(row.directory), parentId, agentType };
}

function stored({ id, time_updated }: Row, path: string): StoredSession {
  return { id: String(id), path, modifiedMs: Number(time_updated) };
}

function withDatabase<T>(env: Environment, none: T, look: (database: Sqlite, path: string) => T): T {
  return lookOr(() => {
    const { OPENCODE_DB: own = '' } = env;
    const data = `${directoryIn('XDG_DATA_HOME', '.local/share', { env })}/opencode`;
    const path = isAbsolutePath(own) ? own : `${data}/${own || 'opencode.db'}`;
    const database = openSqlite(path, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      return look(database, path);
    } finally {
      database.close();
    }
  }, none);
}
