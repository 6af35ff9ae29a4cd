import { describe, expect, test } from 'bun:test';
import type { Client } from '../../src/clients/client.ts';
import { offeredTools } from '../../src/clients/tools.ts';
import { ASKS_NEVER } from '../../src/runs/model/permissions.ts';
import { EXPLORE_TOOL } from '../../src/runs/model/profile.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import { isToolAllowed } from '../../src/runs/model/tool-policy.ts';
import {
  allowlistOf,
  chooseAgent,
  chooseModel,
  listAgents,
  mayWrite,
  planSpawn,
  type SpawnRequest,
  type SpawnSurroundings,
  type WantedModel,
} from '../../src/runs/spawn-plan.ts';
import { readRunSettings } from '../../src/settings/run-settings.ts';
import { CLIENTS, type ClientName } from '../support/clients.ts';

const PERSON: Requester = { key: 'agent:main:app-1', session: null, client: null, cwd: '/srv/app' };

function plan(request: Partial<SpawnRequest>, settings: object = {}, world: Partial<SpawnSurroundings> = {}) {
  return planSpawn(
    { task: 'Fix the tests.', ...request },
    {
      requester: PERSON,
      settings: readRunSettings(settings),
      clients: CLIENTS,
      isOnPath: () => true,
      isDirectory: (path) => path.startsWith('/srv'),
      agentDirOf: () => null,
      routeProblemOf: () => null,
      permissionsOf: () => ASKS_NEVER,
      releaseWarningOf: () => null,
      ungivenRules: () => null,
      callersModel: null,
      ...world,
    },
  );
}

type Asked = Parameters<typeof plan>;

function planned(...args: Asked) {
  const made = plan(...args);
  if (made.kind === 'refused') throw new Error(`It was refused: ${made.refusal.error}`);
  return made;
}

function refused(...args: Asked) {
  const made = plan(...args);
  if (made.kind !== 'refused') throw new Error('It was not refused');
  return made.refusal;
}

const defaults = (subagents: object, list: object[] = []) => ({ agents: { defaults: { subagents }, list } });
/** A client that cannot be kept from searching the web. */
const leaky: Client = { ...CLIENTS.codex, gaps: () => ['web_search'] };
const LEAKY = { clients: { ...CLIENTS, codex: leaky } };

describe('planSpawn() refuses', () => {
  const rows: [what: string, error: string, asked: Asked][] = [
    ['nothing to do', 'task is required', [{ task: ' \n' }]],
    ['a client that would go elsewhere', 'of "x"', [{}, {}, { routeProblemOf: () => 'of "x"' }]],
    ['a task that is no task any more', 'task is too long: ', [{ task: 'x'.repeat(2 ** 20 + 1) }]],
    [
      'a thinking level that there is not',
      'Invalid thinking level "hard". Use one of: off, minimal, low, medium, high, xhigh, max.',
      [{ thinking: 'hard' }],
    ],
    ['a timeout that is no number', 'Invalid runTimeoutSeconds NaN: it is a ', [{ runTimeoutSeconds: NaN }]],
    ['a directory that depends on where one is', 'cwd has to be an absolute path: "src"', [{ cwd: 'src' }]],
    ['a directory that there is not', 'cwd is no directory: "/nowhere"', [{ cwd: '/nowhere' }]],
    [
      'a client that is not installed, and says how to install it',
      'gemini is not on the PATH: install it with "npm install -g @google/gemini-cli", or choose another client',
      [{ client: 'gemini' }, {}, { isOnPath: (program) => program !== 'gemini' }],
    ],
  ];
  test.each(rows)('%s', (_, error, asked) => {
    const refusal = refused(...asked);
    expect(refusal.status).toBe('error');
    expect(refusal.error).toStartWith(error);
  });

  test('another agent than its own unless it is allowed, whatever its spelling', () => {
    const error = expect.stringMatching(
      /^agentId is not allowed for sessions_spawn \(allowed: none\): to spawn "/,
    );
    expect(refused({ agentId: 'reviewer' })).toEqual({ status: 'forbidden', error });
    const allowed = defaults({}, [{ id: 'main', subagents: { allowAgents: ['reviewer'] } }]);
    expect(planned({ agentId: ' Reviewer' }, allowed).run.agentId).toBe('reviewer');
    expect(planned({ agentId: 'MAIN' }).run.agentId).toBe('main');
  });

  test('a client that cannot be kept from a denied tool, unless the settings say that a warning does', () => {
    const refusal = refused({ client: 'codex' }, {}, LEAKY);
    expect(refusal.status).toBe('forbidden');
    expect(refusal.error).toStartWith('codex cannot be kept from tools that are denied: web_search. ');
    const made = planned({ client: 'codex' }, { tools: { subagents: { strict: false } } }, LEAKY);
    expect(made.run.gaps).toEqual(['web_search']);
    expect(made.warnings).toEqual(['codex cannot be kept from: web_search']);
  });
});

