import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installCommand } from '../../src/cli/install.ts';
import { hooksIn } from '../../src/hooks/hooks.ts';
import { type InstallOptions, install } from '../../src/setup/install.ts';
import { readManifest } from '../../src/setup/manifest.ts';
import { realPath } from '../../src/system/atomic-file.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { callHere } from '../cli/call.ts';
import { installedIn, installOptions, uninstallIn } from '../support/installed.ts';
import { putFile, treeOf } from '../support/tree.ts';

let root = '';
let home = '';
const state = (...names: string[]) => join(home, '.self-generation', ...names);
const settingsPath = () => join(home, '.claude', 'settings.json');
const manifest = () => JSON.parse(readFileSync(state('install.json'), 'utf8'));
const settings = () => JSON.parse(readFileSync(settingsPath(), 'utf8'));

beforeEach(() => {
  root = realPath(mkdtempSync(join(tmpdir(), 'install-')));
  home = join(root, 'home');
  mkdirSync(home);
  putFile(join(root, 'dist', 'self-generation'), 'program 1', 0o755);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const options = (changes: Partial<InstallOptions> = {}) =>
  installOptions(home, { projectDirectory: join(root, 'project'), ...changes });
const installed = (changes: Partial<InstallOptions> = {}) => installedIn(home, options(changes));

async function refusal(changes: Partial<InstallOptions> = {}): Promise<string> {
  const report = await install(options(changes));
  return report.kind === 'failed'
    ? `Cannot ${report.action}: ${report.reason}. ${report.advice}`
    : report.kind;
}

function removed(env = options().env): void {
  expect(uninstallIn(home, { env })).toMatchObject({ kind: 'done' });
}

describe('install()', () => {
  test('installs program, settings, config.json and manifest, all private', async () => {
    const report = await installed();
    expect(readFileSync(state('hooks', 'self-generation'), 'utf8')).toBe('program 1');
    expect(treeOf(state())).toMatchObject({
      '': 'directory 700',
      hooks: 'directory 700',
      data: 'directory 700',
      'hooks/self-generation': 'file 700 program 1',
      'config.json':
        'file 600 {\n  "subagentContext": {\n    "agents": [\n      "general-purpose"\n    ]\n  }\n}\n',
    });
    expect(statSync(settingsPath()).mode & 0o777).toBe(0o600);
    expect(statSync(state('install.json')).mode & 0o777).toBe(0o600);
    expect(Object.keys(settings().hooks)).toEqual([...new Set(hooksIn('session').map((hook) => hook.event))]);
    expect(settings().hooks.SubagentStart).toEqual([
      {
        hooks: [
          {
            type: 'command',
            command: state('hooks', 'self-generation'),
            args: ['hook', 'subagent-context'],
            timeout: 5,
          },
        ],
      },
    ]);
    expect(report).toMatchObject({ upToDate: false, warnings: [], clientVersion: '2.1.328' });
  });

  test('leaves the tree as it was, modes included, when uninstall follows', async () => {
    chmodSync(home, 0o755);
    putFile(join(home, '.bashrc'), 'x');
    const before = treeOf(home);
    await installed();
    removed();
    expect(treeOf(home)).toEqual(before);
  });

  test('changes nothing the second time and says so', async () => {
    await installed();
    const before = treeOf(home);
    const later = () => new Date('2027-01-01T00:00:00Z');
    const report = await installed({ now: later });
    expect(report.upToDate).toBe(true);
    expect(treeOf(home)).toEqual(before);
  });

  test('run from the installed program it copies nothing', async () => {
    await installed();
    const inode = statSync(state('hooks', 'self-generation')).ino;
    const report = await installed({ executablePath: state('hooks', 'self-generation') });
    expect(report.upToDate).toBe(true);
    expect(statSync(state('hooks', 'self-generation')).ino).toBe(inode);
  });

  test('updates program and entries, and still restores the first settings', async () => {
    putFile(settingsPath(), '{ "model" : "opus" }', 0o640);
    const before = treeOf(home);
    await installed({ clientVersion: '2.0.42' });
    expect(Object.keys(settings().hooks)).not.toContain('SubagentStart');
    putFile(join(root, 'dist', 'self-generation'), 'program 2', 0o755);
    const report = await installed({ now: () => new Date('2027-01-01T00:00:00Z') });
    expect(report.steps.find((step) => step.what === 'binary')).toMatchObject({ change: 'updated' });
    expect(readFileSync(state('hooks', 'self-generation'), 'utf8')).toBe('program 2');
    expect(settings().hooks.SubagentStart).toHaveLength(1);
    expect(settings().hooks.PreToolUse).toHaveLength(1);
    removed();
    expect(treeOf(home)).toEqual(before);
  });

  test('keeps what the user wrote between two installs', async () => {
    putFile(settingsPath(), '{\n  "model": "opus"\n}\n');
    await installed({ clientVersion: '2.0.42' });
    writeFileSync(settingsPath(), readFileSync(settingsPath(), 'utf8').replace('"opus"', '"haiku"'));
    await installed();
    removed();
    expect(readFileSync(settingsPath(), 'utf8')).toBe('{\n  "model": "haiku"\n}\n');
  });

  test('backs the settings up and keeps their mode', async () => {
    const text = '\uFEFF{\r\n\t// mine\r\n\t"a": 1,\r\n}\r\n';
    putFile(settingsPath(), text, 0o644);
    await installed();
    expect(readFileSync(state('backups', 'settings.20261120T094709123Z.json'), 'utf8')).toBe(text);
    expect(statSync(settingsPath()).mode & 0o777).toBe(0o644);
    expect(
      readFileSync(settingsPath(), 'utf8').startsWith('\uFEFF{\r\n\t// mine\r\n\t"a": 1,\r\n\t"hooks": {'),
    ).toBe(true);
  });

  test('writes through a link into the dotfiles', async () => {
    const real = putFile(join(root, 'dotfiles', 'claude'), '{}');
    mkdirSync(join(home, '.claude'));
    symlinkSync('../../dotfiles/claude', settingsPath());
    const before = treeOf(root);
    await installed();
    expect(lstatSync(settingsPath()).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(real, 'utf8')).hooks.SubagentStart).toHaveLength(1);
    removed();
    expect(treeOf(root)).toEqual(before);
  });

  test('makes and removes the target of a dangling link', async () => {
    mkdirSync(join(root, 'dotfiles'));
    mkdirSync(join(home, '.claude'));
    symlinkSync(join(root, 'dotfiles', 'claude.json'), settingsPath());
    const before = treeOf(root);
    await installed();
    expect(existsSync(join(root, 'dotfiles', 'claude.json'))).toBe(true);
    removed();
    expect(treeOf(root)).toEqual(before);
  });

  test('honours CLAUDE_CONFIG_DIR, and uninstall cleans each that was used', async () => {
    const before = treeOf(home);
    const env = { ...options().env, CLAUDE_CONFIG_DIR: join(home, 'deep', 'work') };
    await installed({ env });
    await installed();
    expect(existsSync(join(home, 'deep', 'work', 'settings.json'))).toBe(true);
    expect(existsSync(settingsPath())).toBe(true);
    removed();
    expect(treeOf(home)).toEqual(before);
  });

  test('closes open directories of an earlier version and uninstall opens them again', async () => {
    putFile(state('data', 'old.txt'), 'x');
    chmodSync(state(), 0o755);
    chmodSync(state('data'), 0o775);
    const before = treeOf(home);
    await installed();
    expect(treeOf(home)['.self-generation']).toBe('directory 700');
    removed();
    expect(treeOf(home)).toEqual(before);
  });

  test('leaves an existing config.json alone', async () => {
    putFile(state('config.json'), '{"language":"en"}', 0o640);
    await installed();
    expect(readFileSync(state('config.json'), 'utf8')).toBe('{"language":"en"}');
  });

  test('gives context to the agents of user and project that can write', async () => {
    putFile(join(home, '.claude', 'agents', 'fixer.md'), '---\nname: fixer\n---\n');
    putFile(join(home, '.claude', 'agents', 'reader.md'), '---\nname: reader\ntools: Read\n---\n');
    putFile(join(root, 'project', '.claude', 'agents', 'x.md'), '---\nname: painter\ntools: Edit\n---\n');
    await installed();
    const config = JSON.parse(readFileSync(state('config.json'), 'utf8'));
    expect(config).toEqual({ subagentContext: { agents: ['general-purpose', 'fixer', 'painter'] } });
  });

  test('replaces the hooks of the predecessor and says so', async () => {
    const old = (script: string) => ({
      hooks: [{ type: 'command', command: `node ${state('hooks', script)}`, timeout: 5 }],
    });
    const hooks = {
      UserPromptSubmit: [old('prompt-logger.mjs')],
      SubagentStop: [old('subagent-tracker.mjs')],
    };
    putFile(settingsPath(), JSON.stringify({ disableAllHooks: true, hooks }));
    const report = await installed();
    expect(report.warnings).toEqual([
      'Your settings have "disableAllHooks": true: no hook runs until you remove it.',
      'Replaced 2 hooks of an earlier self-generation, so that none runs twice.',
    ]);
    expect(readFileSync(settingsPath(), 'utf8')).not.toContain('.mjs');
    expect(settings().hooks.UserPromptSubmit).toHaveLength(1);
  });

  test('asks the client when no version is given', async () => {
    putFile(join(root, 'bin', 'claude'), '#!/bin/sh\necho "2.1.140 (Claude Code)"\n', 0o755);
    const { clientVersion: _given, ...rest } = options({ env: { HOME: home, PATH: `${root}/bin` } });
    const report = await install(rest);
    expect(report).toMatchObject({ kind: 'done', clientVersion: '2.1.140' });
    expect(settings().hooks.PostToolBatch).toBeUndefined();
    expect(settings().hooks.Stop[0].hooks[0].args).toEqual(['hook', 'stop-tracker']);
  });

  test('keeps how the hooks are registered until it is told otherwise', async () => {
    await installed();
    expect(manifest().hooks).toBeUndefined();
    await installed({ hooks: 'per-call' });
    expect(settings().hooks.PostToolUse[0].hooks[0].args).toEqual(['hook', 'tool-logger']);
    expect(settings().hooks.PreToolUse[0].matcher).toContain('Bash');
    const before = treeOf(home);
    const again = await installed();
    expect([again.upToDate, again.hooks, treeOf(home)]).toEqual([true, 'per-call', before]);
    await installed({ hooks: 'session' });
    expect([settings().hooks.PostToolUse, manifest().hooks]).toEqual([undefined, undefined]);
    expect(settings().hooks.PreToolUse).toMatchObject([{ matcher: 'Agent|Task' }]);
    removed();
    expect(readdirSync(home)).toEqual([]);
  });

  test('an update takes out the entries of a version that had a hook for each call', async () => {
    const entry = (name: string) => ({
      type: 'command',
      command: state('hooks', 'self-generation'),
      args: ['hook', name],
      timeout: 5,
    });
    const mine = { type: 'command', command: 'mine' };
    putFile(
      settingsPath(),
      JSON.stringify({
        hooks: {
          PreToolUse: [{ matcher: 'Edit|Write|Bash', hooks: [entry('pre-tool-guide')] }],
          PostToolUse: [{ hooks: [entry('tool-logger')] }, { hooks: [mine] }],
          PostToolBatch: [{ hooks: [entry('batch-logger')] }],
        },
      }),
    );
    const report = await installed();
    expect(report.hooks).toBe('session');
    expect(settings().hooks).toMatchObject({ PreToolUse: [{ matcher: 'Agent|Task' }] });
    expect([settings().hooks.PostToolUse, settings().hooks.PostToolBatch]).toEqual([
      [{ hooks: [mine] }],
      undefined,
    ]);
    expect(settings().hooks.Stop[0].hooks[0].async).toBe(true);
  });

  test('registers what every client understands when there is none', async () => {
    const { clientVersion: _given, ...rest } = options();
    const report = await install(rest);
    expect(report.kind === 'done' && report.warnings[0]).toContain('there is no "claude" on PATH');
    const command = `'${state('hooks', 'self-generation')}' hook subagent-context`;
    expect(settings().hooks.SubagentStart[0].hooks).toEqual([{ type: 'command', command, timeout: 5 }]);
    expect(settings().hooks.PostToolBatch).toBeUndefined();
  });

  test('a home with a blank and a quote gives a command that a shell runs', async () => {
    const odd = join(root, "o'neil's home");
    putFile(join(root, 'dist', 'self-generation'), '#!/bin/sh\necho "$0|$*"\n', 0o755);
    await installed({ env: { HOME: odd, PATH: '/nowhere' }, clientVersion: '2.0.76' });
    const written = JSON.parse(readFileSync(join(odd, '.claude', 'settings.json'), 'utf8'));
    const { command } = written.hooks.SubagentStart[0].hooks[0];
    const result = await runCommand('/bin/sh', ['-c', command], { env: {}, timeoutMs: 5000 });
    const binary = join(odd, '.self-generation', 'hooks', 'self-generation');
    expect(result).toMatchObject({ stdout: `${binary}|hook subagent-context\n` });
  });

  const nothing = () => {};
  const refusals: [string, () => unknown, () => Partial<InstallOptions>, string][] = [
    [
      'broken settings',
      () => putFile(settingsPath(), '{ "a": 1,, }'),
      () => ({}),
      'line 1, column 10: not valid JSON',
    ],
    [
      'settings that are not UTF-8',
      () => putFile(settingsPath(), Buffer.of(123, 255, 125)),
      () => ({}),
      'not a UTF-8 text',
    ],
    [
      'settings that are a directory',
      () => mkdirSync(settingsPath(), { recursive: true }),
      () => ({}),
      'EISDIR',
    ],
    ['running from source', nothing, () => ({ isCompiled: false }), 'not the compiled program'],
    [
      'a relative CLAUDE_CONFIG_DIR',
      nothing,
      () => ({ env: { HOME: home, CLAUDE_CONFIG_DIR: 'x' } }),
      'is "x"',
    ],
    ['no HOME', nothing, () => ({ env: {} }), 'HOME is not set'],
    ['a program that is gone', nothing, () => ({ executablePath: join(root, 'gone') }), 'ENOENT'],
    ['a file in the way', () => putFile(state('data'), 'x'), () => ({}), 'a file stands there'],
  ];
  for (const [name, prepare, changes, reason] of refusals) {
    test(`keeps every byte on ${name}`, async () => {
      prepare();
      const before = treeOf(root);
      expect(await refusal(changes())).toContain(reason);
      expect(treeOf(root)).toEqual(before);
    });
  }

  test('takes in what another program wrote meanwhile', async () => {
    putFile(settingsPath(), '{"a": 1}');
    let calls = 0;
    const now = () => {
      if (calls++ === 0) writeFileSync(settingsPath(), '{"a": 2}');
      return new Date('2026-11-20T09:47:09.123Z');
    };
    await installed({ now });
    expect(settings()).toMatchObject({ a: 2, hooks: {} });
    expect(readdirSync(state('backups'))).toHaveLength(1);
    removed();
    expect(readFileSync(settingsPath(), 'utf8')).toBe('{"a": 2}');
  });

  test('gives up when another program keeps writing, and undoes the rest', async () => {
    putFile(settingsPath(), '{"a": 0}');
    let calls = 0;
    const now = () => {
      writeFileSync(settingsPath(), `{"a": ${++calls}}`);
      return new Date('2026-11-20T09:47:09.123Z');
    };
    const before = treeOf(home);
    expect(await refusal({ now })).toContain('another program keeps changing the file');
    writeFileSync(settingsPath(), '{"a": 0}');
    expect(treeOf(home)).toEqual(before);
  });

  test('changes nothing in a dry run and tells the same steps', async () => {
    putFile(settingsPath(), '{}');
    const before = treeOf(root);
    const dry = await installed({ dryRun: true });
    expect(treeOf(root)).toEqual(before);
    expect((await installed()).steps).toEqual(dry.steps);
  });

  test('repairs a manifest that cannot be read', async () => {
    await installed();
    writeFileSync(state('install.json'), '{"version": 9}');
    expect(readManifest(state('install.json'))).toMatchObject({ kind: 'unreadable' });
    await installed();
    expect(readManifest(state('install.json'))).toMatchObject({ kind: 'read' });
  });
});

describe('installCommand()', () => {
  const call = (...words: string[]) => {
    const { env, executablePath, now } = options();
    return callHere(installCommand, words, { env, executablePath, now, cwd: root });
  };

  test('prints the report as JSON, and the warnings beside the text', async () => {
    const { stdout } = await call('--json', '--dry-run', '--client-version', '2.1.328');
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'done', upToDate: false });
    expect((await call('--dry-run')).stderr).toContain('warning: The version of Claude Code is unknown');
  });

  test('--mcp says which clients have the server, and which not', async () => {
    const some = await call('--mcp', 'codex', 'claude', '--client-version', '2.1.328');
    expect(some).toMatchObject({ code: 0, stderr: '' });
    expect(some.stdout).toContain('New sessions of Codex, Claude Code have the tools of the MCP server.\n');
    expect(some.stdout).toContain('/subagents');
    putFile(join(home, '.gemini', 'settings.json'), '[]');
    const all = await call('--client-version', '2.1.328', '--mcp');
    expect(all.code).toBe(1);
    expect(all.stderr).toContain('The MCP server is not registered in "');
    expect(await call('--mcp', 'vim')).toMatchObject({ code: 2 });
  });

  test('ends with 2 on wrong usage and with 0 on --help', async () => {
    expect(await call('--client-version', 'new')).toMatchObject({ code: 2 });
    expect(await call('--purge')).toMatchObject({ code: 2 });
    const help = await call('--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('Examples:');
    expect(existsSync(state())).toBe(false);
  });
});
