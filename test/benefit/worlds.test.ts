import { describe, expect, test } from 'bun:test';
import { median, random } from '../../scripts/measure.ts';
import { type CureWorld, liveCure, livesOf, livesWith, RISKS, type World } from './made-worlds.ts';

// scripts/proof-worlds.ts lives each of these worlds 20,000 times with exact bounds. Here they are lived 400 times, always with
// the same numbers: 5 % is bounded by 5 % and three standard errors, and what it takes by 1.5 times as much.
const LIVES = 400;
const FALSE_MAX = LIVES * (0.05 + 3 * Math.sqrt((0.05 * 0.95) / LIVES));

const world = (changes: Partial<World>): World => ({ ratio: 1, p: 0.5, failures: 200, ...changes });
const seenIn = (changes: Partial<World>) => {
  const live = livesOf(world(changes), random(7));
  return Array.from({ length: LIVES }, live);
};
const looksWell = (helps: number) => helps > 0;

describe('prevention, looked at after every failure', () => {
  test.each<[string, Partial<World>]>([
    ...Object.entries(RISKS).map(([name, risk]): [string, Partial<World>] => [name, { risk }]),
    ['one in ten held out', { p: 0.1 }],
    ['less held out when it looks well', { other: { p: 0.1, when: looksWell }, failures: 100 }],
    ['more held out when it looks well', { p: 0.1, other: { p: 0.5, when: looksWell }, failures: 100 }],
  ])('where nothing helps, %s: hardly ever says that something does', (_, changes) => {
    const lives = seenIn(changes);
    expect(lives.filter(({ helps }) => helps).length).toBeLessThan(FALSE_MAX);
    expect(lives.filter(({ harms }) => harms).length).toBeLessThan(FALSE_MAX);
    expect(lives.filter(({ misses }) => misses).length).toBeLessThan(FALSE_MAX);
  });

  test.each([
    [0.4, 0.5, 47, 87],
    [0.4, 0.1, 120, 240],
    [0.1, 0.5, 16, 25],
  ])(
    'where %d of the failures are left at p = %d: says so after about as many as expected',
    (ratio, p, half, most) => {
      const lives = seenIn({ ratio, p, untilKnown: true, failures: 2000 });
      expect(lives.every(({ helps }) => helps)).toBe(true);
      const taken = lives.map(({ wouldBe }) => wouldBe);
      expect(median(taken)).toBeLessThan(1.5 * half);
      expect(median(taken, 0.8)).toBeLessThan(1.5 * most);
    },
  );

  test.each([0.1, 0.4, 2])(
    'where the risk is %d times as high: its interval is hardly ever wrong',
    (ratio) => {
      const lives = seenIn({ ratio, risk: RISKS.drifts });
      expect(lives.filter(({ misses }) => misses).length).toBeLessThan(FALSE_MAX);
      const [wrong, right] = ratio < 1 ? (['harms', 'helps'] as const) : (['helps', 'harms'] as const);
      expect(lives.filter((life) => life[wrong]).length).toBeLessThan(FALSE_MAX);
      expect(lives.filter((life) => life[right]).length).toBeGreaterThan(0.9 * LIVES);
    },
  );

  test('what does harm is withdrawn, what helps hardly ever', () => {
    const withdrawn = (ratio: number, p = 0.5) =>
      seenIn({ ratio, p }).filter(({ withdraws }) => withdraws).length / LIVES;
    expect(withdrawn(2)).toBeGreaterThan(0.95);
    expect(withdrawn(0.4)).toBeLessThan(0.03);
    expect(withdrawn(0.4, 0.1)).toBeLessThan(0.07);
    expect(withdrawn(0.1)).toBeLessThan(0.01);
  });
});

describe('cure, looked at after every episode', () => {
  const lives = (of: Partial<CureWorld>) => {
    const draw = random(7);
    return Array.from({ length: LIVES }, () => liveCure({ p: 0.5, episodes: 150, ...of }, draw));
  };

  test.each<Partial<CureWorld>>([{}, { p: 0.1 }, { scale: (at) => 0.3 * 1.01 ** at }])(
    'where nothing is mended sooner: hardly ever says so: %#',
    (of) => {
      const seen = lives(of);
      expect(seen.filter(({ known }) => known < Number.POSITIVE_INFINITY).length).toBeLessThan(FALSE_MAX);
      expect(seen.filter(({ harms }) => harms).length).toBeLessThan(FALSE_MAX);
    },
  );

  test('where six tenths of the cost are gone: says so after about as many episodes as expected', () => {
    const taken = lives({ atOnce: 0.73 }).map(({ known }) => known);
    expect(median(taken)).toBeLessThan(42);
    expect(median(taken, 0.8)).toBeLessThan(68);
  });
});

describe('twenty lessons, looked at after every failure', () => {
  const twenty = (helping: number) =>
    Array.from({ length: 20 }, (_, at) => ({ ratio: at < helping ? 0.1 : 1, share: 0.05 }));
  const lives = (helping: number) => Array.from({ length: 200 }, livesWith(twenty(helping), 400, random(7)));

  test('where none helps: hardly ever says that one does, or which', () => {
    const seen = lives(0);
    expect(seen.filter(({ someHelp }) => someHelp < 400).length).toBeLessThan(20);
    expect(seen.filter(({ proven }) => proven > 0).length).toBeLessThan(20);
  });

  test('where five help: says that some do, and names hardly any other', () => {
    const seen = lives(5);
    expect(seen.filter(({ someHelp }) => someHelp <= 400).length).toBeGreaterThan(180);
    expect(seen.filter(({ proven }) => proven > 0).length).toBeGreaterThan(120);
    expect(seen.reduce((sum, { falseShare }) => sum + falseShare, 0) / seen.length).toBeLessThan(0.05);
  });
});
