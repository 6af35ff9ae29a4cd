import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TurnCommand } from '../../src/clients/client.ts';
import {
  endLeftClient,
  findClient,
  type Launch,
  launchClient,
  runClientToEnd,
  type Waiting,
  writeClientFiles,
} from '../../src/clients/client-process.ts';
import { FOR_COMMANDS } from '../../src/clients/route.ts';
import { statePaths } from '../../src/core/state-paths.ts';
import { type TurnFiles, turnFiles } from '../../src/runs/model/run.ts';
import {
  currentBoot,
  identityOf,
  isSameProcess,
  type ProcessIdentity,
  RUN_VARIABLE,
} from '../../src/system/process-identity.ts';
import { withMarker } from '../../src/system/processes.ts';
import { putFile } from '../support/tree.ts';

const COMMAND: TurnCommand = {
  ...{ program: 'gemini', args: [], stdin: 'the prompt', env: {}, passedOn: [] },
  ...{ files: { '.gemini/settings.json': '{}' }, keeps: ['.gemini/tmp'] },
};

const TIMEOUT_MS = 20_000;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sg-client-process-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function filesOf(turn: number): TurnFiles {
  const paths = statePaths({ SELF_GENERATION_HOME: home, HOME: home }, process.platform);
  if (paths === undefined) throw new Error(`Cannot test in "${home}": it gives no paths`);
  return turnFiles(paths, randomUUID().replaceAll('-', ''), turn);
}

