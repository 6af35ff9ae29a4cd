import { openSqlite } from '#sqlite';
import type { SessionStep } from '../../core/conversation.ts';
import { lookOr } from '../../core/guards.ts';
import type { Environment } from '../../core/state-paths.ts';
import { type Row, recordIn, type Sqlite } from '../../database/sqlite.ts';
import type { ListedSession, SessionStore, StoredSession } from '../sessions.ts';
import { directoryIn } from '../user-files.ts';
import { stepsOf } from './session.ts';

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
  all: (env) => withDatabase(env, [], (database, path) => database.all(ALL).map((row) => listed(row, path))),
  read: function* ({ id, path }): Generator<SessionStep> {
    const database = openSqlite(path, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      for (const message of messagesOf(database, id)) {
        const parts = database.all('SELECT data FROM part WHERE message_id = ? ORDER BY id', message);
        const data = recordIn(database.get('SELECT data FROM message WHERE id = ?', message)?.data);
        yield* stepsOf({ id: message, data, parts: parts.map((part) => recordIn(part.data)) });
      }
    } finally {
      database.close();
    }
  },
};

/** The ids of its messages, without those that the user has taken back. */
function messagesOf(database: Sqlite, session: string): string[] {
  const revert = recordIn(database.get('SELECT revert FROM session WHERE id = ?', session)?.revert);
  const ids = database.all('SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id', session);
  const messages = ids.map(({ id }) => String(id));
  const end = messages.indexOf(String(revert.messageID ?? ''));
  return end < 0 ? messages : messages.slice(0, end);
}

/** A sub-agent's session may have one of its own; `written`: a part may be written without its session. */
const ALL = `WITH RECURSIVE tree(id, main, title) AS (
    SELECT id, NULL, NULL FROM session WHERE parent_id IS NULL
    UNION ALL SELECT session.id, COALESCE(main, parent_id), session.title FROM session JOIN tree ON parent_id = tree.id)
  SELECT session.id, directory, main, tree.title,
    MAX(time_updated, COALESCE((SELECT MAX(time_updated) FROM part WHERE session_id = session.id), 0)) AS time_updated
  FROM tree JOIN session USING (id) ORDER BY session.time_created`;

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
    const path = `${directoryIn('XDG_DATA_HOME', '.local/share', { env })}/opencode/opencode.db`;
    const database = openSqlite(path, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      return look(database, path);
    } finally {
      database.close();
    }
  }, none);
}
