import type { RunsWorld } from '../subagents/features.ts';
import { runsWorld } from '../subagents/world.ts';
import type { CliContext } from './context.ts';

/** The world of background runs as a command sees it; undefined when no home directory is known. */
export function worldOf(context: CliContext): RunsWorld | undefined {
  const { env, platform, cwd, executablePath, isCompiled, now } = context;
  return runsWorld({ env, platform, cwd, executablePath, isCompiled, now });
}
