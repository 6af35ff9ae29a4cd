import type { StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { readDatabase } from '../hooks/store/use-database.ts';
import { dayOf, startOfDay } from '../report/report.ts';
import { callsByDay, tellingsByDay } from '../report/report-store.ts';
import type { CliContext } from './context.ts';

/** What the last weeks were like, day by day, as two lines of `status`. */

const DAYS = 28;
const WEEK = 7;
const BLOCKS = '▁▂▃▄▅▆▇█';

/** For each of the last days, the oldest first. `told`: lessons that agents were told. */
export type Activity = Readonly<Record<'calls' | 'failed' | 'told', readonly number[]>>;

/** Null where nothing can be counted: there is no database, or one of an earlier version. */
export function readActivity(paths: StatePaths, now: Date): Activity | null {
  const since = startOfDay(now, DAYS - 1).toISOString();
  const found = readDatabase(paths, (db) => {
    if (!db.isOwn) return null;
    const window = { since, projects: undefined };
    const calls = callsByDay(window, db);
    const days = Array.from({ length: DAYS }, (_, index) => dayOf(startOfDay(now, DAYS - 1 - index)));
    const perDay = <Row extends { readonly day: string }>(
      rows: readonly Row[],
      count: (row: Row) => number,
    ) => days.map((day) => rows.reduce((sum, row) => sum + (row.day === day ? count(row) : 0), 0));
    return {
      calls: perDay(calls, (row) => row.calls),
      failed: perDay(calls, ({ wrong, other }) => wrong + other),
      told: perDay(tellingsByDay(window, db), (row) => row.told),
    };
  });
  return found ?? null;
}

/**
 * Numbers first, which say it all, then a bar for each day where a terminal has room for them: a pipe has no use for bars, and
 * a screen reader can pass over them. No lines where nothing happened.
 */
export function activityLines(activity: Activity | null, { screen }: Pick<CliContext, 'screen'>): string[] {
  if (activity === null || sum(activity.calls) === 0) return [];
  const { calls, failed, told } = activity;
  const words = [
    `Last ${DAYS} days: ${sum(failed)} of ${sum(calls)} calls failed (last ${WEEK}: ${sum(failed.slice(-WEEK))})`,
    `Lessons told: ${counted(sum(told), 'time')} (last ${WEEK}: ${sum(told.slice(-WEEK))})`,
  ];
  const width = Math.max(...words.map(({ length }) => length));
  if ((screen()?.columns ?? 0) < width + 2 + DAYS) return words;
  return words.map((line, index) =>
    `${line.padEnd(width)}  ${blocks(index === 0 ? failed : told)}`.trimEnd(),
  );
}

/** A block for each number, as high as it is among them; a blank for none. */
export function blocks(numbers: readonly number[]): string {
  const most = Math.max(...numbers);
  return numbers
    .map((value) => (value === 0 ? ' ' : BLOCKS[Math.ceil((value / most) * BLOCKS.length) - 1]))
    .join('');
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, value) => all + value, 0);
