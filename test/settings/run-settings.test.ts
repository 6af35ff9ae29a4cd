import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../src/core/guards.ts';
import { CONFIG_FIELDS, parseConfig, readPath, writePath } from '../../src/settings/all-settings.ts';
import { RUN_SETTINGS, readRunSettings } from '../../src/settings/run-settings.ts';

const DEFAULTS = readRunSettings({});
const RUN_FIELDS = CONFIG_FIELDS.filter(({ key }) => readPath(RUN_SETTINGS, key) !== undefined);
const SUBAGENTS = 'agents.defaults.subagents';

/** The settings, and what is wrong with the document, in words. */
function read(document: unknown) {
  const problems = parseConfig(document).problems.map(({ key, message }) => `${key}: ${message}`);
  return { settings: readRunSettings(document), problems };
}

function only(key: string, value: unknown): Json {
  const document: Json = {};
  writePath(document, key, value);
  return document;
}

test('readRunSettings() returns the defaults when nothing is set', () => {
  const noLimit = { tokens: null, usd: null };
  const unlimited = { maxTokens: null, maxUsd: null, maxObservationChars: 400_000 };
  expect(read({})).toEqual({
    settings: {
      maxConcurrent: 8,
      maxQueued: 100,
      archiveAfterMinutes: 60,
      runTimeoutSeconds: 0,
      idleTimeoutSeconds: 0,
      client: null,
      model: null,
      thinking: null,
      allowAgents: null,
      worktree: 'never',
      contextFiles: ['AGENTS.md', 'TOOLS.md'],
      agents: [],
      tools: { deny: [], allow: null, isStrict: true, permitted: [] },
      announce: { mode: 'turn', timeoutSeconds: 60, skipOnFailure: true, wake: 'on', wakesMax: 5 },
      budget: { run: noLimit, requester: noLimit, day: noLimit },
      context: { mode: 'full', recentN: 12, includeSystem: false, maxChars: 0, pruned: false },
      notifyCommand: null,
      explore: { maxIterations: 15, timeoutSeconds: 600, ...unlimited },
      plan: { maxIterations: 20, timeoutSeconds: 1200, rounds: 10, ...unlimited },
      orchestrate: { attempts: 3, review: { maxIterations: 30, timeoutSeconds: 900, ...unlimited } },
      prices: [],
    },
    problems: [],
  });
});

test('readRunSettings() reads the examples of the seed', () => {
  const cost = { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 };
  const { settings, problems } = read({
    agents: {
      defaults: { subagents: { maxConcurrent: 1, archiveAfterMinutes: 60, model: 'haiku' } },
      list: [{ id: 'main', subagents: { allowAgents: ['*'], model: 'opus' } }],
    },
    tools: { subagents: { tools: { deny: ['gateway', 'cron'], allow: ['read', 'exec', 'process'] } } },
    models: {
      providers: {
        anthropic: { baseUrl: 'https://example.invalid', models: [{ id: 'claude-opus', cost }] },
      },
    },
  });
  expect(problems).toEqual([]);
  expect(settings).toEqual({
    ...DEFAULTS,
    maxConcurrent: 1,
    model: 'haiku',
    agents: [
      {
        ...{ role: null, description: null },
        ...{ id: 'main', name: null, client: null, model: 'opus', thinking: null, workspace: null },
        ...{ agentDir: null, allowAgents: ['*'], tools: { deny: [], allow: null } },
        context: { mode: null, recentN: null, includeSystem: null, maxChars: null, pruned: null },
      },
    ],
    tools: { deny: ['gateway', 'cron'], allow: ['read', 'exec', 'process'], isStrict: true, permitted: [] },
    prices: ['anthropic/claude-opus', 'claude-opus'].map((model) => ({ model, ...cost })),
  });
});

