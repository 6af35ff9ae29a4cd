import type { Db } from '../../src/database/connection.ts';
import type { Remedy } from '../../src/lessons/lesson.ts';
import { saveLearnt } from '../../src/lessons/store/lesson-log.ts';

export type LearntSeed = {
  readonly key: string;
  readonly said?: string;
  readonly remedy: Remedy;
  readonly projectPath: string;
  /** When it helped last. */
  readonly ts: string;
};

/** A lesson as the log gives it: it failed once, and in one session something else helped once. */
export function seedLearnt({ key, said = key, remedy, projectPath, ts }: LearntSeed, db: Db): void {
  const once = { sessions: 1, agents: 1, failed: 1, helped: 1 };
  const evidence = { ...once, first: ts, last: ts, failedCalls: [], helpedCalls: [] };
  const group = { key, sessions: 1, isOpen: true, lesson: { key, said, remedy, evidence } };
  saveLearnt([group], { projectPath, scope: 'project' }, db);
}
