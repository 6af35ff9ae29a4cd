import { type BarPart, bars, figure } from './charts.ts';
import { h } from './dom.ts';
import { axisLabel, barHeading, empty, type Section } from './section.ts';
import { type Column, table } from './tables.ts';
import { ofDays, summed, totals, type View } from './view.ts';

/** The sections of what happened day by day. */

/** Failed calls over time. */
export function failedCalls(view: View): Section {
  const { texts, format, report } = view;
  const head = { id: 'errors', title: texts.errorsTitle };
  const columns = ['calls', 'wrong', 'other'] as const;
  const rows = summed(ofDays(report.calls, view), columns, view);
  const all = totals(rows, columns);
  if (all.calls === 0) return { ...head, content: empty(texts.errorsNone) };
  const failed = all.wrong + all.other;
  const { count } = format;
  const parts = rows.flatMap(({ start, calls, wrong, other }): BarPart[] => {
    const title = `${format.day(start)}\n${texts.wrong}: ${count(wrong)}\n${texts.other}: ${count(other)}\n${texts.calls}: ${count(calls)}`;
    return [
      { start, value: wrong, look: 'bad', title },
      { start, value: other, look: 'other', title },
    ];
  });
  const numbers = (row: typeof all) => [
    count(row.wrong),
    count(row.other),
    count(row.calls),
    format.share(row.wrong + row.other, row.calls),
  ];
  const tableColumns = [
    { words: barHeading(view) },
    ...[texts.wrong, texts.other, texts.calls, '%'].map((words) => ({ words, isNumber: true })),
  ];
  const data = {
    rows: rows.map((row) => () => [format.day(row.start), ...numbers(row)]),
    total: [texts.total, ...numbers(all)],
  };
  const chart = {
    title: texts.errorsTitle,
    words: texts.errorsWords(count(failed), count(all.calls), format.share(failed, all.calls)),
    legend: [
      { look: 'bad', words: texts.wrong },
      { look: 'other', words: texts.other },
    ],
    note: texts.errorsNote,
    options: bars(parts, { yLabel: axisLabel(texts.errorsTitle, view) }, view),
    table: table(texts.errorsTitle, tableColumns, data, texts),
  };
  return { ...head, content: [figure(chart, texts.numbers)] };
}

/** Lessons told and held out at starts, and whether their errors came back. */
export function tellings(view: View): Section {
  const { texts, format, report } = view;
  const { count } = format;
  const head = { id: 'told', title: texts.toldTitle };
  const shown = ofDays(report.tellings, view);
  const columns = ['told', 'toldBack', 'heldOut', 'heldBack'] as const;
  const rows = summed(
    shown.filter(({ channel }) => channel === 'start'),
    columns,
    view,
  );
  const all = totals(rows, columns);
  const atFailure = totals(
    shown.filter(({ channel }) => channel === 'failure'),
    columns,
  );
  const beside =
    atFailure.told === 0
      ? []
      : [h('p', {}, texts.atFailureWords(count(atFailure.told), count(atFailure.told - atFailure.toldBack)))];
  if (all.told + all.heldOut === 0) return { ...head, content: [...empty(texts.toldNone), ...beside] };
  const parts = rows.flatMap(({ start, told, toldBack, heldOut, heldBack }): BarPart[] => {
    const title = (row: string, stayed: number, back: number) =>
      `${format.day(start)} · ${row}\n${texts.stayedAway}: ${count(stayed)}\n${texts.cameBack}: ${count(back)}`;
    const both = (row: string, sessions: number, back: number): BarPart[] => [
      { start, row, value: back, look: 'bad', title: title(row, sessions - back, back) },
      { start, row, value: sessions - back, look: 'good', title: title(row, sessions - back, back) },
    ];
    return [
      ...both(texts.told, told, toldBack),
      ...(all.heldOut > 0 ? both(texts.held, heldOut, heldBack) : []),
    ];
  });
  const numbers = (row: typeof all) =>
    [row.told - row.toldBack, row.toldBack, row.heldOut - row.heldBack, row.heldBack].map(count);
  const tableColumns: Column[] = [
    { words: barHeading(view) },
    ...[texts.toldStayed, texts.toldBack, texts.heldStayed, texts.heldBack].map((words) => ({
      words,
      isNumber: true,
    })),
  ];
  const data = {
    rows: rows.map((row) => () => [format.day(row.start), ...numbers(row)]),
    total: [texts.total, ...numbers(all)],
  };
  const held = all.heldOut > 0 ? ` ${texts.heldWords(count(all.heldOut), count(all.heldBack))}` : '';
  const chart = {
    title: texts.toldTitle,
    words: `${texts.toldWords(count(all.told), count(all.toldBack))}${held}`,
    legend: [
      { look: 'good', words: texts.stayedAway },
      { look: 'bad', words: texts.cameBack },
    ],
    note: texts.toldNote,
    options: bars(
      parts,
      {
        yLabel: axisLabel(texts.sessions, view),
        rows: all.heldOut > 0 ? [texts.told, texts.held] : [texts.told],
      },
      view,
    ),
    table: table(texts.toldTitle, tableColumns, data, texts),
  };
  return { ...head, content: [figure(chart, texts.numbers), ...beside] };
}
