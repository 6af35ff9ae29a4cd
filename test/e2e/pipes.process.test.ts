import { describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Home, spoolFiles, temporaryHome } from '../support/home.ts';
import { runHookProcess, runProgram } from '../support/hook-process.ts';
import { agentStart, bashFailure, payload, prompt } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';

/** What stands in place of a file: one of them waits for a writer for ever, the other one never ends. */
const STRANGE: readonly [what: string, put: (path: string) => unknown][] = [
  ['a pipe', (path) => Bun.spawnSync(['mkfifo', path])],
  ['a device', (path) => symlinkSync('/dev/zero', path)],
];
const FILES = [
  ...['data/self-gen.db', 'data/self-gen.db-journal', 'data/runs.db', 'config.json', 'install.json', 'spool'],
  ...['spool/00000000000001-1-a.json', 'logs/hooks.log', 'logs/unread.json', 'logs/runs.log'],
  ...['heartbeats/UserPromptSubmit', 'heartbeats/SubagentStart', 'data/applying-x.json'],
];
const FAILURE = bashFailure('Exit code 1\nboom');
const EVENTS = [prompt('hi'), agentStart('executor'), FAILURE, payload('session-start')];
const COMMANDS = [['status'], ['doctor'], ['errors', 'list'], ['config'], ['subagents', 'list'], ['install']];

async function installed(): Promise<Home> {
  const home = temporaryHome();
  await runHookProcess(FAILURE, { home: home.path });
  return home;
}

function replace(file: string, put: (path: string) => unknown, home: Home): void {
  const path = `${home.paths.home}/${file}`;
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  put(path);
}

describe.if(process.platform !== 'win32')('where there should be a file of ours', () => {
  for (const [what, put] of STRANGE) {
    for (const file of FILES) {
      test(`${what} at ${file} ends no hook badly, and every command ends`, async () => {
        using home = await installed();
        const env = { PATH: '/usr/bin:/bin' };
        for (const event of EVENTS) {
          replace(file, put, home);
          const result = await runHookProcess(event, { home: home.path, env });
          expect(result).toMatchObject({ exitCode: 0, stderr: '' });
        }
        for (const words of COMMANDS) {
          replace(file, put, home);
          const { exitCode, stderr } = await runProgram([BINARY, ...words], { home: home.path, env });
          expect([words, exitCode]).toEqual([words, expect.any(Number)]);
          expect(stderr).not.toContain('$bunfs');
        }
      }, 120_000);
    }
  }

  test('the database is named, and what cannot be recorded waits', async () => {
    using home = await installed();
    replace('data/self-gen.db', (path) => Bun.spawnSync(['mkfifo', path]), home);
    await runHookProcess(prompt('hi'), { home: home.path });
    expect(spoolFiles(home.paths)).toHaveLength(1);
    const { exitCode, stdout } = await runProgram([BINARY, 'doctor'], { home: home.path });
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining('a pipe or a device stands there')]);
  });
});
