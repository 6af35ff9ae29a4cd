import { describe, expect, test } from 'bun:test';
import { decidePostToolUseFailure } from '../../src/hooks/error-logger.ts';
import { decidePostToolUse } from '../../src/hooks/tool-logger.ts';
import { readEvents, readRows, temporaryHome } from '../support/home.ts';
import { bench, eventOf } from '../support/hook-context.ts';
import { bashFailure, bashSuccess, type Payload, PROJECT, payload, SESSION } from '../support/payloads.ts';

/** Records the payloads one after the other and gives what is stored. */
function eventsAfter(...inputs: Payload[]) {
  using home = temporaryHome();
  using work = bench(home);
  for (const input of inputs) {
    work.keep(
      input.hook_event_name === 'PostToolUse'
        ? decidePostToolUse(eventOf('PostToolUse', input), work.context)
        : decidePostToolUseFailure(eventOf('PostToolUseFailure', input), work.context),
    );
  }
  const fixes = readRows(
    home.paths,
    'SELECT error_normalized, resolved_by, use_count, resolution FROM error_kb WHERE resolution IS NOT NULL',
  );
  return { events: readEvents(home.paths), fixes };
}

describe('decidePostToolUse()', () => {
  test('records the call and never says anything', () => {
    using home = temporaryHome();
    using work = bench(home);
    const decision = decidePostToolUse(eventOf('PostToolUse', payload('post-tool-use-edit')), work.context);
    expect(decision.reply).toBeUndefined();
    work.keep(decision);
    expect(readEvents(home.paths)).toEqual([
      {
        type: 'tool_use',
        sessionId: SESSION,
        project: 'app',
        projectPath: PROJECT,
        data: {
          tool: 'Edit',
          meta: { file: '/home/dev/app/notes.txt' },
          success: true,
          toolUseId: 'toolu_e1',
          file: 'notes.txt',
        },
      },
    ]);
  });

  test('keeps nothing of contents and answers', () => {
    const { events } = eventsAfter(
      payload('post-tool-use-edit', { tool_input: { file_path: 'a.ts', new_string: 'CONTENT' } }),
      payload('post-tool-use-agent'),
      bashSuccess('echo hi', { tool_response: { stdout: 'ANSWER' } }),
    );
    expect(events).toHaveLength(3);
    expect(JSON.stringify(events)).not.toMatch(/CONTENT|ANSWER|SUBTASK-BODY/);
  });

  test('keeps nothing of our own commands: what they say is no error of the project, and no fix', () => {
    const own = { tool_input: { command: 'cd app && ~/.self-generation/hooks/self-generation apply s1' } };
    const { events, fixes } = eventsAfter(
      bashFailure('Exit code 1\n- Use bun and not npm.\nNothing was changed', { ...own, tool_use_id: 't1' }),
      bashSuccess('self-generation apply s1 --yes', { tool_use_id: 't2' }),
      bashFailure('Exit code 1\nboom', {
        tool_input: { command: 'self-generation-tests' },
        tool_use_id: 't3',
      }),
    );
    expect(events.map(({ data }) => data.error)).toEqual(['boom']);
    expect(fixes).toEqual([]);
  });

  test('learns from the success of what failed before, once', () => {
    const failed = (id: string) =>
      bashFailure('Exit code 1\nboom in tests', { tool_input: { command: 'npm test' }, tool_use_id: id });
    const { fixes } = eventsAfter(
      failed('t1'),
      bashSuccess('ls -la', { tool_use_id: 't2' }),
      payload('post-tool-use-edit', { tool_use_id: 't3' }),
      bashSuccess('npm test', { tool_use_id: 't4' }),
      bashSuccess('npm test', { tool_use_id: 't5' }),
    );
    expect(fixes).toHaveLength(1);
    expect(fixes[0]).toMatchObject({
      error_normalized: 'boom in tests',
      resolved_by: 'cross_tool_resolution',
      use_count: 1,
    });
  });

  const unrelated: [what: string, input: Payload][] = [
    ['another command', bashSuccess('ls', { tool_use_id: 't2' })],
    ['the command of another session', bashSuccess('npm test', { session_id: 'another', tool_use_id: 't2' })],
    ['the command in a sub-agent', bashSuccess('npm test', { agent_id: 'a1', tool_use_id: 't2' })],
    ['the command with a hidden exit code', bashSuccess('npm test | tail', { tool_use_id: 't2' })],
  ];
  for (const [what, input] of unrelated) {
    test(`learns nothing from the success of ${what}`, () => {
      const failure = bashFailure('Exit code 1\nboom in tests', { tool_input: { command: 'npm test' } });
      const { events, fixes } = eventsAfter(failure, input);
      expect(events).toHaveLength(2);
      expect(fixes).toEqual([]);
    });
  }
});

describe('a success that is none', () => {
  const failure = bashFailure('Exit code 1\nError: the port is taken', {
    tool_input: { command: 'npm test' },
  });
  const unfinished: [what: string, changes: Payload][] = [
    ['was started in the background', { tool_input: { command: 'npm test', run_in_background: true } }],
    ['went on in the background', { tool_response: { stdout: '', backgroundTaskId: 'b1' } }],
    ['was stopped', { tool_response: { stdout: '', interrupted: true } }],
  ];
  for (const [what, changes] of unfinished) {
    test(`solves nothing when the command ${what}`, () => {
      expect(eventsAfter(failure, bashSuccess('npm test', changes)).fixes).toEqual([]);
    });
  }

  test('is one when the command ended', () => {
    const done = bashSuccess('npm test', { tool_response: { stdout: '', interrupted: false } });
    expect(eventsAfter(failure, done).fixes).toHaveLength(1);
  });
});
