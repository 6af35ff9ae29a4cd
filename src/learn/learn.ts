import type { Db } from '../store/connection.ts';

/** Learns from what has just been recorded of a session. */
export function learnSession(_project: string, _sessionId: string, _db: Db, _now: Date): void {}

/** Learns from all that is recorded of a project. */
export function learnProject(_project: string, _db: Db, _now: Date): void {}
