import { spawn } from 'node:child_process';
import type { Environment } from '../core/state-paths.ts';
import { findProgram } from '../system/run-command.ts';

/** Shows a file by what the platform opens files with. No shell sees the path. */

/** The program and its arguments; undefined where there is no screen to open anything on. */
export function openerOf(path: string, env: Environment, platform: string): readonly string[] | undefined {
  if (platform === 'darwin') return ['open', path];
  // `start` is a word of a shell. This is what it calls.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', path];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open', path] : undefined;
}

/** An opener that has not failed by then has opened the file: some live as long as the browser that they start. */
const FAILS_WITHIN_MS = 2000;

/** Opens the file. Resolves with why it was not, `undefined` when it was; the opener is left alone then. Never throws. */
export function openFile(path: string, env: Environment, platform: string): Promise<string | undefined> {
  const [name, ...args] = openerOf(path, env, platform) ?? [];
  if (name === undefined) return Promise.resolve('there is no screen here');
  const program = findProgram(name, env, platform);
  if (program === undefined) return Promise.resolve(`"${name}" is not on the PATH`);
  return new Promise((resolve) => {
    const child = spawn(program, args, { env, detached: true, stdio: 'ignore', windowsHide: true });
    const settle = (reason?: string) => {
      clearTimeout(timer);
      child.unref();
      resolve(reason);
    };
    const timer = setTimeout(settle, FAILS_WITHIN_MS);
    child.once('error', ({ message }) => settle(message));
    child.once('exit', (code) => settle(code === 0 ? undefined : `"${name}" ended with ${code}`));
  });
}
