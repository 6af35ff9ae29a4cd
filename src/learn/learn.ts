import { learn } from '../lessons/learn.ts';
import type { Db } from '../store/connection.ts';
import { type LearntOptions, readLog, saveLearnt } from '../store/lessons.ts';
import { namedByManifests } from './manifests.ts';

/** So much of a session's end is looked at while somebody waits. */
const SESSION_ROWS_MAX = 400;

/** Learns from the newest calls of one session: what an agent has just found out, the next one is told. */
export function learnSession(projectPath: string, sessionId: string, db: Db): void {
  learnFrom(
    readLog({ projectPath, sessionId, rowsMax: SESSION_ROWS_MAX }, db),
    { projectPath, scope: 'session' },
    db,
  );
}

/** Learns from all that is known of a project, and withdraws what has turned out wrong. */
export function learnProject(projectPath: string, db: Db): void {
  learnFrom(readLog({ projectPath }, db), { projectPath, scope: 'project' }, db);
}

/** The database is held for nothing but writing. */
function learnFrom(log: ReturnType<typeof readLog>, options: LearntOptions, db: Db): void {
  const groups = learn(log, options.projectPath, namedByManifests(options.projectPath));
  if (groups.length > 0) db.sqlite.transaction(() => saveLearnt(groups, options, db));
}
