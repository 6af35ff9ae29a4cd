import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { clientFeatures } from '../../src/clients/claude/setup.ts';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { isRunBySettings } from '../../src/hooks/plugin-caller.ts';
import { appliedEntry, wantedEntry } from '../../src/setup/settings-file.ts';
import { contextOf, runProgram } from '../support/hook-process.ts';
import { agentStart, payload } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';
import { BINARY } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';

/** `hook NAME plugin`: what the plugin of Claude Code calls. */

const home = homePerTest();
const settings = (value: unknown) => home.put('.claude/settings.json', JSON.stringify(value, null, 2));
const holding = (...entries: unknown[]) => ({ hooks: { Any: [{ hooks: entries }] } });
const call = (...words: string[]) =>
  runProgram([BINARY, 'hook', ...words], {
    home: home.path,
    stdin: JSON.stringify(
      words[0] === 'subagent-context' ? agentStart('executor') : payload('session-start'),
    ),
  });

describe('isRunBySettings()', () => {
  const isRun = (name: string) => isRunBySettings(name, { HOME: home.path }, 'linux');

  for (const form of ['exec', 'shell'] as const)
    for (const [platform, binary] of [
      ['linux', '/home/dev/.self-generation/hooks/self-generation'],
      ['linux', "/home/it's me/state/hooks/self-generation"],
      ['win32', 'C:\\Users\\dev\\.self-generation\\hooks\\self-generation.exe'],
    ] as const)
      test(`knows each hook as install writes it: ${form}, ${binary}`, () => {
        const invocation = { binary, form, platform, knowsAsync: clientFeatures('2.1.328').asyncHooks };
        for (const hook of HOOKS) {
          settings(holding(wantedEntry(hook, invocation)));
          expect(HOOKS.filter(({ name }) => isRun(name))).toEqual([hook]);
        }
        settings(holding(appliedEntry('s0123456789', 5, invocation)));
        expect(HOOKS.filter(({ name }) => isRun(name))).toEqual([]);
      });

  test('knows one that was written by hand, and none that is a comment or of another program', () => {
    const command = '$HOME/.self-generation/hooks/self-generation hook subagent-context';
    settings(holding({ type: 'command', command }));
    expect(HOOKS.filter(({ name }) => isRun(name)).map(({ name }) => name)).toEqual(['subagent-context']);
    home.put('.claude/settings.json', `{\n  // ${command}\n}`);
    expect(isRun('subagent-context')).toBe(false);
    settings({ permissions: { allow: [`Bash(${command})`] }, note: command });
    expect(isRun('subagent-context')).toBe(false);
    settings(
      holding(
        { command: '/usr/bin/other', args: ['hook', 'subagent-context'] },
        { command: '/x/self-generation' },
      ),
    );
    expect(isRun('subagent-context')).toBe(false);
  });

  test('knows one in a large file', () => {
    const allow = Array.from(
      { length: 20_000 },
      (_, index) => `Bash(npm run something-${index} --with words:*)`,
    );
    settings({
      permissions: { allow },
      ...holding({ command: '/x/self-generation', args: ['hook', 'stop-tracker'] }),
    });
    expect(HOOKS.filter(({ name }) => isRun(name)).map(({ name }) => name)).toEqual(['stop-tracker']);
  });

  test('without a file, without a home, and where CLAUDE_CONFIG_DIR says otherwise', () => {
    expect(isRun('stop-tracker')).toBe(false);
    expect(isRunBySettings('stop-tracker', {}, 'linux')).toBe(false);
    settings(holding({ command: '/x/self-generation', args: ['hook', 'stop-tracker'] }));
    expect(isRun('stop-tracker')).toBe(true);
    expect(isRunBySettings('stop-tracker', { USERPROFILE: home.path, HOME: '/c' }, 'win32')).toBe(true);
    const unusual = {
      hooks: { Stop: [{ hooks: [{ args: ['hook', 'stop-tracker'], command: '/x/self-generation' }] }, 7] },
    };
    settings({ ...unusual, other: [] });
    expect(isRun('stop-tracker')).toBe(true);
    home.put('.claude/settings.json', JSON.stringify(unusual).slice(1));
    expect(isRun('stop-tracker')).toBe(false);
    settings(unusual);
    const elsewhere = { HOME: home.path, CLAUDE_CONFIG_DIR: '/nowhere' };
    expect(isRunBySettings('stop-tracker', elsewhere, 'linux')).toBe(false);
  });
});

describe('hook NAME plugin', () => {
  test('does what it does without that word where no settings run it', async () => {
    seedErrors(home.paths, [{ error: 'Error: boom' }]);
    const told = contextOf(await call('subagent-context', 'plugin'));
    expect(told).toContain('boom');
    expect(told).toBe(contextOf(await call('subagent-context')));
  });

  test('does nothing for a hook that this program does not know: a newer plugin may have one', async () => {
    expect(await call('hook-of-tomorrow', 'plugin')).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
  });

  for (const name of ['subagent-context', 'session-analyzer'])
    test(`${name} stands down where the settings run it: says nothing, notes nothing`, async () => {
      seedErrors(home.paths, [{ error: 'Error: boom' }]);
      settings(holding({ command: home.paths.binary, args: ['hook', name] }));
      expect(await call(name, 'plugin')).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
      expect(existsSync(home.paths.heartbeats)).toBe(false);
      expect(contextOf(await call(name))).toContain('boom');
    });
});
