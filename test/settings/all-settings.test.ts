import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../src/core/guards.ts';
import {
  CONFIG_FIELDS,
  isAccepted,
  parseConfig,
  readPath,
  writePath,
} from '../../src/settings/all-settings.ts';
import { oneOf, readConfig, readSection, row } from '../../src/settings/hook-settings.ts';
import { orNull } from '../../src/settings/run-settings.ts';

const DEFAULT_CONFIG = readConfig({});
const DEFAULTS = parseConfig({}).config;

/** The document that has only this setting. */
function only(key: string, value: unknown): Json {
  const document: Json = {};
  writePath(document, key, value);
  return document;
}

test('parseConfig() returns the defaults when the document is empty', () => {
  expect(parseConfig({})).toEqual({ config: expect.objectContaining(DEFAULT_CONFIG), problems: [] });
  expect(DEFAULT_CONFIG).toEqual({
    enabled: true,
    language: 'ko',
    collectPromptText: true,
    retentionDays: 90,
    subagentContext: { agents: [], excludeAgents: [] },
    lessons: { model: 'off' },
    proof: { holdOut: 'off' },
    analysisOnSessionEnd: false,
    analysisCli: 'claude',
    analysisModel: 'sonnet',
    analysisDays: 7,
    analysisDailyBudgetUsd: 1,
    analysisMinIntervalMinutes: 60,
    analysisCacheMaxAgeHours: 24,
  });
});

for (const document of [null, undefined, [], 'text', 5, true]) {
  test(`parseConfig() returns the defaults and one problem when the document is ${JSON.stringify(document)}`, () => {
    const { config, problems } = parseConfig(document);
    expect(config).toEqual(DEFAULTS);
    expect(problems.map((problem) => problem.key)).toEqual(['']);
  });
}

for (const field of CONFIG_FIELDS) {
  test(`${field.key} has a meaning, and a default that it takes`, () => {
    expect(field.description).not.toBe('');
    expect(isAccepted(field, field.default)).toBe(true);
    expect(isAccepted(field, undefined)).toBe(false);
  });
}

test('readSection() takes null where it may be, whatever the default', () => {
  const section = { limit: row(orNull(oneOf('low', 'high')), 'low', 'a row of its own') };
  expect(readSection(section, { limit: null })).toEqual({ limit: null });
  expect(readSection(section, { limit: 'none' })).toEqual({ limit: 'low' });
  expect(section.limit.expected).toBe('null, or "low" or "high"');
});

const taken: [key: string, value: unknown][] = [
  ['enabled', false],
  ['language', 'en'],
  ['collectPromptText', false],
  ['retentionDays', 0.5],
  ['retentionDays', 36500],
  ['subagentContext.agents', ['general-purpose']],
  ['subagentContext.agents', []],
  ['subagentContext.excludeAgents', ['Explore', 'Plan']],
  ['lessons.model', 'suggest'],
  ['analysisOnSessionEnd', true],
  ['analysisModel', 'opus'],
  ['analysisDays', 365],
  ['analysisCacheMaxAgeHours', 1],
];
for (const [key, value] of taken) {
  test(`parseConfig() takes ${key} when it is ${JSON.stringify(value)}`, () => {
    const { config, problems } = parseConfig(only(key, value));
    expect(readPath(config, key)).toEqual(value);
    expect(problems).toEqual([]);
    const expected = structuredClone(DEFAULTS);
    writePath(expected, key, value);
    expect(config).toEqual(expected);
  });
}

const BAD_FOR_ALL = [null, 'false', -5, Number.NaN, {}, [5], [''], ['  '], '', ' ', 0, Infinity, 1e9, [null]];
for (const field of CONFIG_FIELDS.filter(({ key }) => readPath(DEFAULT_CONFIG, key) !== undefined)) {
  for (const value of BAD_FOR_ALL) {
    if (field.key === 'analysisModel' && typeof value === 'string' && value.trim() !== '') continue;
    const shown = typeof value === 'number' ? String(value) : JSON.stringify(value);
    test(`parseConfig() uses the default of ${field.key} and says so when it is ${shown}`, () => {
      const { config, problems } = parseConfig(only(field.key, value));
      expect(config).toEqual(DEFAULTS);
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatchObject({ key: field.key, found: value });
      expect(problems[0]?.message).toContain(JSON.stringify(field.default));
    });
  }
}

test('parseConfig() reports each of several bad values and takes the good ones', () => {
  const { config, problems } = parseConfig({ enabled: 'false', retentionDays: -5, language: 'en' });
  expect(config).toEqual({ ...DEFAULTS, language: 'en' });
  expect(problems.map((problem) => problem.key)).toEqual(['enabled', 'retentionDays']);
});

