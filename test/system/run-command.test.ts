import { describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, OUTPUT_BYTES_MAX, runCommand, withAbsolutePath } from '../../src/system/run-command.ts';
import { temporaryHome } from '../support/home.ts';

const OPTIONS = { env: { PATH: process.env.PATH }, timeoutMs: 10_000 };
const shell = (script: string, options = {}) => runCommand('sh', ['-c', script], { ...OPTIONS, ...options });

/** A process that has ended and waits to be collected by its parent does not count. */
async function isRunning(pid: number): Promise<boolean> {
  const result = await runCommand('ps', ['-o', 'stat=', '-p', String(pid)], OPTIONS);
  return result.kind === 'exited' && /^\s*[^Z\s]/.test(result.stdout);
}

describe('runCommand()', () => {
  test('returns exit code and both outputs', async () => {
    const result = await shell('echo out; echo 오류 >&2; exit 3');
    expect(result).toEqual({ kind: 'exited', code: 3, stdout: 'out\n', stderr: '오류\n' });
  });

  test('uses no shell, only the given environment and the given directory', async () => {
    const result = await runCommand('/usr/bin/env', ['-i', 'echo', '$HOME; ls *'], OPTIONS);
    expect(result).toMatchObject({ kind: 'exited', stdout: '$HOME; ls *\n' });
    const env = { PATH: process.env.PATH, GIVEN: 'yes', MISSING: undefined };
    const seen = await shell('pwd; echo "$GIVEN$HOME"; env | grep -c MISSING', { env, cwd: '/' });
    expect(seen).toMatchObject({ stdout: '/\nyes\n0\n' });
  });

  test('hands over the input and closes it', async () => {
    expect(await shell('cat', { stdin: 'a\nb' })).toMatchObject({ code: 0, stdout: 'a\nb' });
    expect(await shell('cat')).toMatchObject({ code: 0, stdout: '' });
  });

  test('keeps the input open until the program has answered, and no longer', async () => {
    const isAnswered = (stdout: string) => stdout.includes('two');
    const script = 'read line; echo "$line"; sleep 0.2; echo two; cat; echo end';
    const options = { stdin: 'one\n', isAnswered };
    expect(await shell(script, options)).toMatchObject({ code: 0, stdout: 'one\ntwo\nend\n' });
    expect(await shell('cat', { ...options, timeoutMs: 300 })).toEqual({ kind: 'timed-out' });
    expect(await shell('exit 4', options)).toMatchObject({ code: 4 });
  });

  test('survives a program that does not read its input', async () => {
    expect(await shell('exit 0', { stdin: 'x'.repeat(4_000_000) })).toMatchObject({
      kind: 'exited',
      code: 0,
    });
  });

  test('says why a program cannot be started', async () => {
    const missing = await runCommand('/no/such/program', [], OPTIONS);
    expect(missing).toMatchObject({ kind: 'failed' });
    expect(missing.kind === 'failed' && missing.reason).toContain('ENOENT');
    expect(await shell('true', { cwd: '/no/such/directory' })).toMatchObject({ kind: 'failed' });
  });

  test('says which signal ended it', async () => {
    expect(await shell('kill -SEGV $$')).toEqual({ kind: 'failed', reason: 'ended by SIGSEGV' });
  });

  test('keeps the first MiB of the output and lets the program finish', async () => {
    const result = await shell(`head -c ${OUTPUT_BYTES_MAX + 300_000} /dev/zero; echo done >&2`);
    expect(result).toMatchObject({ kind: 'exited', code: 0, stderr: 'done\n' });
    expect(result.kind === 'exited' && result.stdout.length).toBe(OUTPUT_BYTES_MAX);
  });

  test('ends the whole group at the time limit, also what ignores SIGTERM', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'run-command-'));
    const pids = join(directory, 'pids');
    writeFileSync(pids, '');
    const script = `trap '' TERM; sleep 60 & echo $! >>"${pids}"; echo $$ >>"${pids}"; wait; sleep 60`;
    expect(await shell(script, { timeoutMs: 300 })).toEqual({ kind: 'timed-out' });
    const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number);
    expect(started).toHaveLength(2);
    for (const pid of started) {
      let running = true;
      for (let tries = 0; tries < 100 && running; tries++) running = await isRunning(pid);
      expect(running).toBe(false);
    }
    rmSync(directory, { recursive: true });
  });

  test('does not wait for a descendant that keeps the output open', async () => {
    const result = await shell('sleep 5 & echo started; exit 0');
    expect(result).toMatchObject({ kind: 'exited', code: 0, stdout: 'started\n' });
  }, 3000);
});

describe('findProgram()', () => {
  test('takes the first on the PATH that can be run, and no file or directory that cannot', () => {
    using home = temporaryHome();
    home.put('a/tool', 'not executable');
    mkdirSync(`${home.path}/b/tool`, { recursive: true });
    chmodSync(home.put('c/tool', '#!/bin/sh\n'), 0o755);
    chmodSync(home.put('d/tool', '#!/bin/sh\n'), 0o755);
    const PATH = ['a', 'b', 'c', 'd'].map((name) => `${home.path}/${name}`).join(':');
    expect(findProgram('tool', { PATH }, 'linux')).toBe(`${home.path}/c/tool`);
    expect(findProgram('other', { PATH }, 'linux')).toBeUndefined();
  });

  test('passes over places that depend on the directory that one is in', () => {
    using home = temporaryHome();
    chmodSync(home.put('tool', '#!/bin/sh\n'), 0o755);
    const before = process.cwd();
    process.chdir(home.path);
    try {
      expect(findProgram('tool', { PATH: '.::bin' }, 'linux')).toBeUndefined();
    } finally {
      process.chdir(before);
    }
    expect(findProgram('tool', {}, 'linux')).toBeUndefined();
  });

  test('knows the endings of Windows', () => {
    using home = temporaryHome();
    const path = home.put('tool.cmd', '');
    chmodSync(path, 0o755);
    expect(findProgram('tool', { Path: home.path }, 'win32')).toBe(path);
    expect(findProgram('tool', { PATH: home.path }, 'linux')).toBeUndefined();
  });
});

test('withAbsolutePath() leaves out what a PATH names below the current directory, and nothing else', () => {
  const env = { PATH: '/usr/bin:.::bin:/bin', HOME: 'x:y', LANG: undefined };
  expect(withAbsolutePath(env, 'linux')).toEqual({ PATH: '/usr/bin:/bin', HOME: 'x:y', LANG: undefined });
  expect(withAbsolutePath({ Path: 'bin:/bin' }, 'win32')).toEqual({ Path: '/bin' });
  expect(withAbsolutePath({ Path: 'bin:/bin' }, 'linux')).toEqual({ Path: 'bin:/bin' });
});
