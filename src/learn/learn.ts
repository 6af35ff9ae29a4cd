import { learn } from '../lessons/learn.ts';
import type { ErrorGroup } from '../lessons/lesson.ts';
import type { Db } from '../store/connection.ts';
import { newestEvent } from '../store/imports.ts';
import { noteLearnt, readLog, saveLearnt } from '../store/lessons.ts';
import { namedByManifests } from './manifests.ts';

/** So much of a session's end is looked at while somebody waits. */
const SESSION_ROWS_MAX = 400;

/** In both the database is held for nothing but writing. */

/** Learns from the newest calls of one session: what an agent has just found out, the next one is told. */
export function learnSession(projectPath: string, sessionId: string, db: Db): void {
  const groups = learnFrom(readLog({ projectPath, sessionId, rowsMax: SESSION_ROWS_MAX }, db), projectPath);
  if (groups.length === 0) return;
  db.sqlite.transaction(() => saveLearnt(groups, { projectPath, scope: 'session' }, db));
}

/** Learns from all that is known of a project, and withdraws what has turned out wrong. */
export function learnProject(projectPath: string, db: Db): void {
  const newest = newestEvent(db); // Before the log is read: what comes in meanwhile is still to be learnt from.
  const groups = learnFrom(readLog({ projectPath }, db), projectPath);
  db.sqlite.transaction(() => {
    saveLearnt(groups, { projectPath, scope: 'project' }, db);
    noteLearnt(projectPath, newest, db);
  });
}

function learnFrom(log: ReturnType<typeof readLog>, projectPath: string): ErrorGroup[] {
  return learn(log, projectPath, namedByManifests(projectPath));
}
