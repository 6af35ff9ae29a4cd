import { redactSecrets } from '../core/redact.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { cutText, oneLine } from '../core/text.ts';
import { appendToLog } from '../system/failure-log.ts';
import { currentDirectory, type ProcessIdentity, RUN_VARIABLE } from '../system/process-identity.ts';
import { isSetAbove } from '../system/processes.ts';

/** A turn by its run and number. */
export type TurnKey = { readonly runId: string; readonly number: number };

/** The process and its environment, as far as background runs depend on them. */
export type RunsWorld = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly platform: string;
  readonly cwd: string;
  /** The program that supervisors are started with: `process.execPath`. */
  readonly executablePath: string;
  readonly isCompiled: boolean;
  readonly now: () => Date;
  /** Supervises turns in this process; the others get processes of their own. */
  readonly ownSupervisors?: {
    /** Begins to, if this turn is for this process. */
    readonly begin: (turn: TurnKey) => boolean;
    /** Whether this process was the turn's owner and has left it. */
    readonly hasLeft: (turn: TurnKey & { readonly owner: ProcessIdentity | null }) => boolean;
  };
};

/** `limit`: a limit is reached, so that it can succeed later or with another setting. */
export type Refusal = {
  readonly status: 'error' | 'forbidden';
  readonly error: string;
  readonly limit?: true;
};

/** The values of this process. */
export function thisProcess(): Omit<RunsWorld, 'paths'> {
  return {
    env: process.env,
    platform: process.platform,
    cwd: currentDirectory(),
    executablePath: process.execPath,
    isCompiled: Bun.isStandaloneExecutable,
    now: () => new Date(),
  };
}

/** The world of a process; undefined when no home directory is known. */
export function runsWorld(process: Omit<RunsWorld, 'paths'>): RunsWorld | undefined {
  const paths = statePaths(process.env, process.platform);
  return paths && { ...process, paths };
}

/** The command that starts this program again. */
export function ownProgram({ executablePath, isCompiled }: RunsWorld): readonly [string, ...string[]] {
  return isCompiled ? [executablePath] : [executablePath, `${import.meta.dir}/../main.ts`];
}

/** Names the checkpoint at which a test kills the process. */
export const CHECKPOINT_VARIABLE = 'SELF_GENERATION_CRASH_AT';

/** Kills this process when the environment names this checkpoint. */
export function checkpoint(place: string, env: Environment): void {
  if (env[CHECKPOINT_VARIABLE] === place) process.kill(process.pid, 'SIGKILL');
}

const MESSAGE_LENGTH_MAX = 1000;

/** Logs a failure around a run to logs/runs.log. Never throws. */
export function logRunFailure(run: string, failure: unknown, { runsLog }: StatePaths): void {
  const words = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
  const message = redactSecrets(oneLine(cutText(words, MESSAGE_LENGTH_MAX)));
  appendToLog(runsLog, { ts: new Date().toISOString(), run, message });
}

/** The result of the work; undefined after logging why it failed. Never throws. */
export function orLogged<T>(run: string, paths: StatePaths, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    logRunFailure(run, error, paths);
    return undefined;
  }
}

/** Whether this process is part of a run: by its own environment, or by that of a parent where it was emptied. */
export function isInsideRun({ env }: RunsWorld): boolean {
  return (env[RUN_VARIABLE] ?? '') !== '' || isSetAbove(RUN_VARIABLE);
}
