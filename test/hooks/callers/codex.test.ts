import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { isUniqueCallId } from '../../../src/core/call-client.ts';
import { fingerprint } from '../../../src/core/text.ts';
import { translateCodex } from '../../../src/hooks/callers/codex.ts';
import { homePerTest } from '../../support/per-test.ts';

const home = homePerTest();
const ID = 'call_Hx2QeR81kLmN0pQr';

/** The record that Codex writes before it calls the hook. */
const ended = (id: string, exit_code: number | null, printed = '') =>
  JSON.stringify({
    type: 'event_msg',
    payload: {
      type: 'item_completed',
      item: { type: 'CommandExecution', id, aggregated_output: printed, exit_code },
    },
  });

const afterCall = (transcript_path: string | null, changes = {}) => ({
  ...{ session_id: 's', client: 'codex', cwd: '/home/dev/app', hook_event_name: 'PostToolUse' },
  ...{ tool_name: 'Bash', tool_input: { command: 'make x' }, tool_response: 'no rule\n', tool_use_id: ID },
  ...{ transcript_path, ...changes },
});

const rollout = (...lines: string[]) => home.put('rollout-1.jsonl', `${lines.join('\n')}\n`);

describe("Codex' PostToolUse", () => {
  test('of a command that failed is a failure, with the exit code and under the id of the log', () => {
    const { event, callId, output } = translateCodex(afterCall(rollout('{}', ended(ID, 2))));
    expect(event).toMatchObject({ hook_event_name: 'PostToolUseFailure', error: 'Exit code 2\nno rule' });
    expect(callId).toBe(`codex:${fingerprint(ID)}`);
    const answer = { hookEventName: 'PostToolUseFailure', additionalContext: 'x' };
    expect(output?.(answer)).toEqual({ hookEventName: 'PostToolUse', additionalContext: 'x' });
  });

  const unchanged: [string, () => ReturnType<typeof afterCall>][] = [
    ['worked', () => afterCall(rollout(ended(ID, 0)))],
    ['failed first and then worked under the same id', () => afterCall(rollout(ended(ID, 1), ended(ID, 0)))],
    ['was killed', () => afterCall(rollout(ended(ID, null)))],
    ['another call failed', () => afterCall(rollout(ended('call_other', 1, ID)))],
    ['is not in the session', () => afterCall(rollout('{}'))],
    ['has no session', () => afterCall(null)],
    ['has a session that is not there', () => afterCall(`${home.path}/rollout-2.jsonl`)],
    ['has a session of another form', () => afterCall('/etc/passwd')],
    ['has no id', () => afterCall(rollout(ended('', 1)), { tool_use_id: undefined })],
    ['stands in a torn line', () => afterCall(rollout(ended(ID, 1).slice(0, -9)))],
  ];
  for (const [what, event] of unchanged) {
    test(`of a command that ${what} stays as it is`, () => {
      const value = event();
      expect(translateCodex(value)).toEqual({ event: value });
    });
  }

  test('never throws, whatever stands in the session', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.json(), fc.string(), fc.constant(ended(ID, 1)))),
        fc.json(),
        (lines, value) => {
          const path = rollout(...lines);
          expect(() => translateCodex({ ...afterCall(path), tool_response: value })).not.toThrow();
        },
      ),
    );
  });

  test('is found in the last 256 KiB only', () => {
    const path = `${home.path}/rollout-3.jsonl`;
    writeFileSync(path, `${ended(ID, 1)}\n${'x'.repeat(300 * 1024)}\n`);
    expect(translateCodex(afterCall(path)).output).toBeUndefined();
  });
});

test('an id that counts the calls of an answer is not one of the log', () => {
  const { event, callId } = translateCodex(afterCall(rollout(ended('call_0', 1)), { tool_use_id: 'call_0' }));
  expect(isUniqueCallId('call_0')).toBe(false);
  expect(event.hook_event_name).toBe('PostToolUseFailure');
  expect(callId).toBeNull();
});

describe("Codex' PreToolUse", () => {
  const before = (tool_name: string, tool_input: object) =>
    translateCodex({ hook_event_name: 'PreToolUse', tool_name, tool_input }).event;

  const rows: [string, object, object][] = [
    ['spawn_agent', { message: 'Do it.' }, { prompt: 'Do it.', subagent_type: 'general-purpose' }],
    ['spawn_agent', { message: 'x', agent_type: 'worker' }, { prompt: 'x', subagent_type: 'executor' }],
    ['spawn_agent', { message: 'x', agent_type: 'mine' }, { prompt: 'x', subagent_type: 'mine' }],
    [
      'collaborationspawn_agent',
      { task_name: 'look', message: 'x', fork_turns: 'none' },
      { description: 'look', prompt: 'x', subagent_type: 'general-purpose' },
    ],
  ];
  for (const [tool, input, expected] of rows) {
    test(`of ${tool} with ${JSON.stringify(input)} starts a sub-agent`, () => {
      const event = before(tool, input);
      expect(event.tool_name).toBe('Agent');
      expect(event.tool_input).toEqual(expected as never);
    });
  }

  test('of any other tool stays as it is', () => {
    for (const tool of ['Bash', 'wait_agent', 'spawn_agents'])
      expect(before(tool, { message: 'x' })).toMatchObject({ tool_name: tool, tool_input: { message: 'x' } });
  });
});
