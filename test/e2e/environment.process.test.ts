import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { type Home, readEvents, spoolFiles, temporaryHome } from '../support/home.ts';
import { contextOf, runHookProcess, runProgram } from '../support/hook-process.ts';
import { agentStart, bashFailure, bashSuccess, payload, prompt } from '../support/payloads.ts';
import { BINARY, ROOT } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';

/** Where and how the binary is started must not matter. */

setDefaultTimeout(60_000);
const ERROR = 'a well-known error';

describe('a hostile working directory', () => {
  const folder = mkdtempSync(`${tmpdir()}/self-generation-canary-`);
  const canary = `${folder}/canary`;
  beforeAll(() => buildWithoutTheSwitches(folder, canary));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has no effect on any hook or command', async () => {
    using home = temporaryHome();
    const cwd = makeTraps(home);
    const run = (words: string[], input?: object) =>
      runProgram([BINARY, ...words], { home: home.path, cwd, stdin: JSON.stringify(input) ?? '' });
    for (const { name, event } of HOOKS) {
      const input = { ...prompt('hi'), hook_event_name: event, tool_name: 'Bash' };
      expect(await run(['hook', name], input), name).toMatchObject({ exitCode: 0, stderr: '' });
    }
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/);
    expect((await run(['status', '--json'])).exitCode).toBe(0);
    expect(readdirSync(cwd).filter((name) => name.startsWith('fired'))).toEqual([]);
    expect(existsSync(`${home.path}/stolen`)).toBe(false);
    // SELF_GENERATION_INTERNAL of the .env would have made every hook do nothing.
    expect(readEvents(home.paths).map((event) => event.type)).toContain('prompt');
  });

  test('does have its effect on a program that is built without the switches', async () => {
    using home = temporaryHome();
    const cwd = makeTraps(home);
    const { stdout } = await runProgram([canary], { home: home.path, cwd });
    expect(stdout).toBe(`${home.path}/stolen`);
    expect(existsSync(`${cwd}/fired-preload`)).toBe(true);
  });
});

/** What the build script does, without the two switches. */
async function buildWithoutTheSwitches(folder: string, outfile: string): Promise<void> {
  await Bun.write(`${folder}/main.ts`, "process.stdout.write(process.env.SELF_GENERATION_HOME ?? 'none')");
  const result = await Bun.build({ entrypoints: [`${folder}/main.ts`], target: 'bun', compile: { outfile } });
  if (!result.success) throw new AggregateError(result.logs, 'Cannot build the canary');
}

/** A directory whose every file tries to run code in, or to redirect, a program that is started in it. */
function makeTraps(home: Home): string {
  const fire = (name: string) =>
    `require('node:fs').writeFileSync(${JSON.stringify(`${home.path}/repo/fired-${name}`)}, '');`;
  const preload = 'preload = ["./preload.ts"]\n';
  home.put('repo/bunfig.toml', `${preload}[run]\n${preload}[test]\n${preload}`);
  home.put('repo/preload.ts', fire('preload'));
  const env = `SELF_GENERATION_HOME=${home.path}/stolen\nSELF_GENERATION_INTERNAL=1\n`;
  for (const name of ['.env', '.env.local', '.env.production']) home.put(`repo/${name}`, env);
  home.put('repo/module.ts', fire('module'));
  const paths = { '*': ['./module.ts'], '#runtime': ['./module.ts'], commander: ['./module.ts'] };
  home.put('repo/tsconfig.json', JSON.stringify({ compilerOptions: { baseUrl: '.', paths } }));
  const imports = { '#runtime': './module.ts', '#sqlite': './module.ts' };
  const main = { exports: './module.ts', main: './module.ts' };
  home.put('repo/package.json', JSON.stringify({ name: 'commander', imports, ...main }));
  for (const name of ['commander', 'picocolors', 'jsonc-parser', 'better-sqlite3']) {
    home.put(`repo/node_modules/${name}/index.js`, fire(name));
  }
  return `${home.path}/repo`;
}

