import { describe, expect, test } from 'bun:test';
import { statePaths } from '../../../src/core/state-paths.ts';
import {
  agentOfKey,
  analysisFiles,
  inboxMark,
  requesterKey,
  runDirectory,
  turnFiles,
} from '../../../src/runs/model/run.ts';
import { pathsOf } from '../../support/home.ts';

/** A file system in which these paths are files with a text, or directories without one. */
function files(texts: Record<string, string>) {
  return { readTextFile: (path: string) => texts[path], pathExists: (path: string) => path in texts };
}

const REPOSITORY = files({
  '/home/dev/app/.git/HEAD': 'ref: refs/heads/main',
  '/home/dev/app/.git': '',
  '/home/dev/side/.git': 'gitdir: /home/dev/app/.git/worktrees/side\n',
  '/home/dev/app/.git/worktrees/side/gitdir': '/home/dev/side/.git\n',
});

describe('requesterKey()', () => {
  const root = requesterKey('/home/dev/app', REPOSITORY);

  test("is the main session of the project, with the project's name", () =>
    expect(root).toMatch(/^agent:main:app-[a-z0-9]+$/));

  for (const place of ['/home/dev/app/', '/home/dev/app/src/deep', '/home/dev/side', '/home/dev/side/src'])
    test(`is the same in ${place}`, () => expect(requesterKey(place, REPOSITORY)).toBe(root));

  test('passes over an empty .git, which sandboxes put into directories for a while', () => {
    const sandboxed = files({ '/srv/app/.git': '', '/srv/.git': '' });
    expect(requesterKey('/srv/app', sandboxed)).toBe(requesterKey('/srv/app', files({})));
  });

  test('is another one for another place of the same name, and outside of repositories for each directory', () => {
    const keys = ['/home/dev/app', '/srv/app', '/srv/app/src', '/srv'].map((path) =>
      requesterKey(path, files({})),
    );
    expect(new Set(keys).size).toBe(4);
  });

  test('has plain letters only, whatever the directory is called', () => {
    for (const name of ['My App (1)', '한글', '..', 'a:b', '-', 'x'.repeat(300)])
      expect(requesterKey(`/srv/${name}`, files({}))).toMatch(/^agent:main:[a-z0-9_-]{1,40}-[a-z0-9]+$/);
  });
});

test('agentOfKey() reads the agent of any session key', () => {
  expect(['agent:main:app-1', 'agent:writer:subagent:x', 'whatever', ''].map(agentOfKey)).toEqual([
    'main',
    'writer',
    'main',
    'main',
  ]);
});

test('inboxMark() is a file in the directory of the marks, whatever the key', () => {
  const paths = pathsOf('/home/dev');
  expect(inboxMark('agent:main:app-1a', paths)).toBe(`${paths.inboxMarks}/app-1a`);
  expect(inboxMark('../../etc/passwd', paths)).toBe(`${paths.inboxMarks}/______etc_passwd`);
  expect(inboxMark('a:b', paths)).not.toBe(inboxMark('agent:main:b', paths));
});

const paths = statePaths({ HOME: '/home/dev' }, 'linux');
if (paths === undefined) throw new Error('No paths');
const ID = '0123456789abcdef0123456789abcdef';

test('turnFiles() names the files of a turn in the directory of its run', () => {
  const directory = `/home/dev/.self-generation/runs/${ID}`;
  expect(runDirectory(paths, ID)).toBe(directory);
  expect(turnFiles(paths, ID, 12)).toEqual({
    directory,
    prompt: `${directory}/turn-12.prompt`,
    output: `${directory}/turn-12.jsonl`,
    errors: `${directory}/turn-12.stderr`,
    home: `${directory}/turn-12.home`,
    kept: `${directory}/turn-0.home`,
    patch: `${directory}/turn-12.patch`,
    mark: `${ID}/12`,
  });
});

test('analysisFiles() names a directory and a mark that no run and no other analysis has', () => {
  const of = (id: number, ts: string) => analysisFiles(paths, { id, ts });
  const { directory, mark, home } = of(3, '2026-11-20T12:00:00.000Z');
  expect(directory).toBe('/home/dev/.self-generation/analysis-3');
  expect(home).toStartWith(`${directory}/`);
  const others = [of(4, '2026-11-20T12:00:00.000Z'), of(3, '2026-11-20T12:00:00.001Z')];
  for (const other of others) expect(other.mark).not.toBe(mark);
});

for (const id of ['', '..', 'a/b', 'a\\b', 'a.b', 'a\n', 'x'.repeat(65)])
  test(`runDirectory() refuses ${JSON.stringify(id)}, which is no run id but could be a path`, () =>
    expect(() => runDirectory(paths, id)).toThrow('this is no run id'));

for (const turn of [0, -1, 1.5, Number.NaN])
  test(`turnFiles() refuses turn ${turn}`, () =>
    expect(() => turnFiles(paths, ID, turn)).toThrow('turns count from 1'));
