import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { decidePostToolUseFailure } from '../../src/hooks/error-logger.ts';
import { decidePostToolBatch, decidePostToolUse } from '../../src/hooks/tool-logger.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { bench, eventOf } from '../support/hook-context.ts';
import { bashFailure, bashSuccess, type Payload, PROJECT, payload, SESSION } from '../support/payloads.ts';

const HIDDEN = 'bash: pnpm: command not found';

/** Records the payloads one after the other and gives what is stored. */
function eventsAfter(...inputs: Payload[]) {
  using home = temporaryHome();
  using work = bench(home);
  for (const input of inputs) {
    const decision =
      input.hook_event_name === 'PostToolUse'
        ? decidePostToolUse(eventOf('PostToolUse', input), work.context)
        : decidePostToolUseFailure(eventOf('PostToolUseFailure', input), work.context);
    if (input.hook_event_name === 'PostToolUse') expect(decision.reply).toBeUndefined();
    work.keep(decision);
  }
  const errors = existsSync(home.paths.database)
    ? readRows(home.paths, 'SELECT error_normalized, said, seen_count, resolution FROM error_kb')
    : [];
  return { events: readEvents(home.paths), errors };
}

describe('decidePostToolUse()', () => {
  test('records the call and never says anything', () => {
    const { events } = eventsAfter(payload('post-tool-use-edit'));
    expect(events).toEqual([
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

  test('records a command whole, with where it ran and what the agent said before', () => {
    const input = { command: 'CI=1 npm test -- --bail 2>&1 | tail -5' };
    const { events } = eventsAfter(
      payload('post-tool-use-bash', { tool_input: input, cwd: `${PROJECT}/web`, remark: 'All of them.' }),
    );
    expect(events.map(({ data }) => data)).toEqual([
      {
        tool: 'Bash',
        meta: { command: 'npm' },
        success: true,
        toolUseId: 'toolu_r2',
        command: 'npm test',
        line: 'CI=1 npm test -- --bail 2>&1 | tail -5',
        directory: 'web',
        remark: 'All of them.',
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

  test('keeps nothing of our own commands: what they say is no error of the project', () => {
    const own = { tool_input: { command: 'cd app && ~/.self-generation/hooks/self-generation apply s1' } };
    const { events, errors } = eventsAfter(
      bashFailure("Exit code 1\nerror: unknown option '--yess'", { ...own, tool_use_id: 't1' }),
      bashSuccess('self-generation apply s1 --yes', { tool_use_id: 't2' }),
      bashFailure('Exit code 1\nboom', {
        tool_input: { command: 'self-generation-tests' },
        tool_use_id: 't3',
      }),
    );
    expect(events.map(({ data }) => data.said)).toEqual(['boom']);
    expect(errors.map(({ said }) => said)).toEqual(['boom']);
  });

  test('does not take the success of a command for the fix of its failure', () => {
    const { events, errors } = eventsAfter(
      bashFailure("Exit code 1\nerror: unknown option '--bail'", {
        tool_input: { command: 'npm test -- --bail' },
        tool_use_id: 't1',
      }),
      bashSuccess('npm test -- --bail', { tool_use_id: 't2' }),
    );
    expect(events.map(({ type }) => type)).toEqual(['tool_error', 'tool_use']);
    expect(errors).toEqual([
      {
        error_normalized: "unknown option '--bail' · npm",
        said: "error: unknown option '--bail'",
        seen_count: 1,
        resolution: null,
      },
    ]);
  });
});

describe('a success that is none', () => {
  test('is recorded as a failure when a pipe hides one', () => {
    const { events, errors } = eventsAfter(
      bashSuccess('pnpm test | tail -5', { tool_response: { stdout: HIDDEN }, tool_use_id: 't1' }),
      bashSuccess('pnpm test', { tool_response: { stdout: HIDDEN }, tool_use_id: 't2' }),
      bashSuccess('pnpm test | tail -5', { tool_response: { stdout: 'all good' }, tool_use_id: 't3' }),
    );
    expect(events.map(({ type }) => type)).toEqual(['tool_error', 'tool_use', 'tool_use']);
    expect(events[0]?.data).toMatchObject({
      toolUseId: 't1',
      line: 'pnpm test | tail -5',
      error: 'pnpm: command not found · pnpm test',
      said: HIDDEN,
      isHidden: true,
    });
    expect(errors).toHaveLength(1);
  });

  const unfinished: [what: string, changes: Payload][] = [
    ['was started in the background', { tool_input: { command: 'npm test', run_in_background: true } }],
    ['went on in the background', { tool_response: { stdout: '', backgroundTaskId: 'b1' } }],
    ['was stopped', { tool_response: { stdout: '', interrupted: true } }],
  ];
  for (const [what, changes] of unfinished) {
    test(`is marked when the command ${what}`, () => {
      const { events } = eventsAfter(bashSuccess('npm test', changes));
      expect(events[0]?.data).toMatchObject({ command: 'npm test', isUnfinished: true });
    });
  }

  test('is no failure when the command goes on, whatever it has printed', () => {
    const response = { tool_response: { stdout: HIDDEN, backgroundTaskId: 'b1' } };
    const { events } = eventsAfter(bashSuccess('pnpm test | tail -5', response));
    expect(events.map(({ type }) => type)).toEqual(['tool_use']);
  });

  test('is one without a mark when the command ended', () => {
    const { events } = eventsAfter(bashSuccess('npm test', { tool_response: { interrupted: false } }));
    expect(events[0]?.data).not.toHaveProperty('isUnfinished');
  });
});

function decideFailure(home: Home, input: Payload) {
  using work = bench(home);
  return decidePostToolUseFailure(eventOf('PostToolUseFailure', input), work.context);
}

describe('decidePostToolBatch()', () => {
  const decideBatch = (home: Home, input: Payload) => {
    using work = bench(home);
    return decidePostToolBatch(eventOf('PostToolBatch', input), work.context);
  };

  test('records the calls that the client rejected', () => {
    using home = temporaryHome();
    using work = bench(home);
    work.keep(decideBatch(home, payload('post-tool-batch-rejected')));
    expect(readEvents(home.paths, 'tool_error').map((event) => event.data)).toEqual([
      {
        tool: 'Edit',
        error: 'String to replace not found in file. · Edit',
        said: 'String to replace not found in file.',
        noise: 'client',
        errorRaw: 'String to replace not found in file.\nString: not there',
        toolUseId: 'toolu_e2',
        file: 'notes.txt',
      },
    ]);
  });

  test('passes over calls that ran, and over answers that are no text', () => {
    using home = temporaryHome();
    expect(decideBatch(home, payload('post-tool-batch'))).toEqual({});
    const [call] = payload('post-tool-batch-rejected').tool_calls as Payload[];
    const answers = [
      [{ type: 'text', text: '<tool_use_error>x' }],
      null,
      7,
      'ok <tool_use_error>no',
      '<tool_use_error>',
    ];
    for (const tool_response of answers) {
      expect(
        decideBatch(home, payload('post-tool-batch', { tool_calls: [{ ...call, tool_response }] })),
      ).toEqual({});
    }
  });

  test('does not count again what was reported as a failure of its own', () => {
    using home = temporaryHome();
    using work = bench(home);
    const [call] = payload('post-tool-batch-rejected').tool_calls as Payload[];
    const { tool_response: _, ...rejected } = call ?? {};
    work.keep(
      decideFailure(home, bashFailure('String to replace not found', rejected)),
      decideBatch(home, payload('post-tool-batch-rejected')),
      decideBatch(home, payload('post-tool-batch-rejected', { session_id: 'of-a-fork' })),
    );
    expect(readEvents(home.paths).map((event) => event.sessionId)).toEqual([SESSION]);
  });

  test('counts what a client does not identify each time', () => {
    using home = temporaryHome();
    using work = bench(home);
    const [call] = payload('post-tool-batch-rejected').tool_calls as Payload[];
    const anonymous = { tool_calls: [{ ...call, tool_use_id: undefined }] };
    work.keep(
      decideBatch(home, payload('post-tool-batch-rejected', anonymous)),
      decideBatch(home, payload('post-tool-batch-rejected', anonymous)),
    );
    expect(readEvents(home.paths)).toHaveLength(2);
  });

  test('keeps what the client says about its own rules out of the knowledge base', () => {
    using home = temporaryHome();
    using work = bench(home);
    work.keep(decideBatch(home, payload('post-tool-batch-rejected')));
    expect(readRows(home.paths, 'SELECT * FROM error_kb')).toEqual([]);
  });
});
