import type { StatePaths } from '../state-paths.ts';
import { turnMark } from './turn.ts';

/** What one turn has of its own: where its files are, and by what its processes are known. */
export type TurnFiles = {
  /** Of the run or the analysis, 0700. */
  readonly directory: string;
  readonly prompt: string;
  /** What it writes to its standard output, one JSON value a line. */
  readonly output: string;
  readonly errors: string;
  readonly home: string;
  /** Those that all turns share: the home of no turn, which goes with the others when the run is archived. */
  readonly kept: string;
  /** In the environment of all its processes; no other turn on this machine has the same. */
  readonly mark: string;
};

const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** The directory of a run. @throws Error when the id is no id: it may come from outside, and becomes a path here. */
export function runDirectory(paths: StatePaths, runId: string): string {
  if (!RUN_ID.test(runId)) throw new Error(`Cannot name the directory of run "${runId}": this is no run id`);
  return `${paths.runs}/${runId}`;
}

/** The files of a turn. @throws Error when the id or the number is none. */
export function turnFiles(paths: StatePaths, runId: string, turn: number): TurnFiles {
  if (!Number.isSafeInteger(turn) || turn < 1) {
    throw new Error(`Cannot name the files of turn "${turn}" of run "${runId}": turns count from 1`);
  }
  return filesIn(runDirectory(paths, runId), turn, turnMark({ runId, number: turn }));
}

/** The files of an analysis, which asks one question at a time, by its row in the ledger. */
export function analysisFiles(
  { home }: Pick<StatePaths, 'home'>,
  { id, ts }: { readonly id: number; readonly ts: string },
): TurnFiles {
  const directory = `${home}/analysis-${id}`;
  return filesIn(directory, 1, `${directory} ${ts}`);
}

function filesIn(directory: string, turn: number, mark: string): TurnFiles {
  const stem = `${directory}/turn-${turn}`;
  return {
    directory,
    mark,
    prompt: `${stem}.prompt`,
    output: `${stem}.jsonl`,
    errors: `${stem}.stderr`,
    home: `${stem}.home`,
    kept: `${directory}/turn-0.home`,
  };
}
