import { spawn } from 'node:child_process';
import type { Environment } from '../core/state-paths.ts';

/**
 * Runs a program, without a shell, on this process' own terminal; gives its exit code, or what a shell would say of a
 * signal. @throws Error from the system when it cannot be started.
 */
export function runAttached(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 143)));
  });
}
