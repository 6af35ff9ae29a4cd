import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import type { Check } from '../../src/setup/doctor.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { runHookProcess } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';
import { call } from './call.ts';

/** The real program, installed; a client that only knows its version; one event. */
async function sound(home: Home): Promise<Record<string, string>> {
  chmodSync(home.put('bin/claude', '#!/bin/sh\necho "2.1.328 (Claude Code)"\n'), 0o755);
  // A link to the program is made beside it.
  const env = { PATH: `${home.path}/bin` };
  expect(await call(home, ['install'], { env })).toMatchObject({ exitCode: 0, stderr: '' });
  const event = { hook_event_name: 'UserPromptSubmit', session_id: 's', prompt: 'hello', cwd: home.path };
  expect(await runHookProcess(event, { home: home.path })).toMatchObject({ exitCode: 0 });
  return env;
}

describe('doctor', () => {
  test('ends with 1 where --live was asked for and there is no client to run', async () => {
    using home = temporaryHome();
    const env = await sound(home);
    expect((await call(home, ['doctor'], { env })).exitCode).toBe(0);
    const live = await call(home, ['doctor', '--live'], { env: { PATH: '/nowhere' } });
    expect(live.stdout).toContain('skipped  live ');
    expect(live.exitCode).toBe(1);
  });

  test('finds nothing wrong with the real program, and ends with 0', async () => {
    using home = temporaryHome();
    const env = await sound(home);
    const { stdout, stderr, exitCode } = await call(home, ['doctor'], { env });
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(17);
    // Each name begins in one column and what was found in another, behind the longest name too.
    const column = 'ok       background runs  '.length;
    for (const line of lines) {
      expect(line.slice(0, column)).toMatch(/^ok {7}\w.* {2}$/);
      expect(line.slice(column)).toMatch(/^\S/);
    }
    expect(stdout).toContain("each of the program's 11 ran; a sub-agent is told of a recorded error");
  });

  test('asks the MCP server that is registered, and says which clients have it', async () => {
    using home = temporaryHome();
    const env = await sound(home);
    expect(await call(home, ['install', '--mcp', 'codex'], { env })).toMatchObject({ exitCode: 0 });
    const { stdout, exitCode } = await call(home, ['doctor'], { env });
    expect({ stdout, exitCode }).toMatchObject({ exitCode: 0 });
    expect(stdout).toMatch(/^ok {7}MCP server {7}answers, and is registered with Codex$/m);
  });

  test('leaves the directory for temporary files as it was', async () => {
    using home = temporaryHome();
    const temporary = `${home.path}/t`;
    home.put('t/keep', '');
    await call(home, ['doctor'], { env: { TMPDIR: temporary } });
    expect(readdirSync(temporary)).toEqual(['keep']);
  });

  test('ends with 1 when something failed, and says what to do', async () => {
    using home = temporaryHome();
    const { stdout, exitCode } = await call(home, ['doctor']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /^failed {3}program {10}not installed: .*\n {26}→ Run: .*self-generation"? install$/m,
    );
  });

  test('ends with 0 when there are only warnings', async () => {
    using home = temporaryHome();
    await sound(home);
    const { stdout, exitCode } = await call(home, ['doctor', '--json']);
    const { checks } = JSON.parse(stdout) as { checks: Check[] };
    expect(exitCode).toBe(0);
    expect(checks.filter((check) => check.status !== 'ok').map((check) => check.name)).toEqual([
      'command',
      'client',
    ]);
  });

  test('names an installed program that is no longer whole', async () => {
    using home = temporaryHome();
    const env = await sound(home);
    writeFileSync(home.paths.binary, 'not a program');
    const { stdout, exitCode } = await call(home, ['doctor'], { env });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^warning {2}program .* is another version than this program$/m);
    expect(stdout).toMatch(/^failed {3}hooks {12}session-analyzer /m);
  });

  test('takes in what waits into a database that only its owner can read', async () => {
    using home = temporaryHome();
    home.put('.self-generation/spool/1.json', '[]');
    chmodSync(home.paths.home, 0o700);
    await call(home, ['doctor']);
    expect(existsSync(home.paths.spool)).toBe(false);
    for (const name of readdirSync(home.paths.data)) {
      expect(statSync(`${home.paths.data}/${name}`).mode & 0o077).toBe(0);
    }
    expect(existsSync(home.paths.database)).toBe(true);
  });

  test('survives that nobody reads its output to the end', async () => {
    using home = temporaryHome();
    const piped = [`"$0" doctor | :`, BINARY];
    const child = Bun.spawn(['/bin/sh', '-c', ...piped], { env: { HOME: home.path }, stderr: 'pipe' });
    expect(await child.stderr.text()).toBe('');
  });
});
