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

describe('runLiveCheck()', () => {
  const rows: [when: string, () => readonly [client: string, binary: string], reason: RegExp][] = [
    ['the binary cannot be started', () => ['true', '/nonexistent'], /install failed: .*\/nonexistent/],
    ['install fails', () => ['true', 'false'], /install ended with exit code 1/],
    ['the client cannot be started', () => ['/nonexistent', 'true'], /the client failed: .*\/nonexistent/],
    ['the client fails', () => ['false', 'true'], /the client ended with exit code 1/],
    ['the time is over', () => [endless, 'true'], /the client took too long/],
  ];
  for (const [when, paths, reason] of rows)
    test(`fails and leaves nothing behind when ${when}`, async () => {
      const [clientPath, binaryPath] = paths();
      const timeoutMs = clientPath === endless ? 100 : 10_000;
      const env = { ...process.env, TMPDIR: directory };
      const report = await runLiveCheck({ clientPath, binaryPath, env, timeoutMs });
      const failed = { kind: 'failed', clientVersion: undefined, reason: expect.stringMatching(reason) };
      expect(report).toEqual(failed as typeof report);
      expect((await readdir(directory)).filter((name) => name.startsWith('sg-live-'))).toEqual([]);
    });
});

describe('clientEnvironment()', () => {
  test('passes on nothing of the caller but the PATH and the locale', () => {
    const directories = { home: '/h', project: '/p', temporary: '/t', bin: '/b' };
    const secret = { ANTHROPIC_API_KEY: 'real', ANTHROPIC_AUTH_TOKEN: 'real', HTTPS_PROXY: 'http://real' };
    const ours = { PATH: '/usr/bin', LANG: 'C.UTF-8', HOME: '/real', CLAUDE_CONFIG_DIR: '/real' };
    const caller = { ...secret, ...ours };
    const env = clientEnvironment(caller, directories, 'http://127.0.0.1:1');
    expect(env).toMatchObject({ HOME: '/h', LANG: 'C.UTF-8', ANTHROPIC_API_KEY: 'dummy' });
    expect(env.PATH.split(':')).toEqual(['/b', '/usr/bin']);
    expect(Object.values(env).filter((value) => String(value).includes('real'))).toEqual([]);
  });
});
