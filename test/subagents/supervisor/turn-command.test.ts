import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TurnCommand } from '../../../src/clients/runs/run-client.ts';
import { type TurnFiles, turnFiles } from '../../../src/core/runs/run-files.ts';
import { statePaths } from '../../../src/core/state-paths.ts';
import { clientEnvironment, writeTurnFiles } from '../../../src/subagents/supervisor/turn-command.ts';

const COMMAND: TurnCommand = {
  program: 'gemini',
  args: [],
  stdin: 'the prompt',
  files: { '.gemini/settings.json': '{}' },
  keeps: ['.gemini/tmp'],
  env: {},
  passedOn: [],
};

describe('writeTurnFiles()', () => {
  let home: string;
  const filesOf = (turn: number): TurnFiles => {
    const paths = statePaths({ SELF_GENERATION_HOME: home, HOME: home }, process.platform);
    if (paths === undefined) throw new Error(`Cannot test in "${home}": it gives no paths`);
    return turnFiles(paths, 'a'.repeat(32), turn);
  };
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'sg-turn-command-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  test('writes prompt and files for the user alone, and leaves nothing of an earlier try', () => {
    const files = filesOf(1);
    writeTurnFiles(files, COMMAND);
    for (const path of [files.output, join(files.home, 'left-over')]) writeFileSync(path, 'earlier');
    writeTurnFiles(files, COMMAND);
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
    const [first, second] = [filesOf(1), filesOf(2)];
    writeTurnFiles(first, COMMAND);
    writeFileSync(join(first.home, '.gemini/tmp/session'), 'what was said');
    writeFileSync(join(first.home, '.gemini/other'), 'x');
    rmSync(first.home, { recursive: true });
    writeTurnFiles(second, COMMAND);
    expect(readFileSync(join(second.home, '.gemini/tmp/session'), 'utf8')).toBe('what was said');
    expect(existsSync(join(second.home, '.gemini/other'))).toBe(false);
    rmSync(second.home, { recursive: true });
    expect(existsSync(join(second.kept, '.gemini/tmp/session'))).toBe(true);
  });

  test('keeps nothing for a client that asks for nothing', () => {
    const { keeps: _keeps, ...command } = COMMAND;
    const files = filesOf(1);
    writeTurnFiles(files, command);
    expect(existsSync(files.kept)).toBe(false);
  });
});

describe('clientEnvironment()', () => {
  const TURN = { runId: 'a'.repeat(32), number: 2 };

  test('holds what builds need and the client asks for, the marker, and nothing else of the caller', () => {
    const needed = {
      ...{ PATH: '/bin', HOME: '/home/dev', SHELL: '/bin/zsh' },
      ...{
        JAVA_HOME: '/jdk',
        GOPATH: '/go',
        GOROOT: '/goroot',
        CARGO_HOME: '/cargo',
        RUSTUP_HOME: '/rustup',
      },
      ...{ VIRTUAL_ENV: '/venv', PYENV_ROOT: '/pyenv', NVM_DIR: '/nvm', SELF_GENERATION_HOME: '/state' },
    };
    const secret = {
      ...{ CARGO_REGISTRY_TOKEN: 'x', NPM_TOKEN: 'x', GITHUB_TOKEN: 'x', DATABASE_URL: 'x', GOPROXY: 'x' },
      ...{
        SSH_AUTH_SOCK: '/run/agent',
        SSH_AGENT_PID: '1',
        JAVA_TOOL_OPTIONS: 'x',
        LD_PRELOAD: 'x',
        BASH_ENV: 'x',
        NODE_OPTIONS: 'x',
      },
    };
    const command = { ...COMMAND, env: { SHELL: '/bin/sh' }, passedOn: ['GEMINI_*'] };
    expect(clientEnvironment(TURN, command, { ...needed, ...secret, GEMINI_API_KEY: 'k' })).toEqual({
      ...needed,
      SHELL: '/bin/sh',
      GEMINI_API_KEY: 'k',
      SELF_GENERATION_INTERNAL: '1',
      SELF_GENERATION_RUN: `${TURN.runId}/2`,
    });
  });
});
