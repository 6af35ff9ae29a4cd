import { describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { UninstallReport } from '../../src/setup/uninstall.ts';
import { installedIn, uninstallIn } from '../support/installed.ts';
import { putFile, treeBelow } from '../support/tree.ts';
import { useMachine } from './machine.ts';

const at = useMachine();

const installed = (env = at.env()) => installedIn(at.home, { env });
const { removed } = at;
function reason(report: UninstallReport): string {
  return report.kind === 'failed' ? `Cannot ${report.action}: ${report.reason}` : report.kind;
}

/** What hooks and analyses leave behind. */
function putData(): void {
  putFile(at.state('data', 'self-gen.db'), 'learned');
  putFile(at.state('spool', '1.json'), '{}');
  putFile(at.state('heartbeats', 'SessionStart'), 'now');
  putFile(at.state('logs', 'hooks.log'), 'log');
  putFile(at.state('logs', 'unread.json'), '{}');
}

describe('uninstall()', () => {
  test('does nothing where nothing is installed', () => {
    const before = treeBelow(at.root);
    expect(removed().steps.every((step) => step.change === 'unchanged')).toBe(true);
    removed({ purge: true });
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('keeps what was learned, but no words of tasks', async () => {
    await installed();
    putData();
    writeFileSync(at.state('tasks/a7.json'), '{}');
    const report = removed();
    expect(Object.keys(treeBelow(at.home))).toEqual([
      '.self-generation',
      '.self-generation/data',
      '.self-generation/data/self-gen.db',
      '.self-generation/spool',
      '.self-generation/spool/1.json',
    ]);
    const kept = report.steps.filter((step) => step.change === 'kept').map((step) => step.path);
    expect(kept).toEqual([at.state('data'), at.state('spool')]);
  });

  test('removes the scripts of applied suggestions, and not what somebody else put there', async () => {
    await installed();
    putFile(at.state('hooks', 'auto', 's0a1b2c3d4.mjs'), 'code', 0o600);
    putFile(at.state('backups', 'apply-CLAUDE.20261120T094709123Z.md'), 'mine');
    expect(removed({ dryRun: true }).steps).toContainEqual({
      what: 'script',
      path: at.state('hooks', 'auto', 's0a1b2c3d4.mjs'),
      change: 'removed',
    });
    removed();
    expect(treeBelow(at.home)).toEqual({});
    await installed();
    putFile(at.state('hooks', 'auto', 'workflow-1.mjs'), 'of the predecessor');
    removed();
    expect(readdirSync(at.state('hooks', 'auto'))).toEqual(['workflow-1.mjs']);
  });

  test('with purge removes that too, also later', async () => {
    const before = treeBelow(at.home);
    await installed();
    putData();
    putFile(at.state('data', 'catch-up-1a2b3c.lock'), '');
    removed({ purge: true });
    expect(treeBelow(at.home)).toEqual(before);
    await installed();
    putData();
    removed();
    removed({ purge: true });
    expect(treeBelow(at.home)).toEqual(before);
  });

  test('with purge goes on where it cannot find out what was applied, and says so', async () => {
    await installed();
    putData();
    expect(removed({ purge: true }).warnings).toEqual([
      'The database cannot be read; what you applied from suggestions stays where it is.',
    ]);
    expect(existsSync(at.state())).toBe(false);
  });

  test('keeps a config.json that the user has changed, and says so', async () => {
    await installed();
    writeFileSync(at.state('config.json'), '{"language":"en"}');
    const report = removed();
    expect(report.steps.find((step) => step.what === 'config')).toMatchObject({
      change: 'kept',
      note: 'you have changed it',
    });
    expect(readFileSync(at.state('config.json'), 'utf8')).toBe('{"language":"en"}');
    expect(readdirSync(at.state())).toEqual(['config.json']);
  });

  test('edits settings that the user has changed since, with as few edits as possible', async () => {
    putFile(at.settings(), '{\n  "model": "opus"\n}\n');
    await installed();
    const text = readFileSync(at.settings(), 'utf8');
    writeFileSync(at.settings(), text.replace('{\n', '{\n  // mine\n  "theme" : "dark",\n'));
    removed();
    expect(readFileSync(at.settings(), 'utf8')).toBe(
      '{\n  // mine\n  "theme" : "dark",\n  "model": "opus"\n}\n',
    );
  });

  test('cleans a file once that two settings are links to', async () => {
    putFile(join(at.root, 'dotfiles', 'claude.json'), '{"a": 1}');
    for (const name of ['.claude', '.work']) {
      mkdirSync(join(at.home, name));
      symlinkSync(join(at.root, 'dotfiles', 'claude.json'), join(at.home, name, 'settings.json'));
    }
    const before = treeBelow(at.root);
    await installed();
    await installed({ ...at.env(), CLAUDE_CONFIG_DIR: join(at.home, '.work') });
    removed();
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('keeps a hook that the user has put beside ours', async () => {
    await installed();
    const settings = JSON.parse(readFileSync(at.settings(), 'utf8'));
    settings.hooks.PreToolUse[0].hooks.push({ type: 'command', command: 'prettier --write' });
    writeFileSync(at.settings(), JSON.stringify(settings));
    removed();
    const { matcher } = settings.hooks.PreToolUse[0];
    expect(JSON.parse(readFileSync(at.settings(), 'utf8'))).toEqual({
      hooks: { PreToolUse: [{ matcher, hooks: [{ type: 'command', command: 'prettier --write' }] }] },
    });
  });

  test('deletes a settings file of ours in which nothing else is left, and keeps a foreign .claude', async () => {
    await installed();
    writeFileSync(at.settings(), JSON.stringify(JSON.parse(readFileSync(at.settings(), 'utf8'))));
    putFile(join(at.home, '.claude', 'history.jsonl'), 'x');
    removed();
    expect(readdirSync(join(at.home, '.claude'))).toEqual(['history.jsonl']);
  });

  test('works when the settings are gone', async () => {
    await installed();
    rmSync(at.settings());
    removed();
    expect(readdirSync(at.home)).toEqual([]);
  });

  test('edits instead of restoring when the backup was tampered with', async () => {
    putFile(at.settings(), '{"a": 1}');
    await installed();
    writeFileSync(at.state('backups', 'settings.20261120T094709123Z.json'), '{"evil": 1}');
    removed();
    expect(readFileSync(at.settings(), 'utf8')).toBe('{"a": 1}');
  });

  test('without a manifest takes out our entries and removes the program', async () => {
    putFile(at.settings(), '{"a": 1}');
    await installed();
    rmSync(at.state('install.json'));
    removed();
    expect(readFileSync(at.settings(), 'utf8')).toBe('{"a": 1}');
    expect(readdirSync(at.state())).toEqual(['config.json']);
  });

  test('removes nothing while the settings cannot be edited', async () => {
    await installed();
    writeFileSync(at.settings(), '{ broken');
    const before = treeBelow(at.root);
    expect(reason(uninstallIn(at.home))).toContain('line 1, column 3: not valid JSON');
    expect(reason(uninstallIn(at.home, { purge: true }))).toContain(
      `take the hooks out of "${at.settings()}"`,
    );
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('leaves backups and files that are not from install', async () => {
    await installed();
    putFile(at.state('backups', 'self-gen.db.1'), 'x');
    putFile(at.state('hooks', 'mine.mjs'), 'x');
    removed();
    expect(Object.keys(treeBelow(at.state()))).toEqual([
      'backups',
      'backups/self-gen.db.1',
      'hooks',
      'hooks/mine.mjs',
    ]);
  });

  test('puts the hooks of the predecessor back, but not with purge', async () => {
    const command = `node ${at.state('hooks', 'prompt-logger.mjs')}`;
    const text = JSON.stringify({ a: 1, hooks: { UserPromptSubmit: [{ hooks: [{ command }] }] } });
    putFile(at.settings(), text);
    await installed();
    expect(removed().warnings[0]).toContain('registered again');
    expect(readFileSync(at.settings(), 'utf8')).toBe(text);
    await installed();
    removed({ purge: true });
    expect(JSON.parse(readFileSync(at.settings(), 'utf8'))).toEqual({ a: 1 });
  });

  test('removes what an install that was killed had begun to write, and nothing that looks like it', async () => {
    putFile(at.settings(), '{"a": 1}');
    putFile(join(at.home, '.claude', '.settings.json.mine.tmp'), 'mine');
    const before = treeBelow(at.root);
    const id = 'de7c1b11-4687-4580-8ca2-21afc9e20cc0';
    putFile(join(at.home, '.claude', `.settings.json.${id}.tmp`), '{"a"');
    putFile(at.state('hooks', `.self-generation.${id}.tmp`), 'pro');
    removed();
    expect(treeBelow(at.root)).toEqual(before);
    putFile(at.state('hooks', `.self-generation.${id}.tmp`), 'pro');
    removed({ purge: true });
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('changes nothing in a dry run', async () => {
    putFile(at.settings(), '{"a": 1}');
    await installed();
    putData();
    const before = treeBelow(at.root);
    expect(removed({ dryRun: true }).steps.some((step) => step.change === 'restored')).toBe(true);
    removed({ dryRun: true, purge: true });
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('unlinks links without following them', async () => {
    putFile(join(at.root, 'outside', 'precious'), 'x');
    await installed();
    putData();
    rmSync(at.state('heartbeats'), { recursive: true });
    symlinkSync(join(at.root, 'outside'), at.state('heartbeats'));
    symlinkSync(join(at.root, 'outside'), at.state('data', 'link'));
    removed({ purge: true });
    expect(existsSync(at.state())).toBe(false);
    expect(readdirSync(join(at.root, 'outside'))).toEqual(['precious']);
  });
});

describe('uninstall() with purge', () => {
  const rows: [string, () => void, () => string, string][] = [
    ['a file', () => putFile(at.state(), 'x'), at.state, 'not a directory'],
    [
      'the home directory',
      () => putFile(join(at.home, 'config.json'), ''),
      () => at.home,
      'more than our files',
    ],
    ['what holds it', () => putFile(join(at.root, 'config.json'), ''), () => at.root, 'more than our files'],
    ['the root', () => undefined, () => '/', 'more than our files'],
    [
      'a foreign place',
      () => putFile(join(at.root, 'app', 'x'), ''),
      () => join(at.root, 'app'),
      'may not be ours',
    ],
  ];
  for (const [name, prepare, place, expected] of rows) {
    test(`refuses ${name}`, () => {
      prepare();
      const before = treeBelow(at.root);
      const env = { ...at.env(), SELF_GENERATION_HOME: place() };
      expect(reason(uninstallIn(at.home, { purge: true, env }))).toContain(expected);
      expect(treeBelow(at.root)).toEqual(before);
    });
  }

  test('refuses a link', () => {
    putFile(join(at.root, 'elsewhere', 'config.json'), '');
    symlinkSync(join(at.root, 'elsewhere'), at.state());
    const before = treeBelow(at.root);
    expect(reason(uninstallIn(at.home, { purge: true }))).toContain('symbolic link');
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('takes only what is surely ours out of a directory that stood there before', async () => {
    const app = join(at.root, 'app');
    const theirs = ['src/main.c', 'data/users.db', 'logs/app.log', 'spool/mail', 'backups/settings.json'];
    for (const path of theirs) putFile(join(app, path), 'precious');
    const before = treeBelow(at.root);
    const env = { ...at.env(), SELF_GENERATION_HOME: app };
    await installed(env);
    putFile(join(app, 'data', 'self-gen.db'), 'learned');
    const report = removed({ purge: true, env });
    expect(treeBelow(at.root)).toEqual(before);
    expect(report.steps.at(-1)).toMatchObject({ change: 'removed' });
    const kept = report.steps.filter((step) => step.change === 'kept').map((step) => step.path);
    expect(kept.sort()).toEqual(['backups', 'data', 'logs', 'spool', 'src'].map((name) => join(app, name)));
  });

  test('empties a directory that stood there empty', async () => {
    const place = join(at.root, 'place');
    mkdirSync(place);
    const before = treeBelow(at.root);
    const env = { ...at.env(), SELF_GENERATION_HOME: place };
    await installed(env);
    putFile(join(place, 'spool', 'x'), 'x');
    removed({ purge: true, env });
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('removes a directory of any name that install made', async () => {
    const before = treeBelow(at.root);
    const env = { ...at.env(), SELF_GENERATION_HOME: join(at.root, 'new', 'place') };
    await installed(env);
    putFile(join(at.root, 'new', 'place', 'later', 'x'), 'x');
    removed({ purge: true, env });
    expect(treeBelow(at.root)).toEqual(before);
  });
});
