import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { examine } from '../../src/setup/doctor.ts';
import type { InstallOptions } from '../../src/setup/install.ts';
import { locate } from '../../src/setup/manifest.ts';
import { enabledPlugin, ownerOf, registerApplied } from '../../src/setup/settings-file.ts';
import { EXAMINED, installedIn } from '../support/installed.ts';
import { putFile } from '../support/tree.ts';
import { useMachine } from './machine.ts';

/** install, doctor and uninstall where Claude Code has our plugin switched on. */

const NAME = 'self-generation@market';
const plugins = (isOn: boolean) => ({ enabledPlugins: { 'other@market': true, [NAME]: isOn } });

const at = useMachine();
const text = () => readFileSync(at.settings(), 'utf8');
const put = (value: object) => putFile(at.settings(), JSON.stringify(value, null, 2));
const installed = (changes: Partial<InstallOptions> = {}) => installedIn(at.home, changes);

/** Claude Code's user switches it on or off. */
const turn = (isOn: boolean) => put({ ...JSON.parse(text()), ...plugins(isOn) });

async function findings(name: string) {
  const executablePath = join(at.root, 'dist', 'self-generation');
  putFile(join(at.root, 'bin', 'claude'), '#!/bin/sh\necho "2.1.328 (Claude Code)"\n', 0o755);
  const env = { HOME: at.home, PATH: join(at.root, 'bin') };
  const checks = await examine({ ...EXAMINED, env, executablePath, now: new Date() });
  return checks.filter((check) => check.name === name);
}

describe('enabledPlugin()', () => {
  const rows: [string, string, string | undefined][] = [
    ['one that is on', JSON.stringify(plugins(true)), NAME],
    ['none that is off', JSON.stringify(plugins(false)), undefined],
    [
      'none of a longer name',
      '{"enabledPlugins":{"self-generation-extra@x":true,"x@self-generation":true}}',
      undefined,
    ],
    ['one beside comments', `{ // mine\n "enabledPlugins": { "${NAME}": true, } }`, NAME],
    ['none in a list, a text, an empty file', '{"enabledPlugins":["self-generation@x"]}', undefined],
    ['none in nothing', '', undefined],
    ['none in what cannot be read', '{"enabledPlugins":', undefined],
  ];
  for (const [what, settings, name] of rows)
    test(`finds ${what}`, () => expect(enabledPlugin(settings)).toBe(name));
});

describe('with the plugin on', () => {
  test('install puts the program there and no hook into the settings, which keep their bytes', async () => {
    put(plugins(true));
    const before = text();
    const report = await installed();
    expect(report).toMatchObject({ plugin: NAME, events: [] });
    expect(text()).toBe(before);
    expect(existsSync(at.state('hooks', 'self-generation'))).toBe(true);
    expect((await installed()).upToDate).toBe(true);
  });

  test('install takes out the hooks that it registered before, and puts them back when it is off', async () => {
    put({ hooks: { Stop: [{ hooks: [{ type: 'command', command: 'mine' }] }] } });
    await installed();
    const withHooks = JSON.parse(text()).hooks;
    turn(true);
    await installed();
    expect(JSON.parse(text()).hooks).toEqual({ Stop: [{ hooks: [{ type: 'command', command: 'mine' }] }] });
    turn(false);
    expect(await installed()).toMatchObject({ plugin: undefined });
    expect(JSON.parse(text()).hooks).toEqual(withHooks);
  });

  test('hooks for each call, which the plugin does not have, are registered all the same', async () => {
    put(plugins(true));
    const report = await installed({ hooks: 'per-call' });
    expect(report.plugin).toBeUndefined();
    expect(text()).toContain('batch-logger');
  });

  test('on Windows, which does not start its launcher, the hooks are registered all the same', async () => {
    put(plugins(true));
    const report = await installed({
      platform: 'win32',
      env: { USERPROFILE: at.home, HOME: at.home, PATH: '' },
    });
    expect(report.plugin).toBeUndefined();
    expect(text()).toContain('subagent-context');
  });

  test('install --mcp adds no second server to Claude Code, and any other to its client', async () => {
    put(plugins(true));
    const { mcp } = await installed({ mcp: ['claude', 'codex'] });
    expect(mcp.registered).toEqual(['codex']);
    expect(existsSync(at.inHome('.claude.json'))).toBe(false);
    expect(existsSync(at.inHome('.claude', 'commands'))).toBe(false);
  });

  test('the hook of an applied suggestion is registered without one of ours beside it', () => {
    const place = locate({ HOME: at.home }, 'linux');
    if (place.kind === 'failed') throw new Error(place.reason);
    const hook = { id: 's0123456789', event: 'PostToolUseFailure', timeoutSeconds: 5 } as const;
    const owner = { ...ownerOf(place), binary: place.paths.binary };
    const after = registerApplied(JSON.stringify(plugins(true)), hook, owner);
    expect(JSON.parse(after).hooks.PostToolUseFailure[0].hooks[0]).toMatchObject({
      command: place.paths.binary,
      args: ['hook', 'applied', hook.id],
    });
    expect(() => registerApplied(JSON.stringify(plugins(false)), hook, owner)).toThrow('no hook of ours');
  });

  test('uninstall says how the plugin is removed, and leaves the settings as they were', async () => {
    put(plugins(true));
    const before = text();
    await installed();
    const { warnings } = at.removed();
    expect(warnings).toEqual([expect.stringContaining(`To remove it: claude plugin uninstall ${NAME}`)]);
    expect(text()).toBe(before);
    put(plugins(false));
    await installed();
    expect(at.removed().warnings).toEqual([]);
  });
});

describe('doctor', () => {
  test('says that the plugin runs the hooks', async () => {
    put(plugins(true));
    await installed();
    const detail = `the plugin ${NAME} runs the hooks; none stands in ${at.settings()}`;
    expect(await findings('registration')).toMatchObject([{ status: 'ok', detail }]);
  });

  test('warns of hooks in the settings beside it, and says which of both run', async () => {
    await installed({ mcp: ['claude'] });
    turn(true);
    const [found, ...others] = await findings('registration');
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining("the plugin's stand down"),
    });
    expect(found?.remedy).toContain('install');
    const servers = (await findings('MCP server')).map(({ detail }) => detail);
    expect(servers).toContainEqual(expect.stringContaining('its tools are there twice'));
    turn(false);
    expect(await findings('registration')).toMatchObject([{ status: 'ok' }]);
  });
});
