import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { uninstallCommand } from '../../src/cli/install.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { seedErrors } from '../support/seed.ts';
import { call, callHere, refused, terminal } from './call.ts';

const SETTINGS = '{ "model" : "opus" } // mine\n';
/** A home with the program installed, and something learned if that is asked for. */
async function installed(...learned: { error: string }[]): Promise<Home> {
  const home = temporaryHome();
  await call(home, ['install', '--client-version', '2.1.328']);
  if (learned.length > 0) seedErrors(home.paths, learned);
  return home;
}
const names = (path: string) => readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();

describe('uninstall', () => {
  test('puts everything back, and says that nothing is left the second time', async () => {
    using home = temporaryHome();
    const settings = home.put('.claude/settings.json', SETTINGS);
    const before = names(home.path);
    await call(home, ['install', '--client-version', '2.1.328']);
    const first = await call(home, ['uninstall']);
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(first.stdout).toStartWith('Uninstalled self-generation.\n');
    expect(first.stdout).toContain(`restored ${settings}\n`);
    expect(names(home.path)).toEqual(before);
    expect(readFileSync(settings, 'utf8')).toBe(SETTINGS);
    const stdout = 'Nothing to remove: self-generation is not installed.\n';
    expect(await call(home, ['uninstall'])).toMatchObject({ exitCode: 0, stderr: '', stdout });
  });

  test('run from the installed program it removes that very program', async () => {
    using home = await installed();
    const child = Bun.spawn([home.paths.binary, 'uninstall'], { env: { HOME: home.path }, stdin: 'ignore' });
    expect(await child.exited).toBe(0);
    expect(names(home.path)).toEqual([]);
  });

  test('keeps what was learned and says so; --purge removes it', async () => {
    using home = await installed({ error: 'Error: a' });
    const dry = await call(home, ['uninstall', '--purge', '--dry-run']);
    expect(dry.stdout).toStartWith('Nothing was changed. Uninstall would do this:\n');
    expect(existsSync(home.paths.binary)).toBe(true);
    home.put('.self-generation/summaries/a.md', 'said');
    const kept = await call(home, ['uninstall']);
    expect(kept.stdout).toContain(`kept     ${home.paths.summaries} (`);
    expect(kept.stdout).toContain(`kept     ${home.paths.data} (what was learned; --purge removes it)\n`);
    expect(existsSync(home.paths.database)).toBe(true);
    expect(await call(home, ['uninstall', '--purge'])).toMatchObject({ exitCode: 0, stderr: '' });
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('asks on a terminal before what was learned goes, and with --yes nobody', async () => {
    using home = await installed({ error: 'Error: a' });
    const questions: string[] = [];
    const asked = { ...terminal(false, questions), env: { HOME: home.path } };
    const purge = (...words: string[]) => callHere(uninstallCommand, ['--purge', ...words], asked);
    expect(await purge()).toEqual(refused(1, 'Nothing was changed.\n'));
    expect(existsSync(home.paths.binary)).toBe(true);
    expect(await purge('--yes')).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(home.paths.home)).toBe(false);
    expect(await callHere(uninstallCommand, ['--yes'], asked)).toMatchObject({ code: 0, stderr: '' });
    expect(await callHere(uninstallCommand, [], asked)).toMatchObject({ code: 0, stderr: '' });
    expect(questions).toEqual(['Remove everything that was learned?']);
  });

  test('exits with 1 for settings that are broken, and leaves the program that they name', async () => {
    using home = await installed();
    home.put('.claude/settings.json', '{ "hooks": ');
    const { stdout, stderr, exitCode } = await call(home, ['uninstall']);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 });
    expect(stderr).toContain('error: Cannot take the hooks out of ');
    expect(stderr).toEndWith('Correct that and run the command again.\n');
    expect(existsSync(home.paths.binary)).toBe(true);
    const json = await call(home, ['uninstall', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'failed' });
    expect(json).toMatchObject({ exitCode: 1, stderr: '' });
  });
});
