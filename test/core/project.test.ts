import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  canonicalProjectPath,
  type GitProbe,
  getProjectName,
  getProjectPath,
  projectPathSpellings,
  relativeFile,
} from '../../src/core/project.ts';

/** A file system that has only these: text for a file, null for a directory. */
function git(entries: Record<string, string | null>): GitProbe {
  return {
    pathExists: (path) => Object.hasOwn(entries, path),
    readTextFile: (path) => entries[path] ?? backlink(entries, path),
  };
}

/** What git keeps in the main repository for each worktree: where its .git file is. */
function backlink(entries: Record<string, string | null>, path: string): string | undefined {
  const name = /worktrees\/([^/]+)\/gitdir$/.exec(path)?.[1];
  const marker = Object.keys(entries).find((one) => entries[one]?.trim().endsWith(`worktrees/${name}`));
  return marker && `${marker}\n`;
}

const names: [path: string | null | undefined, expected: string][] = [
  ['/home/me/app', 'app'],
  ['/home/me/app/', 'app'],
  ['/home/me/my app', 'my app'],
  ['C:\\Users\\me\\app', 'app'],
  ['C:\\Users\\me\\app\\', 'app'],
  ['C:/Users/me/app', 'app'],
  ['\\\\server\\share\\app', 'app'],
  ['app', 'app'],
  ['/', 'unknown'],
  ['', 'unknown'],
  [null, 'unknown'],
  [undefined, 'unknown'],
  ['/home/나/프로젝트', '프로젝트'],
];
test.each(names)('getProjectName() returns of the path %s the name %s', (path, expected) => {
  expect(getProjectName(path)).toBe(expected);
});

const paths: [cwd: string | undefined, env: Record<string, string>, expected: string | null][] = [
  ['/cwd', { CLAUDE_PROJECT_DIR: '/project' }, '/project'],
  ['/cwd', { CLAUDE_PROJECT_DIR: '' }, '/cwd'],
  ['/cwd', {}, '/cwd'],
  [undefined, { CLAUDE_PROJECT_DIR: '/project' }, '/project'],
  [undefined, {}, null],
  ['', {}, null],
];
test.each(paths)(
  'getProjectPath() knows for cwd %s and the environment %j the path %s',
  (cwd, env, expected) => {
    expect(getProjectPath(cwd, env)).toBe(expected);
  },
);

