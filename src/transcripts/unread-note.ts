import { readTextFile } from '#runtime';
import { isRecord, parseJson, readString, readTexts } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';

/** Why nothing could be learned from a session's transcript. */
const UNREAD_REASONS = ['missing', 'unreadable', 'unknown'] as const;
export type UnreadReason = (typeof UNREAD_REASONS)[number];

/** A session that had hooks, but no transcript that could be read. */
export type Unread = {
  readonly ts: string;
  readonly sessionId: string;
  readonly path: string;
  readonly reason: UnreadReason;
};

/** The newest one, and the sessions, newest last, within a few days of each other. */
export type UnreadNote = Unread & { readonly sessions: number; readonly sessionIds: readonly string[] };

const SESSIONS_MAX = 50;

const NOTE_AGE_MAX_MS = 7 * 86_400_000;

/** Notes it in one small file, for `status` and `doctor`. Never throws. */
export function noteUnread(unread: Unread, paths: StatePaths): void {
  const earlier = readUnreadNote(paths, new Date(unread.ts));
  const others = (earlier?.sessionIds ?? []).filter((id) => id !== unread.sessionId);
  const sessionIds = [...others, unread.sessionId].slice(-SESSIONS_MAX);
  try {
    const fs = process.getBuiltinModule('node:fs');
    const directory = paths.unreadNote.slice(0, paths.unreadNote.lastIndexOf('/'));
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (fs.statSync(paths.unreadNote, { throwIfNoEntry: false })?.isFile() === false) return;
    fs.writeFileSync(paths.unreadNote, JSON.stringify({ ...unread, sessionIds }), { mode: 0o600 });
  } catch {
    // The next hook that meets the same notes it.
  }
}

/** The note, unless it is a week old. Never throws. */
export function readUnreadNote(paths: StatePaths, now: Date): UnreadNote | undefined {
  const note = parseJson(readTextFile(paths.unreadNote) ?? '');
  if (!isRecord(note)) return undefined;
  const [ts = '', sessionId, path] = ['ts', 'sessionId', 'path'].map((key) => readString(note, key));
  const reason = UNREAD_REASONS.find((one) => one === note.reason);
  const isRecent = now.getTime() - Date.parse(ts) < NOTE_AGE_MAX_MS;
  if (sessionId === undefined || path === undefined || reason === undefined || !isRecent) return undefined;
  const sessionIds = readTexts(note.sessionIds);
  return { ts, sessionId, path, reason, sessionIds, sessions: Math.max(1, sessionIds.length) };
}
