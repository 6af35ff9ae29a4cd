import { learn } from '../lessons/learn.ts';
import type { Db } from '../store/connection.ts';
import { readLog, saveLearnt } from '../store/lessons.ts';
import { namedByManifests } from './manifests.ts';

/** So much of a session's end is looked at while somebody waits. */
const SESSION_ROWS_MAX = 400;

/** Learns from the newest calls of one session: what an agent has just found out, the next one is told. */
export function learnSession(projectPath: string, sessionId: string, db: Db): void {
  const log = readLog({ projectPath, sessionId, rowsMax: SESSION_ROWS_MAX }, db);
  const options = { projectPath, scope: 'session' } as const;
  db.sqlite.transaction(() =>
    saveLearnt(learn(log, projectPath, namedByManifests(projectPath)), options, db),
  );
}

/** Learns from all that is known of a project, and withdraws what has turned out wrong. */
export function learnProject(projectPath: string, db: Db): void {
  const groups = learn(readLog({ projectPath }, db), projectPath, namedByManifests(projectPath));
  const options = { projectPath, scope: 'project' } as const;
  db.sqlite.transaction(() => saveLearnt(groups, options, db));
}
