import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { seen, statOf } from './process-identity.ts';
import { environmentOf } from './process-tree.ts';

/** A chain of processes that is longer runs in a circle. */
const LEVELS_MAX = 64;

/**
 * Whether a process above this one was started with the variable, however its own environment looks by now. False where
 * the system does not tell.
 */
export function isSetAbove(name: string, pid: number = process.pid): boolean {
  return processesAbove(pid).some((parent) => environmentOf(parent).includes(`\0${name}=`));
}

/**
 * The first of these programs that a process above this one runs, itself or by an interpreter: what a shell starts last
 * takes the shell's place, and its environment with it. Undefined where the system does not tell.
 */
export function programAbove(names: readonly string[], pid: number = process.pid): string | undefined {
  const running = processesAbove(pid).flatMap(programsOf);
  return names.find((name) => running.includes(name));
}

/** The processes above this one, the nearest first. Empty where the system does not tell. */
export function processesAbove(pid: number): number[] {
  const above: number[] = [];
  if (process.platform !== 'linux') return above;
  let parent = statOf(pid)?.parent ?? 0;
  while (above.length < LEVELS_MAX && parent > 1) {
    above.push(parent);
    parent = statOf(parent)?.parent ?? 0;
  }
  return above;
}

const INTERPRETER = /^(?:node|bun|deno)$/;

/** The names by which the process was called: `codex`, or also that of the script in `node …/bundle/gemini.js`. */
function programsOf(pid: number): string[] {
  const words = seen(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0');
  const program = nameOf(words[0] ?? '');
  const script = INTERPRETER.test(program) ? words.slice(1).find((word) => !word.startsWith('-')) : undefined;
  return script === undefined ? [program] : [program, nameOf(script)];
}

function nameOf(path: string): string {
  return basename(path).replace(/\.(?:exe|[cm]?js)$/, '');
}
