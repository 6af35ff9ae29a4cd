import { type StatePaths, statePaths } from '../core/state-paths.ts';
import { currentDirectory } from '../sys/process.ts';
import type { RunsWorld } from './features.ts';

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