describe('planSpawn() makes a run that only looks', () => {
  const explore = { profile: 'explore' } as const;
  const CHANGING = ['write', 'edit', 'apply_patch', 'task', 'web_search', 'web_fetch', 'sessions_spawn'];
  const rows: [ClientName, 'explore' | 'plan' | 'review', readonly string[]][] = [
    ['claude', 'explore', ['Glob', 'Grep', 'Read', 'TodoWrite']],
    ['claude', 'plan', ['Glob', 'Grep', 'Read', 'TodoWrite']],
    ['claude', 'review', ['Glob', 'Grep', 'Read', 'TodoWrite']],
    ['codex', 'explore', ['exec_command', 'update_plan', 'view_image', 'write_stdin']],
    ['gemini', 'explore', ['glob', 'grep_search', 'list_directory', 'read_file', 'write_todos']],
    ['opencode', 'explore', ['glob', 'grep', 'list', 'read', 'todowrite']],
  ];
  test.each(rows)('with %s as %s: it is offered what reads, and nothing else', (client, profile, tools) => {
    const { policy } = planned({ client, profile, instructions: 'Judge it.' }).run;
    expect(offeredTools(policy, CLIENTS[client].tools ?? {}).sort()).toEqual([...tools]);
    for (const tool of CHANGING) expect(isToolAllowed(policy, tool)).toBe(false);
    expect(isToolAllowed(policy, EXPLORE_TOOL)).toBe(profile === 'plan');
    expect(isToolAllowed(policy, 'mcp__self-generation__plan')).toBe(false);
  });

  test('whatever it is granted, and without a tree of its own, which would lack what is not committed', () => {
    const { run } = planned({ ...explore, permissions: ['all'] }, defaults({ worktree: 'always' }));
    expect(isToolAllowed(run.policy, 'edit')).toBe(false);
    expect(run.worktreeMode).toBe('never');
    expect(mayWrite(planned({ ...explore, client: 'codex' }).run)).toBe(false);
  });

  test('never where its client cannot be kept to that, also when the settings say that a warning does', () => {
    const loose = { tools: { subagents: { strict: false } } };
    const refusal = refused({ ...explore, client: 'codex' }, loose, LEAKY);
    expect(refusal.status).toBe('forbidden');
    expect(refusal.error).toStartWith('codex cannot be kept from tools that are denied: web_search. A run ');
  });

  test('with less where the settings deny more', () => {
    const settings = { tools: { subagents: { tools: { deny: ['grep', EXPLORE_TOOL] } } } };
    const { policy } = planned({ profile: 'plan' }, settings).run;
    expect(offeredTools(policy, CLIENTS.claude.tools ?? {})).not.toContain('Grep');
    expect(isToolAllowed(policy, EXPLORE_TOOL)).toBe(false);
  });

  test('with the limits of the request, and those of the settings where it names none', () => {
    const settings = { plan: { maxUsd: 2, timeoutSeconds: 30 }, explore: { maxIterations: 3 } };
    const none = { tokens: null, usd: null, observationChars: 400_000 };
    const made = planned({ profile: 'plan', limits: { tokens: 9, usd: undefined } }, settings).run;
    expect(made.profile).toEqual({ kind: 'plan', limits: { ...none, iterations: 20, tokens: 9, usd: 2 } });
    expect(made.runTimeoutMs).toBe(30_000);
    const { run } = planned(
      { ...explore, runTimeoutSeconds: 5, limits: { observationChars: null } },
      settings,
    );
    expect(run.profile).toEqual({
      kind: 'explore',
      limits: { ...none, iterations: 3, observationChars: null },
    });
    expect(run.runTimeoutMs).toBe(5000);
    expect(planned({}, settings).run).toMatchObject({ profile: null, runTimeoutMs: 0 });
  });

  test('only with limits that limit something', () => {
    expect(refused({ ...explore, limits: { tokens: 0 } }).error).toStartWith('Invalid limit tokens 0: ');
    expect(refused({ ...explore, limits: { iterations: NaN } }).error).toStartWith(
      'Invalid limit iterations',
    );
  });

  test('that is another one than the same task as any task, or with other limits', () => {
    const keys = [{}, explore, { profile: 'plan' } as const, { ...explore, limits: { usd: 1 } }].map(
      (request) => planned(request).spawnKey,
    );
    expect(new Set(keys).size).toBe(4);
    expect(planned(explore).spawnKey).toBe(keys[1] ?? '');
  });
});

