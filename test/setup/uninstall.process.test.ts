import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { uninstallCommand } from '../../src/cli/uninstall.ts';
import type { UninstallOptions, UninstallReport } from '../../src/setup/uninstall.ts';
import { realPath } from '../../src/system/atomic-file.ts';
import { callHere } from '../cli/call.ts';
import { installedIn, uninstallIn } from '../support/installed.ts';
import { putFile, treeBelow } from '../support/tree.ts';

let root = '';
let home = '';
const state = (...names: string[]) => join(home, '.self-generation', ...names);
const settingsPath = () => join(home, '.claude', 'settings.json');

beforeEach(() => {
  root = realPath(mkdtempSync(join(tmpdir(), 'uninstall-')));
  home = join(root, 'home');
  mkdirSync(home);
  putFile(join(root, 'dist', 'self-generation'), 'program');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Env = Record<string, string>;
const homeEnv = (): Env => ({ HOME: home, PATH: '/nowhere' });

async function installed(env = homeEnv()): Promise<void> {
  await installedIn(home, { env });
}
const removed = (changes: Partial<UninstallOptions> = {}) => uninstallIn(home, changes);

function done(report: UninstallReport) {
  if (report.kind === 'failed') throw new Error(`${report.action}: ${report.reason}`);
  return report;
}

function reason(report: UninstallReport): string {
  return report.kind === 'failed' ? `Cannot ${report.action}: ${report.reason}` : report.kind;
}

/** What hooks and analyses leave behind. */
function putData(): void {
  putFile(state('data', 'self-gen.db'), 'learned');
  putFile(state('spool', '1.json'), '{}');
  putFile(state('heartbeats', 'SessionStart'), 'now');
  putFile(state('logs', 'hooks.log'), 'log');
  putFile(state('logs', 'unread.json'), '{}');
}

describe('uninstall()', () => {
  test('does nothing where nothing is installed', () => {
    const before = treeBelow(root);
    expect(done(removed()).steps.every((step) => step.change === 'unchanged')).toBe(true);
    done(removed({ purge: true }));
    expect(treeBelow(root)).toEqual(before);
  });

  test('keeps what was learned, but no words of tasks', async () => {
    await installed();
    putData();
    writeFileSync(state('tasks/a7.json'), '{}');
    const report = done(removed());
    expect(Object.keys(treeBelow(home))).toEqual([
      '.self-generation',
      '.self-generation/data',
      '.self-generation/data/self-gen.db',
      '.self-generation/spool',
      '.self-generation/spool/1.json',
    ]);
    const kept = report.steps.filter((step) => step.change === 'kept').map((step) => step.path);
    expect(kept).toEqual([state('data'), state('spool')]);
  });

  test('removes the scripts of applied suggestions, and not what somebody else put there', async () => {
    await installed();
    putFile(state('hooks', 'auto', 's0a1b2c3d4.mjs'), 'code', 0o600);
    putFile(state('backups', 'apply-CLAUDE.20261120T094709123Z.md'), 'mine');
    expect(done(removed({ dryRun: true })).steps).toContainEqual({
      what: 'script',
      path: state('hooks', 'auto', 's0a1b2c3d4.mjs'),
      change: 'removed',
    });
    done(removed());
    expect(treeBelow(home)).toEqual({});
    await installed();
    putFile(state('hooks', 'auto', 'workflow-1.mjs'), 'of the predecessor');
    done(removed());
    expect(readdirSync(state('hooks', 'auto'))).toEqual(['workflow-1.mjs']);
  });

  test('with purge removes that too, also later', async () => {
    const before = treeBelow(home);
    await installed();
    putData();
    putFile(state('data', 'catch-up-1a2b3c.lock'), '');
    done(removed({ purge: true }));
    expect(treeBelow(home)).toEqual(before);
    await installed();
    putData();
    done(removed());
    done(removed({ purge: true }));
    expect(treeBelow(home)).toEqual(before);
  });

  test('with purge goes on where it cannot find out what was applied, and says so', async () => {
    await installed();
    putData();
    expect(done(removed({ purge: true })).warnings).toEqual([
      'The database cannot be read; what you applied from suggestions stays where it is.',
    ]);
    expect(existsSync(state())).toBe(false);
  });

  test('keeps a config.json that the user has changed, and says so', async () => {
    await installed();
    writeFileSync(state('config.json'), '{"language":"en"}');
    const report = done(removed());
    expect(report.steps.find((step) => step.what === 'config')).toMatchObject({
      change: 'kept',
      note: 'you have changed it',
    });
    expect(readFileSync(state('config.json'), 'utf8')).toBe('{"language":"en"}');
    expect(readdirSync(state())).toEqual(['config.json']);
  });

  test('edits settings that the user has changed since, with as few edits as possible', async () => {
    putFile(settingsPath(), '{\n  "model": "opus"\n}\n');
    await installed();
    const text = readFileSync(settingsPath(), 'utf8');
    writeFileSync(settingsPath(), text.replace('{\n', '{\n  // mine\n  "theme" : "dark",\n'));
    done(removed());
    expect(readFileSync(settingsPath(), 'utf8')).toBe(
      '{\n  // mine\n  "theme" : "dark",\n  "model": "opus"\n}\n',
    );
  });

  test('cleans a file once that two settings are links to', async () => {
    putFile(join(root, 'dotfiles', 'claude.json'), '{"a": 1}');
    for (const name of ['.claude', '.work']) {
      mkdirSync(join(home, name));
      symlinkSync(join(root, 'dotfiles', 'claude.json'), join(home, name, 'settings.json'));
    }
    const before = treeBelow(root);
    await installed();
    await installed({ ...homeEnv(), CLAUDE_CONFIG_DIR: join(home, '.work') });
    done(removed());
    expect(treeBelow(root)).toEqual(before);
  });

  test('keeps a hook that the user has put beside ours', async () => {
    await installed();
    const settings = JSON.parse(readFileSync(settingsPath(), 'utf8'));
    settings.hooks.PreToolUse[0].hooks.push({ type: 'command', command: 'prettier --write' });
    writeFileSync(settingsPath(), JSON.stringify(settings));
    done(removed());
    const { matcher } = settings.hooks.PreToolUse[0];
    expect(JSON.parse(readFileSync(settingsPath(), 'utf8'))).toEqual({
      hooks: { PreToolUse: [{ matcher, hooks: [{ type: 'command', command: 'prettier --write' }] }] },
    });
  });

  test('deletes a settings file of ours in which nothing else is left, and keeps a foreign .claude', async () => {
    await installed();
    writeFileSync(settingsPath(), JSON.stringify(JSON.parse(readFileSync(settingsPath(), 'utf8'))));
    putFile(join(home, '.claude', 'history.jsonl'), 'x');
    done(removed());
    expect(readdirSync(join(home, '.claude'))).toEqual(['history.jsonl']);
  });

  test('works when the settings are gone', async () => {
    await installed();
    rmSync(settingsPath());
    done(removed());
    expect(readdirSync(home)).toEqual([]);
  });

  test('edits instead of restoring when the backup was tampered with', async () => {
    putFile(settingsPath(), '{"a": 1}');
    await installed();
    writeFileSync(state('backups', 'settings.20261120T094709123Z.json'), '{"evil": 1}');
    done(removed());
    expect(readFileSync(settingsPath(), 'utf8')).toBe('{"a": 1}');
  });

  test('without a manifest takes out our entries and removes the program', async () => {
    putFile(settingsPath(), '{"a": 1}');
    await installed();
    rmSync(state('install.json'));
    done(removed());
    expect(readFileSync(settingsPath(), 'utf8')).toBe('{"a": 1}');
    expect(readdirSync(state())).toEqual(['config.json']);
  });

  test('removes nothing while the settings cannot be edited', async () => {
    await installed();
    writeFileSync(settingsPath(), '{ broken');
    const before = treeBelow(root);
    expect(reason(removed())).toContain('line 1, column 3: not valid JSON');
    expect(reason(removed({ purge: true }))).toContain(`take the hooks out of "${settingsPath()}"`);
    expect(treeBelow(root)).toEqual(before);
  });

  test('leaves backups and files that are not from install', async () => {
    await installed();
    putFile(state('backups', 'self-gen.db.1'), 'x');
    putFile(state('hooks', 'mine.mjs'), 'x');
    done(removed());
    expect(Object.keys(treeBelow(state()))).toEqual([
      'backups',
      'backups/self-gen.db.1',
      'hooks',
      'hooks/mine.mjs',
    ]);
  });

  test('puts the hooks of the predecessor back, but not with purge', async () => {
    const command = `node ${state('hooks', 'prompt-logger.mjs')}`;
    const text = JSON.stringify({ a: 1, hooks: { UserPromptSubmit: [{ hooks: [{ command }] }] } });
    putFile(settingsPath(), text);
    await installed();
    expect(done(removed()).warnings[0]).toContain('registered again');
    expect(readFileSync(settingsPath(), 'utf8')).toBe(text);
    await installed();
    done(removed({ purge: true }));
    expect(JSON.parse(readFileSync(settingsPath(), 'utf8'))).toEqual({ a: 1 });
  });

  test('removes what an install that was killed had begun to write, and nothing that looks like it', async () => {
    putFile(settingsPath(), '{"a": 1}');
    putFile(join(home, '.claude', '.settings.json.mine.tmp'), 'mine');
    const before = treeBelow(root);
    const id = 'de7c1b11-4687-4580-8ca2-21afc9e20cc0';
    putFile(join(home, '.claude', `.settings.json.${id}.tmp`), '{"a"');
    putFile(state('hooks', `.self-generation.${id}.tmp`), 'pro');
    done(removed());
    expect(treeBelow(root)).toEqual(before);
    putFile(state('hooks', `.self-generation.${id}.tmp`), 'pro');
    done(removed({ purge: true }));
    expect(treeBelow(root)).toEqual(before);
  });

  test('changes nothing in a dry run', async () => {
    putFile(settingsPath(), '{"a": 1}');
    await installed();
    putData();
    const before = treeBelow(root);
    expect(done(removed({ dryRun: true })).steps.some((step) => step.change === 'restored')).toBe(true);
    done(removed({ dryRun: true, purge: true }));
    expect(treeBelow(root)).toEqual(before);
  });

  test('unlinks links without following them', async () => {
    putFile(join(root, 'outside', 'precious'), 'x');
    await installed();
    putData();
    rmSync(state('heartbeats'), { recursive: true });
    symlinkSync(join(root, 'outside'), state('heartbeats'));
    symlinkSync(join(root, 'outside'), state('data', 'link'));
    done(removed({ purge: true }));
    expect(existsSync(state())).toBe(false);
    expect(readdirSync(join(root, 'outside'))).toEqual(['precious']);
  });
});

describe('uninstall() with purge', () => {
  const rows: [string, () => void, () => string, string][] = [
    ['a file', () => putFile(state(), 'x'), state, 'not a directory'],
    ['the home directory', () => putFile(join(home, 'config.json'), ''), () => home, 'more than our files'],
    ['what holds it', () => putFile(join(root, 'config.json'), ''), () => root, 'more than our files'],
    ['the root', () => undefined, () => '/', 'more than our files'],
    [
      'a foreign directory',
      () => putFile(join(root, 'app', 'x'), ''),
      () => join(root, 'app'),
      'may not be ours',
    ],
  ];
  for (const [name, prepare, place, expected] of rows) {
    test(`refuses ${name}`, () => {
      prepare();
      const before = treeBelow(root);
      const env = { ...homeEnv(), SELF_GENERATION_HOME: place() };
      expect(reason(removed({ purge: true, env }))).toContain(expected);
      expect(treeBelow(root)).toEqual(before);
    });
  }

  test('refuses a link', () => {
    putFile(join(root, 'elsewhere', 'config.json'), '');
    symlinkSync(join(root, 'elsewhere'), state());
    const before = treeBelow(root);
    expect(reason(removed({ purge: true }))).toContain('symbolic link');
    expect(treeBelow(root)).toEqual(before);
  });

  test('takes only what is surely ours out of a directory that stood there before', async () => {
    const app = join(root, 'app');
    for (const path of [
      'src/main.c',
      'data/users.db',
      'logs/app.log',
      'spool/mail',
      'backups/settings.json',
    ]) {
      putFile(join(app, path), 'precious');
    }
    const before = treeBelow(root);
    const env = { ...homeEnv(), SELF_GENERATION_HOME: app };
    await installed(env);
    putFile(join(app, 'data', 'self-gen.db'), 'learned');
    const report = done(removed({ purge: true, env }));
    expect(treeBelow(root)).toEqual(before);
    expect(report.steps.at(-1)).toMatchObject({ change: 'removed' });
    const kept = report.steps.filter((step) => step.change === 'kept').map((step) => step.path);
    expect(kept.sort()).toEqual(['backups', 'data', 'logs', 'spool', 'src'].map((name) => join(app, name)));
  });

  test('empties a directory that stood there empty', async () => {
    const place = join(root, 'place');
    mkdirSync(place);
    const before = treeBelow(root);
    const env = { ...homeEnv(), SELF_GENERATION_HOME: place };
    await installed(env);
    putFile(join(place, 'spool', 'x'), 'x');
    done(removed({ purge: true, env }));
    expect(treeBelow(root)).toEqual(before);
  });

  test('removes a directory of any name that install made', async () => {
    const before = treeBelow(root);
    const env = { ...homeEnv(), SELF_GENERATION_HOME: join(root, 'new', 'place') };
    await installed(env);
    putFile(join(root, 'new', 'place', 'later', 'x'), 'x');
    done(removed({ purge: true, env }));
    expect(treeBelow(root)).toEqual(before);
  });
});

describe('uninstallCommand()', () => {
  const call = (...words: string[]) =>
    callHere(uninstallCommand, words, {
      env: homeEnv(),
      executablePath: state('hooks', 'self-generation'),
      cwd: root,
    });

  test('says what to do where it failed, prints the report as JSON, and ends with 2 on wrong usage', async () => {
    await installed();
    const text = readFileSync(settingsPath(), 'utf8');
    writeFileSync(settingsPath(), '{');
    const { stderr, code } = await call();
    expect(code).toBe(1);
    expect(stderr).toContain('close brace expected');
    expect(stderr).toEndWith('Correct that and run the command again.\n');
    writeFileSync(settingsPath(), text);
    expect((await call('--json', '--purge')).stdout).toContain('"kind": "done"');
    expect(await call('--everything')).toMatchObject({ code: 2 });
  });
});
