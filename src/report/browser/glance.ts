import type { Answer } from '../report.ts';
import { type Child, h } from './dom.ts';
import { command, lessonItem } from './section.ts';
import { isShown, ofDays, ofProject, projectName, type View } from './view.ts';

/** The three questions at the top: is it helping, what was learnt, what needs a decision. */

const SHOWN_MAX = 3;
const OPEN_MIN = 3;

/** All three, or what a new user has to do. */
export function glance(view: View): HTMLElement {
  if (!view.report.isAnythingRecorded) return begin(view);
  return h('div', { class: 'glance' }, helping(view), learnt(view), decide(view));
}

function begin({ texts }: View): HTMLElement {
  const steps = texts.emptySteps.map(([words = '', typed = '']) => h('li', {}, words, ' ', command(typed)));
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'begin' },
    h('h2', { id: 'begin' }, texts.emptyTitle),
    h('p', {}, texts.emptyWords),
    h('ol', {}, steps),
  );
}

function card(id: string, title: string, ...children: readonly Child[]): HTMLElement {
  return h('section', { class: 'card', 'aria-labelledby': id }, h('h2', { id }, title), ...children);
}

function helping(view: View): HTMLElement {
  const { texts, report } = view;
  const { proof } = report;
  if (proof === null) return card('helping', texts.helping, h('p', {}, texts.proofAbsent));
  const { start, failure, holdOut } = proof;
  const isCompared = [start, failure].some(({ told, heldOut }) => told + heldOut > 0);
  const more = h(
    'p',
    { class: 'note' },
    texts.helpingScope,
    ' ',
    texts.proofMore,
    ' ',
    command('self-generation proof'),
  );
  if (isCompared)
    return card(
      ...(['helping', texts.helping] as const),
      answer(texts.atStart, start, texts.came, view),
      answer(texts.atFailure, failure, texts.settled, view),
      more,
    );
  const why =
    holdOut === 'off'
      ? [texts.holdOutOff, ' ', command('self-generation config set proof.holdOut trial')]
      : [texts.noCoin];
  const always = start.always + failure.always;
  return card(
    ...(['helping', texts.helping] as const),
    h('p', { class: 'verdict' }, texts.verdicts.unknown),
    always > 0 ? h('p', {}, texts.always(view.format.count(always))) : null,
    h('p', {}, why),
    more,
  );
}

function answer(question: string, answer: Answer, came: View['texts']['came'], view: View): HTMLElement {
  const { texts, format, report } = view;
  const { verdict, told, heldOut, toldCame, heldCame, evidence, harm, outlook } = answer;
  const { count } = format;
  const isOpen = verdict === 'open' || verdict === 'unknown';
  const weeks = report.proof?.weeksSeen ?? 0;
  const when = weeks < 1 ? texts.rateUnknown : texts.outlook(outlook);
  if (told + heldOut === 0)
    return h(
      'div',
      { class: 'answer' },
      h('h3', {}, question),
      h('p', { class: 'verdict' }, texts.verdicts.unknown),
      h('p', {}, texts.nothingCompared),
    );
  return h(
    'div',
    { class: 'answer' },
    h('h3', {}, question),
    h('p', { class: `verdict ${verdict}` }, texts.verdicts[verdict]),
    h('p', {}, `${texts.counts(count(told), count(heldOut))} ${came(count(toldCame), count(heldCame))}`),
    h(
      'p',
      {},
      texts.evidence(format.evidence(evidence), format.evidence(harm)),
      isOpen && report.proof?.holdOut !== 'off' ? ` ${when}` : '',
    ),
  );
}

function learnt(view: View): HTMLElement {
  const { texts, format, report } = view;
  const told = ofProject(report.lessons, view).filter(({ state }) => state !== 'withdrawn');
  if (told.length === 0)
    return card(
      'learnt',
      texts.learnt,
      h('p', {}, texts.noLessons),
      h('p', {}, command('self-generation import')),
    );
  const recent = told.filter(({ lastTs }) => lastTs !== null && isShown(lastTs, view)).length;
  const most = told
    .slice(0, SHOWN_MAX)
    .map((lesson) =>
      lessonItem(lesson, view.project === null ? [projectName(lesson.project, view)] : [], view),
    );
  return card(
    ...(['learnt', texts.learnt] as const),
    h('p', { class: 'verdict' }, texts.lessonsKnown(format.count(told.length))),
    h('p', {}, `${texts.lessonsRecent(format.count(recent))} ${texts.mostSeen}`),
    h('ul', { class: 'plain' }, most),
    h('p', {}, h('a', { href: '#lessons' }, texts.lessonsAll)),
  );
}

function decide(view: View): HTMLElement {
  const { texts, format, report } = view;
  const waiting = ofProject(report.suggestions, view).filter(
    ({ status }) => status === 'new' || status === 'shown',
  );
  const open = openErrors(view);
  const suggestions = waiting
    .slice(0, SHOWN_MAX)
    .map(({ id, summary }) =>
      h(
        'li',
        {},
        h('p', { dir: 'auto' }, summary),
        h('p', { class: 'facts' }, `${texts.applyHow} `, command(`self-generation apply ${id}`)),
      ),
    );
  const known = open.find(({ id }) => id !== null);
  return card(
    ...(['decide', texts.decide] as const),
    h(
      'p',
      { class: 'verdict' },
      waiting.length > 0 ? texts.waiting(format.count(waiting.length)) : texts.nothingWaits,
    ),
    suggestions.length > 0 ? h('ul', { class: 'plain' }, suggestions) : null,
    waiting.length === 0 ? h('p', {}, texts.askModel, ' ', command('self-generation analyze')) : null,
    report.unreadResults > 0
      ? h(
          'p',
          {},
          texts.unread(format.count(report.unreadResults)),
          ' ',
          command('self-generation subagents inbox'),
        )
      : null,
    known === undefined
      ? null
      : h(
          'div',
          {},
          h('p', {}, `${texts.openErrors(format.count(open.length))} ${texts.openErrorsHow} `),
          h('p', { class: 'said', dir: 'auto' }, known.said),
          h('p', {}, command(`self-generation errors resolve ${known.id} '…'`)),
        ),
  );
}

function openErrors(view: View) {
  return ofProject(view.report.errors, view).filter(({ isSolved, isWrongCall, days }) => {
    const those = ofDays(
      days.map(([day, n]) => ({ day, n, project: view.project ?? 0 })),
      view,
    );
    return isWrongCall && !isSolved && those.reduce((sum, { n }) => sum + n, 0) >= OPEN_MIN;
  });
}