describe('planSpawn() makes a part', () => {
  const part = (kind: 'conversation' | 'orchestration', name: string) => ({ part: { kind, id: 'x1', name } });
  const session = part('conversation', '1');

  test('of its own name, with its instructions, in no tree of its own unless it asks, and kept for weeks', () => {
    const asked = { ...session, instructions: 'You are the main agent.' };
    const { run, spawnKey } = planned(asked, defaults({ worktree: 'always' }));
    expect(run).toMatchObject({ ...asked, worktreeMode: 'never', archiveAfterMs: 30 * 86_400_000 });
    expect(spawnKey).toBe('part:conversation x1 1');
    expect(planned({ ...session, worktree: 'always' }).run.worktreeMode).toBe('always');
    expect(planned(session, defaults({ archiveAfterMinutes: 0 })).run.archiveAfterMs).toBe(0);
    const longer = 60 * 1440;
    expect(planned(session, defaults({ archiveAfterMinutes: longer })).run.archiveAfterMs).toBe(
      longer * 60_000,
    );
    expect(planned({}).run).toMatchObject({ part: null, instructions: null, archiveAfterMs: 3_600_000 });
  });

  test('that asks a question: without any tool, and within three minutes', () => {
    for (const client of ['claude', 'codex', 'gemini', 'opencode'] as const) {
      const { run } = planned({ ...part('conversation', 'memory.1'), client, profile: 'ask' });
      expect(offeredTools(run.policy, CLIENTS[client].tools ?? {})).toEqual([]);
      expect(run.runTimeoutMs).toBe(180_000);
      expect(mayWrite(run)).toBe(false);
    }
  });

  test('that judges: within limits of its own, and only when it is told how', () => {
    const review = { ...part('orchestration', 'review.1'), profile: 'review' } as const;
    expect(refused(review).error).toStartWith('a review needs instructions');
    const settings = { orchestrate: { review: { maxIterations: 5, timeoutSeconds: 60 } } };
    const { run } = planned({ ...review, instructions: 'Judge it.' }, settings);
    expect(run).toMatchObject({
      runTimeoutMs: 60_000,
      profile: { kind: 'review', limits: { iterations: 5 } },
    });
  });

  test('of an agent that has a role in a team, also where it may not be spawned otherwise', () => {
    const list = [{ id: 'web', role: 'frontend' }, { id: 'other' }];
    const work = part('orchestration', 'work.web.3');
    expect(planned({ ...work, agentId: 'web' }, defaults({}, list)).run.agentId).toBe('web');
    for (const asked of [{ ...work, agentId: 'other' }, { ...session, agentId: 'web' }, { agentId: 'web' }])
      expect(refused(asked, defaults({}, list)).status).toBe('forbidden');
  });
});

