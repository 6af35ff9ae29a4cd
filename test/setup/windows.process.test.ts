import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { installedIn, uninstallIn } from '../support/installed.ts';
import { putFile, treeOf } from '../support/tree.ts';
import { useMachine } from './machine.ts';

/** Install and uninstall as on Windows, by an injected platform: nobody has run them there yet. */

const at = useMachine();
/** Git Bash has a HOME of its own kind, which the clients do not look at. */
const env = () => ({ USERPROFILE: at.home, HOME: '/c/Users/me', PATH: '/nowhere' });
const windows = (clientVersion = '2.1.328') =>
  installedIn(at.home, { env: env(), platform: 'win32', clientVersion });
const SETTINGS = '{\r\n\t"model": "some-model",\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n';

describe('on Windows', () => {
  test('install finds the profile, and names the program .exe', async () => {
    await windows();
    expect(existsSync(at.state('hooks', 'self-generation.exe'))).toBe(true);
    expect(existsSync(at.state('hooks', 'self-generation'))).toBe(false);
    const { hooks } = JSON.parse(readFileSync(at.settings(), 'utf8'));
    expect(hooks.SubagentStart[0].hooks[0].command).toEndWith('/.self-generation/hooks/self-generation.exe');
    expect(existsSync('/c/Users/me')).toBe(false);
  });

  for (const version of ['2.1.328', '2.0.76']) {
    test(`settings.json of Claude Code ${version} keeps its line ends, and is as before after uninstall`, async () => {
      putFile(at.settings(), SETTINGS);
      await at.comesBack(async () => {
        await windows(version);
        const text = readFileSync(at.settings(), 'utf8');
        expect(text).toContain('self-generation.exe');
        expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
        const before = treeOf(at.home);
        expect((await windows(version)).upToDate).toBe(true);
        expect(treeOf(at.home)).toEqual(before);
        expect(uninstallIn(at.home, { env: env(), platform: 'win32', purge: true }).kind).toBe('done');
      });
      expect(readFileSync(at.settings(), 'utf8')).toBe(SETTINGS);
    });
  }

  test('entries that name the program with other separators, or a small drive letter, are taken for ours', async () => {
    await windows();
    const text = readFileSync(at.settings(), 'utf8');
    const other = text.replaceAll(JSON.stringify(at.state('hooks', 'self-generation.exe')), (path) =>
      path.replaceAll('/', '\\\\').toUpperCase(),
    );
    expect(other).not.toBe(text);
    putFile(at.settings(), other, 0o600);
    await windows();
    expect(readFileSync(at.settings(), 'utf8').match(/"subagent-context"/g)).toHaveLength(1);
  });
});