const taken: [key: string, value: unknown, settings: object][] = [
  [`${SUBAGENTS}.maxConcurrent`, 3, { maxConcurrent: 3 }],
  [`${SUBAGENTS}.maxQueued`, 0, { maxQueued: 0 }],
  [`${SUBAGENTS}.archiveAfterMinutes`, 0, { archiveAfterMinutes: 0 }],
  [`${SUBAGENTS}.client`, 'codex', { client: 'codex' }],
  [`${SUBAGENTS}.thinking`, 'xhigh', { thinking: 'xhigh' }],
  [`${SUBAGENTS}.allowAgents`, ['*', 'Reviewer'], { allowAgents: ['*', 'reviewer'] }],
  [`${SUBAGENTS}.worktree`, 'auto', { worktree: 'auto' }],
  [`${SUBAGENTS}.contextFiles`, ['NOTES.md'], { contextFiles: ['NOTES.md'] }],
  ['tools.subagents.strict', false, { tools: { deny: [], allow: null, isStrict: false, permitted: [] } }],
  ['announce.mode', 'inline', { announce: { ...DEFAULTS.announce, mode: 'inline' } }],
  ['context.mode', 'recent', { context: { ...DEFAULTS.context, mode: 'recent' } }],
  ['context.recentN', 0, { context: { ...DEFAULTS.context, recentN: 0 } }],
  ['orchestrate.attempts', 5, { orchestrate: { ...DEFAULTS.orchestrate, attempts: 5 } }],
  ['budget.day.usd', 2.5, { budget: { ...DEFAULTS.budget, day: { tokens: null, usd: 2.5 } } }],
];
for (const [key, value, changed] of taken) {
  test(`readRunSettings() takes ${key} when it is ${JSON.stringify(value)}`, () => {
    expect(read(only(key, value))).toEqual({ settings: { ...DEFAULTS, ...changed }, problems: [] });
  });
}

const refused: [key: string, value: unknown][] = [
  [`${SUBAGENTS}.maxConcurrent`, 0],
  [`${SUBAGENTS}.maxConcurrent`, 1.5],
  [`${SUBAGENTS}.maxConcurrent`, '8'],
  [`${SUBAGENTS}.archiveAfterMinutes`, -1],
  [`${SUBAGENTS}.runTimeoutSeconds`, 1e9],
  [`${SUBAGENTS}.client`, 'cursor'],
  [`${SUBAGENTS}.model`, ' '],
  [`${SUBAGENTS}.thinking`, 'huge'],
  [`${SUBAGENTS}.allowAgents`, ['../x']],
  [`${SUBAGENTS}.worktree`, true],
  [`${SUBAGENTS}.contextFiles`, 'AGENTS.md'],
  ['agents.list', {}],
  ['tools.subagents.tools.deny', [5]],
  ['tools.subagents.tools.allow', 'exec'],
  ['tools.subagents.strict', 'false'],
  ['announce.mode', 'loud'],
  ['announce.timeoutSeconds', 0],
  ['budget.run.tokens', 0],
  ['budget.day.usd', Number.POSITIVE_INFINITY],
  ['models.providers', []],
  ['orchestrate.attempts', 0],
  ['orchestrate.review.timeoutSeconds', -1],
];
for (const [key, value] of refused) {
  test(`readRunSettings() uses the default of ${key} and says so when it is ${JSON.stringify(value)}`, () => {
    const { settings, problems } = read(only(key, value));
    expect(settings).toEqual(DEFAULTS);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toStartWith(`${key}: `);
    const { default: standard } = RUN_FIELDS.find((field) => field.key === key) ?? {};
    expect(problems[0]).toContain(JSON.stringify(standard));
  });
}