describe('the names of the program', () => {
  const makers: [how: string, make: (name: string) => void][] = [
    ['symbolic link', (name) => symlinkSync(BINARY, name)],
    ['copy', (name) => copyFileSync(BINARY, name)],
    ['link', (name) => linkOrCopy(name)],
  ];
  for (const [how, make] of makers) {
    test(`a ${how} called subagent-context, prompt-logger or prompt-logger.exe is that hook`, async () => {
      using home = temporaryHome();
      seedErrors(home.paths, [{ error: ERROR }]);
      const names = ['subagent-context', 'prompt-logger', 'prompt-logger.exe'];
      for (const name of how === 'copy' ? names.slice(0, 1) : names) make(`${home.path}/${name}`);
      const run = (name: string, input: unknown) =>
        runProgram([`${home.path}/${name}`], { home: home.path, stdin: JSON.stringify(input) });
      // The name decides, not what the payload calls itself.
      const start = agentStart('executor', { hook_event_name: 'UserPromptSubmit', prompt: 'no prompt' });
      expect(contextOf(await run('subagent-context', start))).toContain(ERROR);
      expect(readEvents(home.paths, 'prompt')).toEqual([]);
      if (how === 'copy') return;
      const one = prompt('one', { hook_event_name: 'Stop' });
      expect(await run('prompt-logger', one)).toMatchObject({ exitCode: 0, stdout: '' });
      expect(await run('prompt-logger.exe', prompt('two'))).toMatchObject({ exitCode: 0, stdout: '' });
      expect(readEvents(home.paths, 'prompt').map((event) => event.data.text)).toEqual(['one', 'two']);
    });
  }

  // A client whose prompt hook exits with 2 refuses the user's prompt.
  test('a link exits with 0 and says nothing also when nothing comes in', async () => {
    using home = temporaryHome();
    for (const { name } of HOOKS) {
      symlinkSync(BINARY, `${home.path}/${name}`);
      const result = await runProgram([`${home.path}/${name}`], { home: home.path, stdin: '' });
      expect(result, name).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
    }
    const stdin = JSON.stringify(prompt('hi'));
    await runProgram([`${home.path}/prompt-logger`], { home: home.path, stdin });
    expect(readEvents(home.paths)).toHaveLength(1);
  });

  test('"hook NAME" is that hook, "hook" and no word go by the payload', async () => {
    using home = temporaryHome();
    const run = (words: string[], input: unknown) =>
      runProgram([BINARY, ...words], { home: home.path, stdin: JSON.stringify(input) });
    await run(['hook', 'prompt-logger'], prompt('one', { hook_event_name: 'Stop' }));
    await run(['hook'], prompt('two'));
    await run([], prompt('three'));
    await run(['hook'], prompt('none', { hook_event_name: 'Stop' }));
    expect(readEvents(home.paths).map((event) => event.data.text)).toEqual(['one', 'two', 'three']);
  });

  test('shows its help when it is started bare and nothing comes in', async () => {
    using home = temporaryHome();
    const result = await runProgram([BINARY], { home: home.path });
    expect(result.stdout + result.stderr).toContain('Usage: self-generation');
    expect(result.exitCode).not.toBeNull();
  });

  // Never 2 for a hook: the client takes that for a veto.
  const wrong: [words: string[], exitCode: number][] = [
    [['hook', 'no-such-hook'], 1],
    [['hook', 'subagent-context', 'codex', 'more'], 1],
    [['no-such-command'], 2],
    [['status', '--no-such-flag'], 2],
  ];
  test('takes a wrong name for wrong usage, and shows its help, also without a home', () => {
    const hook = (name: string) =>
      Bun.spawnSync([BINARY, 'hook', name], { env: {}, stdin: Buffer.from(JSON.stringify(prompt('hi'))) });
    expect(hook('no-such-hook')).toMatchObject({ exitCode: 1 });
    expect(hook('--help').stdout.toString()).toStartWith('Usage: self-generation hook');
    expect(hook('prompt-logger')).toMatchObject({ exitCode: 0 });
  });

  for (const [words, exitCode] of wrong) {
    test(`takes "${words.join(' ')}" for wrong usage and exits with ${exitCode}`, async () => {
      using home = temporaryHome();
      const stdin = JSON.stringify(prompt('hi'));
      const result = await runProgram([BINARY, ...words], { home: home.path, stdin });
      expect(result).toMatchObject({ exitCode, stdout: '' });
      expect(result.stderr).toStartWith('error: ');
      expect(existsSync(home.paths.home)).toBe(false);
    });
  }
});

describe('what is stored', () => {
  test('is for the user alone, whatever the umask of the caller', async () => {
    using home = temporaryHome();
    const open = (input: unknown) =>
      runProgram(['sh', '-c', 'umask 000; touch "$HOME/canary"; exec "$0" hook', BINARY], {
        home: home.path,
        stdin: JSON.stringify(input),
      });
    await open(payload('session-start'));
    await open(prompt('hi'));
    await open(bashFailure('Exit code 1\nboom', { tool_input: { command: 'npm test' } }));
    await open('not an event'); // noted in the log
    await open(bashSuccess('npm test'));
    await open(agentStart('executor'));
    await open(payload('session-end'));
    const database = ['', '-wal', '-shm'].map((end) => `/data/self-gen.db${end}`);
    expectPrivate(home, '/data', ...database, '/logs/hooks.log');
    const lock = new Database(home.paths.database);
    lock.run('PRAGMA busy_timeout = 5000'); // A process behind the last hook may still be writing.
    lock.run('BEGIN IMMEDIATE');
    await open(prompt('while it is locked'));
    lock.run('ROLLBACK');
    lock.close();
    const waiting = `/spool/${spoolFiles(home.paths)[0]}`;
    expectPrivate(home, '/heartbeats', '/heartbeats/SessionEnd', '/spool', waiting);
    expect(statSync(`${home.path}/canary`).mode & 0o777).toBe(0o666);
  });
});

/** Directories 0700, files 0600, these among them. */
function expectPrivate(home: Home, ...wanted: string[]): void {
  const names = ['', ...readdirSync(home.paths.home, { recursive: true }).map((name) => `/${name}`)];
  expect(names).toEqual(expect.arrayContaining(wanted));
  for (const name of names) {
    const stat = statSync(home.paths.home + name, { throwIfNoEntry: false });
    if (stat === undefined) continue; // The process behind the hooks has removed it since.
    expect((stat.mode & 0o777).toString(8), name).toBe(stat.isDirectory() ? '700' : '600');
  }
}

/** A hard link where both places are on one file system. */
function linkOrCopy(name: string): void {
  try {
    linkSync(BINARY, name);
  } catch {
    copyFileSync(BINARY, name);
    chmodSync(name, 0o755);
  }
}

test('the build script sets the switches', async () => {
  const script = await Bun.file(`${ROOT}/scripts/build.ts`).text();
  for (const name of ['autoloadBunfig', 'autoloadDotenv']) expect(script).toContain(`${name}: false`);
});

test('a state directory of its own is made where there is none', async () => {
  using home = temporaryHome();
  mkdirSync(`${home.path}/deep`);
  const env = { SELF_GENERATION_HOME: `${home.path}/deep/down/here` };
  await runHookProcess(prompt('hi'), { home: home.path, env });
  expect(existsSync(`${home.path}/deep/down/here/data/self-gen.db`)).toBe(true);
  expect(existsSync(home.paths.home)).toBe(false);
});
