import { describe, expect, test } from 'bun:test';
import { agentOfKey, inboxMark, requesterKey } from '../../../src/runs/model/run.ts';
import { pathsOf } from '../../support/home.ts';

/** A file system in which these paths are files with a text, or directories without one. */
function files(texts: Record<string, string>) {
  return {
    readTextFile: (path: string) => texts[path],
    pathExists: (path: string) => path in texts,
  };
}

const REPOSITORY = files({
  '/home/dev/app/.git/HEAD': 'ref: refs/heads/main',
  '/home/dev/app/.git': '',
  '/home/dev/side/.git': 'gitdir: /home/dev/app/.git/worktrees/side\n',
  '/home/dev/app/.git/worktrees/side/gitdir': '/home/dev/side/.git\n',
});

describe('requesterKey()', () => {
  const root = requesterKey('/home/dev/app', REPOSITORY);

  test("is the main session of the project, with the project's name", () => {
    expect(root).toMatch(/^agent:main:app-[a-z0-9]+$/);
  });

  for (const place of ['/home/dev/app/', '/home/dev/app/src/deep', '/home/dev/side', '/home/dev/side/src']) {
    test(`is the same in ${place}`, () => expect(requesterKey(place, REPOSITORY)).toBe(root));
  }

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
    for (const name of ['My App (1)', '한글', '..', 'a:b', '-', 'x'.repeat(300)]) {
      expect(requesterKey(`/srv/${name}`, files({}))).toMatch(/^agent:main:[a-z0-9_-]{1,40}-[a-z0-9]+$/);
    }
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