describe('planSpawn() takes', () => {
  const agent = { id: 'main', subagents: { client: 'gemini', model: 'flash', thinking: 'high' } };

  test('the client of the request, the agent, the defaults, the requester, and Claude Code, in this order', () => {
    const codex = { ...PERSON, client: 'codex' } as const;
    const all = defaults({ client: 'opencode' }, [agent]);
    const clients = [
      planned({ client: 'claude' }, all, { requester: codex }),
      planned({}, all, { requester: codex }),
      planned({}, defaults({ client: 'opencode' }), { requester: codex }),
      planned({}, {}, { requester: codex }),
      planned({}),
    ].map(({ run }) => run.client);
    expect(clients).toEqual(['claude', 'gemini', 'opencode', 'codex', 'claude']);
  });

  test('the model of the request, the agent, the defaults and the caller, in this order', () => {
    const claude = { requester: { ...PERSON, client: 'claude' }, callersModel: 'claude-opus-5' } as const;
    const own = { id: 'main', subagents: { model: 'haiku' } };
    const models = [
      planned({ model: 'opus' }, defaults({ model: 'sonnet' }, [own]), claude),
      planned({}, defaults({ model: 'sonnet' }, [own]), claude),
      planned({}, defaults({ model: 'sonnet' }), claude),
      planned({}, {}, claude),
      planned({}, {}, { callersModel: 'claude-opus-5' }),
    ].map(({ run }) => run.model);
    expect(models).toEqual([
      { requested: 'opus', resolved: 'opus' },
      { requested: null, resolved: 'haiku' },
      { requested: null, resolved: 'sonnet' },
      { requested: null, resolved: 'claude-opus-5' },
      { requested: null, resolved: null },
    ]);
  });

  test("no model that is meant for another client: neither the agent's nor the caller's", () => {
    const claude = { requester: { ...PERSON, client: 'claude' }, callersModel: 'claude-opus-5' } as const;
    expect(planned({ client: 'codex' }, defaults({}, [agent]), claude).run.model.resolved).toBeNull();
  });

  test('the default instead of a model that cannot be one, with a warning', () => {
    const { run, warnings } = planned({ model: '-x' }, defaults({ model: 'sonnet' }));
    expect(run.model).toEqual({ requested: '-x', resolved: 'sonnet' });
    expect(warnings).toEqual([
      'model "-x" is not used: a model has no such name; the default is used instead',
    ]);
  });

  test('the thinking of the request, the agent and the defaults; what the client lacks it leaves to it', () => {
    const settings = defaults({ thinking: 'low' }, [agent]);
    expect(planned({ thinking: ' HIGH ', client: 'claude' }, settings).run.thinking).toBe('high');
    expect(planned({ client: 'claude' }, settings).run.thinking).toBe('high');
    expect(planned({ client: 'claude' }, defaults({ thinking: 'low' })).run.thinking).toBe('low');
    const codex = planned({ thinking: 'off', client: 'codex' });
    expect(codex.run.thinking).toBeNull();
    expect(codex.warnings).toEqual(['codex has no thinking level "off": its own default is used']);
  });

  test('the default for no timeout, nothing for less than nothing, and whole seconds', () => {
    const settings = defaults({ runTimeoutSeconds: 30 });
    const timeouts = [undefined, 0, -5, 1.9, 10 ** 12].map(
      (runTimeoutSeconds) => planned({ runTimeoutSeconds }, settings).run.runTimeoutMs,
    );
    expect(timeouts).toEqual([30_000, 0, 0, 1000, 2_592_000_000]);
  });

  test('a label in one bounded line', () => {
    const given = [undefined, ' ', 'a\n b\u001b[31m', 'x'.repeat(300)];
    const labels = given.map((label) => planned({ label }).run.label);
    expect(labels).toEqual([null, null, 'a b', 'x'.repeat(200)]);
    const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789';
    expect(planned({ label: `${'x'.repeat(180)} ${secret}` }).run.label).not.toContain('sk-ant-api03-abc');
  });

  test('no tool by which a sub-agent would have sub-agents, whatever is allowed; deny beats allow', () => {
    const allow = ['read', 'exec', 'sessions_spawn', 'task', 'web_fetch'];
    const own = { id: 'main', subagents: { tools: { deny: ['web_fetch'] } } };
    const settings = { ...defaults({}, [own]), tools: { subagents: { tools: { allow, deny: ['exec'] } } } };
    const { policy } = planned({ client: 'claude' }, settings).run;
    const left = [...allow, 'write'].filter((tool) => isToolAllowed(policy, tool));
    expect(left).toEqual(['read']);
  });
});