describe('of a list or an object', () => {
  test('the good parts are taken, and each bad one is a problem of its own', () => {
    const { settings, problems } = read({
      agents: {
        list: [
          { id: 'Reviewer', agentDir: 'relative', workspace: '/srv/desk', subagents: { thinking: 'high' } },
          { id: 'reviewer' },
          { id: '-bad' },
          'fixer',
          { id: 'fixer', colour: 'red', subagents: { tools: { deny: ['exec'], alow: [] } } },
        ],
      },
      models: {
        providers: {
          a: {
            models: [
              { id: 'free' },
              { id: 'm', cost: { input: 1, output: 2 } },
              { id: 'n', cost: { input: 1 } },
            ],
          },
          b: 5,
        },
      },
    });
    expect(settings.agents.map(({ id }) => id)).toEqual(['reviewer', 'fixer']);
    expect(settings.agents[0]).toMatchObject({ agentDir: null, workspace: '/srv/desk', thinking: 'high' });
    expect(settings.agents[1]?.tools).toEqual({ deny: ['exec'], allow: null });
    expect(settings.prices.map(({ model }) => model)).toEqual(['a/m', 'm']);
    expect(problems.map((problem) => problem.slice(0, problem.indexOf(': ')))).toEqual([
      'agents.list[0].agentDir',
      'agents.list[1]',
      'agents.list[2]',
      'agents.list[3]',
      'agents.list[4].colour',
      'agents.list[4].subagents.tools.alow',
      'models.providers.a.models[2].cost',
      'models.providers.b',
    ]);
  });

  test('an agent has one word for its role in a team, and any words for what it is good at', () => {
    const list = [
      { id: 'web', role: 'frontend', description: 'forms, and how they look' },
      { id: 'ops', role: '운영' },
      { id: 'odd', role: 'two words' },
      { id: 'plain' },
    ];
    const { settings, problems } = read({ agents: { list } });
    expect(settings.agents.map(({ id, role, description }) => [id, role, description])).toEqual([
      ['web', 'frontend', 'forms, and how they look'],
      ['ops', '운영', null],
      ['odd', null, null],
      ['plain', null, null],
    ]);
    expect(problems).toEqual([expect.stringMatching(/^agents\.list\[2\]\.role: /)]);
  });

  for (const name of ['SOUL.md', 'IDENTITY.md', 'USER.md', 'HEARTBEAT.md', 'BOOTSTRAP.md', 'docs/soul.MD']) {
    test(`${name} is left out of the files for sub-agents`, () => {
      const { settings, problems } = read(only(`${SUBAGENTS}.contextFiles`, ['AGENTS.md', name]));
      expect(settings.contextFiles).toEqual(['AGENTS.md']);
      expect(problems).toEqual([
        `${SUBAGENTS}.contextFiles[1]: sub-agents are never given this file; it is left out`,
      ]);
    });
  }
});

test('readRunSettings() takes the permissions that there are, and names the others', () => {
  const { settings, problems } = read(only('tools.subagents.allow', ['edit', 'sudo', 'exec(npm test:*)']));
  expect(settings.tools.permitted).toEqual(['edit', 'exec(npm test:*)']);
  expect(problems).toEqual([expect.stringMatching(/^tools\.subagents\.allow\[1\]: "sudo" is no permission/)]);
});

test('readRunSettings() pollutes nothing when keys are those of a prototype', () => {
  readRunSettings(
    JSON.parse(
      '{"models":{"providers":{"__proto__":{"models":[{"id":"x","cost":{"input":1,"output":1}}]}}},"agents":{"list":[{"id":"a","__proto__":{"polluted":1}}]}}',
    ),
  );
  expect(({} as Json).polluted).toBeUndefined();
  expect(({} as Json).models).toBeUndefined();
});

test('readRunSettings() returns the same of what parseConfig() gives when it is any JSON', () => {
  const section = (key: string) => fc.jsonValue().map((value) => only(key, value));
  const documents = fc.oneof(fc.jsonValue(), ...RUN_FIELDS.map(({ key }) => section(key)));
  fc.assert(
    fc.property(documents, (value) => {
      const { config } = parseConfig(value);
      const again = parseConfig(config);
      expect(again.config).toEqual(config);
      // Tools that mean nothing are kept, and named again.
      expect(again.problems.filter(({ key }) => !/\.(?:deny|allow)\[\d+\]$/.test(key))).toEqual([]);
      for (const { key } of RUN_FIELDS) expect(readPath(config, key)).not.toBeUndefined();
      expect(readRunSettings(config)).toEqual(readRunSettings(value));
    }),
  );
});

test('readRunSettings() returns lists of its own when the defaults are used', () => {
  (readRunSettings({}).contextFiles as string[]).push('x');
  expect(readRunSettings({})).toEqual(DEFAULTS);
});
