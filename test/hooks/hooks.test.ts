import { expect, test } from 'bun:test';
import { HOOKS, hookByName, hooksIn } from '../../src/hooks/hooks.ts';

test('HOOKS has one hook for each name and each event', () => {
  expect(new Set(HOOKS.map((hook) => hook.name)).size).toBe(HOOKS.length);
  for (const hook of HOOKS) expect(hook.timeoutSeconds).toBeGreaterThan(0);
});

test('hooksIn() has one for each call only where that is asked for', () => {
  expect(hooksIn('per-call')).toEqual(HOOKS);
  const perSession = hooksIn('session');
  expect(perSession.map(({ event }) => String(event))).toEqual([
    'UserPromptSubmit',
    'PreToolUse',
    'PostToolUseFailure',
    'SubagentStart',
    'SubagentStop',
    'Stop',
    'Stop',
    'SessionStart',
    'SessionEnd',
  ]);
  expect(perSession.find(({ event }) => event === 'PreToolUse')?.matcher).toBe('Agent|Task');
  expect(perSession.flatMap(({ event, isAsync }) => (isAsync ? [String(event)] : []))).toEqual([
    'SubagentStop',
    'Stop',
    'Stop',
  ]);
  expect(perSession.flatMap(({ name, wakes }) => (wakes ? [String(name)] : []))).toEqual(['result-waiter']);
});

const pairs: [event: string, name: string][] = [
  ['UserPromptSubmit', 'prompt-logger'],
  ['PreToolUse', 'pre-tool-guide'],
  ['PostToolUse', 'tool-logger'],
  ['PostToolUseFailure', 'error-logger'],
  ['PostToolBatch', 'batch-logger'],
  ['SubagentStart', 'subagent-context'],
  ['SubagentStop', 'subagent-tracker'],
  ['Stop', 'stop-tracker'],
  ['Stop', 'result-waiter'],
  ['SessionStart', 'session-analyzer'],
  ['SessionEnd', 'session-summary'],
];
for (const [event, name] of pairs) {
  test(`HOOKS has ${name} for the event ${event}`, () => {
    expect(HOOKS.some((hook) => hook.event === event && hook.name === name)).toBe(true);
  });
  test(`hookByName() returns the hook of ${event} when the name is ${name}`, () => {
    for (const spelling of [name, `${name}.exe`, `${name}.EXE`, `${name}.mjs`, `${name}.js`]) {
      expect(hookByName(spelling)?.event as string).toBe(event);
    }
  });
}

for (const name of ['', 'self-generation', 'constructor', 'x/prompt-logger', '.exe']) {
  test(`hookByName() returns undefined when the name is ${JSON.stringify(name)}`, () => {
    expect(hookByName(name)).toBeUndefined();
  });
}
