import { describe, expect, test } from 'bun:test';
import { announcePrompt } from '../../../src/core/runs/announce-prompt.ts';
import { madeRun } from '../../support/made-run.ts';

describe('announcePrompt()', () => {
  test('asks for Result and Notes, or for ANNOUNCE_SKIP', () => {
    const prompt = announcePrompt({ run: madeRun(), lastReply: 'All tests pass.' });
    expect(prompt).toStartWith('Sub-agent announce step.\n');
    expect(prompt).toContain('\nTask: Fix the tests.\n');
    expect(prompt).toContain('\nYour last reply:\nAll tests pass.\n');
    expect(prompt).toMatch(/\nResult:\n.+\n\nNotes:\n/);
    expect(prompt).toContain('answer exactly ANNOUNCE_SKIP.');
  });

  test('says when there was no reply, and repeats long ones only in part', () => {
    expect(announcePrompt({ run: madeRun(), lastReply: ' ' })).toContain('\n(not available)\n');
    const long = announcePrompt({
      run: madeRun({ task: 'x'.repeat(50_000) }),
      lastReply: 'y'.repeat(50_000),
    });
    expect(long.length).toBeLessThan(4000);
  });
});
