import { redactSecrets } from '../core/redact.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { cutText, oneLine } from '../core/text.ts';
import { appendToLog } from '../system/failure-log.ts';
import { currentDirectory } from '../system/process-identity.ts';

/** What is needed of the process that this runs in. */
export type RunsWorld = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly platform: string;
  readonly cwd: string;
  /** The program that supervisors are started with: `process.execPath`. */
  readonly executablePath: string;
  readonly isCompiled: boolean;
  readonly now: () => Date;
};

/** `limit`: it may be tried again when others have ended, or with another setting. */
export type Refusal = {
  readonly status: 'error' | 'forbidden';
  readonly error: string;
  readonly limit?: true;
};

/** This process, as the world of background runs sees it. */
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
  const paths: StatePaths | undefined = statePaths(process.env, process.platform);
  return paths && { ...process, paths };
}

/** The program that is started again as this one, and what its words begin with. */
export function ownProgram({ executablePath, isCompiled }: RunsWorld): readonly [string, ...string[]] {
  return isCompiled ? [executablePath] : [executablePath, `${import.meta.dir}/../main.ts`];
}

/** Names the place at which a test ends a process as hard as a power cut would. */
export const CHECKPOINT_VARIABLE = 'SELF_GENERATION_CRASH_AT';

/** Ends this process at once when the environment names this place. */
export function checkpoint(place: string, env: Environment): void {
  if (env[CHECKPOINT_VARIABLE] === place) process.kill(process.pid, 'SIGKILL');
}

const MESSAGE_LENGTH_MAX = 1000;

/** Notes what went wrong around a run: nobody watches a supervisor. Never throws. */
export function logRunFailure(run: string, failure: unknown, { runsLog }: StatePaths): void {
  const words = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
  const message = redactSecrets(oneLine(cutText(words, MESSAGE_LENGTH_MAX)));
  appendToLog(runsLog, { ts: new Date().toISOString(), run, message });
}

/** Does it; undefined when that fails, which is noted. Never throws. */
export function orLogged<T>(run: string, paths: StatePaths, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    logRunFailure(run, error, paths);
    return undefined;
  }
}
