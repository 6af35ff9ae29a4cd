import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { projectHere } from '../../src/cli/context.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { seedErrors } from '../support/seed.ts';

/** A repository with a directory below a directory, and what `projectHere()` says in the innermost. */
function pathIn(home: Home, recorded: readonly string[], repository = '/app'): string {
  mkdirSync(`${home.path}/app/src/deep`, { recursive: true });
  if (repository !== '') home.put(`${repository.slice(1)}/.git/HEAD`, 'ref: refs/heads/main\n');
  for (const path of recorded) seedErrors(home.paths, [{ error: 'x', projectPath: `${home.path}${path}` }]);
  return projectHere(home.paths, { cwd: `${home.path}/app/src/deep` }).path.slice(home.path.length);
}

describe('projectHere()', () => {
  const rows: [string, string[], string | undefined, string][] = [
    [
      'where the user is, when something is recorded of it',
      ['/app', '/app/src/deep'],
      undefined,
      '/app/src/deep',
    ],
    [
      'the nearest directory above of which something is recorded',
      ['', '/app', '/app/src'],
      undefined,
      '/app/src',
    ],
    ['the root of the repository', ['', '/app'], undefined, '/app'],
    [
      'where the user is, when nothing is recorded up to the root of the repository',
      [''],
      undefined,
      '/app/src/deep',
    ],
    ['where the user is, outside of a repository', ['/app'], '', '/app/src/deep'],
    ['where the user is, when nothing is recorded at all', [], undefined, '/app/src/deep'],
  ];
  for (const [what, recorded, repository, expected] of rows) {
    test(`is ${what}`, () => {
      using home = temporaryHome();
      expect(pathIn(home, recorded, repository)).toBe(expected);
    });
  }
});
