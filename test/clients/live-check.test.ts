import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientEnvironment, removeDirectory, runLiveCheck } from '../../src/setup/live-check.ts';

/** How the check ends without a client that works; with one it is tested by claude-code.client.ts. */

let directory: string;
let endless: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sg-test-'));
  endless = join(directory, 'endless');
  await writeFile(endless, '#!/bin/sh\nexec tail -f /dev/null\n', { mode: 0o700 });
});
afterAll(() => removeDirectory(directory));

type Case = { readonly clientPath: string; readonly binaryPath: string; readonly timeoutMs?: number };

async function check({ clientPath, binaryPath, timeoutMs = 10_000 }: Case, reason: RegExp): Promise<void> {
  const env = { ...process.env, TMPDIR: directory };
  const report = await runLiveCheck({ clientPath, binaryPath, env, timeoutMs });
  expect(report).toEqual({ kind: 'failed', clientVersion: undefined, reason: expect.stringMatching(reason) });
  expect((await readdir(directory)).filter((name) => name.startsWith('sg-live-'))).toEqual([]);
}

describe('runLiveCheck()', () => {
  test('fails and leaves nothing behind when the binary cannot be started', () =>
    check({ clientPath: 'true', binaryPath: '/nonexistent' }, /install failed: .*\/nonexistent/));
  test('fails when install fails', () =>
    check({ clientPath: 'true', binaryPath: 'false' }, /install ended with exit code 1/));
  test('fails when the client cannot be started', () =>
    check({ clientPath: '/nonexistent', binaryPath: 'true' }, /the client failed: .*\/nonexistent/));
  test('fails when the client fails', () =>
    check({ clientPath: 'false', binaryPath: 'true' }, /the client ended with exit code 1/));
  test('fails when the time is over', () =>
    check({ clientPath: endless, binaryPath: 'true', timeoutMs: 100 }, /the client took too long/));
});

describe('clientEnvironment()', () => {
  test('passes on nothing of the caller but the PATH and the locale', () => {
    const directories = { home: '/h', project: '/p', temporary: '/t', bin: '/b' };
    const secret = { ANTHROPIC_API_KEY: 'real', ANTHROPIC_AUTH_TOKEN: 'real', HTTPS_PROXY: 'http://real' };
    const caller = {
      ...secret,
      PATH: '/usr/bin',
      LANG: 'C.UTF-8',
      HOME: '/real',
      CLAUDE_CONFIG_DIR: '/real',
    };
    const env = clientEnvironment(caller, directories, 'http://127.0.0.1:1');
    expect(env).toMatchObject({ HOME: '/h', LANG: 'C.UTF-8', ANTHROPIC_API_KEY: 'dummy' });
    expect(env.PATH.split(':')).toEqual(['/b', '/usr/bin']);
    expect(Object.values(env).filter((value) => String(value).includes('real'))).toEqual([]);
  });
});
