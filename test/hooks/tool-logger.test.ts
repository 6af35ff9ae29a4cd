import { describe, expect, test } from 'bun:test';
import { decideIn } from '../support/hook-play.ts';
import { bashSuccess, type Payload, PROJECT, payload } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';

const home = homePerTest();
const HIDDEN = 'bash: pnpm: command not found';

/** What is recorded of a call; nothing is ever said to one that worked. */
function recorded(input: Payload) {
  const { recording, ...others } = decideIn(home, input);
  expect(others).toEqual({});
  return recording;
}

describe('PostToolUse', () => {
  test('records a call on a file', () =>
    expect(recorded(payload('post-tool-use-edit'))).toEqual({
      kind: 'tool-use',
      at: expect.objectContaining({ project: 'app', projectPath: PROJECT }),
      tool: 'Edit',
      toolUseId: 'toolu_e1',
      ...{ command: null, line: null, directory: null, remark: null, file: 'notes.txt' },
      chars: expect.any(Number),
      meta: { file: '/home/dev/app/notes.txt' },
    }));

  test('records a command whole, with where it ran and what the agent said before', () => {
    const tool_input = { command: 'CI=1 npm test -- --bail 2>&1 | tail -5' };
    const besides = { tool_input, cwd: `${PROJECT}/web`, remark: 'All of them.' };
    expect(recorded(payload('post-tool-use-bash', besides))).toMatchObject({
      ...{ tool: 'Bash', meta: { command: 'npm' }, toolUseId: 'toolu_r2', command: 'npm test' },
      ...{ line: tool_input.command, directory: 'web', remark: 'All of them.' },
    });
  });

  test.each([
    payload('post-tool-use-edit', { tool_input: { file_path: 'a.ts', new_string: 'CONTENT' } }),
    payload('post-tool-use-agent'),
    bashSuccess('echo hi', { tool_response: { stdout: 'ANSWER' } }),
  ])('keeps nothing of contents and answers: $tool_name', (input) => {
    const kept = recorded(input);
    expect(kept?.kind).toBe('tool-use');
    expect(JSON.stringify(kept)).not.toMatch(/CONTENT|ANSWER|SUBTASK-BODY/);
  });

  test('keeps nothing of our own commands', () =>
    expect(recorded(bashSuccess('self-generation apply s1 --yes'))).toBeUndefined());

  test.each([
    [
      'is recorded as a failure when a pipe hides one',
      'pnpm test | tail -5',
      { stdout: HIDDEN },
      'tool-errors',
    ],
    ['stays one without a pipe, whatever it has printed', 'pnpm test', { stdout: HIDDEN }, 'tool-use'],
    [
      'stays one when it says nothing of a failure',
      'pnpm test | tail -5',
      { stdout: 'all good' },
      'tool-use',
    ],
    [
      'stays one when the command goes on, whatever it has printed',
      'pnpm test | tail -5',
      { stdout: HIDDEN, backgroundTaskId: 'b1' },
      'tool-use',
    ],
  ])('a success %s', (_what, command, tool_response, kind) => {
    const kept = recorded(bashSuccess(command, { tool_response }));
    expect(kept?.kind).toBe(kind as never);
    if (kept?.kind === 'tool-errors')
      expect(kept).toMatchObject({
        errors: [
          { line: command, error: 'pnpm: command not found · pnpm test', said: HIDDEN, isHidden: true },
        ],
        shownKbId: null,
      });
  });

  test.each<[what: string, changes: Payload, isUnfinished: boolean]>([
    ['was started in the background', { tool_input: { command: 'x', run_in_background: true } }, true],
    ['went on in the background', { tool_response: { stdout: '', backgroundTaskId: 'b1' } }, true],
    ['was stopped', { tool_response: { stdout: '', interrupted: true } }, true],
    ['ended', { tool_response: { interrupted: false } }, false],
  ])('says whether a command has ended that %s', (_what, changes, isUnfinished) => {
    const kept = recorded(bashSuccess('npm test', changes));
    expect(kept?.kind === 'tool-use' && kept.isUnfinished === true).toBe(isUnfinished);
  });
});

describe('PostToolBatch', () => {
  const rejected = payload('post-tool-batch-rejected');

  test('records the calls that the client rejected', () =>
    expect(recorded(rejected)).toMatchObject({
      kind: 'tool-errors',
      errors: [
        {
          tool: 'Edit',
          error: 'String to replace not found in file. · Edit',
          said: 'String to replace not found in file.',
          noise: 'client',
          errorRaw: 'String to replace not found in file.\nString: not there',
          toolUseId: 'toolu_e2',
          file: 'notes.txt',
        },
      ],
      shownKbId: null,
    }));

  test('passes over calls that ran, and over answers that are no text', () => {
    expect(recorded(payload('post-tool-batch'))).toBeUndefined();
    const [call] = rejected.tool_calls as Payload[];
    const block = [{ type: 'text', text: '<tool_use_error>x' }];
    for (const tool_response of [block, null, 7, 'ok <tool_use_error>no', '<tool_use_error>'])
      expect(recorded({ ...rejected, tool_calls: [{ ...call, tool_response }] })).toBeUndefined();
  });
});
