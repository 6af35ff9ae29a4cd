import { describe, expect, test } from 'bun:test';
import { announcePrompt } from '../../../src/runs/model/prompts.ts';
import { madeRun } from '../../support/made-run.ts';

describe('announcePrompt()', () => {
  test('asks for Result and Notes, or for ANNOUNCE_SKIP', () => {
    const prompt = announcePrompt({ run: madeRun(), lastReply: 'All tests pass.', language: 'en' });
    expect(prompt).toStartWith('Sub-agent announce step.\n');
    expect(prompt).toContain('\nTask: Fix the tests.\n');
    expect(prompt).toContain('\nYour last reply:\nAll tests pass.\n');
    expect(prompt).toMatch(/\nResult:\n.+\n\nNotes:\n/);
    expect(prompt).toContain('answer exactly ANNOUNCE_SKIP.');
  });

  test('asks the same in Korean, with the words by which the reply is read', () => {
    const prompt = announcePrompt({ run: madeRun(), lastReply: '모두 통과.', language: 'ko' });
    expect(prompt).toStartWith('Sub-agent announce step.\n\n작업이 끝났습니다.');
    expect(prompt).toContain('\n당신의 마지막 답:\n모두 통과.\n');
    expect(prompt).toMatch(/\nResult:\n.+\n\nNotes:\n/);
    expect(prompt).toContain('정확히 ANNOUNCE_SKIP라고');
  });

  test('says when there was no reply, and repeats long ones only in part', () => {
    expect(announcePrompt({ run: madeRun(), lastReply: ' ', language: 'en' })).toContain(
      '\n(not available)\n',
    );
    const long = announcePrompt({
      run: madeRun({ task: 'x'.repeat(50_000) }),
      lastReply: 'y'.repeat(50_000),
      language: 'ko',
    });
    expect(long.length).toBeLessThan(4000);
  });
});
