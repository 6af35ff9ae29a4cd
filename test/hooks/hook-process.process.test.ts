import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { hookFailures, readEvents, spoolFiles } from '../support/home.ts';
import { answerIn, contextOf, insideFrame, runHookProcess } from '../support/hook-process.ts';
import { agentStart, bashFailure, type Payload, payload, prompt } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';
import { BINARY } from '../support/program.ts';
import { seedErrors, seedFixes } from '../support/seed.ts';

/** runHook() writes to standard output and leaves its database open, so it is looked at from outside its process. */

const home = homePerTest();
const run = (input: Payload, env = {}) => runHookProcess(input, { home: home.path, env });
const NOTHING = { exitCode: 0, stdout: '', stderr: '' };

describe('runHook()', () => {
  test('does nothing at all inside a model process of our own', async () => {
    for (const name of readdirSync(`${import.meta.dir}/../fixtures/hook-payloads`)) {
      const input = payload(name.replace('.json', ''));
      expect(await run(input, { SELF_GENERATION_INTERNAL: '1' })).toMatchObject(NOTHING);
      expect(readdirSync(home.path), name).toEqual([]);
    }
    await run(prompt('hi'), { SELF_GENERATION_INTERNAL: '0' });
    expect(readEvents(home.paths)).toHaveLength(1);
  });

  test('does nothing at all when it is switched off', async () => {
    home.writeConfig({ enabled: false });
    const inputs = [prompt('hi'), bashFailure('boom'), agentStart('executor'), payload('session-end')];
    for (const input of inputs) expect(await run(input)).toMatchObject(NOTHING);
    expect(readdirSync(home.paths.home)).toEqual(['config.json']);
    home.writeConfig({ enabled: true });
    await run(prompt('hi'));
    expect(readEvents(home.paths)).toHaveLength(1);
  });

  test('makes no database for a hook that only reads', async () => {
    for (const input of [agentStart('executor'), payload('pre-tool-use-bash'), payload('session-start')])
      expect(await run(input)).toMatchObject(NOTHING);
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('notes when each event last came in', async () => {
    mkdirSync(home.paths.home);
    for (const { event } of HOOKS) await run(payload(FIXTURE[event]));
    expect(readdirSync(home.paths.heartbeats).sort()).toEqual(
      [...new Set(HOOKS.map((hook) => String(hook.event)))].sort(),
    );
  });

  test('answers although the recording has to wait', async () => {
    seedFixes(home.paths, [{ error: 'boom in tests', resolution: 'a fix' }]);
    const lock = new Database(home.paths.database);
    lock.run('BEGIN IMMEDIATE');
    const result = await run(bashFailure('Exit code 1\nboom in tests'));
    expect(contextOf(result)).toContain('a fix');
    expect(readEvents(home.paths)).toEqual([]);
    expect(spoolFiles(home.paths)).toHaveLength(1);
    expect(hookFailures(home.paths).map((entry) => entry.hook)).toEqual(['PostToolUseFailure']);
    lock.run('ROLLBACK');
    lock.close();
    // A hook that has nothing of its own to record takes it in as well.
    await run(payload('session-start'));
    expect(readEvents(home.paths).map((event) => event.type)).toEqual(['tool_error']);
    expect(existsSync(home.paths.spool)).toBe(false);
  });

  test('records although nobody reads the answer', async () => {
    seedFixes(home.paths, [{ error: 'boom in tests', resolution: 'a fix' }]);
    const child = Bun.spawn(['sh', '-c', `exec "$0" hook error-logger >&-`, BINARY], {
      env: { HOME: home.path },
      stdin: Buffer.from(JSON.stringify(bashFailure('Exit code 1\nboom in tests'))),
      stderr: 'pipe',
    });
    expect(await child.exited).toBe(0);
    expect(readEvents(home.paths)).toHaveLength(1);
  });

  test('returns one JSON document in well-formed UTF-8, whatever was stored', async () => {
    seedErrors(home.paths, [{ error: 'broken \ud83d surrogate' }, { error: '한글 에러 🎉 \u0007' }]);
    const result = await run(agentStart('executor'));
    expect(insideFrame(answerIn(result.stdoutBytes)?.additionalContext)).toBe(
      '이 프로젝트의 최근 에러 패턴:\n- 한글 에러 🎉 (Bash)\n- broken \ufffd surrogate (Bash)',
    );
  });
});

const FIXTURE = {
  UserPromptSubmit: 'user-prompt-submit',
  PreToolUse: 'pre-tool-use-bash',
  PostToolUse: 'post-tool-use-bash',
  PostToolUseFailure: 'post-tool-use-failure-bash',
  PostToolBatch: 'post-tool-batch',
  SubagentStart: 'subagent-start',
  SubagentStop: 'subagent-stop',
  Stop: 'stop',
  SessionStart: 'session-start',
  SessionEnd: 'session-end',
} as const;