describe('the key of a spawn', () => {
  const key = (request: Partial<SpawnRequest>) => planned(request).spawnKey;

  test('is the same for the same call, and another for whatever else differs', () => {
    expect(key({})).toBe(key({ task: ' Fix the tests.\n' }));
    const requests: readonly Partial<SpawnRequest>[] = [
      ...[{}, { task: 'x' }, { label: 'x' }, { model: 'x' }, { cwd: '/srv' }, { thinking: 'low' }],
      ...([{ worktree: 'always' }, { cleanup: 'delete' }] as const),
    ];
    expect(new Set(requests.map(key)).size).toBe(requests.length);
  });

  test('is another one where the requester may do more by now', () => {
    const narrow = plan({}, {}, { permissionsOf: () => ({ mode: 'plan', allow: [], deny: [] }) });
    expect(narrow.kind === 'planned' && narrow.spawnKey).not.toBe(key({}));
  });

  test("is the caller's own when the call has a name", () => {
    expect(key({ idempotencyKey: 'one', task: 'a' })).toBe(key({ idempotencyKey: 'one', task: 'b' }));
    expect(key({ idempotencyKey: 'one' })).not.toBe(key({ idempotencyKey: 'two' }));
    expect(key({ idempotencyKey: ' ' })).toBe(key({}));
  });
});

const settingsWith = (list: unknown[], allowAgents?: string[]) =>
  readRunSettings({ agents: { list, defaults: { subagents: { allowAgents } } } });

/** Why it may not be spawned; null where it may. */
function refusal(agentId: string, requester: string, list: unknown[], defaults?: string[]): string | null {
  const chosen = chooseAgent(agentId, requester, settingsWith(list, defaults));
  return chosen.kind === 'chosen' ? null : chosen.refusal.error;
}

const main = (...allowAgents: string[]) => ({ id: 'main', subagents: { allowAgents } });
const noted = (allowed: string, id: string) =>
  `agentId is not allowed for sessions_spawn (allowed: ${allowed}): to spawn "${id}", add it to allowAgents in the settings`;
const unknown = (id: string, words: string) =>
  `No agent "${id}" is configured. ${words} A new one is added to agents.list in the settings`;

describe('chooseAgent()', () => {
  const two = [main('reviewer', 'writer')];
  const star = [main('*'), { id: 'reviewer' }];
  const rows: [what: string, refused: string | null, asked: Parameters<typeof refusal>][] = [
    ['the requester itself without any list', null, ['main', 'main', []]],
    ['the requester itself where none is named', null, [' ', 'main', []]],
    ['another without any list', noted('none', 'reviewer'), ['reviewer', 'main', []]],
    ['one of the list', null, ['reviewer', 'main', two]],
    ['one that the list lacks', noted('reviewer, writer', 'x'), ['x', 'main', two]],
    ['one of a list in capitals', null, ['reviewer', 'main', [main('Reviewer')]]],
    ['one in capitals', null, [' Reviewer ', 'main', two]],
    ['any that is configured with a star', null, ['reviewer', 'main', star]],
    ['one of a list with a star', null, ['b', 'main', [main('b', '*')]]],
    ['a misspelling with a star', unknown('reviwer', 'Did you mean "reviewer"?'), ['reviwer', 'main', star]],
    ['one that is like none', unknown('x', 'Configured: main, reviewer'), ['x', 'main', star]],
    ['the requester itself with an empty list', null, ['main', 'main', [main()]]],
    ['another with an empty list, which is one', noted('none', 'a'), ['a', 'main', [main()], ['a']]],
    ['one of the defaults when the agent has no list', null, ['a', 'main', [{ id: 'main' }], ['a']]],
    ['one of the defaults when the requester is not listed', null, ['a', 'other', [main('b')], ['a']]],
    ["one of another requester's list", noted('none', 'b'), ['b', 'other', [main('b')]]],
  ];
  for (const [what, expected, asked] of rows)
    test(`${expected === null ? 'lets through' : 'refuses'} ${what}`, () =>
      expect(refusal(...asked)).toBe(expected));
});

