import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { lessonAbout, readEpisodes } from './episodes.ts';

const EPISODES = readEpisodes(join(import.meta.dir, 'episodes'));

describe('what an episode teaches', () => {
  for (const { title, log, expected, said } of EPISODES) {
    test(title, () => {
      const lesson = lessonAbout(log);
      if (expected === null) {
        expect(lesson.groups.filter((group) => group.lesson !== null)).toEqual([]);
      } else {
        expect(lesson.text?.slice(0, expected.length) ?? null).toBe(expected);
        expect(lessonAbout(log, 'ko').text).toMatch(/\p{Script=Hangul}/u);
      }
      if (said !== undefined) expect(lesson.said).toContain(said);
    });
  }
});

test('there are episodes of many tools, with and without a lesson', () => {
  expect(EPISODES.length).toBeGreaterThanOrEqual(120);
  expect(EPISODES.filter(({ expected }) => expected === null).length).toBeGreaterThanOrEqual(40);
});
