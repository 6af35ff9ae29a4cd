import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import type { Requester } from '../../src/runs/model/run.ts';
import { requesterHere } from '../../src/runs/requester.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { type Home, temporaryHome } from '../support/home.ts';

function here(home: Home, env: Record<string, string>, cwd = home.path): Requester {
  return requesterHere({ env, cwd, paths: home.paths } as RunsWorld);
}

describe('requesterHere()', () => {
  const rows: readonly [string, Record<string, string>, Pick<Requester, 'client' | 'session'>][] = [
    ['a person in a terminal', {}, { client: null, session: null }],
    [
      'a session of Claude Code',
      { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 's-1' },
      { client: 'claude', session: 's-1' },
    ],
    ['an older Claude Code', { CLAUDECODE: '1' }, { client: 'claude', session: null }],
    ['Codex', { CODEX_THREAD_ID: 't-1', CODEX_CI: '1' }, { client: 'codex', session: null }],
    ['Gemini CLI', { GEMINI_CLI: '1' }, { client: 'gemini', session: null }],
    ['OpenCode', { OPENCODE: '1' }, { client: 'opencode', session: null }],
  ];
  for (const [what, env, expected] of rows) {
    test(`knows ${what} by the environment`, () => {
      using home = temporaryHome();
      expect(here(home, env)).toMatchObject(expected);
    });
  }

  test('is the same in every directory of a repository, and for every client', () => {
    using home = temporaryHome();
    const [repository, deep] = [`${home.path}/app`, `${home.path}/app/src/deep`];
    mkdirSync(deep, { recursive: true });
    home.put('app/.git/HEAD', 'ref: refs/heads/main');
    const keys = [
      here(home, {}, repository).key,
      here(home, { CODEX_CI: '1' }, deep).key,
      here(home, { CLAUDE_PROJECT_DIR: repository }).key,
    ];
    expect(new Set(keys).size).toBe(1);
    expect(here(home, {}).key).not.toBe(keys[0]);
    expect(here(home, {}, deep).cwd).toBe(deep);
  });
});
