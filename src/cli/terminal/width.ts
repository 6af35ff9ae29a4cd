/** Texts in the columns of a terminal. Wide characters take two, control sequences none. */

/** As much of a line as is shown in so many columns. */
export function cutToWidth(line: string, columns: number): string {
  if (line === '' || Bun.stringWidth(line) <= columns) return line;
  let cut = '';
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (Bun.stringWidth(cut + segment) >= columns) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** The text with lines that are too long broken between words, each as far from the left as its line. A word stays whole: it may be a path that somebody copies. */
export function wrapped(text: string, columns: number): string {
  const broken = (line: string) => {
    if (Bun.stringWidth(line) <= columns) return line;
    const [indent = ''] = /^ */.exec(line) ?? [];
    const room = Math.max(1, columns - indent.length);
    const lines = Bun.wrapAnsi(line.slice(indent.length), room, { hard: false }).split('\n');
    return lines.map((part) => `${indent}${part.trimEnd()}`).join('\n');
  };
  return text.split('\n').map(broken).join('\n');
}

/** A table, its first row the heading. `right`: the columns whose cells stand at the right. */
export type Cells = {
  readonly rows: readonly (readonly string[])[];
  readonly right?: readonly number[];
};

const GAP = '  ';
/** A column is not made narrower than this; where there is still too little room, each row becomes a block of lines. */
const COLUMN_WIDTH_MIN = 10;
/** The words of the first column stay whole up to this: they are what the row is about, such as the name of a setting. */
const NAME_WIDTH_MAX = 50;

/** The lines of the table: not wider than so many columns, and nothing left out. */
export function tableLines({ rows, right = [] }: Cells, columns: number): string[] {
  const [name = 0] = widestOf(rows, (cell) => cell.split(' '));
  const nameWidth = Math.max(COLUMN_WIDTH_MIN, Math.min(NAME_WIDTH_MAX, name));
  const widths = fittingWidths(widestOf(rows), nameWidth, columns);
  if (widths === undefined) return blockLines(rows, columns);
  return rows.flatMap((row) => {
    const cells = row.map((cell, at) => linesOf(cell, widths[at] ?? 0));
    const height = Math.max(1, ...cells.map((lines) => lines.length));
    return Array.from({ length: height }, (_, index) =>
      cells
        .map((lines, at) => padded(lines[index] ?? '', widths[at] ?? 0, right.includes(at)))
        .join(GAP)
        .trimEnd(),
    );
  });
}

/** The width of the widest part of each column. */
function widestOf(rows: Cells['rows'], parts = (cell: string) => [cell]): number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries())
      widths[at] = Math.max(widths[at] ?? 0, ...parts(cell).map((part) => Bun.stringWidth(part)));
  return widths;
}

/** What is too much is taken from the widest columns; undefined where that would leave too little of them. */
function fittingWidths(natural: readonly number[], nameWidth: number, columns: number): number[] | undefined {
  const widths = [...natural];
  const room = columns - GAP.length * (widths.length - 1);
  const spare = (at: number) => {
    const width = widths[at] ?? 0;
    return width > (at === 0 ? nameWidth : COLUMN_WIDTH_MIN) ? width : 0;
  };
  for (let sum = widths.reduce((one, other) => one + other, 0); sum > room; sum--) {
    const at = [...widths.keys()].reduce((one, other) => (spare(other) > spare(one) ? other : one), 0);
    if (spare(at) === 0) return undefined;
    widths[at] = (widths[at] ?? 0) - 1;
  }
  return widths;
}

function linesOf(cell: string, width: number): string[] {
  return Bun.stringWidth(cell) <= width ? [cell] : Bun.wrapAnsi(cell, width, { hard: true }).split('\n');
}

function padded(cell: string, width: number, isRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - Bun.stringWidth(cell)));
  return isRight ? blanks + cell : cell + blanks;
}

/** Each row as lines of `heading: cell`, with an empty line between rows. */
function blockLines([heading = [], ...rows]: Cells['rows'], columns: number): string[] {
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...row.flatMap((cell, at) => {
      const label = heading[at] ?? '';
      if (cell === '') return [];
      const [first = '', ...more] = linesOf(label === '' ? cell : `${label}: ${cell}`, columns);
      const rest = more.length === 0 ? [] : linesOf(more.join(' '), columns - GAP.length);
      return [first, ...rest.map((line) => GAP + line)];
    }),
  ]);
}
