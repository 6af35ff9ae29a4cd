import { BINARY, DIST, ROOT } from './binary.ts';

export { BINARY, DIST, ROOT };

/** One way to start a hook, and why it cannot be used here if so. */
export type Runner = {
  readonly name: string;
  readonly command: (hook: string) => readonly string[];
  readonly unusable?: string;
};

export const BINARY_RUNNER: Runner = { name: 'the binary', command: (hook) => [BINARY, 'hook', hook] };

const DRIVER_PROBE = `new (require('${ROOT}/node_modules/better-sqlite3'))(':memory:').close()`;

export const NODE_RUNNER: Runner = {
  name: 'Node',
  command: (hook) => ['node', `${DIST}/node/${hook}.mjs`],
  ...(canRun(['node', '-e', DRIVER_PROBE])
    ? {}
    : { unusable: 'this machine has no Node or no built better-sqlite3' }),
};

export const RUNNERS = [BINARY_RUNNER, NODE_RUNNER];

export function canRun(command: string[]): boolean {
  try {
    return Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;
  } catch {
    return false; // There is no such program.
  }
}

/** Says in the report what was not looked at; true so that a test can return on it. */
export function notTested(what: string, reason: string): true {
  console.warn(`NOT TESTED HERE: ${what}: ${reason}`);
  return true;
}
