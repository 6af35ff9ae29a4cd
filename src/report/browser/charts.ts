import * as Plot from '@observablehq/plot';
import { type Child, h } from './dom.ts';
import { barStarts, unitOf, type View } from './view.ts';

/** A chart with its words, its legend and the same as a table: who does not see it misses nothing. */
export type Chart = {
  /** What it is called where it is not seen. */
  readonly title: string;
  /** Its heading; none where it is the only one of its section. */
  readonly heading?: string;
  /** What it shows, in a sentence. */
  readonly words: string;
  readonly legend?: readonly Key[];
  readonly note?: string;
  readonly options: (width: number) => Plot.PlotOptions;
  readonly table: HTMLElement;
};

/** What a colour stands for. `look`: a class of page.css, which is also the name of the colour. `sign`: the shape of points. */
export type Key = { readonly look: string; readonly words: string; readonly sign?: string };

/** A part of a bar. */
export type BarPart = {
  readonly start: string;
  readonly value: number;
  readonly look: string;
  readonly title: string;
  readonly row?: string;
};

const MS_PER_DAY = 86_400_000;
const HEIGHT = 240;
const NARROW = 520;

const drawn = new Map<HTMLElement, Chart>();

/** A figure; drawCharts() draws it once it stands in the page. */
export function figure(chart: Chart, numbers: string): HTMLElement {
  const place = h('div', { class: 'plot' });
  drawn.set(place, chart);
  const { heading, words, legend = [], note } = chart;
  const keys = legend.map(({ look, words, sign = '■' }) =>
    h('li', {}, h('span', { class: `key ${look}`, 'aria-hidden': 'true' }, sign), words),
  );
  const children: Child[] = [
    h('figcaption', {}, heading === undefined ? null : h('h3', {}, heading), h('p', {}, words)),
    keys.length > 0 ? h('ul', { class: 'legend' }, keys) : null,
    place,
    note === undefined ? null : h('p', { class: 'note' }, note),
    h('details', {}, h('summary', {}, numbers), chart.table),
  ];
  return h('figure', {}, children);
}

/** Draws all figures that stand in the page anew, each as wide as its place. */
export function drawCharts(): void {
  for (const [place, chart] of drawn) {
    if (!place.isConnected) {
      drawn.delete(place);
      continue;
    }
    const plot = Plot.plot({ ...common(place.clientWidth), ...chart.options(place.clientWidth) });
    // The rules of page.css are in its place: the page's policy allows no style of another origin.
    plot.querySelector('style')?.remove();
    // Names of parts, in English, of what is one picture to who hears it.
    for (const part of plot.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label');
    plot.setAttribute('role', 'img');
    plot.setAttribute('aria-label', `${chart.title}. ${chart.words}`);
    place.replaceChildren(plot);
  }
}

function common(width: number): Plot.PlotOptions {
  return { width, height: HEIGHT, className: 'chart', marginLeft: 48, marginRight: 12, marginTop: 24 };
}

/** Bars by day or week, one part of them above the other. `rows`: names of rows of bars, from above. */
export function bars(
  parts: readonly BarPart[],
  {
    yLabel,
    yFormat,
    rows,
  }: { yLabel: string; yFormat?: (value: number) => string; rows?: readonly string[] },
  view: View,
): (width: number) => Plot.PlotOptions {
  const interval = unitOf(view) === 'day' ? 'day' : 'monday';
  const whole = (value: number) => (Number.isInteger(value) ? view.format.count(value) : '');
  const facet = rows === undefined ? {} : { fy: 'row' };
  return (width) => ({
    ...(rows !== undefined && {
      ...{
        height: 150 * rows.length + 40,
        fy: { domain: [...rows], label: null, axis: null, padding: 0.25 },
      },
    }),
    x: timeScale(view),
    y: { grid: true, label: yLabel, ticks: 4, tickFormat: yFormat ?? whole, nice: true },
    marks: [
      Plot.ruleY([0], { stroke: 'var(--line)' }),
      Plot.rectY(parts, {
        ...{ x: ({ start }: BarPart) => new Date(start), y: 'value', interval, ...facet },
        ...{
          fill: ({ look }: BarPart) => `var(--${look})`,
          title: 'title',
          tip: true,
          insetLeft: 1,
          insetRight: 1,
        },
      }),
      dayAxis(width, view),
      ...(rows === undefined ? [] : [rowNames(rows)]),
    ],
  });
}

function rowNames(rows: readonly string[]) {
  return Plot.text(rows, {
    ...{ fy: (row: string) => row, text: (row: string) => row, frameAnchor: 'top-right' as const },
    ...{ fontWeight: 'bold', fontSize: 12, dy: -14 },
  });
}

/** A run as a point. */
export type RunPoint = {
  readonly at: Date;
  readonly ms: number;
  readonly look: string;
  readonly title: string;
};

const SYMBOLS: Readonly<Record<string, Plot.SymbolType>> = {
  good: 'circle',
  bad: 'times',
  active: 'diamond',
};
const DURATIONS_MS = [1, 10, 60, 600, 3600, 14_400, 86_400].map((seconds) => seconds * 1000);

/** Points by time and duration, the latter by orders of magnitude. */
export function points(
  runs: readonly RunPoint[],
  yLabel: string,
  view: View,
): (width: number) => Plot.PlotOptions {
  const most = Math.max(60_000, ...runs.map(({ ms }) => ms)) * 1.3;
  const ticks = DURATIONS_MS.filter((ms) => ms <= most);
  // As the text of an axis: logarithmic scales leave out what is no power of ten.
  const text = (ms: number) => view.format.duration(ms);
  return (width) => ({
    marginLeft: 64,
    x: timeScale(view),
    y: { type: 'log', domain: [1000, most], label: yLabel },
    symbol: { type: 'identity' },
    marks: [
      Plot.gridY(ticks),
      Plot.axisY(ticks, { text, label: yLabel }),
      Plot.dot(runs, {
        ...{ x: 'at', y: ({ ms }: RunPoint) => Math.max(1000, ms), r: 4, title: 'title', tip: true },
        ...{ stroke: ({ look }: RunPoint) => `var(--${look})`, strokeWidth: 2 },
        symbol: ({ look }: RunPoint) => SYMBOLS[look],
      }),
      dayAxis(width, view),
    ],
  });
}

/** From the first day to the end of the last, of whole weeks where bars are weeks. */
function timeScale(view: View): Plot.ScaleOptions {
  const starts = barStarts(view);
  const end = Date.parse(starts.at(-1) ?? '') + (unitOf(view) === 'day' ? 1 : 7) * MS_PER_DAY;
  return { type: 'utc', domain: [new Date(starts[0] ?? end), new Date(end)], label: null };
}

/** Names every so many bars, where they begin. */
function dayAxis(width: number, view: View) {
  const starts = barStarts(view);
  const step = Math.ceil(starts.length / (width < NARROW ? 4 : 9));
  const named = starts.filter((_, index) => index % step === 0).map((start) => new Date(start));
  const text = (date: Date) => view.format.day(date.toISOString().slice(0, 10));
  return Plot.axisX(named, { text, label: null, tickSize: 4 });
}
