import { describe, expect, test } from 'bun:test';
import { decideIn } from '../support/hook-play.ts';
import { SECRETS } from '../support/made-up.ts';
import { type Payload, payload, SESSION } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';

const home = homePerTest();
const decide = (name: string, changes: Payload = {}) => decideIn(home, payload(name, changes));
const decideAgent = (tool_input: unknown) => decide('pre-tool-use-agent', { tool_input });

describe('PreToolUse', () => {
  for (const tool of ['Agent', 'Task']) {
    test(`leaves the words of the task when ${tool} starts a sub-agent, and says nothing`, () => {
      const tool_input = { description: 'mend', prompt: 'Mend the\nlogin test', subagent_type: 'executor' };
      expect(decide('pre-tool-use-agent', { tool_name: tool, tool_input })).toEqual({
        task: { sessionId: SESSION, agentType: 'executor', words: 'mend Mend the login test' },
      });
    });
  }

  const inputs: [what: string, tool_input: unknown, task: object | undefined][] = [
    ['a prompt alone', { prompt: 'mend it' }, { agentType: '', words: 'mend it' }],
    ['a description alone', { description: 'mend' }, { agentType: '', words: 'mend' }],
    ['private words', { prompt: 'look <private>my plan</private> done' }, { words: 'look [PRIVATE] done' }],
    ['no words', { subagent_type: 'executor' }, undefined],
    ['words that are none', { prompt: 7, description: [] }, undefined],
    ['no input', 'text', undefined],
  ];
  test.each(inputs)('does with %s what can be done', (_what, tool_input, task) =>
    expect(decideAgent(tool_input)).toEqual(task ? { task: expect.objectContaining(task) } : {}),
  );

  test.each(['pre-tool-use-bash', 'pre-tool-use-edit', 'pre-tool-use-in-sub-agent'])(
    'neither says nor keeps anything before another call: %s',
    (name) => expect(decide(name)).toEqual({}),
  );

  for (const { text, secret } of SECRETS) {
    test(`leaves no secret: ${text.slice(0, 12)}`, () => {
      const { task } = decideAgent({ prompt: `use ${text} for it` });
      expect(task?.words).toStartWith('use ');
      expect(task?.words).not.toContain(secret);
    });
  }
});
