import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refused } from '../../src/setup/file-plan.ts';
import { type BaseRequest, findBase, findTargetFile } from '../../src/suggestions/apply-target.ts';
import { realPath } from '../../src/system/atomic-file.ts';
import { putFile } from '../support/tree.ts';

let root = '';
const at = (...names: string[]) => join(root, ...names);

beforeEach(() => {
  root = realPath(mkdtempSync(join(tmpdir(), 'target-')));
  mkdirSync(at('app'));
  mkdirSync(at('outside'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('findTargetFile()', () => {
  const target = (name: string) => findTargetFile(at('app'), at('app', name));

  test('returns the directories that have to be made', () => {
    expect(target('.claude/commands/a.md')).toEqual({
      path: at('app', '.claude', 'commands', 'a.md'),
      missing: [at('app', '.claude'), at('app', '.claude', 'commands')],
    });
    putFile(at('app', '.claude', 'CLAUDE.md'), 'x');
    expect(target('.claude/CLAUDE.md')).toMatchObject({ missing: [] });
  });

  test('follows links that stay inside', () => {
    putFile(at('app', 'AGENTS.md'), 'x');
    mkdirSync(at('app', '.claude'));
    symlinkSync('../AGENTS.md', at('app', '.claude', 'CLAUDE.md'));
    expect(target('.claude/CLAUDE.md')).toMatchObject({ path: at('app', 'AGENTS.md') });
    symlinkSync('../new/CLAUDE.md', at('app', '.claude', 'other.md'));
    expect(target('.claude/other.md')).toMatchObject({
      path: at('app', 'new', 'CLAUDE.md'),
      missing: [at('app', 'new')],
    });
  });

  const links: [string, string, string][] = [
    ['a directory elsewhere', '../outside', '.claude'],
    ['a directory elsewhere, by an absolute path', '$ROOT/outside', '.claude'],
    ['a directory elsewhere that is not there yet', '../outside/new', '.claude'],
    ['a file elsewhere', '../../outside/CLAUDE.md', '.claude/CLAUDE.md'],
    ['a directory with the same beginning', '../app-other', '.claude'],
    ["git's own files", '../.git/config', '.claude/CLAUDE.md'],
    ["git's own directory", '.git', '.claude'],
    ['itself', 'CLAUDE.md', '.claude/CLAUDE.md'],
    ['a file that is something else', '../Makefile', '.claude/CLAUDE.md'],
    ['one that is not there yet', '../new/run.sh', '.claude/CLAUDE.md'],
    ['one by way of a link that is none', '../AGENTS.md', '.claude/CLAUDE.md'],
  ];
  test.each(links)('refuses a link to %s', (_name, to, link) => {
    putFile(at('outside', 'CLAUDE.md'), 'x');
    putFile(at('app', '.git', 'config'), 'x');
    mkdirSync(at('app-other'));
    putFile(at('app', 'Makefile'), 'all:');
    symlinkSync('Makefile', at('app', 'AGENTS.md'));
    if (link.includes('/')) mkdirSync(at('app', '.claude'));
    symlinkSync(to.replace('$ROOT', root), at('app', link));
    expect(() => target('.claude/CLAUDE.md')).toThrow(Refused);
  });

  test('refuses what leads out by itself', () => {
    expect(() => findTargetFile(at('app'), at('app', '..', 'outside', 'x.md'))).toThrow(Refused);
    expect(() => findTargetFile(at('app'), '/etc/passwd')).toThrow(Refused);
  });

  test('refuses a directory in the place of the file, and a file in the place of a directory', () => {
    mkdirSync(at('app', '.claude', 'CLAUDE.md'), { recursive: true });
    expect(() => target('.claude/CLAUDE.md')).toThrow(Refused);
    putFile(at('app', 'b'), 'x');
    expect(() => target('b/CLAUDE.md')).toThrow(Refused);
    expect(() => target('b/c/CLAUDE.md')).toThrow(Refused);
  });
});

describe('findBase()', () => {
  const base = (project: string, projectPath: string, changes: Partial<BaseRequest> = {}) => {
    const place = { claudeDirectory: at('home', '.claude') };
    const here = { name: 'here', path: at('app') };
    return findBase({ project, projectPath }, { scope: 'own', place, project: here, ...changes });
  };

  test("is the suggestion's own project, wherever the user is", () =>
    expect(base('app', at('outside'))).toEqual({
      scope: 'project',
      directory: at('outside', '.claude'),
      root: at('outside'),
    }));

  test.each(['all', 'here'])("is the user's project for a suggestion that is about no path: %s", (project) =>
    expect(base(project, '')).toMatchObject({ scope: 'project', directory: at('app', '.claude') }),
  );

  test('is the directory of the client with --global, which may be a link', () => {
    mkdirSync(at('home'));
    symlinkSync(at('outside'), at('home', '.claude'));
    const directory = at('home', '.claude');
    const found = { scope: 'global', directory, root: at('outside') } as const;
    expect(base('app', at('app'), { scope: 'global' })).toEqual(found);
  });

  test('is found below a link also where the directory of the client does not exist yet', () => {
    symlinkSync(at('outside'), at('home'));
    const root = at('outside', '.claude');
    expect(base('app', '', { scope: 'global' })).toMatchObject({ root });
    const file = { path: join(root, 'CLAUDE.md'), missing: [root] };
    expect(findTargetFile(root, at('home', '.claude', 'CLAUDE.md'))).toEqual(file);
  });

  const atHome = () => {
    mkdirSync(at('home', '.claude'), { recursive: true });
    return base('all', '', { project: { name: 'home', path: at('home') } });
  };
  test.each<[what: string, find: () => unknown]>([
    ['a project of which only the name is known', () => base('other', '')],
    ['a project that is gone', () => base('app', at('gone'))],
    ['a project that is a file', () => base('app', putFile(at('f'), ''))],
    ['a relative path', () => base('app', 'app')],
    ['the home directory, whose .claude is for all projects', atHome],
  ])('refuses %s', (_what, find) => expect(find).toThrow(Refused));
});
