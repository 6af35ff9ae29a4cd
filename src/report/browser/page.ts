import type { Report } from '../report.ts';
import { drawCharts } from './charts.ts';
import { h } from './dom.ts';
import { formatIn } from './format.ts';
import { glance } from './glance.ts';
import { sections } from './sections.ts';
import { type PageLanguage, textsIn } from './texts.ts';
import { isShown, ofDays, ofProject, projectName, totals, type View } from './view.ts';

/** The page: it reads its value once, and draws everything anew when something else is to be shown. */

type Choice = Pick<View, 'language' | 'project' | 'days'>;

const DAYS_OFFERED = [7, 30, 90, 365];

start(JSON.parse(document.getElementById('report')?.textContent ?? '') as Report);

function start(report: Report): void {
  const body = h('div', { class: 'page' });
  document.body.append(body);
  const show = (choice: Choice) => {
    const focused = document.activeElement?.id;
    const texts = textsIn(choice.language);
    const view = { ...choice, report, texts, format: formatIn(choice.language) };
    document.documentElement.lang = choice.language;
    document.title = `${texts.title} · self-generation`;
    body.replaceChildren(...content(view, show));
    drawCharts();
    if (focused) document.getElementById(focused)?.focus();
  };
  show({ language: report.language, project: report.projects.length === 1 ? 0 : null, days: report.days });
  let width = body.clientWidth;
  new ResizeObserver(() => {
    if (body.clientWidth === width) return;
    width = body.clientWidth;
    drawCharts();
  }).observe(body);
}

function content(view: View, show: (choice: Choice) => void): Node[] {
  const { texts, format, report } = view;
  const all = report.isAnythingRecorded ? sections(view) : [];
  const links = all.map(({ id, title }) => h('li', {}, h('a', { href: `#${id}` }, title)));
  const header = h(
    'header',
    {},
    h('a', { href: '#main', class: 'skip' }, texts.skip),
    h('h1', {}, texts.title),
    h('p', { class: 'facts' }, texts.made(format.time(report.madeAt), report.program)),
    filters(view, show),
  );
  const main = h(
    'main',
    { id: 'main', tabindex: -1 },
    report.isAnythingRecorded ? h('p', { role: 'status', class: 'facts' }, summary(view)) : null,
    glance(view),
    links.length > 0 ? h('nav', { 'aria-label': texts.sections }, h('ul', {}, links)) : null,
    all.map(({ id, title, content }) =>
      h(
        'section',
        { id, class: 'card', 'aria-labelledby': `${id}-title` },
        h('h2', { id: `${id}-title` }, title),
        ...content,
      ),
    ),
  );
  return [header, main, h('footer', {}, h('p', { class: 'facts' }, texts.footer))];
}

function summary(view: View): string {
  const { texts, format, report } = view;
  const { calls, wrong, other } = totals(ofDays(report.calls, view), ['calls', 'wrong', 'other']);
  const told = ofProject(report.lessons, view).filter(({ state }) => state !== 'withdrawn').length;
  const runs = ofProject(report.runs, view).filter(({ ts }) => isShown(ts, view)).length;
  const { count } = format;
  return texts.summary(count(wrong + other), count(calls), count(told), count(runs));
}

type Option = { readonly value: string; readonly words: string };

function filters(view: View, show: (choice: Choice) => void): HTMLElement {
  const { texts, report, language, project, days } = view;
  const choice = { language, project, days };
  const named = report.projects.flatMap(({ path }, index) =>
    path === null ? [] : [{ value: String(index), words: projectName(index, view) }],
  );
  const projects = [{ value: '', words: texts.allProjects }, ...named];
  const offered = [...new Set([...DAYS_OFFERED.filter((one) => one < report.days), report.days])];
  const times = offered.map((one) => ({ value: String(one), words: texts.lastDays(one) }));
  const languages = [
    { value: 'en', words: 'English' },
    { value: 'ko', words: '한국어' },
  ];
  return h(
    'div',
    { class: 'filters', role: 'group', 'aria-label': texts.filters },
    select(
      'project',
      texts.project,
      { options: projects, value: project === null ? '' : String(project) },
      (value) => show({ ...choice, project: value === '' ? null : Number(value) }),
    ),
    select('time', texts.time, { options: times, value: String(days) }, (value) =>
      show({ ...choice, days: Number(value) }),
    ),
    select('language', texts.language, { options: languages, value: language }, (value) =>
      show({ ...choice, language: value as PageLanguage }),
    ),
  );
}

function select(
  id: string,
  label: string,
  { options, value }: { readonly options: readonly Option[]; readonly value: string },
  change: (value: string) => void,
): HTMLElement {
  const control = h(
    'select',
    { id: `filter-${id}` },
    options.map((option) => h('option', { value: option.value }, option.words)),
  );
  control.value = value;
  control.addEventListener('change', () => change(control.value));
  return h('div', {}, h('label', { for: `filter-${id}` }, label), control);
}
