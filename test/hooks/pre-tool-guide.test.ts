import { describe, expect, test } from 'bun:test';
import { decidePreToolUse } from '../../src/hooks/pre-tool-guide.ts';
import { eventOf } from '../support/hook-context.ts';
import { SECRETS } from '../support/made-up.ts';
import { type Payload, payload, SESSION } from '../support/payloads.ts';

const decide = (name: string, changes: Payload = {}) =>
  decidePreToolUse(eventOf('PreToolUse', payload(name, changes)));

describe('decidePreToolUse()', () => {
  for (const tool of ['Agent', 'Task']) {
    test(`leaves the words of the task when ${tool} starts a sub-agent, and says nothing`, () => {
      const tool_input = { description: 'mend', prompt: 'Mend the\nlogin test', subagent_type: 'executor' };
      expect(decide('pre-tool-use-agent', { tool_name: tool, tool_input })).toEqual({
        task: { sessionId: SESSION, agentType: 'executor', words: 'mend Mend the login test' },
      });
    });
  }

  test('leaves out what is private', () => {
    const tool_input = { prompt: 'look <private>my plan</private> done' };
    expect(decide('pre-tool-use-agent', { tool_input })).toMatchObject({
      task: { words: 'look [PRIVATE] done' },
    });
  });

  const inputs: [what: string, tool_input: unknown, expected: object][] = [
    ['a prompt alone', { prompt: 'mend it' }, { task: { agentType: '', words: 'mend it' } }],
    ['a description alone', { description: 'mend' }, { task: { agentType: '', words: 'mend' } }],
    ['no words', { subagent_type: 'executor' }, {}],
    ['words that are none', { prompt: 7, description: [] }, {}],
    ['no input', 'text', {}],
  ];
  for (const [what, tool_input, expected] of inputs) {
    test(`does with ${what} what can be done`, () => {
      const decision = decide('pre-tool-use-agent', { tool_input });
      expect(decision).toMatchObject(expected);
      if (!('task' in expected)) expect(decision).toEqual({});
    });
  }

  for (const name of ['pre-tool-use-bash', 'pre-tool-use-edit', 'pre-tool-use-in-sub-agent']) {
    test(`neither says nor keeps anything before another call: ${name}`, () => {
      expect(decide(name)).toEqual({});
    });
  }

  for (const { text, secret } of SECRETS) {
    test(`leaves no secret: ${text.slice(0, 12)}`, () => {
      const { task } = decide('pre-tool-use-agent', { tool_input: { prompt: `use ${text} for it` } });
      expect(task?.words).toStartWith('use ');
      expect(task?.words).not.toContain(secret);
    });
  }
});
