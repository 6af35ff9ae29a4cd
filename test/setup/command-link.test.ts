import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { checkCommand, commandWord, pathLine } from '../../src/setup/command-link.ts';
import type { InstallOptions } from '../../src/setup/install.ts';
import { pathsOf } from '../support/home.ts';
import { installedIn, installOptions } from '../support/installed.ts';
import { putFile } from '../support/tree.ts';
import { useMachine } from './machine.ts';

const at = useMachine();
const link = () => at.inHome('.local', 'bin', 'self-generation');
const binary = () => at.state('hooks', 'self-generation');
const env = () => ({ ...at.env(), PATH: `/nowhere:${at.inHome('.local', 'bin')}/:${at.inHome('bin')}` });
const installed = (changes: Partial<InstallOptions> = {}) =>
  installedIn(at.home, installOptions(at.home, { env: env(), ...changes }));
const seen = () => ({ env: env(), platform: 'linux', paths: pathsOf(at.home) });

describe('install() links the command', () => {
  test('in a directory of the user on the PATH, and uninstall leaves the tree as it was', async () => {
    await at.comesBack(async () => {
      const { command, steps } = await installed();
      expect(command).toEqual({ kind: 'found', path: link() });
      const note = 'so that your shell finds self-generation';
      expect(steps).toContainEqual({ what: 'link', path: link(), change: 'created', note });
      expect(readlinkSync(link())).toBe(binary());
      expect(commandWord(seen())).toBe('self-generation');
      expect(checkCommand(seen()).status).toBe('ok');
      expect((await installed()).upToDate).toBe(true);
      await installed({ link: false });
      expect(at.removed({ env: env() }).steps).toContainEqual({
        what: 'link',
        path: link(),
        change: 'removed',
      });
    });
  });

  test('not when it is not wanted, in a dry run, or where only others may write', async () => {
    expect((await installed({ link: false })).command).toEqual({ kind: 'missing' });
    expect((await installed({ dryRun: true })).command.kind).toBe('found');
    expect(existsSync(link())).toBe(false);
    mkdirSync(at.inHome('.local', 'bin'), { recursive: true });
    chmodSync(at.inHome('.local', 'bin'), 0o777);
    await installed({ env: { ...at.env(), PATH: at.inHome('.local', 'bin') } });
    expect(existsSync(link())).toBe(false);
    expect(commandWord(seen())).toBe(binary());
    expect(checkCommand(seen())).toMatchObject({
      status: 'skipped',
      remedy: expect.stringContaining('PATH='),
    });
  });

  test('never over what is not ours: it takes the next directory, or says what is found first', async () => {
    putFile(link(), 'theirs', 0o644);
    mkdirSync(at.inHome('bin'));
    expect((await installed()).command).toEqual({ kind: 'found', path: at.inHome('bin', 'self-generation') });
    at.removed({ env: env() });
    chmodSync(link(), 0o755);
    expect((await installed()).command).toEqual({ kind: 'other', path: link() });
    expect(lstatSync(link()).isSymbolicLink()).toBe(false);
    expect(checkCommand(seen())).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining(link()),
    });
  });

  test('and uninstall leaves a link that leads elsewhere by now', async () => {
    await installed();
    rmSync(link());
    symlinkSync('/elsewhere', link());
    at.removed({ env: env() });
    expect(readlinkSync(link())).toBe('/elsewhere');
  });
});

test('pathLine() is what puts the directory on the PATH of each shell', () => {
  const line = (changes: object, home = '/home/dev') =>
    pathLine({ env: {}, platform: 'linux', userHome: home, paths: pathsOf(home), ...changes });
  const bash = `echo 'export PATH="$HOME/.self-generation/hooks:$PATH"' >> ~/`;
  expect(line({ env: { SHELL: '/bin/bash' } })).toBe(`${bash}.bashrc`);
  expect(line({ env: { SHELL: '/bin/bash' }, platform: 'darwin' })).toBe(`${bash}.bash_profile`);
  expect(line({ env: { SHELL: '/usr/bin/zsh' } })).toBe(`${bash}.zshrc`);
  expect(line({ env: { SHELL: '/usr/bin/fish' } })).toBe('fish_add_path "$HOME/.self-generation/hooks"');
  expect(line({})).toBe('export PATH="$HOME/.self-generation/hooks:$PATH"');
  expect(line({ userHome: '/x' }, "/o'b $y")).toBe(`export PATH="/o'b \\$y/.self-generation/hooks:$PATH"`);
  expect(line({ platform: 'win32' })).toBe(
    `[Environment]::SetEnvironmentVariable('Path', [Environment]::GetEnvironmentVariable('Path', 'User') + ';/home/dev/.self-generation/hooks', 'User')`,
  );
});
