/**
 * What `self-generation report` costs on 100,000 events and 1,000 runs, and that a browser shows its page without a complaint
 * or a request.
 *
 *   bun scripts/bench-report.ts                     dist/self-generation
 *   bun scripts/bench-report.ts PROGRAM --slack 2   another program, with limits twice as large
 *
 * Fills a database in a home directory of its own, prints a table, exits with 1 when a limit is passed.
 */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openPage, startChromium } from '../test/support/chromium.ts';
import { fillReportHome } from '../test/support/report-home.ts';
import { inTemporary, MIB, pathsIn, printTable, timed } from './measure.ts';

const SIZE = { events: 100_000, runs: 1000, days: 90 };
const ROUNDS = 5;
const TIME_MS_MAX = 2000;
const SIZE_MIB_MAX = 3;

type Figure = { readonly name: string; readonly value: number; readonly most: number };

/** How long the page takes to be there, and what it complains of or loads. */
async function shown(
  file: string,
): Promise<{ ms: number; complaints: number; requests: number } | undefined> {
  const browser = await startChromium('how fast a browser shows the report');
  if (browser === undefined) return undefined;
  const { page, complaints, requests } = await openPage(browser, file, { width: 1280, scheme: 'light' });
  // By the browser's own clock: how long it takes to open a tab is none of the page's.
  const ms = Number(await page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"));
  await browser.close();
  return { ms, complaints: complaints.length, requests: requests.length - 1 };
}

async function measure(program: string, slack: number, home: string): Promise<Figure[]> {
  console.error(`Filling a database with ${SIZE.events} events and ${SIZE.runs} runs …`);
  fillReportHome(pathsIn(home), { ...SIZE, now: new Date() });
  const times = Array.from({ length: ROUNDS }, () => timed([program, 'report'], { home }));
  const file = join(home, '.self-generation/report.html');
  const median = times.toSorted((left, right) => left - right)[ROUNDS >> 1] ?? Number.NaN;
  const page = await shown(file);
  return [
    { name: 'written, ms (median)', value: Math.round(median), most: TIME_MS_MAX * slack },
    { name: 'size, MiB', value: Number((statSync(file).size / MIB).toFixed(2)), most: SIZE_MIB_MAX },
    ...(page === undefined
      ? []
      : [
          { name: 'shown, ms', value: Math.round(page.ms), most: TIME_MS_MAX * slack },
          { name: 'complaints', value: page.complaints, most: 0 },
          { name: 'requests', value: page.requests, most: 0 },
        ]),
  ];
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { slack: { type: 'string', default: '1' } },
  });
  const program = resolve(positionals[0] ?? join(import.meta.dir, '..', 'dist', 'self-generation'));
  const figures = await inTemporary((home) => measure(program, Number(values.slack), home));
  printTable(
    ['report', 'is', 'at most'],
    figures.map(({ name, value, most }) => [name, value, most]),
  );
  // NaN is over every limit.
  if (!figures.every(({ value, most }) => value <= most)) process.exitCode = 1;
}
