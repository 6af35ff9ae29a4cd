import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { temporaryHome } from '../support/home.ts';
import { ROOT } from '../support/program.ts';
import { call } from './call.ts';

const COMMANDS = [
  ...['install', 'uninstall', 'doctor', 'status', 'import'],
  ...['analyze', 'suggestions', 'apply', 'dismiss', 'undo'],
  ...['', ' list', ' search', ' show', ' resolve', ' withdraw', ' share', ' unshare', ' forget'].map(
    (name) => `errors${name}`,
  ),
  ...[
    'config',
    'config list',
    'config get',
    'config set',
    'config unset',
    'subagents',
    'prune',
    'stats',
    'hook',
  ],
];

/** A call of each command that succeeds, or fails as is said, in a home with nothing in it. */
const JSON_CALLS: [string, number][] = [
  ['install --dry-run --client-version 2.1.328', 0],
  ['uninstall --dry-run', 0],
  ['doctor', 1],
  ['status', 0],
  ['config', 0],
  ['config list', 0],
  ['config get language', 0],
  ['config set language en', 0],
  ['config unset language', 0],
  ['stats', 0],
];

const words = (line: string) => line.split(' ').filter((word) => word !== '');

describe('self-generation', () => {
  test('shows all commands', async () => {
    using home = temporaryHome();
    const { stdout, stderr, exitCode } = await call(home, ['--help']);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    const shown = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1]);
    expect(shown).toEqual(expect.arrayContaining(COMMANDS.filter((command) => !command.includes(' '))));
    expect(stdout).toContain('Examples:\n  $ self-generation install');
  });

  for (const command of COMMANDS) {
    test(`${command} --help has examples and changes nothing`, async () => {
      using home = temporaryHome();
      const { stdout, stderr, exitCode } = await call(home, [...words(command), '--help']);
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
      expect(stdout).toStartWith(`Usage: self-generation ${command}`);
      expect(stdout).toMatch(new RegExp(`Examples:\\n  \\$ self-generation ${command}`));
      if (command !== 'hook') expect(stdout).toContain('--json');
      if (!command.includes(' ')) expect(stdout).toContain('Exit codes: 0 ');
    });
  }

  for (const [line, code] of JSON_CALLS) {
    test(`${line} --json prints one JSON document and nothing else`, async () => {
      using home = temporaryHome();
      const { stdout, stderr, exitCode } = await call(home, [...words(line), '--json'], {
        env: { FORCE_COLOR: '1' },
      });
      expect(JSON.parse(stdout)).toBeObject();
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: code });
    });
  }

  const wrong: [string, string, string][] = [
    ['', 'Usage: self-generation', ''],
    ['frobnicate', "unknown command 'frobnicate'", 'self-generation --help'],
    ['instal', "unknown command 'instal'\n(Did you mean install?)", 'self-generation --help'],
    ['--jsn', "unknown option '--jsn'", 'self-generation --help'],
    ['status --jsn', "unknown option '--jsn'\n(Did you mean --json?)", 'self-generation status --help'],
    ['doctor now', "too many arguments for 'doctor'", 'self-generation doctor --help'],
    ['install --client-version new', 'It has to look like 2.1.328.', 'self-generation install --help'],
    ['uninstall --all', "unknown option '--all'", 'self-generation uninstall --help'],
    ['config lst', "unknown command 'config lst': it is list, get, set or unset", 'config --help'],
    ['config get', "missing required argument 'key'", 'config get --help'],
    ['config set language', "missing required argument 'value'", 'config set --help'],
  ];
  for (const [line, message, hint] of wrong) {
    test(`ends with 2 and a hint for "${line}", and changes nothing`, async () => {
      using home = temporaryHome();
      const { stdout, stderr, exitCode } = await call(home, words(line));
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 });
      expect(stderr).toContain(message);
      expect(stderr).toContain(hint);
      expect(await Array.fromAsync(new Bun.Glob('**').scan({ cwd: home.path, dot: true }))).toEqual([]);
    });
  }

  // Exit code 2 of a hook is a veto for the client.
  for (const line of ['hook frobnicate', 'hook tool-logger codex now', 'hook --jsn']) {
    test(`ends with 1, never 2, for "${line}"`, async () => {
      using home = temporaryHome();
      const { stdout, stderr, exitCode } = await call(home, words(line), { stdin: '{}' });
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 });
      expect(stderr).toContain('See "self-generation hook --help".');
    });
  }

  test('names the hooks that there are for one that is unknown', async () => {
    using home = temporaryHome();
    const { stderr } = await call(home, ['hook', 'frobnicate']);
    for (const { name } of HOOKS) expect(stderr).toContain(name);
  });

  test('prints the version of package.json', async () => {
    using home = temporaryHome();
    const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8'));
    for (const flag of ['-v', '--version']) {
      expect(await call(home, [flag])).toMatchObject({ stdout: `${version}\n`, exitCode: 0 });
    }
  });

  test('knows the word help', async () => {
    using home = temporaryHome();
    expect((await call(home, ['help', 'doctor'])).stdout).toStartWith('Usage: self-generation doctor');
  });

  const colours: [Record<string, string>, boolean][] = [
    [{}, false],
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    [{ NO_COLOR: '', FORCE_COLOR: '1' }, true],
  ];
  for (const [env, isColoured] of colours) {
    test(`into a pipe with ${JSON.stringify(env)} it is ${isColoured ? 'coloured' : 'plain'}`, async () => {
      using home = temporaryHome();
      for (const line of ['status', 'doctor', 'config']) {
        const { stdout } = await call(home, [line], { env });
        expect(stdout.includes('\x1b[')).toBe(isColoured);
      }
      const { stderr } = await call(home, ['install'], { env: { ...env, CLAUDE_CONFIG_DIR: 'x' } });
      expect(stderr.includes('\x1b[')).toBe(isColoured);
      expect(stderr).toContain('CLAUDE_CONFIG_DIR is "x"');
    });
  }

  for (const line of ['status', 'config', 'config set language en', 'install', 'uninstall']) {
    test(`says what to do when HOME is not set: ${line}`, async () => {
      using home = temporaryHome();
      const { stdout, stderr, exitCode } = await call(home, words(line), { env: { HOME: '' } });
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 });
      expect(stderr).toMatch(
        /^error: Cannot .*: HOME is not set to an absolute path\. Set it and run again\.\n$/,
      );
    });
  }
});
