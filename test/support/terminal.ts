import { stripVTControlCharacters } from 'node:util';
import type { Environment } from '../../src/core/state-paths.ts';

/** A program on a terminal of its own, and a person who types. */
export type TerminalProgram = AsyncDisposable & {
  /** All that it has shown so far, without control sequences. */
  readonly shown: () => string;
  /** The same as it came. */
  readonly bytes: () => string;
  readonly type: (text: string) => void;
  readonly exited: Promise<number>;
  readonly kill: (signal: NodeJS.Signals) => void;
};

export type TerminalOptions = {
  readonly cwd: string;
  readonly env: Environment;
  readonly columns?: number;
};

const COLUMNS = 120;
const ROWS = 40;

/** Starts the program on a new pseudo-terminal. */
export function startOnTerminal(
  command: string[],
  { cwd, env, columns = COLUMNS }: TerminalOptions,
): TerminalProgram {
  const decoder = new TextDecoder();
  let said = '';
  const child = Bun.spawn(command, {
    cwd,
    env: { ...env, TERM: 'xterm-256color' },
    terminal: {
      cols: columns,
      rows: ROWS,
      data(_terminal, bytes) {
        said += decoder.decode(bytes, { stream: true });
      },
    },
  });
  return {
    shown: () => stripVTControlCharacters(said),
    bytes: () => said,
    type: (text) => void child.terminal?.write(text),
    exited: child.exited,
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
      child.terminal?.close();
    },
  };
}
