import type { ReportedLesson } from '../report.ts';
import { type Child, h, withCode } from './dom.ts';
import { unitOf, type View } from './view.ts';

/** What the sections of the page share. */

/** A section of the page. `id` is also the target of a link. */
export type Section = { readonly id: string; readonly title: string; readonly content: readonly Child[] };

/** A command as it is typed. */
export function command(words: string): HTMLElement {
  return h('code', { class: 'command', translate: 'no' }, words);
}

/** What to know, or to do, where there is nothing to show. */
export function empty(words: string, typed?: string): Child[] {
  return [h('p', { class: 'empty' }, words, ...(typed === undefined ? [] : [' ', command(typed)]))];
}

/** A text of somebody else, read in its own direction. */
export function quoted(text: string, look = 'said'): HTMLElement {
  return h('span', { class: look, dir: 'auto' }, text);
}

/** A lesson as an item of a list: what failed, what to use in its place, and what is known of it. */
export function lessonItem(
  { said, fix }: Pick<ReportedLesson, 'said' | 'fix'>,
  facts: readonly string[],
  { texts, language }: View,
): HTMLLIElement {
  return h(
    'li',
    {},
    h('p', { class: 'said', dir: 'auto' }, said),
    h(
      'p',
      { class: 'fix', dir: 'auto' },
      h('span', { class: 'arrow' }, `${texts.useThis}: `),
      withCode(fix[language]),
    ),
    facts.length > 0 ? h('p', { class: 'facts' }, facts.join(' · ')) : null,
  );
}

/** What is said of a list of which more is stored than the page has; nothing of others. */
export function cutWords(name: string, count: number, { report, texts, format }: View): string {
  return report.cut.includes(name) ? ` ${texts.cut(format.count(count))}` : '';
}

/** The heading of a table's first column, in which a row is a bar of the chart. */
export function barHeading(view: View): string {
  return unitOf(view) === 'day' ? view.texts.day : view.texts.week;
}

/** What a chart counts, and for how long a bar does. */
export function axisLabel(words: string, view: View): string {
  return `${words}, ${unitOf(view) === 'day' ? view.texts.perDay : view.texts.perWeek}`;
}
