import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { temporaryHome } from '../support/home.ts';
import { runHookProcess, runProgram } from '../support/hook-process.ts';
import { payload, prompt } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';

// What a process opens is seen on Linux alone, with a program that not every machine has.
const traced = test.skipIf(process.platform !== 'linux' || Bun.which('strace') === null);

traced('SessionStart opens the database once when there is a transcript to be read', async () => {
  using home = temporaryHome();
  await runHookProcess(prompt('hi'), { home: home.path });
  const transcript = home.put('transcript.jsonl', '');
  const trace = `${home.path}/trace`;
  const command = ['strace', '-e', 'trace=open,openat', '-o', trace, BINARY, 'hook'];
  const stdin = JSON.stringify({ ...payload('session-start'), transcript_path: transcript });
  expect(await runProgram(command, { home: home.path, stdin })).toMatchObject({ exitCode: 0 });
  expect(readFileSync(trace, 'utf8').match(/self-gen\.db", .*\) = \d/g)).toHaveLength(1);
});