for (const value of [5, 'x', null, []]) {
  test(`parseConfig() reports subagentContext when it is ${JSON.stringify(value)}`, () => {
    const { config, problems } = parseConfig({ subagentContext: value });
    expect(config).toEqual(DEFAULTS);
    expect(problems.map((problem) => problem.key)).toEqual(['subagentContext']);
  });
}

test('parseConfig() reports settings that do not exist', () => {
  const { config, problems } = parseConfig({ enabeld: false, subagentContext: { agent: ['x'] } });
  expect(config).toEqual(DEFAULTS);
  expect(problems.map(({ key, found }) => ({ key, found }))).toEqual([
    { key: 'enabeld', found: false },
    { key: 'subagentContext.agent', found: ['x'] },
  ]);
});

test('parseConfig() pollutes nothing when keys are those of a prototype', () => {
  const document = JSON.parse(
    '{"__proto__":{"enabled":false,"polluted":1},"constructor":{"prototype":{"polluted":1}},"subagentContext":{"__proto__":{"agents":["x"]}}}',
  );
  const { config, problems } = parseConfig(document);
  expect(config).toEqual(DEFAULTS);
  const keys = problems.map((problem) => problem.key);
  expect(keys).toEqual(['__proto__', 'constructor', 'subagentContext.__proto__']);
  expect(({} as Json).polluted).toBeUndefined();
  expect(Object.getPrototypeOf(config)).toBe(Object.prototype);
});

test('parseConfig() ignores what a document only inherits', () => {
  expect(parseConfig(Object.create({ enabled: false })).config).toEqual(DEFAULTS);
});

test('parseConfig() returns a valid configuration when the document is any JSON', () => {
  const fields = Object.keys(DEFAULT_CONFIG).map((key) => [key, fc.jsonValue()]);
  const values = fc.record(Object.fromEntries(fields), { requiredKeys: [] });
  fc.assert(
    fc.property(fc.oneof(values, fc.jsonValue()), (document) => {
      const { config } = parseConfig(document);
      expect(parseConfig(config)).toEqual({ config, problems: [] });
      expect(config).toMatchObject(readConfig(document));
    }),
  );
});

test('parseConfig() reports settings of background runs as it does those of hooks', () => {
  const { problems } = parseConfig({
    budget: { run: { tokens: 'many' } },
    announce: 5,
    agents: {
      defaults: { subagents: { maxConcurent: 1 } },
      list: [{ id: 'reviewer', subagents: { model: 5 } }],
    },
  });
  expect(problems.map(({ key }) => key).sort()).toEqual([
    'agents.defaults.subagents.maxConcurent',
    'agents.list[0].subagents.model',
    'announce',
    'budget.run.tokens',
  ]);
});

test('parseConfig() returns a value for every setting, and what is set where it is good', () => {
  const set = { language: 'en', announce: { mode: 'raw' } };
  const { config } = parseConfig({ ...set, budget: { day: { usd: 0 } } });
  for (const { key, default: standard } of CONFIG_FIELDS)
    expect({ key, value: readPath(config, key) }).toEqual({ key, value: readPath(set, key) ?? standard });
});

test('parseConfig() returns lists of its own when the defaults are used', () => {
  const { config } = parseConfig({});
  (config.subagentContext.agents as string[]).push('x');
  expect(parseConfig({}).config.subagentContext.agents).toEqual([]);
});

test('readPath() returns undefined when there is nothing of its own at the key', () => {
  expect(readPath({ a: { b: 1 } }, 'a.b')).toBe(1);
  expect(readPath({ a: { b: 1 } }, 'a.c')).toBeUndefined();
  expect(readPath({ a: 1 }, 'a.b')).toBeUndefined();
  expect(readPath({}, 'constructor')).toBeUndefined();
  expect(readPath({}, '__proto__.toString')).toBeUndefined();
});

test('writePath() sets the value when objects are missing between', () => {
  const target: Json = { a: { x: 1 }, b: 5 };
  writePath(target, 'a.y', 2);
  writePath(target, 'b.c.d', 3);
  expect(target).toEqual({ a: { x: 1, y: 2 }, b: { c: { d: 3 } } });
});

test('writePath() pollutes nothing when the key is that of a prototype', () => {
  for (const key of ['__proto__.polluted', 'constructor.prototype.polluted', 'a.__proto__.polluted']) {
    const target: Json = {};
    writePath(target, key, 1);
    expect(({} as Json).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
  }
});
