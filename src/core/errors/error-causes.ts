import { CAUSES } from './error-wordings.ts';

/** The causes that a text names, by their line. `telling` are those that are the same fix on their own. */
export type Causes = { readonly telling: ReadonlySet<number>; readonly general: ReadonlySet<number> };

const LINE_END = 0x0a;
const GENERAL = 0x7e;
const GAPS = 0x2a;

let cells: readonly string[] | undefined;

/**
 * The causes that are named in the text. One plain loop over one list: a hook runs it once, and everything else would
 * cost more than the search itself.
 */
export function causesIn(text: string): Causes {
  cells ??= CAUSES.split('|');
  const lower = text.toLowerCase();
  const telling = new Set<number>();
  const general = new Set<number>();
  let isGeneral = false;
  let isDecided = false;
  let cause = 0;
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index] as string;
    const sign = cell.charCodeAt(0);
    if (sign === LINE_END) {
      cause = index;
      isGeneral = false;
      if (cell.length > 1) isDecided = false;
    } else if (sign === GENERAL) isGeneral = true;
    else if (
      !isDecided &&
      (sign === GAPS ? holdsParts(lower, cell) : lower.includes(cell) && holds(lower, cell))
    ) {
      isDecided = true;
      (isGeneral ? general : telling).add(cause);
    }
  }
  return { telling, general };
}

/** Whether the text may name one of these causes: cheaper than looking for all. */
export function mayName(text: string, causes: ReadonlySet<number>): boolean {
  const lower = text.toLowerCase();
  for (const cause of causes) for (const parts of wordingsOf(cause)) if (hasAll(lower, parts)) return true;
  return false;
}

function hasAll(text: string, parts: readonly string[]): boolean {
  for (const part of parts) if (!text.includes(part)) return false;
  return true;
}

/** Each wording of a cause, as the parts that follow one another. */
export function wordingsOf(cause: number): string[][] {
  const wordings: string[][] = [];
  for (let index = cause + 1; cells !== undefined && index < cells.length; index++) {
    const cell = cells[index] as string;
    const sign = cell.charCodeAt(0);
    if (sign === LINE_END) break;
    if (sign !== GENERAL) wordings.push(partsOf(cell));
  }
  return wordings;
}

function partsOf(wording: string): string[] {
  return wording.charCodeAt(0) === GAPS ? wording.slice(1).split('*') : [wording];
}

/** `enotfound` is not in `ModuleNotFoundError`. */
function holds(text: string, wording: string): boolean {
  for (let at = text.indexOf(wording); at >= 0; at = text.indexOf(wording, at + 1)) {
    if (isWordStart(text, at)) return true;
  }
  return false;
}

function isWordStart(text: string, at: number): boolean {
  return at === 0 || !isLetter(text.charCodeAt(at)) || !isLetter(text.charCodeAt(at - 1));
}

function isLetter(code: number): boolean {
  return code >= 0x61 && code <= 0x7a;
}

/** Whether the parts of the wording stand in the text one after the other, on one line. */
function holdsParts(text: string, wording: string): boolean {
  const first = wording.slice(1, wording.indexOf('*', 1));
  let start = text.indexOf(first);
  if (start < 0) return false;
  const parts = partsOf(wording);
  for (; start >= 0; start = text.indexOf(first, start + 1)) {
    if (!isWordStart(text, start)) continue;
    const lineEnd = text.indexOf('\n', start);
    const line = text.slice(start, lineEnd < 0 ? text.length : lineEnd);
    let at = 0;
    for (const part of parts) {
      const next = line.indexOf(part, at);
      at = next < 0 ? Number.POSITIVE_INFINITY : next + part.length;
    }
    if (at <= line.length) return true;
  }
  return false;
}
