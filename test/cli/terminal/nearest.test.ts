import { expect, test } from 'bun:test';
import { nearest } from '../../../src/cli/terminal/nearest.ts';

const KNOWN = ['list', 'search', 'show', 'resolve', 'language', 'subagentContext.agents'];

const rows: [typed: string, meant: string | undefined][] = [
  ['lst', 'list'],
  ['LIST', 'list'],
  ['shwo', 'show'],
  ['langage', 'language'],
  ['resovle', 'resolve'],
  ['subagentContext.agent', 'subagentContext.agents'],
  ['kill', undefined],
  ['frobnicate', undefined],
  ['', undefined],
];
for (const [typed, meant] of rows)
  test(`nearest() takes "${typed}" for ${meant ?? 'none of them'}`, () =>
    expect(nearest(typed, KNOWN)).toBe(meant));
