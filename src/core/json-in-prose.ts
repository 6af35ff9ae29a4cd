import { isRecord, type Json, parseJson } from './guards.ts';

/** JSON objects that stand in the prose of a model, fenced or not. */

export type FoundJson = {
  readonly value: Json;
  /** Where it stands in the text, with the fence around it if that holds nothing else. */
  readonly start: number;
  readonly end: number;
};

/** How many characters are looked at in all: braces that never close would be looked at again and again. */
const STEPS_MAX = 8_000_000;
/** What is no JSON after all costs an exception, which is as long as looking at this many. */
const STEPS_OF_PARSING = 100;

/** The objects for which `isWanted` holds, in their order; none of them is inside another one. */
export function jsonInProse(text: string, isWanted: (value: Json) => boolean): FoundJson[] {
  const found: FoundJson[] = [];
  let steps = STEPS_MAX;
  const opening = /\{(?=\s*["}])/g;
  for (let match = opening.exec(text); match !== null && steps > 0; match = opening.exec(text)) {
    const end = objectEnd(text, match.index, steps);
    steps -= Math.abs(end) - match.index + STEPS_OF_PARSING;
    const value = end > 0 ? parseJson(text.slice(match.index, end)) : undefined;
    if (!isRecord(value) || !isWanted(value)) continue;
    found.push({ value, ...withFence(text, match.index, end) });
    opening.lastIndex = end;
  }
  return found;
}

/** Behind the brace that closes the one at `start`; where it was given up, as a negative number, if none does. */
function objectEnd(text: string, start: number, steps: number): number {
  let depth = 0;
  let isString = false;
  const last = Math.min(text.length, start + steps);
  for (let at = start; at < last; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isString = !isString;
    else if (isString && code === 0x5c) at++;
    else if (isString) continue;
    else if (code === 0x7b) depth++;
    else if (code === 0x7d && --depth === 0) return at + 1;
  }
  return -last;
}

function withFence(text: string, start: number, end: number): Pick<FoundJson, 'start' | 'end'> {
  const before = /(?:^|\n)[ \t]*```[\w-]*[ \t]*\n\s*$/.exec(text.slice(Math.max(0, start - 200), start));
  const after = /^\s*\n[ \t]*```[ \t]*(?=\n|$)/.exec(text.slice(end, end + 200));
  if (before === null || after === null) return { start, end };
  return { start: start - before[0].length, end: end + after[0].length };
}

/** The text without that object. */
export function withoutJson(text: string, { start, end }: FoundJson): string {
  return `${text.slice(0, start).trimEnd()}\n\n${text.slice(end).trimStart()}`.trim();
}
