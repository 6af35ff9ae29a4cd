import { failedCalls, tellings } from './calls.ts';
import { h } from './dom.ts';
import { runs } from './runs.ts';
import { command, cutWords, empty, lessonItem, quoted, type Section } from './section.ts';
import { type Column, entries, table } from './tables.ts';
import { daysShown, isShown, ofDays, ofProject, projectName, totals, type View } from './view.ts';

/** The sections below the three questions, each with its chart and its table, or what to do while it is empty. */

/** In the order in which they stand. */
export function sections(view: View): Section[] {
  return [failedCalls, tellings, lessons, frequentErrors, runs, given, suggestions, analyses].map((make) =>
    make(view),
  );
}

function lessons(view: View): Section {
  const { texts, format, report } = view;
  const head = { id: 'lessons', title: texts.lessonsTitle };
  const shown = ofProject(report.lessons, view);
  if (shown.length === 0) return { ...head, content: empty(texts.noLessons, 'self-generation import') };
  const items = shown.map((lesson) => () => {
    const { id, state, sessions, told, toldFailed, held, heldFailed, project } = lesson;
    const facts = [
      `#${id}`,
      texts.lessonStates[state],
      `${texts.sessions} ${format.count(sessions)}`,
      ...(told > 0
        ? [`${texts.told} ${format.count(told)}, ${texts.cameBack} ${format.count(toldFailed)}`]
        : []),
      ...(held > 0
        ? [`${texts.held} ${format.count(held)}, ${texts.cameBack} ${format.count(heldFailed)}`]
        : []),
      ...(view.project === null ? [projectName(project, view)] : []),
    ];
    return lessonItem(lesson, facts, view);
  });
  const note = h('p', { class: 'note' }, texts.lessonsNote, cutWords('lessons', shown.length, view));
  return { ...head, content: [note, entries(items, texts)] };
}

function frequentErrors(view: View): Section {
  const { texts, format, report } = view;
  const head = { id: 'frequent', title: texts.frequentTitle };
  const { first } = daysShown(view);
  const shown = ofProject(report.errors, view)
    .map((error) => ({ error, days: error.days.filter(([day]) => day >= first) }))
    .map(({ error, days }) => ({
      error,
      last: days.at(-1)?.[0],
      times: days.reduce((sum, [, n]) => sum + n, 0),
    }))
    .filter(({ times }) => times > 0)
    .sort((left, right) => right.times - left.times);
  if (shown.length === 0) return { ...head, content: empty(texts.nothingIn) };
  const columns: Column[] = [
    ...[{ words: texts.error }, { words: texts.times, isNumber: true }, { words: texts.lastTime }],
    ...[{ words: texts.hasLesson }, { words: 'N', isNumber: true }],
    ...(view.project === null ? [{ words: texts.project }] : []),
  ];
  const rows = shown.map(({ error: { said, id, isSolved, project }, last = first, times }) => () => [
    ...[quoted(said), format.count(times), format.day(last), isSolved ? texts.yes : texts.no],
    id === null ? '–' : String(id),
    ...(view.project === null ? [projectName(project, view)] : []),
  ]);
  const note = h('p', { class: 'note' }, texts.frequentNote, cutWords('errors', shown.length, view));
  return { ...head, content: [note, table(texts.frequentTitle, columns, { rows }, texts)] };
}

function given(view: View): Section {
  const { texts, format, report } = view;
  const head = { id: 'given', title: texts.givenTitle };
  const count = totals(ofDays(report.given, view), ['given']).given;
  const shown = ofProject(report.contexts, view).filter(({ ts }) => isShown(ts, view));
  if (shown.length === 0) return { ...head, content: empty(texts.givenNone) };
  const items = shown.map(
    ({ ts, agentType, lines, project }) =>
      () =>
        h(
          'li',
          {},
          h(
            'details',
            {},
            h('summary', {}, `${format.time(ts)} · ${agentType} · ${projectName(project, view)}`),
            h(
              'ul',
              { class: 'lines' },
              lines.map((text) => h('li', { dir: 'auto' }, text)),
            ),
          ),
        ),
  );
  const words = h('p', {}, texts.givenWords(format.count(Math.max(count, shown.length))));
  return { ...head, content: [words, entries(items, texts)] };
}

function suggestions(view: View): Section {
  const { texts, report } = view;
  const head = { id: 'suggestions', title: texts.suggestionsTitle };
  const shown = ofProject(report.suggestions, view);
  if (shown.length === 0) return { ...head, content: empty(texts.suggestionsNone) };
  const items = shown.map(({ id, type, status, summary, evidence, project }) => () => {
    const waits = status === 'new' || status === 'shown';
    const facts = [
      texts.statuses[status],
      texts.kinds[type] ?? type,
      ...(view.project === null ? [projectName(project, view)] : []),
    ];
    return h(
      'li',
      {},
      h('p', { class: 'name', dir: 'auto' }, summary),
      evidence === '' ? null : h('p', { dir: 'auto' }, `${texts.why}: `, evidence),
      h('p', { class: 'facts' }, facts.join(' · ')),
      waits
        ? h(
            'p',
            {},
            `${texts.applyHow} `,
            command(`self-generation apply ${id}`),
            ` ${texts.dismissHow} `,
            command(`self-generation dismiss ${id}`),
          )
        : null,
    );
  });
  return { ...head, content: [entries(items, texts)] };
}

function analyses(view: View): Section {
  const { texts, format, report } = view;
  const head = { id: 'analyses', title: texts.analysesTitle };
  const own = view.project === null ? undefined : report.projects[view.project]?.name;
  const shown = report.analyses.filter(
    ({ ts, project }) => isShown(ts, view) && (own === undefined || project === own || project === 'all'),
  );
  if (shown.length === 0) return { ...head, content: empty(texts.analysesNone) };
  const columns: Column[] = [
    ...[texts.when, texts.project, texts.by, texts.result].map((words) => ({ words })),
    { words: texts.cost, isNumber: true },
  ];
  const rows = shown.map(({ ts, project, with: by, status, reason, costUsd, suggestions }) => () => [
    ...[format.time(ts), quoted(project === 'all' ? texts.allProjects : project, 'text'), by],
    status === 'done' && suggestions !== null
      ? texts.found(format.count(suggestions))
      : quoted(`${texts.analysisStates[status] ?? status}${reason ? `: ${reason}` : ''}`, 'text'),
    costUsd === null ? texts.unknown : format.usd(costUsd),
  ]);
  return { ...head, content: [table(texts.analysesTitle, columns, { rows }, texts)] };
}