test('chooseAgent() refuses what is no id, with what was said and what is one', () => {
  for (const id of ['../..', '../../etc', 'a/b', 'Ä', '--x--', 'x'.repeat(65), 'two words', 'a\nb']) {
    const shown = `"${id.replace('\n', ' ')}"`;
    const error = `Invalid agentId ${shown}: it has at most 64 letters, digits, - and _, and begins with a letter or digit`;
    const refused = { kind: 'refused' as const, refusal: { status: 'error' as const, error } };
    expect(chooseAgent(id, 'main', settingsWith([main('*')]))).toEqual(refused);
  }
});

describe('listAgents()', () => {
  const list = (requester: string, agents: unknown[]) => {
    const settings = settingsWith(agents);
    return listAgents(requester, allowlistOf(requester, settings), settings.agents);
  };

  test('has the requester alone when nothing is allowed', () =>
    expect(list('main', [{ id: 'writer' }])).toEqual([{ id: 'main', configured: true }]));

  test('has the requester first and the allowed ones by their ids, also those that nobody configured', () => {
    const agents = [main('writer', 'absent', 'main'), { id: 'writer', name: 'Writer' }, { id: 'other' }];
    expect(list('main', agents)).toEqual([
      { id: 'main', configured: true },
      { id: 'absent', configured: false },
      { id: 'writer', name: 'Writer', configured: true },
    ]);
  });

  test('has every configured one when any is allowed', () => {
    const ids = list('main', [main('*'), { id: 'b' }, { id: 'a' }]).map(({ id }) => id);
    expect(ids).toEqual(['main', 'a', 'b']);
  });
});

const of = (model: string | null, client: ClientName | null = null): WantedModel => ({ model, client });

describe('chooseModel()', () => {
  const odd = 'eu.a/b-c_1:2@3[1m]';
  const rows: [what: string, asked: string | undefined, others: WantedModel[], ClientName, string | null][] =
    [
      ['what was asked for', 'opus', [of('sonnet'), of('haiku')], 'claude', 'opus'],
      ['the first of the others', undefined, [of(null), of('sonnet'), of('haiku')], 'claude', 'sonnet'],
      ["nothing, which is the client's own", undefined, [of(null), of('')], 'claude', null],
      ['none meant for another client', undefined, [of('opus', 'claude'), of('gpt-5')], 'codex', 'gpt-5'],
      ['one that is meant for this client', undefined, [of('opus', 'claude')], 'claude', 'opus'],
      ['a name with everything that providers put into one', odd, [], 'claude', odd],
      ['what was asked for without the blanks around it', ' opus ', [], 'claude', 'opus'],
    ];
  test.each(rows)('takes %s', (_, asked, others, client, resolved) =>
    expect(chooseModel(asked, others, CLIENTS[client])).toMatchObject({ resolved, warnings: [] }),
  );

  const wrong: [what: string, model: string, client: ClientName][] = [
    ['has blanks', 'the best one', 'claude'],
    ['would be an option', '--dangerous', 'claude'],
    ['has line ends', 'a\nb', 'codex'],
    ['is far too long', 'x'.repeat(201), 'claude'],
    ['has no provider where one is needed', 'gpt-5', 'opencode'],
  ];
  test.each(wrong)('leaves out a model that %s, takes the next and warns once', (_, model, client) => {
    const choice = chooseModel(model, [of('provider/next')], CLIENTS[client]);
    expect(choice).toMatchObject({ resolved: 'provider/next', requested: model });
    const [warning = '', ...others] = choice.warnings;
    expect(others).toEqual([]);
    expect(warning).toStartWith('model "');
    expect(warning).not.toInclude('\n');
    expect(warning.length).toBeLessThan(200);
  });
});
