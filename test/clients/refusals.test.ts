import { describe, expect, test } from 'bun:test';
import { isRefused, isSessionLost } from '../../src/clients/refusals.ts';

describe('isRefused()', () => {
  const rows: [text: string, isRefusal: boolean][] = [
    ['Permission to use Bash has been denied.', true],
    ['Tool execution denied by policy. x', true],
    ['Tool execution blocked: x', true],
    ['Tool "task" not found. Did you mean one of: x', true],
    ['The user has specified a rule which prevents you from using this specific tool call.', true],
    ['Exit code 1\nPermission to use x has been denied', false],
    ['EACCES: permission denied', false],
    ['tool not found', false],
    ['', false],
  ];
  for (const [text, isRefusal] of rows) {
    test(`is ${isRefusal} for ${JSON.stringify(text)}`, () => expect(isRefused(text)).toBe(isRefusal));
  }
});

test.each([
  'No conversation found with session ID: 11111111-1111-4111-8111-111111111111',
  'Error: thread/resume: thread/resume failed: no rollout found for thread id 0199aaaa-0000-7000 (code -32600)',
  'Error resuming session: No previous sessions found for this project.',
  'Error resuming session: Invalid session identifier "11111111"',
  'Error: Session not found',
  'the client did not resume the session: it began another',
])('a session is lost where the client says: %s', (error) => {
  expect(isSessionLost(error)).toBe(true);
});

test.each(['the service is overloaded', 'Error: file not found', 'stopped by Ctrl-C', ''])(
  'a session is not lost where the client says: %p',
  (error) => {
    expect(isSessionLost(error)).toBe(false);
  },
);
