import { expect, test } from 'bun:test';
import { resultText } from '../../../src/cli/subagents/wait.ts';
import { madeRun, madeTurn } from '../../support/made-run.ts';

test('resultText() says what was noted of the turn behind its last message, and of one without a message', () => {
  const notes = ['Not permitted in default mode: Edit a.ts.', 'left \u001b[1malone'];
  const said = (result: string | null) => resultText({ run: madeRun(), turn: madeTurn({ result, notes }) });
  const noted = 'Note: Not permitted in default mode: Edit a.ts.\nNote: left <U+001B>[1malone\n';
  expect(said('Done.\n')).toBe(`Done.\n${noted}`);
  expect(said(null)).toBe(noted);
  expect(resultText({ run: madeRun(), turn: madeTurn({ result: null, notes: [] }) })).toBe('');
});
