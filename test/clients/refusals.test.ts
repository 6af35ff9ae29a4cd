import { describe, expect, test } from 'bun:test';
import { isRefused } from '../../src/clients/refusals.ts';

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
