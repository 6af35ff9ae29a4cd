import { describe, expect, test } from 'bun:test';
import { frameLines, newsLines } from '../../../src/cli/conversation/view.ts';
import type { Standing } from '../../../src/orchestrate/standing.ts';
import { played } from '../../orchestrate/played.ts';
import { hostileTexts } from '../../support/hostile-texts.ts';

const NOW_MS = Date.parse('2026-11-20T09:01:00.000Z');
const begun = (standing: Standing): Standing => ({ ...standing, createdAtMs: NOW_MS - 90_000 });
const { standings } = played();
const at = (status: string) => begun(standings.findLast((one) => one.status === status) as Standing);

describe('frameLines()', () => {
  test('says who does what in which phase, what it cost and what waits', () => {
    const usage = { ...at('round_2').usage, costUsd: 0.1234 };
    expect(frameLines({ ...at('round_2'), usage }, { columns: 80, nowMs: NOW_MS, waiting: 2 })).toEqual([
      '🧭 Orchestration 1 · round 2 · 1m30s · $0.12',
      '   Build it as a team.',
      '   ann       ⏳ 2/3 development · claude success',
      '   bob       ⏳ 1/1 development · attempt 2 · claude success',
      '   review.2  claude running 1m0s',
      '   queue: 2 waiting',
    ]);
  });

  test('shows the plan while there is nothing else, and in the end only what came of it', () => {
    expect(frameLines(at('planning'), { columns: 80, nowMs: NOW_MS, waiting: 0 })).toEqual([
      '🧭 Orchestration 1 · planning · 1m30s · cost n/a',
      '   Build it as a team.',
      '   plan  claude running 1m0s',
    ]);
    expect(frameLines(at('done'), { columns: 80, nowMs: NOW_MS, waiting: 0 }).slice(2)).toEqual([
      '   ann  ✅ done · 3/3 integration',
      '   bob  ✅ done · 1/1 development · attempt 2',
    ]);
  });

  test('is never wider than the terminal, with wide characters and hostile texts', () => {
    const texts = [
      '한국어 요청을 아주 길게 쓰면 좁은 터미널에서 넘칩니다. '.repeat(9),
      '👩‍👩‍👧‍👦'.repeat(60),
      'a'.repeat(300),
    ];
    for (const text of [...texts, ...hostileTexts(20).map((one) => one.text)]) {
      const told = played({ prompt: text }).standings.map(begun);
      for (const columns of [40, 20, 8, 200])
        for (const standing of told) {
          const works = standing.works.map((work) => ({
            ...work,
            agent: '데이터'.repeat(9),
            reason: standing.prompt,
          }));
          for (const line of frameLines({ ...standing, works }, { columns, nowMs: NOW_MS, waiting: 1 })) {
            expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
            expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u202e]/);
          }
        }
    }
  });
});

describe('newsLines()', () => {
  test('says each thing that happens once, in its order', () => {
    const news = standings.flatMap((after, index) => newsLines(standings[index - 1], after));
    expect(new Set(news).size).toBe(news.length);
    expect(news.filter((line) => line.includes('bob'))).toEqual([
      '[bob 3] development: claude running',
      '[bob 3] development: claude success',
      '[bob 3] development: FAIL: mend it',
      '[bob 3] development, attempt 2: claude running',
      '[bob 3] development, attempt 2: claude success',
      '[bob 3] development, attempt 2: PASS',
      '[bob] ✅ done',
    ]);
    expect(news.filter((line) => line.startsWith('🧭'))).toEqual(
      ['planning', 'round 1', 'round 2', 'round 3', 'done'].map((word) => `🧭 ${word}`),
    );
  });

  test('says nothing where nothing has happened', () => {
    for (const standing of standings) expect(newsLines(standing, structuredClone(standing))).toEqual([]);
  });
});
