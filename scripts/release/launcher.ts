#!/usr/bin/env node
/**
 * What npm installs as `self-generation`: runs the program in the package of this platform, in its own place: the same words,
 * streams, exit code and signals.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { programName, TARGETS, type Target } from './targets.ts';

/** What this machine is called, of which there may be no program. */
function platformName(): string {
  if (process.platform !== 'linux')
    return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return `linux-${process.arch}${header.glibcVersionRuntime === undefined ? '-musl' : ''}`;
}

/** The program's path. @throws Error that says what is missing and what to do */
function findProgram(): string {
  const name = platformName();
  const target = TARGETS.find((known): known is Target => known === name);
  if (target === undefined)
    throw new Error(`there is no program for ${name}. There are some for ${TARGETS.join(', ')}.`);
  const wanted = `@self-generation/${target}`;
  try {
    return createRequire(import.meta.url).resolve(`${wanted}/${programName(target)}`);
  } catch {
    throw new Error(
      `the package "${wanted}" with the program for this machine is missing. It is an optional dependency: install ` +
        'again without --omit=optional, on the machine that it is to run on.',
    );
  }
}

function fail(message: string): void {
  console.error(`self-generation: ${message}`);
  process.exitCode = 127;
}

function launch(program: string): void {
  const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
  // What is typed at a terminal reaches the program as well: it would have it twice.
  const isTyped = [0, 1, 2].some((descriptor) => isatty(descriptor));
  const forward = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' || !isTyped) child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, forward);
  child.once('error', (error) => fail(`"${program}" cannot be started: ${error.message}`));
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    // Ended by a signal, as the program was; where that does not end us, with the number that a shell gives for it.
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.removeListener(name, forward);
    process.kill(process.pid, signal);
    process.exitCode = 128 + constants.signals[signal];
  });
}

try {
  launch(findProgram());
} catch (error) {
  fail((error as Error).message);
}
