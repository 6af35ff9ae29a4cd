import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pluginFiles } from '../../scripts/plugin-files.ts';
import { isRecord, parseJson } from '../../src/core/guards.ts';
import { hooksIn } from '../../src/hooks/hooks.ts';
import { describeTools, KNOWLEDGE_TOOLS } from '../../src/mcp/tools.ts';
import { findProgram } from '../../src/system/run-command.ts';
import { putFile } from '../support/tree.ts';

/** The plugin of Claude Code, as it lies in the repository. */

const ROOT = resolve(import.meta.dir, '../..');
const LAUNCHER = join(ROOT, 'plugin', 'start.sh');
const ABOUT = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe('its files', () => {
  test('have the launcher as a program, also in a clone', () => {
    expect(statSync(LAUNCHER).mode & 0o111).toBe(0o111);
    const { stdout } = Bun.spawnSync(['git', 'ls-files', '-s', 'plugin/start.sh'], { cwd: ROOT });
    if (existsSync(join(ROOT, '.git'))) expect(String(stdout)).toStartWith('100755 ');
  });

  test('are those that follow from the program; "npm run docs" writes them', () => {
    for (const [path, text] of Object.entries(pluginFiles(ABOUT))) expect(read(path), path).toBe(text);
    const known = ['README.md', 'start.sh', 'skills/known-errors/SKILL.md'].map((name) => `plugin/${name}`);
    const made = Object.keys(pluginFiles(ABOUT)).filter((path) => path.startsWith('plugin/'));
    const there = readdirSync(join(ROOT, 'plugin'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
    expect(there.toSorted()).toEqual([...known, ...made].toSorted());
  });

  test('name each hook of a session once, as the plugin, and no shell that would read the event', () => {
    const { hooks } = JSON.parse(read('plugin/hooks/hooks.json'));
    const entries = Object.values<{ hooks: { command: string; args: string[] }[] }[]>(hooks)
      .flat()
      .flatMap((group) => group.hooks);
    const start = `$${'{CLAUDE_PLUGIN_ROOT}'}/start.sh`;
    expect(entries.map(({ command, args }) => [command, ...args])).toEqual(
      hooksIn('session').map(({ name }) => [start, 'hook', name, 'plugin']),
    );
  });

  test('teach the tool by the names that it has', () => {
    const skill = read('plugin/skills/known-errors/SKILL.md');
    const [tool] = describeTools(KNOWLEDGE_TOOLS);
    expect(skill).toContain(`\`${tool?.name}\``);
    for (const name of ['error', 'command', 'query']) {
      expect(skill).toContain(`\`${name}\``);
      expect(Object.keys(tool?.inputSchema.properties ?? {})).toContain(name);
    }
  });
});

const SHELLS = [['dash'], ['bash', '--posix'], ['busybox', 'sh'], ['sh']].filter(([shell = '']) =>
  findProgram(shell, process.env, process.platform),
);
const INSTALLS = 'npx self-generation install';

for (const shell of SHELLS) {
  describe(`start.sh in ${shell.join(' ')}`, () => {
    const root = mkdtempSync(join(tmpdir(), 'plugin it is-'));
    afterAll(() => rmSync(root, { recursive: true, force: true }));
    const echo = '#!/bin/sh\nprintf "%s|" "$0" "$@"\ncat\nexit 3\n';
    const putProgram = (path: string) => {
      putFile(path, echo, 0o700);
      return path;
    };
    function start(words: readonly string[], env: Record<string, string>) {
      const stdin = Buffer.from('{"a":1}');
      const all = { PATH: process.env.PATH ?? '', ...env };
      const end = Bun.spawnSync([...shell, LAUNCHER, ...words], { env: all, stdin, cwd: root });
      return { code: end.exitCode, stdout: String(end.stdout), stderr: String(end.stderr) };
    }

    test('becomes the installed program, with its words, input and exit code', () => {
      const home = join(root, "it's a $(home)");
      const program = putProgram(join(home, '.self-generation/hooks/self-generation'));
      const words = ['hook', 'subagent-context', 'plugin', '', 'a b', '$(x)'];
      const stdout = `${[program, ...words].join('|')}|{"a":1}`;
      expect(start(words, { HOME: home })).toEqual({ code: 3, stdout, stderr: '' });
    });

    test('goes by SELF_GENERATION_HOME where that is absolute, and knows the name that it has on Windows', () => {
      const state = join(root, 'state');
      const program = putProgram(join(state, 'hooks/self-generation.exe'));
      const found = { code: 3, stdout: `${program}|mcp|{"a":1}` };
      expect(start(['mcp'], { HOME: join(root, 'none'), SELF_GENERATION_HOME: state })).toMatchObject(found);
      expect(start(['mcp'], { HOME: root, SELF_GENERATION_HOME: 'state' })).toMatchObject({ code: 1 });
      const profile = join(root, 'profile');
      const own = putProgram(join(profile, '.self-generation/hooks/self-generation.exe'));
      expect(start(['mcp'], { USERPROFILE: profile }).stdout).toStartWith(`${own}|`);
    });

    test('without any words, as an old client starts it, it does nothing', () => {
      const home = join(root, 'old');
      putProgram(join(home, '.self-generation/hooks/self-generation'));
      expect(start([], { HOME: home })).toEqual({ code: 0, stdout: '', stderr: '' });
    });

    const without = { HOME: join(root, 'nobody') };
    test('without the program only the start of a session speaks, to the user alone', () => {
      for (const { name } of hooksIn('session')) {
        const { stdout, ...end } = start(['hook', name, 'plugin'], without);
        expect(end).toEqual({ code: 0, stderr: '' });
        const answer = parseJson(stdout);
        if (name !== 'session-analyzer') expect(stdout).toBe('');
        else expect(isRecord(answer) && Object.keys(answer)).toEqual(['systemMessage']);
      }
      expect(start(['hook', 'session-analyzer', 'plugin'], without).stdout).toContain(INSTALLS);
    });

    test('without the program, or with one that cannot be run, the server ends and says why', () => {
      const stderr = expect.stringContaining(INSTALLS);
      expect(start(['mcp'], without)).toEqual({ code: 1, stdout: '', stderr });
      const home = join(root, 'unfinished');
      chmodSync(putProgram(join(home, '.self-generation/hooks/self-generation')), 0o600);
      expect(start(['mcp'], { HOME: home })).toEqual({ code: 1, stdout: '', stderr });
    });
  });
}
