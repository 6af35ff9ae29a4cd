import type { Report } from '../report.ts';
import { bars, figure, points } from './charts.ts';
import { h } from './dom.ts';
import { axisLabel, barHeading, cutWords, empty, quoted, type Section } from './section.ts';
import { type Column, table } from './tables.ts';
import { isShown, ofProject, projectName, summed, type View } from './view.ts';

/** The section of background runs: what they cost, how long they took, and a table of them all. */

type Run = Report['runs'][number];

const SPAWN = "self-generation subagents spawn 'review the last commit'";
const LOOK_OF_STATE: Readonly<Record<string, string>> = {
  ...{ success: 'good', error: 'bad', timeout: 'bad', stopped: 'bad', lost: 'bad' },
};

/** Background runs with cost and duration. */
export function runs(view: View): Section {
  const { texts, report } = view;
  const head = { id: 'runs', title: texts.runsTitle };
  const shown = ofProject(report.runs, view).filter(({ ts }) => isShown(ts, view));
  if (shown.length === 0) return { ...head, content: empty(texts.runsNone, SPAWN) };
  const isCostKnown = shown.some(({ costUsd }) => costUsd !== null);
  const cost = isCostKnown ? costs(shown, view) : h('p', {}, texts.costUnknown);
  return { ...head, content: [h('div', { class: 'pair' }, cost, durations(shown, view))] };
}

function costs(shown: readonly Run[], view: View): HTMLElement {
  const { texts, format } = view;
  const known = shown.flatMap(({ ts, costUsd }) =>
    costUsd === null ? [] : { day: localDay(ts), usd: costUsd },
  );
  const rows = summed(known, ['usd'], view);
  const all = format.usd(known.reduce((sum, { usd }) => sum + usd, 0));
  const unknown = shown.length - known.length;
  const parts = rows.map(({ start, usd }) => {
    const title = `${format.day(start)}\n${format.usd(usd)}`;
    return { start, value: usd, look: 'cost', title };
  });
  const columns = [{ words: barHeading(view) }, { words: texts.cost, isNumber: true }];
  const data = {
    rows: rows.map(({ start, usd }) => () => [format.day(start), format.usd(usd)]),
    total: [texts.total, all],
  };
  const axis = { yLabel: axisLabel(texts.runsCostAxis, view), yFormat: (usd: number) => `$${usd}` };
  const chart = {
    ...{ title: texts.runsCost, heading: texts.runsCost },
    words: unknown > 0 ? texts.costPartly(all, format.count(unknown)) : texts.costKnown(all),
    options: bars(parts, axis, view),
    table: table(texts.runsCost, columns, data, texts),
  };
  return figure(chart, texts.numbers);
}

function durations(shown: readonly Run[], view: View): HTMLElement {
  const { texts, format } = view;
  const dots = shown.flatMap((run) => {
    const { ms, ts, state } = run;
    if (ms === null) return [];
    const title = `${nameOf(run, view)}\n${texts.states[state] ?? state}, ${format.duration(ms)}`;
    return { at: new Date(ts), ms, look: LOOK_OF_STATE[state] ?? 'active', title };
  });
  const legend = [
    { look: 'good', words: texts.ended, sign: '○' },
    { look: 'bad', words: texts.failed, sign: '×' },
    { look: 'active', words: texts.active, sign: '◇' },
  ].filter(({ look }) => dots.some((dot) => dot.look === look));
  const total = format.duration(shown.reduce((sum, { ms }) => sum + (ms ?? 0), 0));
  const chart = {
    ...{ title: texts.runsTime, heading: texts.runsTime, legend },
    words: `${texts.runsWords(format.count(shown.length), total)}${cutWords('runs', shown.length, view)}`,
    note: texts.runsTimeNote,
    options: points(dots, texts.runsTimeAxis, view),
    table: runsTable(shown, view),
  };
  return figure(chart, texts.allRuns);
}

function runsTable(shown: readonly Run[], view: View): HTMLElement {
  const { texts, format } = view;
  const withProject = view.project === null;
  const columns: Column[] = [
    ...[texts.run, texts.state, texts.when, texts.with].map((words) => ({ words })),
    ...[texts.duration, texts.cost, texts.tokens].map((words) => ({ words, isNumber: true })),
    ...(withProject ? [{ words: texts.project }] : []),
  ];
  const rows = shown.map((run) => () => [
    ...[quoted(nameOf(run, view), 'name'), texts.states[run.state] ?? run.state, format.time(run.ts)],
    `${run.client}${run.model ? ` ${run.model}` : ''}`,
    ...[format.duration(run.ms), run.costUsd === null ? texts.unknown : format.usd(run.costUsd)],
    run.tokens === null ? '–' : format.count(run.tokens),
    ...(withProject ? [projectName(run.project, view)] : []),
  ]);
  return table(texts.runsTitle, columns, { rows }, texts);
}

function nameOf({ number, label, isPart }: Run, { texts }: View): string {
  return `#${number}${label ? ` ${label}` : isPart ? ` (${texts.part})` : ''}`;
}

function localDay(iso: string): string {
  const date = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
