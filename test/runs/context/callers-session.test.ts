import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { clientNamed } from '../../../src/clients/clients.ts';
import { chooseSession } from '../../../src/runs/context/callers-session.ts';
import type { Requester } from '../../../src/runs/model/run.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { changeRun } from '../../../src/runs/store/runs.ts';
import { putSessions, sessionsOf, writtenAt } from '../../support/client-sessions.ts';
import { CLIENT_NAMES, type ClientName } from '../../support/clients.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { accepted } from '../store/made-up.ts';

const NOW_MS = Date.parse('2026-11-23T12:00:00.000Z');
const MINUTE_MS = 60_000;

let home: Home;
let project: string;
beforeEach(() => {
  home = temporaryHome();
  project = `${home.path}/code/app`;
  mkdirSync(`${project}/.git`, { recursive: true });
  home.put('code/app/.git/HEAD', 'ref: refs/heads/main');
});
afterEach(() => home[Symbol.dispose]());

/**
 * Puts the sessions of a client into the project; by their order, the newest first, written so many minutes ago. Those of
 * sub-agents are written just now.
 */
function put(name: ClientName, ...minutes: readonly number[]): readonly string[] {
  putSessions(home.path, name, project, NOW_MS);
  const found = sessionsOf(name, home.path, project);
  found.forEach((one, at) => void writtenAt(name, one, NOW_MS - (minutes[at] ?? 10_000) * MINUTE_MS));
  return found.map(({ id }) => id);
}

const asker = (client: ClientName | null, cwd = project, session: string | null = null): Requester => ({
  ...{ key: 'agent:main:app-1', session, client, cwd },
});

function choose(requester: Requester, { wanted, ...env }: Readonly<Record<string, string>> = {}) {
  const world = { paths: home.paths, env: { HOME: home.path, ...env }, platform: 'linux', cwd: project };
  const process = { executablePath: '/bin/true', isCompiled: true, now: () => new Date(NOW_MS) };
  const choice = chooseSession(wanted, requester, { ...world, ...process });
  return choice.kind === 'found' ? [choice.client, choice.session.id] : choice;
}

describe('a session that is named', () => {
  test('is found in the store of any client, whoever asks, however old it is', () => {
    for (const name of CLIENT_NAMES) {
      const [id = ''] = put(name);
      expect(choose(asker('claude'), { wanted: id })).toEqual([name, id]);
    }
  });

  test('of another project is given to a person, and to no agent', () => {
    const [id = ''] = put('codex');
    const [other, tree] = [`${home.path}/code/other`, `${home.path}/code/tree`];
    for (const path of [other, tree, `${project}/.git/worktrees/tree`]) mkdirSync(path, { recursive: true });
    home.put('code/tree/.git', `gitdir: ${project}/.git/worktrees/tree\n`);
    home.put('code/app/.git/worktrees/tree/gitdir', `${tree}/.git\n`);
    expect(choose(asker(null, other), { wanted: id })).toEqual(['codex', id]);
    for (const client of ['claude', 'codex'] as const) {
      const choice = choose(asker(client, other), { wanted: id });
      expect(choice).toMatchObject({ kind: 'none', error: expect.stringContaining('not started in') });
      expect(choose(asker(client, tree), { wanted: id })).toEqual(['codex', id]);
    }
  });

  test('that no client has is refused with its id, on one line', () => {
    const choice = choose(asker(null), { wanted: 'no\nsuch' });
    const error = 'Cannot hand over the session "no such": no client has one with this id. ';
    expect(choice).toEqual({ kind: 'none', error: `${error}Use the id that the client shows` });
  });
});

describe('the session that the caller runs in', () => {
  const variables = { claude: 'CLAUDE_CODE_SESSION_ID', codex: 'CODEX_THREAD_ID' } as const;
  for (const name of ['claude', 'codex'] as const) {
    test(`is the one that ${name} names, and no newer one`, () => {
      const [newer = '', own = ''] = put(name, 0, 20);
      expect(choose(asker(name), { [variables[name]]: own })).toEqual([name, own]);
      expect(choose(asker(name), { [variables[name]]: newer })).toEqual([name, newer]);
    });

    test(`is refused where ${name} names one that it has not saved`, () => {
      put(name, 0);
      const choice = choose(asker(name), { [variables[name]]: 'not-saved' });
      expect(choice).toMatchObject({ kind: 'none', error: expect.stringContaining('"not-saved"') });
    });
  }

  for (const name of ['gemini', 'opencode'] as const) {
    test(`is the only one of ${name} that was written a moment ago, as it names none`, () => {
      put('claude', 0);
      const [own = ''] = put(name, 1, 11);
      expect(choose(asker(name))).toEqual([name, own]);
    });

    test(`of ${name} is not guessed where none was written a moment ago`, () => {
      put('claude', 0);
      put(name, 11);
      const { title } = clientNamed(name);
      const error = `Cannot tell which session of ${title} asks: none in "${project}" was written a moment ago; `;
      expect(choose(asker(name))).toMatchObject({ kind: 'none', error: expect.stringContaining(error) });
    });
  }

  test('is not guessed of two in which there is work: both are named', () => {
    const [one, other] = put('opencode', 1, 9);
    const named = `there is work in OpenCode ${one} (1 min ago), OpenCode ${other} (9 min ago); `;
    const error = `Cannot tell whose conversation to hand over: ${named}say which one is meant: "--session ID", over MCP "session"`;
    expect(choose(asker('opencode'))).toEqual({ kind: 'several', error });
  });

  test('is not known of a client that nobody knows', () => {
    put('claude', 0);
    expect(choose(asker(null, project, 'mcp-1'))).toMatchObject({ kind: 'none' });
  });
});

describe('for a person', () => {
  test('it is the newest of the project among all clients', () => {
    put('claude', 60, 70);
    put('codex', 50, 80);
    put('gemini', 40);
    const [newest = ''] = put('opencode', 30, 90);
    expect(choose(asker(null))).toEqual(['opencode', newest]);
  });

  test('it is found from below the root of the repository, and not in another one', () => {
    const [newest = ''] = put('gemini', 30);
    mkdirSync(`${project}/src/deep`, { recursive: true });
    expect(choose(asker(null, `${project}/src/deep`))).toEqual(['gemini', newest]);
    const elsewhere = choose(asker(null, `${home.path}/code`));
    expect(elsewhere).toMatchObject({ kind: 'none', error: expect.stringContaining(`${home.path}/code"`) });
  });

  test('one in which there is work counts, and two are refused with both named', () => {
    const [claude = ''] = put('claude', 2, 11);
    expect(choose(asker(null))).toEqual(['claude', claude]);
    const [codex] = put('codex', 10, 11);
    const choice = choose(asker(null));
    const error = `there is work in Claude Code ${claude} (2 min ago), Codex ${codex} (10 min ago); `;
    expect(choice).toMatchObject({ kind: 'several', error: expect.stringContaining(error) });
  });

  test("a background run's own session and a sub-agent's never count", () => {
    const [ofRun = '', other = ''] = put('codex', 1, 30);
    withRuns(home.paths, (db) => changeRun(accepted(db).runId, { sessionId: ofRun }, db));
    expect(choose(asker(null))).toEqual(['codex', other]);
    expect(choose(asker(null), { wanted: ofRun })).toEqual(['codex', ofRun]);
  });

  test('there may be none', () => {
    expect(choose(asker(null))).toMatchObject({ kind: 'none', error: expect.stringContaining(project) });
  });
});
