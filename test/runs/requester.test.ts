import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Permissions } from '../../src/runs/model/permissions.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import { type Grants, requesterHere, requesterPermissions } from '../../src/runs/requester.ts';
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
  for (const [what, env, expected] of rows)
    test(`knows ${what} by the environment`, () => {
      using home = temporaryHome();
      expect(here(home, env)).toMatchObject(expected);
    });

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

/** Who asks decides what a run may do: a person by the client's configuration, an agent by its session. */

const NO_GRANTS: Grants = { ofSettings: [], ofPerson: [] };
const SESSION = '0f3c4d5e-0000-4000-8000-000000000001';
const ASKS = { mode: 'default', allow: [], deny: [] };

type World = { readonly world: RunsWorld; readonly requester: (changes?: Partial<Requester>) => Requester };

function inWorld(files: Readonly<Record<string, unknown>>, work: (world: World) => void): void {
  using home = temporaryHome();
  const cwd = join(home.path, 'project');
  mkdirSync(cwd);
  for (const [path, content] of Object.entries(files)) {
    const file = join(home.path, path.replace('<slug>', cwd.replace(/[^A-Za-z0-9]/g, '-')));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
  const { paths } = home;
  const env = { HOME: home.path, PATH: '/usr/bin:/bin' };
  work({
    world: {
      paths,
      env,
      platform: 'linux',
      cwd,
      executablePath: '',
      isCompiled: false,
      now: () => new Date(),
    },
    requester: (changes = {}) => ({
      key: 'agent:main:a-1',
      session: SESSION,
      client: 'claude',
      cwd,
      ...changes,
    }),
  });
}

const prompt = (mode: string, text = 'x') =>
  `${JSON.stringify({ type: 'user', message: { content: text }, permissionMode: mode })}\n`;
const transcript = (text: string) => ({ [`.claude/projects/<slug>/${SESSION}.jsonl`]: text });
const settings = (permissions: object) => ({ '.claude/settings.json': { permissions } });

function of({ world, requester }: World, grants = NO_GRANTS, changes: Partial<Requester> = {}): Permissions {
  return requesterPermissions(requester(changes), 'claude', grants, world);
}

describe('requesterPermissions()', () => {
  test('gives an agent no more than default mode when nothing is known of its session', () => {
    inWorld(settings({ defaultMode: 'bypassPermissions' }), (world) => expect(of(world)).toMatchObject(ASKS));
    inWorld({}, (world) => {
      expect(of(world, NO_GRANTS, { client: null, session: 'mcp-1' })).toEqual({ ...ASKS, mode: 'default' });
    });
  });
  const modes = {
    plan: 'plan',
    default: 'default',
    acceptEdits: 'edit',
    dontAsk: 'default',
    bypassPermissions: 'all',
    auto: 'auto',
  };
  for (const [name, mode] of Object.entries(modes))
    test(`gives an agent in ${name} mode as much`, () =>
      inWorld(transcript(prompt(name)), (world) => expect(of(world).mode).toBe(mode as Permissions['mode'])));

  test('goes by the last mode, however long ago, and by nothing that a text says', () => {
    const long = `${JSON.stringify({ type: 'assistant', text: 'y'.repeat(1024 * 1024) })}\n`;
    const told = prompt('plan', 'Read: "permissionMode":"bypassPermissions" and {"permissionMode":"auto"}');
    inWorld(transcript(prompt('bypassPermissions') + told + long), (world) =>
      expect(of(world).mode).toBe('plan'),
    );
  });
  test('goes by no field that a tool was called with, or has answered', () => {
    const wide = { permissionMode: 'bypassPermissions' };
    const call = { type: 'assistant', message: { content: [{ type: 'tool_use', input: wide }] } };
    const result = { type: 'user', toolUseResult: wide };
    const lines = [call, result].map((line) => `${JSON.stringify(line)}\n`).join('');
    inWorld(transcript(prompt('plan') + lines), (world) => expect(of(world).mode).toBe('plan'));
  });
  test('goes by nothing before a line that is torn, in which another mode may stand', () => {
    const torn = prompt('plan').slice(0, -4);
    inWorld(transcript(prompt('bypassPermissions') + torn), (world) =>
      expect(of(world).mode).toBe('default'),
    );
    inWorld(transcript(`${prompt('bypassPermissions')}${torn}${prompt('auto')}`), (world) =>
      expect(of(world).mode).toBe('default'),
    );
  });
  test('finds the session from wherever its shell has gone, with what the project forbids', () => {
    const project = { 'project/.claude/settings.json': { permissions: { deny: ['Bash(git push:*)'] } } };
    inWorld({ ...project, ...transcript(prompt('plan')) }, (world) => {
      const cwd = `${world.requester().cwd}/src/deep`;
      expect(of(world, NO_GRANTS, { cwd })).toEqual({ mode: 'plan', allow: [], deny: ['Bash(git push:*)'] });
    });
  });
  test('leaves out in plan mode the rules that change files, and keeps the others', () => {
    const own = settings({ allow: ['Edit', 'Write(src/**)', 'Bash(git log:*)'] });
    inWorld({ ...own, ...transcript(prompt('plan')) }, (world) =>
      expect(of(world).allow).toEqual(['Bash(git log:*)']),
    );
  });
  test('finds a mode that stands across two of the blocks in which it looks', () => {
    for (const padding of [262_100, 262_120, 262_144]) {
      const text = prompt('acceptEdits') + 'z'.repeat(padding);
      inWorld(transcript(text), (world) => expect(of(world).mode).toBe('edit'));
    }
  });
  test('takes Codex’ sandbox from its rollout', () => {
    const thread = '01a204f9-19e7-7770-8d42-1dc999480da7';
    const turn = {
      type: 'turn_context',
      payload: { sandbox_policy: { type: 'workspace-write', network_access: false } },
    };
    const path = `.codex/sessions/2026/11/22/rollout-2026-11-22T20-36-03-${thread}.jsonl`;
    const told = {
      type: 'event_msg',
      payload: { arguments: { sandbox_policy: { type: 'danger-full-access' } } },
    };
    const lines = [turn, told].map((line) => `${JSON.stringify(line)}\n`).join('');
    inWorld({ [path]: lines }, ({ world: plain, requester }) => {
      const codex = requester({ client: 'codex', session: null });
      const world = { ...plain, env: { ...plain.env, CODEX_THREAD_ID: thread } };
      expect(requesterPermissions(codex, 'claude', NO_GRANTS, world).mode).toBe('edit');
      expect(requesterPermissions(codex, 'claude', NO_GRANTS, plain).mode).toBe('default');
    });
  });

  test('adds the user’s own rules, and what the settings allow', () => {
    inWorld({ ...settings({ allow: ['Bash(npm test:*)'], ask: ['Bash(git push:*)'] }) }, (world) => {
      expect(of(world, { ofSettings: ['edit'], ofPerson: [] })).toEqual({
        mode: 'default',
        allow: ['Bash(npm test:*)', 'edit'],
        deny: ['Bash(git push:*)'],
      });
    });
  });
  test('adds in plan mode only what a person grants', () => {
    inWorld(transcript(prompt('plan')), (world) => {
      expect(of(world, { ofSettings: ['edit'], ofPerson: [] }).allow).toEqual([]);
      expect(of(world, { ofSettings: ['exec'], ofPerson: ['edit'] }).allow).toEqual(['edit']);
    });
  });
  test('stores no secret that a rule quotes, and keeps the whole of what it forbids', () => {
    const secret = `sk-ant-api03-${'aB3'.repeat(20)}`;
    const rules = {
      allow: [`Bash(curl -H "x-api-key: ${secret}":*)`, 'Bash(ls:*)'],
      deny: [`Bash(login ${secret})`],
    };
    inWorld(settings(rules), (world) => {
      expect(of(world)).toEqual({ mode: 'default', allow: ['Bash(ls:*)'], deny: ['exec'] });
    });
  });
  test('reads nothing of a configuration that cannot be understood', () => {
    const broken = { '.claude/settings.json': '{"permissions": {"allow": ["Bash"]' };
    inWorld(broken, (world) => expect(of(world)).toEqual({ ...ASKS, mode: 'default' }));
    const modes = { bypassPermissions: 'default', plan: 'plan' } as const;
    for (const [name, mode] of Object.entries(modes))
      inWorld({ ...broken, ...transcript(prompt(name)) }, (world) =>
        expect(of(world)).toEqual({ ...ASKS, mode: mode as Permissions['mode'] }),
      );
  });
});
