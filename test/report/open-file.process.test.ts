import { describe, expect, test } from 'bun:test';
import { chmodSync, readFileSync } from 'node:fs';
import { openerOf, openFile } from '../../src/report/open-file.ts';
import { temporaryHome } from '../support/home.ts';

const FILE = '/home/dev/a b;$(id).html';

describe('openerOf()', () => {
  const rows: [string, Record<string, string>, readonly string[] | undefined][] = [
    ['linux', { DISPLAY: ':0' }, ['xdg-open', FILE]],
    ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open', FILE]],
    ['linux', {}, undefined],
    ['darwin', {}, ['open', FILE]],
    ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler', FILE]],
  ];
  for (const [platform, env, expected] of rows) {
    test(`gives ${expected?.[0] ?? 'nothing'} on ${platform} with ${Object.keys(env).join() || 'no screen'}`, () =>
      expect(openerOf(FILE, env, platform)).toEqual(expected));
  }
});

describe('openFile()', () => {
  const opener = (script: string) => {
    const home = temporaryHome();
    chmodSync(home.put('bin/xdg-open', `#!/bin/sh\n${script}\n`), 0o755);
    return { home, env: { DISPLAY: ':0', PATH: `${home.path}/bin:/usr/bin:/bin`, HOME: home.path } };
  };

  test('hands the path over as one word', async () => {
    const { home, env } = opener('printf "%s\\n" "$#" "$1" > "$HOME/seen"');
    using _ = home;
    expect(await openFile(FILE, env, 'linux')).toBeUndefined();
    expect(readFileSync(`${home.path}/seen`, 'utf8')).toBe(`1\n${FILE}\n`);
  });

  test('says how it failed', async () => {
    const { home, env } = opener('exit 3');
    using _ = home;
    expect(await openFile(FILE, env, 'linux')).toBe('"xdg-open" ended with 3');
  });

  test('says what is missing', async () => {
    expect(await openFile(FILE, { PATH: '/nowhere' }, 'darwin')).toBe('"open" is not on the PATH');
    expect(await openFile(FILE, { PATH: '/nowhere' }, 'linux')).toBe('there is no screen here');
  });
});
