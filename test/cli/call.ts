import { expect } from 'bun:test';
import { type Command, CommanderError } from 'commander';
import pc from 'picocolors';
import type { CliContext } from '../../src/cli/context.ts';
import { asksForJson } from '../../src/cli/terminal/problem.ts';
import { connectServer } from '../../src/database/postgres.ts';
import type { Home } from '../support/home.ts';
import { type ProcessResult, runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';

export type CallOptions = { readonly env?: Record<string, string>; readonly stdin?: string };

/** Runs a command of the built program; no client is on its PATH unless the environment says so. */
export function call(
  home: Home,
  words: readonly string[],
  options: CallOptions = {},
): Promise<ProcessResult> {
  const env = { PATH: '/nowhere', ...options.env };
  return runProgram([BINARY, ...words], { ...options, home: home.path, env });
}

export type Answer = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs one command in this process. */
export async function callHere(
  make: (context: CliContext) => Command,
  words: readonly string[],
  changes: Partial<CliContext> = {},
): Promise<Answer> {
  const stdout: string[] = [];
  const stderr: string[] = [];
  let code = 0;
  const context: CliContext = {
    env: {},
    platform: 'linux',
    stdout: (text) => void stdout.push(text),
    verbatim: (text) => void stdout.push(text),
    isJson: asksForJson(words),
    written: async () => true,
    stderr: (text) => void stderr.push(text),
    progress: () => {},
    showsProgress: true,
    screen: () => undefined,
    onInterrupt: () => () => {},
    executablePath: BINARY,
    isCompiled: true,
    colours: pc.createColors(false),
    isInteractive: false,
    confirm: async () => false,
    ask: async () => undefined,
    agentMark: () => undefined,
    setExitCode: (given) => {
      code = given;
    },
    startWorker: () => Promise.reject(new Error('no worker is started from here')),
    now: () => new Date('2026-11-20T09:47:09.123Z'),
    cwd: '/',
    connectServer: (address) => connectServer(address),
    ...changes,
  };
  try {
    await make(context).parseAsync([...words], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** The answer of a command that has printed this, and nothing beside it. */
export const said = (stdout: string): Answer => ({ code: 0, stdout, stderr: '' });

/** The answer of a command that has ended with this code and said why. */
export const refused = (code: number, stderr: string): Answer => ({ code, stdout: '', stderr });

/** The answer of a command with --json that has ended with this error. `report`: what it tells beside that. */
export function refusedJson(
  code: keyof typeof CODES,
  message: string,
  hint?: string,
  report: object = {},
): Answer {
  const document = {
    ...report,
    type: 'error',
    error: { code, message, ...(hint === undefined ? {} : { hint }) },
  };
  return { code: CODES[code], stdout: `${JSON.stringify(document)}\n`, stderr: '' };
}

const CODES = { failed: 1, usage: 2, 'not-found': 3, forbidden: 4, limit: 5 };

/** What a command has printed that succeeded without a word on standard error. */
export function printed({ code, stdout, stderr }: Answer): string {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** A terminal at which somebody gives this answer to all that is asked. */
export function terminal(answer: boolean, asked: string[] = []): Partial<CliContext> {
  return {
    isInteractive: true,
    confirm: async (question) => asked.push(question) > 0 && answer,
    ask: async (question) => (asked.push(question) > 0 && answer ? 'y' : 'n'),
  };
}

/** The world of somebody who works on the project `app` in this home. */
export const inApp = (home: Home, changes: Partial<CliContext> = {}): Partial<CliContext> => {
  return { env: { HOME: home.path }, cwd: `${home.path}/app`, ...changes };
};
