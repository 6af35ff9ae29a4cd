import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { gitIn } from '../../../src/runs/workspace/git.ts';
import { type Home, temporaryHome } from '../../support/home.ts';

/** A stand-in that is found before the real one. */
function withGit(home: Home, script: string): Record<string, string> {
  chmodSync(home.put('bin/git', `#!/bin/sh\n${script}\n`), 0o755);
  return { PATH: `${home.path}/bin:${process.env.PATH}`, HOME: home.path };
}

describe('gitIn()', () => {
  test('runs git in the directory, without the variables of the caller that tell it what to do', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const env = { PATH: process.env.PATH, HOME: home.path, GIT_DIR: '/nowhere', GIT_WORK_TREE: '/nowhere' };
    const git = await gitIn(`${home.path}/app`, env);
    expect(await git(['init', '--quiet'])).toEqual({ kind: 'ok', stdout: '' });
    expect(await git(['rev-parse', '--is-inside-work-tree'])).toEqual({ kind: 'ok', stdout: 'true\n' });
  });

  test("keeps to the user's own configuration", async () => {
    using home = temporaryHome();
    const GIT_CONFIG_GLOBAL = home.put('mine', '[user]\n\tname = dev\n');
    const git = await gitIn(home.path, { PATH: process.env.PATH, HOME: '/nowhere', GIT_CONFIG_GLOBAL });
    expect(await git(['config', 'user.name'])).toEqual({ kind: 'ok', stdout: 'dev\n' });
  });

  test('gives what git complains of as a reason, on one line', async () => {
    using home = temporaryHome();
    const git = await gitIn(home.path, { PATH: process.env.PATH, HOME: home.path });
    const oneLine = expect.not.stringContaining('\n');
    expect(await git(['rev-parse', '--verify', 'a\nb'])).toEqual({ kind: 'failed', reason: oneLine });
    const reason = expect.stringContaining('not a git repository');
    expect(await git(['status'])).toEqual({ kind: 'failed', reason });
  });

  const broken: [what: string, script: string, reason: string][] = [
    ['is too old to be kept from running hooks', `printf 'local\\0core.bare\\0'`, 'git is too old'],
    ['ends without a word', 'exit 3', 'git ended with exit code 3'],
    ['has too much to say', `head -c 2000000 /dev/zero | tr '\\0' x`, 'git printed too much'],
  ];
  for (const [what, script, reason] of broken)
    test(`does nothing with a git that ${what}`, async () => {
      using home = temporaryHome();
      const git = await gitIn(home.path, withGit(home, script));
      expect(await git(['status'])).toEqual({ kind: 'failed', reason: expect.stringContaining(reason) });
    });

  test('runs no git of the directory itself, and lets git find nothing there either', async () => {
    using home = temporaryHome();
    const app = `${home.path}/app`;
    for (const name of ['git', 'trap'])
      chmodSync(home.put(`app/bin/${name}`, `#!/bin/sh\ntouch "${home.path}/${name}.mark"\n`), 0o755);
    const aliases = '[alias]\n\tsprung = "!trap"\n\tpath = "!echo $PATH"\n';
    const GIT_CONFIG_GLOBAL = home.put('mine', aliases);
    for (const relative of ['bin', './bin', '']) {
      const cwd = relative === '' ? `${app}/bin` : app;
      const git = await gitIn(cwd, { PATH: `${relative}:${process.env.PATH}`, HOME: cwd, GIT_CONFIG_GLOBAL });
      expect((await git(['sprung'])).kind).toBe('failed');
      const stdout = expect.not.stringMatching(/(^|:)(:|\.|bin)/);
      expect(await git(['path'])).toEqual({ kind: 'ok', stdout });
    }
    for (const name of ['git', 'trap']) expect(existsSync(`${home.path}/${name}.mark`)).toBe(false);
  });

  test('does nothing when there is no git, or no such directory', async () => {
    using home = temporaryHome();
    const env = { PATH: `${home.path}/empty`, HOME: home.path };
    const none = { kind: 'failed' as const, reason: 'there is no git on the PATH' };
    expect(await (await gitIn(home.path, env))(['status'])).toEqual(none);
    const missing = await gitIn(`${home.path}/missing`, { PATH: process.env.PATH, HOME: home.path });
    expect((await missing(['status'])).kind).toBe('failed');
  });

  test('ends a git that takes too long', async () => {
    using home = temporaryHome();
    const script = `case "$*" in *config*) printf 'command\\0core.hookspath\\0' ;; *) exec sleep 60 ;; esac`;
    const git = await gitIn(home.path, withGit(home, script));
    const late = { kind: 'failed' as const, reason: 'git took too long' };
    expect(await git(['status'], { timeoutMs: 100 })).toEqual(late);
  });
});
