import type { StatePaths } from '../state-paths.ts';

/** Where the files of one turn are. */
export type TurnFiles = {
  /** Of the run, 0700. */
  readonly directory: string;
  /** What the client reads from its standard input. */
  readonly prompt: string;
  /** What it writes to its standard output, one JSON value a line. */
  readonly output: string;
  readonly errors: string;
  /** The client's own files of this turn. */
  readonly home: string;
  /** Those that all turns share: the home of no turn, which goes with the others when the run is archived. */
  readonly kept: string;
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
  const directory = runDirectory(paths, runId);
  const stem = `${directory}/turn-${turn}`;
  return {
    directory,
    prompt: `${stem}.prompt`,
    output: `${stem}.jsonl`,
    errors: `${stem}.stderr`,
    home: `${stem}.home`,
    kept: `${directory}/turn-0.home`,
  };
}
