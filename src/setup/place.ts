import { basename, join, posix, win32 } from 'node:path';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { realPath } from '../sys/atomic-file.ts';
import type { Owner } from './hook-command.ts';
import type { Failure } from './steps.ts';

/** Where everything is that install, uninstall and doctor deal with. */
export type Place = {
  readonly kind: 'found';
  readonly paths: StatePaths;
  readonly userHome: string | undefined;
  readonly claudeDirectory: string;
  readonly settings: string;
};

/** Where our files and the client's settings are: CLAUDE_CONFIG_DIR when it is set, else `~/.claude`. */
export function locate(env: Environment, platform: string): Place | Failure {
  const failed = (reason: string, advice: string): Failure => {
    return { kind: 'failed', action: 'find out where to install', reason, advice };
  };
  const paths = statePaths(env, platform);
  const userHome = (platform === 'win32' ? env.USERPROFILE : undefined) ?? env.HOME;
  const claudeDirectory = env.CLAUDE_CONFIG_DIR || (userHome && `${userHome}/.claude`);
  if (paths === undefined || !claudeDirectory)
    return failed('HOME is not set to an absolute path', 'Set it and run again.');
  if (!(platform === 'win32' ? win32 : posix).isAbsolute(claudeDirectory)) {
    const [name, value] = env.CLAUDE_CONFIG_DIR
      ? ['CLAUDE_CONFIG_DIR', env.CLAUDE_CONFIG_DIR]
      : ['HOME', userHome];
    const advice = `Set it to an absolute path${name === 'HOME' ? '' : ', or unset it,'} and run again.`;
    return failed(`${name} is "${value}", which is not an absolute path`, advice);
  }
  return {
    kind: 'found',
    paths,
    userHome,
    claudeDirectory,
    settings: join(claudeDirectory, 'settings.json'),
  };
}

/** By what our entries are recognised: every spelling of the binary's path that a settings file may hold. */
export function ownerOf(place: Place, platform: string, binaryBefore: string | undefined): Owner {
  const { paths, userHome } = place;
  const inRealDirectory = `${realPath(paths.hooks)}/${basename(paths.binary)}`;
  const binaries = [paths.binary, realPath(paths.binary), inRealDirectory, binaryBefore ?? paths.binary];
  const scripts =
    userHome === undefined ? [paths.hooks] : [paths.hooks, `${userHome}/.self-generation/hooks`];
  return {
    binaries: [...new Set(binaries)],
    predecessorDirectories: [...new Set(scripts)],
    userHome,
    platform,
  };
}
