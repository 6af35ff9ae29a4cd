import { expect, test } from 'bun:test';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { runProgram } from '../support/hook-process.ts';
import { BINARY, canRun, notTested } from '../support/program.ts';

/** Nobody's, so that nothing but the home directory is open to it. */
const UID = 54_321;
const BECOMING = [...['setpriv', `--reuid=${UID}`, `--regid=${UID}`, '--clear-groups'], '--'];

test('an ordinary user installs a program that nobody may write, checks it, and removes it without a trace', async () => {
  const isRoot = process.getuid?.() === 0;
  if (isRoot && !canRun([...BECOMING, 'true'])) return void notTested('an ordinary user', 'no setpriv');
  const place = mkdtempSync(`${tmpdir()}/self-generation-test-`);
  const home = `${place}/나의 홈`;
  const program = `${place}/read only/self-generation`;
  try {
    mkdirSync(home, { mode: 0o700 });
    mkdirSync(`${place}/read only`);
    copyFileSync(BINARY, program);
    chmodSync(program, 0o555);
    if (isRoot) chownSync(home, UID, UID);
    chmodSync(place, 0o755);
    const run = (file: string, ...words: string[]) =>
      runProgram([...(isRoot ? BECOMING : []), file, ...words], { home, env: { PATH: '/usr/bin:/bin' } });

    const installed = await run(program, 'install', '--client-version', '2.1.300');
    expect(installed).toMatchObject({ exitCode: 0, stderr: '' });
    const own = `${home}/.self-generation/hooks/self-generation`;
    const checked = await run(own, 'doctor');
    expect(checked.stdout).not.toMatch(/^failed/m);
    expect(checked).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await run(program, 'install')).exitCode).toBe(0);
    expect(await run(own, 'uninstall', '--purge')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(readdirSync(home, { recursive: true })).toEqual([]);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}, 60_000);
