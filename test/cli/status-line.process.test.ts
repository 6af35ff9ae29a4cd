import { describe, expect, test } from 'bun:test';
import { temporaryHome } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';
import { seedFixes } from '../support/seed.ts';
import { RULE, SKILL, seedSuggestion } from '../support/suggestions.ts';
import { newShelf, type Shelf } from './subagents/shelf.ts';

/** What the line says, from somewhere else than the project: what comes on standard input says which that is. */
const line = async ({ home }: Pick<Shelf, 'home'>, stdin: string, env: Record<string, string> = {}) => {
  const { exitCode, stdout, stderr } = await runProgram([BINARY, 'status', '--line'], {
    ...{ home: home.path, cwd: '/', stdin, env },
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
};
const session = (path: string) =>
  JSON.stringify({
    model: { display_name: 'x' },
    cwd: '/',
    workspace: { current_dir: '/', project_dir: path },
  });

describe('status --line', () => {
  test('counts what there is for the project of the session that is handed over', async () => {
    using shelf = newShelf();
    const { paths } = shelf.home;
    expect(await line(shelf, session(shelf.project))).toBe('no lesson yet\n');
    const seed = { resolution: 'set PORT', projectPath: shelf.project, resolvedBy: 'lesson' };
    seedFixes(paths, [{ error: 'Error: no port given', ...seed }]);
    for (const suggestion of [RULE, SKILL])
      seedSuggestion(shelf.home, suggestion, { project: 'app', projectPath: shelf.project });
    shelf.end(shelf.start(), {}, {});
    expect(await line(shelf, session(shelf.project))).toBe('1 lesson · 1 result to read · 2 suggestions\n');
    expect(await line(shelf, session('/'))).toBe('no lesson yet\n');
    for (const stdin of ['', 'no JSON', '[]', '{"workspace": 1}'])
      expect(await line(shelf, stdin)).toBe('no lesson yet\n');
  });

  test('says that it is off, and where to look when the database cannot be read', async () => {
    using home = temporaryHome();
    home.put('.self-generation/data/self-gen.db', 'no database '.repeat(1000));
    expect(await line({ home }, '')).toBe('see self-generation doctor\n');
    home.writeConfig({ enabled: false });
    expect(await line({ home }, '')).toBe('self-generation is off\n');
    expect(await line({ home }, '', { HOME: 'relative' })).toBe('');
  });

  test('does not wait for an input that nobody ends', async () => {
    using home = temporaryHome();
    const child = Bun.spawn([BINARY, 'status', '--line'], {
      ...{ env: { HOME: home.path }, stdin: 'pipe', stdout: 'pipe' },
    });
    child.stdin.write('{');
    await child.stdin.flush();
    expect([await child.exited, await child.stdout.text()]).toEqual([0, 'no lesson yet\n']);
  });
});
