import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { installCommand } from '../../src/cli/install.ts';
import { hooksIn } from '../../src/hooks/hooks.ts';
import { type InstallOptions, install } from '../../src/setup/install.ts';
import { readManifest } from '../../src/setup/manifest.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { callHere } from '../cli/call.ts';
import { installedIn, installOptions } from '../support/installed.ts';
import { putFile, treeOf } from '../support/tree.ts';
import { useMachine } from './machine.ts';

const at = useMachine('program 1');
const manifest = () => JSON.parse(readFileSync(at.state('install.json'), 'utf8'));
const settings = () => JSON.parse(readFileSync(at.settings(), 'utf8'));

const options = (changes: Partial<InstallOptions> = {}) =>
  installOptions(at.home, { projectDirectory: join(at.root, 'project'), ...changes });
const installed = (changes: Partial<InstallOptions> = {}) => installedIn(at.home, options(changes));

async function refusal(changes: Partial<InstallOptions> = {}): Promise<string> {
  const report = await install(options(changes));
  return report.kind === 'failed'
    ? `Cannot ${report.action}: ${report.reason}. ${report.advice}`
    : report.kind;
}

describe('install()', () => {
  test('installs program, settings, config.json and manifest, all private', async () => {
    const report = await installed();
    expect(readFileSync(at.state('hooks', 'self-generation'), 'utf8')).toBe('program 1');
    expect(treeOf(at.state())).toMatchObject({
      '': 'directory 700',
      hooks: 'directory 700',
      data: 'directory 700',
      'hooks/self-generation': 'file 700 program 1',
      'config.json':
        'file 600 {\n  "subagentContext": {\n    "agents": [\n      "general-purpose"\n    ]\n  }\n}\n',
    });
    expect(statSync(at.settings()).mode & 0o777).toBe(0o600);
    expect(statSync(at.state('install.json')).mode & 0o777).toBe(0o600);
    expect(Object.keys(settings().hooks)).toEqual([...new Set(hooksIn('session').map((hook) => hook.event))]);
    const entry = { type: 'command', command: at.state('hooks', 'self-generation'), timeout: 5 };
    const hooks = [{ ...entry, args: ['hook', 'subagent-context'] }];
    expect(settings().hooks.SubagentStart).toEqual([{ hooks }]);
    expect(report).toMatchObject({ upToDate: false, warnings: [], clientVersion: '2.1.328' });
  });

  test('leaves the tree as it was, modes included, when uninstall follows', async () => {
    chmodSync(at.home, 0o755);
    putFile(join(at.home, '.bashrc'), 'x');
    const before = treeOf(at.home);
    await installed();
    at.removed();
    expect(treeOf(at.home)).toEqual(before);
  });

  test('changes nothing the second time and says so', async () => {
    await installed();
    const before = treeOf(at.home);
    const later = () => new Date('2027-01-01T00:00:00Z');
    const report = await installed({ now: later });
    expect(report.upToDate).toBe(true);
    expect(treeOf(at.home)).toEqual(before);
  });

  test('run from the installed program it copies nothing', async () => {
    await installed();
    const inode = statSync(at.state('hooks', 'self-generation')).ino;
    const report = await installed({ executablePath: at.state('hooks', 'self-generation') });
    expect(report.upToDate).toBe(true);
    expect(statSync(at.state('hooks', 'self-generation')).ino).toBe(inode);
  });

  test('updates program and entries, and still restores the first settings', async () => {
    putFile(at.settings(), '{ "model" : "opus" }', 0o640);
    const before = treeOf(at.home);
    await installed({ clientVersion: '2.0.42' });
    expect(Object.keys(settings().hooks)).not.toContain('SubagentStart');
    putFile(join(at.root, 'dist', 'self-generation'), 'program 2', 0o755);
    const report = await installed({ now: () => new Date('2027-01-01T00:00:00Z') });
    expect(report.steps.find((step) => step.what === 'binary')).toMatchObject({ change: 'updated' });
    expect(readFileSync(at.state('hooks', 'self-generation'), 'utf8')).toBe('program 2');
    expect(settings().hooks.SubagentStart).toHaveLength(1);
    expect(settings().hooks.PreToolUse).toHaveLength(1);
    at.removed();
    expect(treeOf(at.home)).toEqual(before);
  });

  test('keeps what the user wrote between two installs', async () => {
    putFile(at.settings(), '{\n  "model": "opus"\n}\n');
    await installed({ clientVersion: '2.0.42' });
    writeFileSync(at.settings(), readFileSync(at.settings(), 'utf8').replace('"opus"', '"haiku"'));
    await installed();
    at.removed();
    expect(readFileSync(at.settings(), 'utf8')).toBe('{\n  "model": "haiku"\n}\n');
  });

  test('backs the settings up and keeps their mode', async () => {
    const text = '\uFEFF{\r\n\t// mine\r\n\t"a": 1,\r\n}\r\n';
    putFile(at.settings(), text, 0o644);
    await installed();
    expect(readFileSync(at.state('backups', 'settings.20261120T094709123Z.json'), 'utf8')).toBe(text);
    expect(statSync(at.settings()).mode & 0o777).toBe(0o644);
    expect(
      readFileSync(at.settings(), 'utf8').startsWith('\uFEFF{\r\n\t// mine\r\n\t"a": 1,\r\n\t"hooks": {'),
    ).toBe(true);
  });

  test('writes through a link into the dotfiles', async () => {
    const real = putFile(join(at.root, 'dotfiles', 'claude'), '{}');
    mkdirSync(join(at.home, '.claude'));
    symlinkSync('../../dotfiles/claude', at.settings());
    const before = treeOf(at.root);
    await installed();
    expect(lstatSync(at.settings()).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(real, 'utf8')).hooks.SubagentStart).toHaveLength(1);
    at.removed();
    expect(treeOf(at.root)).toEqual(before);
  });

  test('makes and removes the target of a dangling link', async () => {
    mkdirSync(join(at.root, 'dotfiles'));
    mkdirSync(join(at.home, '.claude'));
    symlinkSync(join(at.root, 'dotfiles', 'claude.json'), at.settings());
    const before = treeOf(at.root);
    await installed();
    expect(existsSync(join(at.root, 'dotfiles', 'claude.json'))).toBe(true);
    at.removed();
    expect(treeOf(at.root)).toEqual(before);
  });

  test('honours CLAUDE_CONFIG_DIR, and uninstall cleans each that was used', async () => {
    const before = treeOf(at.home);
    const env = { ...options().env, CLAUDE_CONFIG_DIR: join(at.home, 'deep', 'work') };
    await installed({ env });
    await installed();
    expect(existsSync(join(at.home, 'deep', 'work', 'settings.json'))).toBe(true);
    expect(existsSync(at.settings())).toBe(true);
    at.removed();
    expect(treeOf(at.home)).toEqual(before);
  });

  test('closes open directories of an earlier version and uninstall opens them again', async () => {
    putFile(at.state('data', 'old.txt'), 'x');
    chmodSync(at.state(), 0o755);
    chmodSync(at.state('data'), 0o775);
    const before = treeOf(at.home);
    await installed();
    expect(treeOf(at.home)['.self-generation']).toBe('directory 700');
    at.removed();
    expect(treeOf(at.home)).toEqual(before);
  });

  const config = () => readFileSync(at.state('config.json'), 'utf8');

  test('names its agents also in settings that are there, and uninstall brings those back', async () => {
    putFile(at.state('config.json'), '{"language":"en"}', 0o640);
    const { warnings } = await installed();
    expect(JSON.parse(config())).toEqual({
      language: 'en',
      subagentContext: { agents: ['general-purpose'] },
    });
    expect(warnings).toEqual([]);
    expect((await installed()).upToDate).toBe(true);
    at.removed();
    expect(config()).toBe('{"language":"en"}');
    expect(statSync(at.state('config.json')).mode & 0o777).toBe(0o640);
  });

  test('and uninstall keeps what their user has changed since', async () => {
    putFile(at.state('config.json'), '{"language":"en"}');
    await installed();
    const edited = config().replace('"en"', '"ko"');
    putFile(at.state('config.json'), edited);
    await installed();
    at.removed();
    expect(config()).toBe(edited);
  });

  test('leaves what its user has decided, and comments, as they are', async () => {
    const english = { language: 'en', by: 'locale', locale: 'en_US.UTF-8' } as const;
    for (const text of [
      '{"language":"ko","subagentContext":{"agents":[]}}',
      '{"language":"ko","subagentContext":{"excludeAgents":["x"]}}',
      '{ // mine\n  language: "ko" }',
    ]) {
      putFile(at.state('config.json'), text);
      const { warnings } = await installed({ language: english });
      expect(config()).toBe(text);
      const hint = `self-generation config set subagentContext.agents '["general-purpose"]'`;
      expect(warnings.join()).toBe(
        text.includes('mine') ? `${at.state('config.json')}: as you have it: ${hint}` : '',
      );
      at.removed();
      expect(config()).toBe(text);
    }
  });

  test('writes the language of a first install, and changes none later unless it is told to', async () => {
    const korean = { language: 'ko', by: 'locale', locale: 'ko_KR.UTF-8' } as const;
    const { steps } = await installed({ language: korean });
    const note = 'for general-purpose; texts in Korean, by your locale ko_KR.UTF-8';
    expect(steps).toContainEqual({ what: 'config', path: at.state('config.json'), change: 'created', note });
    const english = { language: 'en', by: 'user' } as const;
    const { warnings } = await installed({ language: english });
    expect(warnings.join()).toContain('self-generation config set language en');
    expect(JSON.parse(config()).language).toBe('ko');
  });

  test('gives context to the agents of user and project that can write', async () => {
    putFile(join(at.home, '.claude', 'agents', 'fixer.md'), '---\nname: fixer\n---\n');
    putFile(join(at.home, '.claude', 'agents', 'reader.md'), '---\nname: reader\ntools: Read\n---\n');
    putFile(join(at.root, 'project', '.claude', 'agents', 'x.md'), '---\nname: painter\ntools: Edit\n---\n');
    await installed();
    expect(JSON.parse(config())).toEqual({
      subagentContext: { agents: ['general-purpose', 'fixer', 'painter'] },
    });
  });

  test('replaces the hooks of the predecessor and says so', async () => {
    const old = (script: string) => ({
      hooks: [{ type: 'command', command: `node ${at.state('hooks', script)}`, timeout: 5 }],
    });
    const hooks = {
      UserPromptSubmit: [old('prompt-logger.mjs')],
      SubagentStop: [old('subagent-tracker.mjs')],
    };
    putFile(at.settings(), JSON.stringify({ disableAllHooks: true, hooks }));
    const report = await installed();
    expect(report.warnings).toEqual([
      'Your settings have "disableAllHooks": true: no hook runs until you remove it.',
      'Replaced 2 hooks of an earlier self-generation, so that none runs twice.',
    ]);
    expect(readFileSync(at.settings(), 'utf8')).not.toContain('.mjs');
    expect(settings().hooks.UserPromptSubmit).toHaveLength(1);
  });

  test('asks the client when no version is given', async () => {
    putFile(join(at.root, 'bin', 'claude'), '#!/bin/sh\necho "2.1.140 (Claude Code)"\n', 0o755);
    const { clientVersion: _given, ...rest } = options({ env: { HOME: at.home, PATH: `${at.root}/bin` } });
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
    const before = treeOf(at.home);
    const again = await installed();
    expect([again.upToDate, again.hooks, treeOf(at.home)]).toEqual([true, 'per-call', before]);
    await installed({ hooks: 'session' });
    expect([settings().hooks.PostToolUse, manifest().hooks]).toEqual([undefined, undefined]);
    expect(settings().hooks.PreToolUse).toMatchObject([{ matcher: 'Agent|Task' }]);
    at.removed();
    expect(readdirSync(at.home)).toEqual([]);
  });

  test('an update takes out the entries of a version that had a hook for each call', async () => {
    const command = at.state('hooks', 'self-generation');
    const group = (name: string) => ({
      hooks: [{ type: 'command', command, args: ['hook', name], timeout: 5 }],
    });
    const mine = { type: 'command', command: 'mine' };
    const PreToolUse = [{ matcher: 'Edit|Write|Bash', ...group('pre-tool-guide') }];
    const PostToolUse = [group('tool-logger'), { hooks: [mine] }];
    const hooks = { PreToolUse, PostToolUse, PostToolBatch: [group('batch-logger')] };
    putFile(at.settings(), JSON.stringify({ hooks }));
    const report = await installed();
    expect(report.hooks).toBe('session');
    expect(settings().hooks).toMatchObject({ PreToolUse: [{ matcher: 'Agent|Task' }] });
    expect(settings().hooks.PostToolUse).toEqual([{ hooks: [mine] }]);
    expect(settings().hooks.PostToolBatch).toBeUndefined();
    expect(settings().hooks.Stop[0].hooks[0].async).toBe(true);
  });

  test('registers what every client understands when there is none', async () => {
    const { clientVersion: _given, ...rest } = options();
    const report = await install(rest);
    expect(report.kind === 'done' && report.warnings[0]).toContain('there is no "claude" on PATH');
    const command = `'${at.state('hooks', 'self-generation')}' hook subagent-context`;
    expect(settings().hooks.SubagentStart[0].hooks).toEqual([{ type: 'command', command, timeout: 5 }]);
    expect(settings().hooks.PostToolBatch).toBeUndefined();
  });

  test('registers for the client that was there before where none is found', async () => {
    await installed();
    const before = treeOf(at.home);
    const { clientVersion: _given, ...rest } = options();
    const report = await install(rest);
    expect(report.kind === 'done' && report.warnings[0]).toContain('registered for 2.1.328, as before');
    expect(treeOf(at.home)).toEqual(before);
  });

  test('a home with a blank and a quote gives a command that a shell runs', async () => {
    const odd = join(at.root, "o'neil's home");
    putFile(join(at.root, 'dist', 'self-generation'), '#!/bin/sh\necho "$0|$*"\n', 0o755);
    await installed({ env: { HOME: odd, PATH: '/nowhere' }, clientVersion: '2.0.76' });
    const written = JSON.parse(readFileSync(join(odd, '.claude', 'settings.json'), 'utf8'));
    const { command } = written.hooks.SubagentStart[0].hooks[0];
    const result = await runCommand('/bin/sh', ['-c', command], { env: {}, timeoutMs: 5000 });
    const binary = join(odd, '.self-generation', 'hooks', 'self-generation');
    expect(result).toMatchObject({ stdout: `${binary}|hook subagent-context\n` });
  });

  const put = (content: string | Buffer) => () => putFile(at.settings(), content);
  const refusals: [string, prepare: () => unknown, changes: () => Partial<InstallOptions>, string][] = [
    ['broken settings', put('{ "a": 1,, }'), () => ({}), 'line 1, column 10: not valid JSON'],
    ['settings that are not UTF-8', put(Buffer.of(123, 255, 125)), () => ({}), 'not a UTF-8 text'],
    ['a directory', () => mkdirSync(at.settings(), { recursive: true }), () => ({}), 'EISDIR'],
    ['running from source', () => {}, () => ({ isCompiled: false }), 'not the compiled program'],
    ['a relative place', () => {}, () => ({ env: { ...at.env(), CLAUDE_CONFIG_DIR: 'x' } }), 'is "x"'],
    ['no HOME', () => {}, () => ({ env: {} }), 'HOME is not set'],
    ['a program that is gone', () => {}, () => ({ executablePath: join(at.root, 'gone') }), 'ENOENT'],
    ['a file in the way', () => putFile(at.state('data'), 'x'), () => ({}), 'a file stands there'],
  ];
  for (const [name, prepare, changes, reason] of refusals) {
    test(`keeps every byte on ${name}`, async () => {
      prepare();
      expect(await at.comesBack(() => refusal(changes()))).toContain(reason);
    });
  }

  test('takes in what another program wrote meanwhile', async () => {
    putFile(at.settings(), '{"a": 1}');
    let calls = 0;
    const now = () => {
      if (calls++ === 0) writeFileSync(at.settings(), '{"a": 2}');
      return new Date('2026-11-20T09:47:09.123Z');
    };
    await installed({ now });
    expect(settings()).toMatchObject({ a: 2, hooks: {} });
    expect(readdirSync(at.state('backups'))).toHaveLength(1);
    at.removed();
    expect(readFileSync(at.settings(), 'utf8')).toBe('{"a": 2}');
  });

  test('gives up when another program keeps writing, and undoes the rest', async () => {
    putFile(at.settings(), '{"a": 0}');
    let calls = 0;
    const now = () => {
      writeFileSync(at.settings(), `{"a": ${++calls}}`);
      return new Date('2026-11-20T09:47:09.123Z');
    };
    const before = treeOf(at.home);
    expect(await refusal({ now })).toContain('another program keeps changing the file');
    writeFileSync(at.settings(), '{"a": 0}');
    expect(treeOf(at.home)).toEqual(before);
  });

  test('changes nothing in a dry run and tells the same steps', async () => {
    putFile(at.settings(), '{}');
    const before = treeOf(at.root);
    const dry = await installed({ dryRun: true });
    expect(treeOf(at.root)).toEqual(before);
    expect((await installed()).steps).toEqual(dry.steps);
  });

  test('repairs a manifest that cannot be read', async () => {
    await installed();
    writeFileSync(at.state('install.json'), '{"version": 9}');
    expect(readManifest(at.state('install.json'))).toMatchObject({ kind: 'unreadable' });
    await installed();
    expect(readManifest(at.state('install.json'))).toMatchObject({ kind: 'read' });
  });
});

describe('installCommand()', () => {
  const call = (...words: string[]) => {
    const { env, executablePath, now } = options();
    return callHere(installCommand, words, { env, executablePath, now, cwd: at.root });
  };

  test('--mcp says which clients have the server, and which not', async () => {
    const some = await call('--mcp', 'codex', 'claude', '--client-version', '2.1.328');
    expect(some).toMatchObject({ code: 0, stderr: '' });
    expect(some.stdout).toContain('New sessions of Codex, Claude Code have the tools of the MCP server.\n');
    expect(some.stdout).toContain('/subagents');
    putFile(join(at.home, '.gemini', 'settings.json'), '[]');
    const all = await call('--client-version', '2.1.328', '--mcp');
    expect(all.code).toBe(1);
    expect(all.stderr).toContain('The MCP server is not registered in "');
    expect(await call('--mcp', 'vim')).toMatchObject({ code: 2 });
  });
});
