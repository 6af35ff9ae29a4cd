import { describe, expect, test } from 'bun:test';
import { HOOKS, hookByName, hooksIn } from '../../src/hooks/hooks.ts';

const EVENTS = {
  'prompt-logger': 'UserPromptSubmit',
  'pre-tool-guide': 'PreToolUse',
  'tool-logger': 'PostToolUse',
  'error-logger': 'PostToolUseFailure',
  'batch-logger': 'PostToolBatch',
  'subagent-context': 'SubagentStart',
  'subagent-tracker': 'SubagentStop',
  'stop-tracker': 'Stop',
  'result-waiter': 'Stop',
  'session-analyzer': 'SessionStart',
  'session-summary': 'SessionEnd',
} as const;

test('HOOKS has each hook once, with its event and a time limit', () => {
  const found: string[][] = HOOKS.map(({ name, event }) => [name, event]);
  expect(found).toEqual(Object.entries(EVENTS));
  for (const hook of HOOKS) expect(hook.timeoutSeconds).toBeGreaterThan(0);
});

test('hooksIn() has one for each call only where that is asked for', () => {
  expect(hooksIn('per-call')).toEqual(HOOKS);
  const perSession = hooksIn('session');
  const perCall = ['tool-logger', 'batch-logger'];
  const named = (hooks: typeof HOOKS) => hooks.map(({ name }) => String(name));
  expect(named(perSession)).toEqual(named(HOOKS).filter((name) => !perCall.includes(name)));
  expect(perSession.find(({ event }) => event === 'PreToolUse')?.matcher).toBe('Agent|Task');
  const isAsync = perSession.filter((hook) => hook.isAsync);
  expect(named(isAsync)).toEqual(['subagent-tracker', 'stop-tracker', 'result-waiter']);
  expect(named(perSession.filter(({ wakes }) => wakes))).toEqual(['result-waiter']);
});

describe('hookByName()', () => {
  test.each(Object.entries(EVENTS))(
    'finds %s by its name, whatever the ending: that of %s',
    (name, event) => {
      for (const ending of ['', '.exe', '.EXE', '.mjs', '.js'])
        expect(hookByName(name + ending)).toMatchObject({ name, event });
    },
  );
  test.each(['', 'self-generation', 'constructor', 'x/prompt-logger', '.exe'])(
    'finds none for "%s"',
    (name) => expect(hookByName(name)).toBeUndefined(),
  );
});
