import { type Child, h } from './dom.ts';
import type { Texts } from './texts.ts';

/** A column: its heading, and whether it holds numbers. */
export type Column = { readonly words: string; readonly isNumber?: boolean };

/** Rows are made when they are shown: a thousand of them take a browser longer than the rest of the page. */
type Rows = { readonly rows: readonly (() => readonly Child[])[]; readonly total?: readonly Child[] };

const ROWS_SHOWN = 12;

/** A table with a caption. The first cell of a row names it. Long ones show their beginning and a button. */
export function table(
  caption: string,
  columns: readonly Column[],
  { rows, total }: Rows,
  texts: Texts,
): HTMLElement {
  const rowOf = (row: readonly Child[]) => {
    const cells = row.map((cell, index) => {
      const look = columns[index]?.isNumber ? 'number' : undefined;
      return index === 0 ? h('th', { scope: 'row', class: look }, cell) : h('td', { class: look }, cell);
    });
    return h('tr', {}, cells);
  };
  const headings = columns.map(({ words, isNumber }) =>
    h('th', { scope: 'col', class: isNumber ? 'number' : undefined }, words),
  );
  const body = h('tbody');
  const content = h(
    'table',
    {},
    h('caption', {}, caption),
    h('thead', {}, h('tr', {}, headings)),
    body,
    total === undefined ? null : h('tfoot', {}, rowOf(total)),
  );
  // What may have to be scrolled has to be reached by the keyboard.
  const region = h(
    'div',
    { class: 'scrolled', role: 'region', tabindex: 0, 'aria-label': texts.tableOf(caption) },
    content,
  );
  const button = fill(
    body,
    rows.map((row) => () => rowOf(row())),
    texts,
  );
  return h('div', {}, region, button);
}

/** A list of entries. Long ones show their beginning and a button. */
export function entries(items: readonly (() => HTMLLIElement)[], texts: Texts): HTMLElement {
  const list = h('ul', { class: 'entries' });
  return h('div', {}, list, fill(list, items, texts));
}

/** Puts the first rows into their place; gives a button for the others, null where there are none. */
function fill(place: HTMLElement, rows: readonly (() => HTMLElement)[], texts: Texts): HTMLElement | null {
  const add = (those: typeof rows) => {
    const made = those.map((make) => make());
    place.append(...made);
    return made;
  };
  add(rows.slice(0, ROWS_SHOWN));
  if (rows.length <= ROWS_SHOWN) return null;
  const button = h('button', { type: 'button' }, texts.showAll(String(rows.length)));
  button.addEventListener('click', () => {
    const [next] = add(rows.slice(ROWS_SHOWN));
    button.remove();
    // The keyboard goes on at the first of those that came.
    if (next === undefined) return;
    next.tabIndex = -1;
    next.focus();
  });
  return button;
}
