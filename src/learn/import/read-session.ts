import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { projectAt } from '../../hooks/project.ts';
import { loadConfig } from '../../store/config.ts';
import type { Db } from '../../store/connection.ts';
import type { MergedTranscripts } from './merge-transcripts.ts';
import { PastContexts } from './past-context.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { LOOK_BACK_BYTES, SessionImport } from './session-import.ts';
import type { TranscriptSession } from './transcript-files.ts';
import { takingTurns } from './turns.ts';

export type SessionReading = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly now: Date;
  readonly budget: ReadingBudget;
  /** Nobody waits: it takes turns with those who record, and looks far back for the call of a result. */
  readonly isThorough: boolean;
};

export type ReadSession = {
  readonly transcripts: MergedTranscripts | undefined;
  /** Of which something was recorded. */
  readonly projects: ReadonlySet<string>;
};

/** Records what the files of one session have; gives what was read. Throws what SQLite throws. */
export function readSession(
  session: TranscriptSession,
  { paths, env, now, budget, isThorough }: SessionReading,
  db: Db,
): ReadSession {
  const contexts = new PastContexts({
    config: loadConfig(paths),
    env,
    projectAt: (directory) => projectAt(directory, env),
  });
  const reading = new SessionImport(
    {
      contexts,
      paths,
      now: () => now,
      inTurn: isThorough ? takingTurns() : (work) => work(),
      budget,
      lookBackBytes: isThorough ? LOOK_BACK_BYTES : 0,
    },
    db,
  );
  const transcripts = reading.take(session);
  reading.write();
  return { transcripts, projects: reading.projects };
}
