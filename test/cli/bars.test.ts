import { describe, expect, test } from 'bun:test';
import { activityLines, blocks, readActivity } from '../../src/cli/bars.ts';
import { temporaryHome } from '../support/home.ts';
import { fillReportHome } from '../support/report-home.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const wide = { screen: () => ({ columns: 120, rows: 40 }) };
const narrow = { screen: () => ({ columns: 60, rows: 40 }) };
const pipe = { screen: () => undefined };

const few = { calls: [10, 0, 40], failed: [1, 0, 8], told: [0, 2, 1] };

describe('activityLines()', () => {
  test('puts numbers first, and bars behind them on a terminal', () => {
    expect(activityLines(few, wide)).toEqual([
      'Last 28 days: 9 of 50 calls failed (last 7: 9)  ▁ █',
      'Lessons told: 3 times (last 7: 3)                █▄',
    ]);
  });

  test('leaves the bars out where nobody sees them, or they have no room', () => {
    const words = ['Last 28 days: 9 of 50 calls failed (last 7: 9)', 'Lessons told: 3 times (last 7: 3)'];
    expect(activityLines(few, pipe)).toEqual(words);
    expect(activityLines(few, narrow)).toEqual(words);
  });

  test('says nothing where nothing happened', () => {
    expect(activityLines(null, wide)).toEqual([]);
    expect(activityLines({ calls: [0], failed: [0], told: [0] }, wide)).toEqual([]);
  });
});

test('blocks() shows none as a blank and the least as a block', () => {
  expect(blocks([0, 1, 4, 8, 1000])).toBe(' ▁▁▁█');
  expect(blocks([0, 0])).toBe('  ');
});

describe('readActivity()', () => {
  test('counts the last 28 days, today last', () => {
    using home = temporaryHome();
    fillReportHome(home.paths, { events: 500, runs: 0, days: 14, now: NOW });
    const activity = readActivity(home.paths, NOW);
    const sum = (numbers: readonly number[] = []) => numbers.reduce((all, value) => all + value, 0);
    expect(activity?.calls).toHaveLength(28);
    expect(sum(activity?.calls)).toBe(500);
    expect(sum(activity?.calls.slice(0, 14))).toBe(0);
    expect(sum(activity?.failed)).toBeGreaterThan(10);
    expect(sum(activity?.told)).toBeGreaterThan(5);
  });

  test('is null without a database, and makes none', () => {
    using home = temporaryHome();
    expect(readActivity(home.paths, NOW)).toBeNull();
  });
});
