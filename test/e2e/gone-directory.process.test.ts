import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { readEvents, temporaryHome } from '../support/home.ts';
import { contextOf, type ProcessResult, runProgram } from '../support/hook-process.ts';
import { agentStart, type Payload, prompt } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';

/** Runs the program where its directory was removed a moment before, as a worktree is under a session. */
function runInGone(home: string, words: readonly string[], payload: Payload = {}): Promise<ProcessResult> {
  const cwd = `${home}/worktree`;
  mkdirSync(cwd, { recursive: true });
  const command = ['sh', '-c', 'rmdir "$PWD" && exec "$@"', 'sh', BINARY, ...words];
  return runProgram(command, { home, cwd, stdin: JSON.stringify({ ...payload, cwd }) });
}

// Elsewhere such a process cannot be started, or there is no way to start Bun in it.
describe.if(process.platform === 'linux')('where the working directory has been removed', () => {
  for (const { name, event } of HOOKS) {
    test(`${name} ends with 0 and says no error`, async () => {
      using home = temporaryHome();
      const payload = { hook_event_name: event, session_id: 's' };
      expect(await runInGone(home.path, ['hook', name], payload)).toMatchObject({ exitCode: 0, stderr: '' });
    });
  }

  test('a prompt is recorded', async () => {
    using home = temporaryHome();
    await runInGone(home.path, ['hook', 'prompt-logger'], prompt('hi'));
    expect(readEvents(home.paths, 'prompt')).toHaveLength(1);
  });

  test('a sub-agent is told what is known', async () => {
    using home = temporaryHome();
    seedErrors(home.paths, [{ error: 'a well-known error', projectPath: `${home.path}/worktree` }]);
    const result = await runInGone(home.path, ['hook', 'subagent-context'], agentStart('executor'));
    expect(contextOf(result)).toContain('a well-known error');
  });

  test('the script of an applied suggestion is called and vetoes nothing', async () => {
    using home = temporaryHome();
    const words = ['hook', 'script', 's1a2b3c4d5e'];
    expect(await runInGone(home.path, words)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('a command that is about the directory says that it is gone, and another one works', async () => {
    using home = temporaryHome();
    expect(await runInGone(home.path, ['config', 'get', 'language'])).toMatchObject({ stdout: 'ko\n' });
    expect(await runInGone(home.path, ['subagents', 'spawn', 'x'])).toMatchObject({
      exitCode: 1,
      stderr: 'error: The current directory is gone: change to one that is there\n',
    });
  });
});