const REPO = { '/repo/.git': null };
/** What the `.git` of a directory says. */
const marked = (directory: string, text: string) => ({ [`${directory}/.git`]: text });
const WORKTREE = marked('/w/fix', 'gitdir: /repo/.git/worktrees/fix\n');
const canonical: [what: string, path: string, entries: Record<string, string | null>, expected: string][] = [
  ['there is no repository', '/home/me/app', {}, '/home/me/app'],
  ['the path ends with a separator', '/home/me/app/', {}, '/home/me/app'],
  ['the path ends with several separators', '/home/me/app///', {}, '/home/me/app'],
  ['the path is the root', '/', {}, '/'],
  ['the path is empty', '', {}, ''],
  ['it is the main working tree', '/repo', REPO, '/repo'],
  ['it is a directory of the main working tree', '/repo/packages/a', REPO, '/repo/packages/a'],
  ['it is a worktree', '/w/fix', WORKTREE, '/repo'],
  ['it is a worktree with a trailing separator', '/w/fix/', WORKTREE, '/repo'],
  ['it is a directory of a worktree', '/w/fix/packages/a', WORKTREE, '/repo/packages/a'],
  ...(
    [
      ['it is a worktree inside the repository', '/repo/.w/fix', '/repo/.git/worktrees/fix', '/repo'],
      ['the file of the worktree has Windows line ends', '/w/fix', '/repo/.git/worktrees/fix\r', '/repo'],
      ['it is a submodule', '/repo/sub', '../.git/modules/sub', '/repo/sub'],
      ['it is a submodule with an absolute directory', '/repo/sub', '/repo/.git/modules/sub', '/repo/sub'],
      ['it is a worktree of a submodule', '/w/sub', '/repo/.git/modules/sub/worktrees/x', '/w/sub'],
      ['the directory of the worktree is relative', '/repo/.w/fix', '../../.git/worktrees/fix', '/repo'],
      ['the directory leads out of the root', '/w/fix', '../../../../repo/.git/worktrees/fix', '/w/fix'],
      ['it is a worktree on Windows', 'C:\\w\\fix', 'C:/repo/.git/worktrees/fix', 'C:\\repo'],
    ] as const
  ).map(([what, path, target, expected]): (typeof canonical)[number] => {
    return [what, path, { ...marked(path, `gitdir: ${target}\n`), ...REPO }, expected];
  }),
  [
    'it lies in a worktree',
    '/w/fix/src',
    marked('/w/fix', 'gitdir: ../../repo/.git/worktrees/fix\n'),
    '/repo/src',
  ],
  ['the file is not one of git', '/w/fix', marked('/w/fix', 'hello'), '/w/fix'],
  ['the file is empty', '/w/fix', marked('/w/fix', ''), '/w/fix'],
  ['the drive letter is in lower case', 'c:\\Users\\me\\app', {}, 'C:\\Users\\me\\app'],
  ['it has Windows separators', 'C:\\Users\\me\\app\\', {}, 'C:\\Users\\me\\app'],
  ['it is a drive', 'c:\\', {}, 'C:'],
  [
    'it is a directory of a worktree on Windows',
    'c:\\w\\fix\\src',
    marked('C:\\w\\fix', 'gitdir: c:/repo/.git/worktrees/fix\n'),
    'C:\\repo\\src',
  ],
  ['it is a worktree that is gone', '/repo/.worktrees/fix', REPO, '/repo'],
  ['it is such a worktree of no repository', '/repo/.worktrees/fix', {}, '/repo'],
  ['it is a worktree of a client that is gone', '/repo/.claude/worktrees/fix', REPO, '/repo'],
  ['it is a directory of a worktree that is gone', '/repo/.worktrees/fix/src/a', REPO, '/repo'],
  ['it is a worktree that is gone, on Windows', 'c:\\repo\\.worktrees\\fix', {}, 'C:\\repo'],
  [
    'it is a directory among worktrees that is there',
    '/repo/.worktrees/fix',
    { ...REPO, '/repo/.worktrees/fix': null },
    '/repo/.worktrees/fix',
  ],
  ['it is the place of the worktrees', '/repo/.worktrees', REPO, '/repo/.worktrees'],
  ['it only looks like one', '/repo/worktrees/fix', {}, '/repo/worktrees/fix'],
  ['it is in a directory of another dot name', '/repo/.git/worktrees/fix', {}, '/repo/.git/worktrees/fix'],
  ['it lies deeper than the limit', `/w/fix${'/d'.repeat(40)}`, WORKTREE, `/w/fix${'/d'.repeat(40)}`],
];
test('canonicalProjectPath() returns the path itself when the repository knows nothing of the worktree', () => {
  const entries: Record<string, string> = { '/evil/.git': 'gitdir: /repo/.git/worktrees/fix\n' };
  const lonely = {
    pathExists: (path: string) => path in entries,
    readTextFile: (path: string) => entries[path],
  };
  expect(canonicalProjectPath('/evil', lonely)).toBe('/evil');
  entries['/repo/.git/worktrees/fix/gitdir'] = '/w/fix/.git\n';
  expect(canonicalProjectPath('/evil', lonely)).toBe('/evil');
  entries['/repo/.git/worktrees/fix/gitdir'] = '/evil/.git\n';
  expect(canonicalProjectPath('/evil', lonely)).toBe('/repo');
});

test.each(canonical)('canonicalProjectPath() knows the project when %s', (_, path, entries, expected) => {
  expect(canonicalProjectPath(path, git(entries))).toBe(expected);
});

test('canonicalProjectPath() returns the same when it is applied again', () => {
  const path = fc
    .array(fc.constantFrom('/', '\\', 'a', 'b', 'c:', '.', '..', '/.worktrees/', '/.claude/worktrees/'), {
      maxLength: 10,
    })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(path, (given) => {
      const once = canonicalProjectPath(given, git({}));
      expect(canonicalProjectPath(once, git({}))).toBe(once);
    }),
  );
});

test('projectPathSpellings() returns each spelling once', () => {
  expect(projectPathSpellings('/repo', '/w/fix/')).toEqual(['/repo', '/w/fix', '/w/fix/', '/repo/']);
  expect(projectPathSpellings('/repo', '/repo')).toEqual(['/repo', '/repo/']);
  expect(projectPathSpellings('/repo', '/repo/')).toEqual(['/repo', '/repo/']);
});

const relative: [file: string, project: string | null, expected: string][] = [
  ['/repo/src/a.ts', '/repo', 'src/a.ts'],
  ['/repo/src/a.ts', '/repo/', 'src/a.ts'],
  ['/repository/a.ts', '/repo', '/repository/a.ts'],
  ['/other/a.ts', '/repo', '/other/a.ts'],
  ['src/a.ts', '/repo', 'src/a.ts'],
  ['C:\\repo\\src\\a.ts', 'C:\\repo', 'src/a.ts'],
  ['c:\\repo\\src\\a.ts', 'C:\\repo', 'src/a.ts'],
  ['C:\\repo\\src\\a.ts', 'C:/repo', 'src/a.ts'],
  ['src\\a.ts', 'C:\\repo', 'src/a.ts'],
  ['/a.ts', '/', 'a.ts'],
  ['/repo/a.ts', null, '/repo/a.ts'],
  ['/repo/a.ts', '', '/repo/a.ts'],
  ['/repo', '/repo', '/repo'],
];
test.each(relative)(
  'relativeFile() returns of the file %s in the project %s the path %s',
  (file, project, expected) => {
    expect(relativeFile(file, project)).toBe(expected);
  },
);
