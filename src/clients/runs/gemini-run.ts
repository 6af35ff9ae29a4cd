import { type Json, readString } from '../../core/guards.ts';
import { PASSED_ON } from '../one-shot.ts';
import { concludeProgress, NO_PROGRESS, type Progress, restoreProgress, turnReader } from './reading.ts';
import type { ReaderStart, RunClient, TurnCommand, TurnReader, TurnRequest } from './run-client.ts';

/** Gemini CLI as a sub-agent, measured with 0.61.0. */
export const geminiRun: RunClient = {
  name: 'gemini',
  program: 'gemini',
  capabilities: {
    choosesSessionId: true,
    canFork: false,
    keepsBudget: false,
    usageArrives: 'at the end',
    politeSignal: 'SIGTERM',
    thinking: ['low', 'medium', 'high', 'xhigh', 'max'],
  },
  version: {
    args: ['--version'],
    read: (stdout) => /\b(\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1],
    measured: ['0.61.0'],
  },
  gaps: () => [],
  command,
  reader,
};

function command({ prompt, directory }: TurnRequest): TurnCommand {
  return {
    program: geminiRun.program,
    args: ['--output-format', 'stream-json'],
    stdin: prompt,
    files: {},
    env: { TMPDIR: directory },
    passedOn: PASSED_ON,
  };
}

function reader({ session }: ReaderStart): TurnReader {
  return turnReader<Progress>({
    initial: NO_PROGRESS,
    step: (state, line: Json) => ({
      state,
      events: [{ kind: 'unknown', type: readString(line, 'type') ?? '' }],
    }),
    restore: restoreProgress,
    conclude: (state, exit, stderr) => concludeProgress(state, { exit, stderr, session }),
  });
}
