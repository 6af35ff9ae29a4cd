import { type Child, h } from './dom.ts';
import type { Texts } from './texts.ts';

/** A column: its heading, and whether it holds numbers. */
export type Column = { readonly words: string; readonly isNumber?: boolean };

type Rows = { readonly rows: readonly (readonly Child[])[]; readonly total?: readonly Child[] };

const ROWS_SHOWN = 12;

/** A table with a caption. The first cell of a row names it. Long ones show their beginning and a button. */
export function table(
  caption: string,
  columns: readonly Column[],
  { rows, total }: Rows,
  texts: Texts,
): HTMLElement {
  const cells = (row: readonly Child[]) =>
    row.map((cell, index) => {
      const look = columns[index]?.isNumber ? 'number' : undefined;
      return index === 0 ? h('th', { scope: 'row', class: look }, cell) : h('td', { class: look }, cell);
    });
  const headings = columns.map(({ words, isNumber }) =>
    h('th', { scope: 'col', class: isNumber ? 'number' : undefined }, words),
  );
  const all = rows.map((row) => h('tr', {}, cells(row)));
  const content = h(
    'table',
    {},
    h('caption', {}, caption),
    h('thead', {}, h('tr', {}, headings)),
    h('tbody', {}, all),
    total === undefined ? null : h('tfoot', {}, h('tr', {}, cells(total))),
  );
  // What may have to be scrolled has to be reached by the keyboard.
  const region = h(
    'div',
    { class: 'scrolled', role: 'region', tabindex: 0, 'aria-label': texts.tableOf(caption) },
    content,
  );
  return folded(region, all, texts);
}

/** A list of entries. Long ones show their beginning and a button. */
export function entries(items: readonly HTMLLIElement[], texts: Texts): HTMLElement {
  return folded(h('ul', { class: 'entries' }, items), items, texts);
}

/** Hides what comes after the first rows until it is asked for. */
function folded(content: HTMLElement, rows: readonly HTMLElement[], texts: Texts): HTMLElement {
  const rest = rows.slice(ROWS_SHOWN);
  if (rest.length === 0) return content;
  for (const row of rest) row.hidden = true;
  const button = h('button', { type: 'button' }, texts.showAll(String(rows.length)));
  button.addEventListener('click', () => {
    for (const row of rest) row.hidden = false;
    button.remove();
    // The keyboard goes on at the first of those that came.
    const next = rest[0];
    if (next === undefined) return;
    next.tabIndex = -1;
    next.focus();
  });
  return h('div', {}, content, button);
}
