import { tmpdir } from 'node:os';
import { type StatePaths, statePaths } from '../../core/state-paths.ts';
import type { Db } from '../../store/connection.ts';
import { countFixes } from '../../store/imports.ts';
import { pruneOldEvents } from '../../store/retention.ts';
import { copyDatabase, writeDatabase } from '../../store/use-database.ts';
import { ensurePrivateDirectory } from '../../sys/atomic-file.ts';
import { fileStamp } from '../../sys/runtime-bun.ts';
import { withTemporaryDirectory } from '../../sys/temporary-directory.ts';
import { learnProject } from '../learn.ts';
import { lookAtRepository } from '../repository.ts';
import { importTranscripts, type TranscriptImport, type TranscriptReport } from './import-transcripts.ts';
import { type InTurn, takingTurns } from './turns.ts';

export type ImportOptions = Omit<TranscriptImport, 'inTurn'> & {
  /** Works on a copy that is thrown away, so that the report says what would be done. */
  readonly isRehearsal: boolean;
};

export type ImportReport = {
  readonly transcripts: TranscriptReport;
  /** How many more errors have a known fix now. */
  readonly fixes: number;
  /** Rows that were removed at the end because of their age; what they taught stays. */
  readonly removed: number;
};

/** How the directory of a copied database begins. */
const COPY = 'import-';
const PRUNED_ROWS_MAX = 500;
const PRUNING_ROUNDS_MAX = 100_000;

/** Takes in transcripts. Can be repeated; after a failure, or a kill, it goes on where it stopped. */
export function importAll(options: ImportOptions): ImportReport {
  if (!options.isRehearsal) return writeDatabase(options.paths, (db) => importInto(options, db));
  const isThere = fileStamp(options.paths.database).bytes > 0;
  // A copy of what is private stays in a private place; without one nothing is made there for a rehearsal.
  const parent = isThere ? options.paths.home : tmpdir();
  return withTemporaryDirectory(parent, COPY, (directory) => {
    const paths = temporaryState(directory);
    if (isThere) copyDatabase(options.paths, paths.database);
    return writeDatabase(paths, (db) => importInto({ ...options, paths }, db));
  });
}

/** A state directory below a temporary one, ready for a database to be put there. */
function temporaryState(directory: string): StatePaths {
  const paths = statePaths({ SELF_GENERATION_HOME: directory }, process.platform);
  if (paths === undefined) throw new Error(`Cannot use "${directory}": it is not absolute`);
  ensurePrivateDirectory(paths.data);
  return paths;
}

function importInto(options: ImportOptions, db: Db): ImportReport {
  const inTurn = takingTurns();
  const fixesBefore = countFixes(db);
  const transcripts = importTranscripts({ ...options, inTurn }, db);
  for (const project of transcripts.projects) {
    learnProject(project, db);
    lookAtRepository(project, options.env, db);
  }
  const fixes = countFixes(db) - fixesBefore;
  return { transcripts, fixes, removed: prune(options, inTurn, db) };
}

function prune({ config, now }: ImportOptions, inTurn: InTurn, db: Db): number {
  let removed = 0;
  for (let round = 0; round < PRUNING_ROUNDS_MAX; round++) {
    const pruned = inTurn(() => pruneOldEvents(config.retentionDays, now(), db, PRUNED_ROWS_MAX));
    removed += pruned.removed;
    if (pruned.isComplete) break;
  }
  return removed;
}
