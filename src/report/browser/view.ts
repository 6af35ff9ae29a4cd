import type { Report } from '../report.ts';
import type { Format } from './format.ts';
import type { PageLanguage, Texts } from './texts.ts';

/** What of the report is shown, and in which words. `project`: its index, null for all. */
export type View = {
  readonly report: Report;
  readonly language: PageLanguage;
  readonly texts: Texts;
  readonly format: Format;
  readonly project: number | null;
  readonly days: number;
};

type Unit = 'day' | 'week';
type OfDay = { readonly day: string; readonly project: number };

const MS_PER_DAY = 86_400_000;
/** Bars of single days would be too thin to be seen. */
const SINGLE_DAYS_MAX = 31;

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * MS_PER_DAY).toISOString().slice(0, 10);

/** The first and the last day that are shown. */
export function daysShown({ report, days }: View): { readonly first: string; readonly last: string } {
  const last = addDays(report.since, report.days - 1);
  return { first: addDays(last, 1 - days), last };
}

/** Rows of the project that is shown. */
export function ofProject<T extends { readonly project: number }>(
  rows: readonly T[],
  { project }: View,
): T[] {
  return rows.filter((row) => project === null || row.project === project);
}

/** Rows of the project and the days that are shown. */
export function ofDays<T extends OfDay>(rows: readonly T[], view: View): T[] {
  const { first } = daysShown(view);
  return ofProject(rows, view).filter(({ day }) => day >= first);
}

/** Whether a time is within the days that are shown. */
export function isShown(iso: string, view: View): boolean {
  return Date.parse(iso) >= new Date(`${daysShown(view).first}T00:00`).getTime();
}

/** What one bar of a chart stands for. */
export function unitOf({ days }: View): Unit {
  return days > SINGLE_DAYS_MAX ? 'week' : 'day';
}

/** The first day of a bar: the day, or the Monday before it. */
export function startOf(day: string, unit: Unit): string {
  return unit === 'day' ? day : addDays(day, -((new Date(day).getUTCDay() + 6) % 7));
}

/** Where the bars of the days that are shown begin. */
export function barStarts(view: View): string[] {
  const unit = unitOf(view);
  const { first, last } = daysShown(view);
  const starts: string[] = [];
  for (let day = startOf(first, unit); day <= last; day = addDays(day, unit === 'day' ? 1 : 7))
    starts.push(day);
  return starts;
}

/** Adds up the columns of rows for each bar, the oldest first. */
export function summed<Column extends string>(
  rows: readonly ({ readonly day: string } & Readonly<Record<Column, number>>)[],
  columns: readonly Column[],
  view: View,
): ({ readonly start: string } & Record<Column, number>)[] {
  const bars = Map.groupBy(rows, ({ day }) => startOf(day, unitOf(view)));
  return [...bars.keys()].sort().map((start) => ({ start, ...totals(bars.get(start) ?? [], columns) }));
}

/** The columns of rows, added up. */
export function totals<Column extends string>(
  rows: readonly Readonly<Record<Column, number>>[],
  columns: readonly Column[],
): Record<Column, number> {
  const sums = columns.map((column) => [column, rows.reduce((sum, row) => sum + row[column], 0)] as const);
  return Object.fromEntries(sums) as Record<Column, number>;
}

/** The name of a project, its path where another one has the same name. */
export function projectName(index: number, { report, texts }: View): string {
  const found = report.projects[index];
  if (found === undefined || found.path === null)
    return report.projects.length > 1 ? texts.otherProjects : texts.noProject;
  const isTwice = report.projects.filter(({ name }) => name === found.name).length > 1;
  return isTwice ? found.path : found.name;
}