describe('writeClientFiles()', () => {
  test('writes prompt and files for the user alone, and leaves nothing of an earlier try', () => {
    const files = filesOf(1);
    writeClientFiles(files, COMMAND);
    for (const path of [files.output, join(files.home, 'left-over')]) writeFileSync(path, 'earlier');
    writeClientFiles(files, COMMAND);
    expect(readFileSync(files.prompt, 'utf8')).toBe('the prompt');
    expect(readFileSync(join(files.home, '.gemini/settings.json'), 'utf8')).toBe('{}');
    expect(readFileSync(files.output, 'utf8')).toBe('');
    expect(existsSync(join(files.home, 'left-over'))).toBe(false);
    for (const path of [files.prompt, files.output, files.errors, join(files.home, '.gemini/settings.json')])
      expect(statSync(path).mode & 0o777).toBe(0o600);
    for (const path of [files.directory, files.home, join(files.home, '.gemini'), files.kept])
      expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  test('lets the next turn find what a client keeps, and only that, when the directory of the turn is gone', () => {
    const first = filesOf(1);
    const second = { ...filesOf(2), kept: first.kept };
    writeClientFiles(first, COMMAND);
    writeFileSync(join(first.home, '.gemini/tmp/session'), 'what was said');
    writeFileSync(join(first.home, '.gemini/other'), 'x');
    rmSync(first.home, { recursive: true });
    writeClientFiles(second, COMMAND);
    expect(readFileSync(join(second.home, '.gemini/tmp/session'), 'utf8')).toBe('what was said');
    expect(existsSync(join(second.home, '.gemini/other'))).toBe(false);
    rmSync(second.home, { recursive: true });
    expect(existsSync(join(second.kept, '.gemini/tmp/session'))).toBe(true);
  });

  test('keeps nothing for a client that asks for nothing', () => {
    const files = filesOf(1);
    writeClientFiles(files, { ...COMMAND, keeps: [] });
    expect(existsSync(files.kept)).toBe(false);
  });
});

/** What launches `gemini` as this program of a shell, in the place of the real one. */
function launchOf(script: string, files = filesOf(1)): Launch {
  const program = join(home, 'bin/gemini');
  rmSync(program, { force: true });
  putFile(program, `#!/bin/sh\n${script}\n`, 0o755);
  writeClientFiles(files, COMMAND);
  const env = { PATH: `${dirname(program)}:${process.env.PATH}` };
  return { command: COMMAND, files, cwd: home, env, passedOn: ['PATH'] };
}

const WAITING: Waiting = { polite: 'SIGTERM', timeoutMs: TIMEOUT_MS };
const marked = ({ files }: Launch) => withMarker({ name: RUN_VARIABLE, value: files.mark });

/** Until the client, or what it has started, has written so much. */
async function said({ files }: Launch, what: string): Promise<void> {
  while (!readFileSync(files.output, 'utf8').includes(what)) await Bun.sleep(5);
}

describe('launchClient()', () => {
  test('gives what builds need and the client asks for, the mark, and nothing else of the caller', async () => {
    const needed = {
      ...{ PATH: join(home, 'bin'), HOME: '/home/dev', SHELL: '/bin/zsh' },
      ...{ JAVA_HOME: '/jdk', GOPATH: '/go', GOROOT: '/goroot', CARGO_HOME: '/cargo' },
      ...{ RUSTUP_HOME: '/rustup' },
      ...{ VIRTUAL_ENV: '/venv', PYENV_ROOT: '/pyenv', NVM_DIR: '/nvm', SELF_GENERATION_HOME: '/state' },
    };
    const secret = {
      ...{ CARGO_REGISTRY_TOKEN: 'x', NPM_TOKEN: 'x', GITHUB_TOKEN: 'x', DATABASE_URL: 'x', GOPROXY: 'x' },
      ...{ SSH_AUTH_SOCK: '/run/agent', SSH_AGENT_PID: '1', JAVA_TOOL_OPTIONS: 'x', LD_PRELOAD: 'x' },
      ...{ BASH_ENV: 'x', NODE_OPTIONS: 'x' },
    };
    const command = { ...COMMAND, env: { SHELL: '/bin/sh' }, passedOn: ['HOME', 'PATH', 'GEMINI_*'] };
    mkdirSync(join(home, 'bin'));
    symlinkSync('/usr/bin/env', join(home, 'bin/gemini'));
    const files = filesOf(2);
    writeClientFiles(files, command);
    const env = { ...needed, ...secret, GEMINI_API_KEY: 'k' };
    await launchClient({ command, files, cwd: home, env, passedOn: FOR_COMMANDS }).exited;
    const lines = readFileSync(files.output, 'utf8').trim().split('\n');
    const added = { SHELL: '/bin/sh', GEMINI_API_KEY: 'k', SELF_GENERATION_RUN: files.mark };
    expect(Object.fromEntries(lines.map((line) => line.split('=')))).toEqual({ ...needed, ...added });
  });

  test('finds the program on the PATH alone, and not where it is to work', () => {
    const launch = launchOf('true');
    const here = { ...launch, cwd: join(home, 'bin'), env: { PATH: '.:/nowhere' } };
    expect(() => launchClient(here)).toThrow('Cannot start "gemini": there is no such program on the PATH');
  });
});

describe('runClientToEnd()', () => {
  test('gives exit code and both outputs, of a program that read its prompt', async () => {
    const end = await runClientToEnd(launchOf('cat; echo 오류 >&2; exit 3'), WAITING);
    expect(end).toEqual({ kind: 'exited', code: 3, stdout: 'the prompt', stderr: '오류\n' });
  });

  test('says which signal from elsewhere ended it', async () => {
    const end = await runClientToEnd(launchOf('kill -SEGV $$'), WAITING);
    expect(end).toEqual({ kind: 'failed', reason: 'ended by SIGSEGV' });
  });

  const LEAVES = 'setsid sh -c "echo left; sleep 100" & cat';
  test('leaves nothing behind of a good end, also what has left its session', async () => {
    const launch = launchOf(`${LEAVES}; while ! grep -q left "$0.out"; do sleep 0.05; done`);
    symlinkSync(launch.files.output, join(home, 'bin/gemini.out'));
    expect(await runClientToEnd(launch, WAITING)).toMatchObject({ kind: 'exited', code: 0 });
    expect(marked(launch)).toEqual([]);
  });

  const HANGS = `trap '' TERM INT; ${LEAVES}; while :; do sleep 0.1; done`;
  test('ends it with all that came from it at the time limit, also what ignores SIGTERM', async () => {
    const launch = launchOf(HANGS);
    expect(await runClientToEnd(launch, { ...WAITING, timeoutMs: 300 })).toEqual({ kind: 'timed-out' });
    expect(marked(launch)).toEqual([]);
  }, 20_000);

  test('ends it when it is interrupted', async () => {
    const interrupt = new AbortController();
    const launch = launchOf(`${LEAVES}; sleep 100`);
    const end = runClientToEnd(launch, { ...WAITING, signal: interrupt.signal });
    await Promise.race([end, said(launch, 'left')]);
    interrupt.abort();
    expect(await end).toEqual({ kind: 'failed', reason: 'it was interrupted' });
    expect(marked(launch)).toEqual([]);
  });

  for (const where of ['output', 'errors']) {
    test(`ends what writes without end to its ${where}`, async () => {
      const launch = launchOf(`cat /dev/zero ${where === 'errors' ? '>&2' : ''}`);
      const end = await runClientToEnd(launch, WAITING);
      expect(end).toMatchObject({ kind: 'failed', reason: expect.stringContaining('printed more than') });
      expect(marked(launch)).toEqual([]);
    });
  }

  test('takes nothing of an output that is too long, though its program has ended', async () => {
    const end = await runClientToEnd(launchOf('head -c 20000000 /dev/zero'), WAITING);
    expect(end).toMatchObject({ kind: 'failed', reason: expect.stringContaining('printed more than') });
  });

  test('tells of the client at its start, and ends it when whoever is told throws', async () => {
    const launch = launchOf('sleep 100');
    let client: ProcessIdentity | undefined;
    const onStart = (started: ProcessIdentity) => {
      client = started;
      throw new Error('the database is locked');
    };
    await expect(runClientToEnd(launch, { ...WAITING, onStart })).rejects.toThrow('the database is locked');
    expect(client && identityOf(client.pid)).toBeUndefined();
    expect(client?.boot).toBe(currentBoot());
  });
});

describe('findClient() and endLeftClient()', () => {
  const before = { pid: 1, start: '1', boot: currentBoot() };

  test('know it by its identity, else by its mark, and end what else has that', async () => {
    for (const isWrittenDown of [true, false]) {
      const launch = launchOf('setsid sleep 100 & echo ready; sleep 100');
      const { identity } = launchClient(launch);
      await said(launch, 'ready');
      const left = { process: isWrittenDown ? identity : null, owner: before };
      expect(findClient(left, launch.files)).toMatchObject({ kind: 'alive', client: { identity } });
      await endLeftClient(left, launch.files);
      expect(marked(launch)).toEqual([]);
      expect(findClient(left, launch.files)).toEqual({ kind: 'gone' });
    }
  });

  test('end what it left behind when it is gone itself', async () => {
    const launch = launchOf('setsid sh -c "echo left; sleep 100" &');
    const { identity, exited } = launchClient(launch);
    await exited;
    await said(launch, 'left');
    expect(marked(launch)).not.toEqual([]);
    await endLeftClient({ process: identity, owner: before }, launch.files);
    expect(marked(launch)).toEqual([]);
  });

  test('leave everybody alone whose id or mark another boot has given to somebody', async () => {
    const launch = launchOf('exec sleep 100');
    const { identity, exited } = launchClient(launch);
    const left = { process: { ...identity, boot: 'another' }, owner: null };
    expect(findClient(left, launch.files)).toEqual({ kind: 'other boot' });
    await endLeftClient(left, launch.files);
    await endLeftClient({ process: { ...identity, start: '1' }, owner: null }, filesOf(1));
    expect(isSameProcess(identity)).toBe(true);
    process.kill(identity.pid, 'SIGKILL');
    await exited;
  });
});
