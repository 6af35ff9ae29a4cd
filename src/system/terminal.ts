import { closeSync, constants, openSync, readlinkSync, writeSync } from 'node:fs';
import type { ProcessIdentity } from './process-identity.ts';
import { identityNow, isSameProcess, seen } from './process-identity.ts';
import { processesAbove } from './processes.ts';

/** Where a person may be told something. `owner`: as long as it lives, the terminal is the same. */
export type Terminal = { readonly path: string; readonly owner: ProcessIdentity };

/** The terminals of people: where this process was asked for something, and telling something there. */

const STREAMS = [0, 1, 2];

/**
 * The terminal of this process, or else of the nearest one above it that has one, such as the client whose tool started us.
 * Null where there is none, and where the system does not tell.
 */
export function terminalAbove(): Terminal | null {
  if (process.platform !== 'linux') return null;
  const chain = [process.pid, ...processesAbove(process.pid)];
  const first = chain.findIndex((pid) => terminalOf(pid) !== undefined);
  const path = terminalOf(chain[first] ?? 0);
  if (path === undefined) return null;
  // The shell lives as long as the window does, what was typed into it does not.
  const rest = chain.slice(first);
  const end = rest.findIndex((pid) => terminalOf(pid) !== path);
  const owner = rest[(end < 0 ? rest.length : end) - 1] ?? process.pid;
  return { path, owner: identityNow(owner) };
}

/** A notification of the terminal (OSC 9, as iTerm2 has it) and its bell. Returns false if nobody could be told. */
export function notifyTerminal({ path, owner }: Terminal, text: string): boolean {
  if (!isSameProcess(owner) || terminalOf(owner.pid) !== path) return false;
  return seen(() => {
    const terminal = openSync(path, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
    try {
      return writeSync(terminal, `\x1b]9;${text}\x1b\\\x07`) > 0;
    } finally {
      closeSync(terminal);
    }
  }, false);
}

function terminalOf(pid: number): string | undefined {
  const files = STREAMS.map((stream) => seen(() => readlinkSync(`/proc/${pid}/fd/${stream}`), ''));
  return files.find((file) => /^\/dev\/(?:pts\/\d+|tty\d+)$/.test(file));
}
