import { commandIn, fileIn } from '../../clients/tools.ts';
import { asRecord, type Json, parseJson, readRecord, readRecords, readString } from '../../core/guards.ts';
import { isAbsolutePath } from '../../core/state-paths.ts';
import type { SaidOrDone } from '../model/run-log.ts';
import { policyName } from '../model/tool-policy.ts';
import { type FileRead, type LineRange, searchHits, shellReads } from './shell-reads.ts';

/** What a run has really read, by its log, and which files of its answer it has not. */

/** A file with the lines of it that were shown, in their order; none: nobody says which. Paths are absolute. */
export type SeenFile = { readonly path: string; readonly lines: readonly LineRange[] };

/** Also what another run has read that was asked by this one. */
const EXPLORE = /^mcp_+self-generation_+explore$|^self-generation_explore$|^explore$/;
const HITS_MAX = 20_000;

/**
 * Takes in what happens in one turn, call by call: only what a call that succeeded has shown was read. `real`: the path of
 * a file without links in it.
 */
export function evidenceReader(cwd: string, real: (path: string) => string = (path) => path) {
  const calls = new Map<string, { readonly tool: string; readonly input: Json }>();
  const files = new Map<string, { lines: LineRange[]; isSomeUnknown: boolean }>();
  let hits = 0;
  const add = ({ path, lines }: FileRead) => {
    const full = real(resolvePath(cwd, path));
    const file = files.get(full) ?? { lines: [], isSomeUnknown: false };
    if (lines === null) file.isSomeUnknown = true;
    else if (hits++ < HITS_MAX) file.lines.push(lines);
    files.set(full, file);
  };
  return {
    push: (event: SaidOrDone) => {
      if (event.kind === 'tool-call') calls.set(event.id, event);
      if (event.kind !== 'tool-result') return;
      const call = calls.get(event.id);
      calls.delete(event.id); // Another turn may use the id again.
      if (call === undefined || event.isError) return;
      for (const read of readsOfCall(call.tool, call.input, event.text)) add(read);
    },
    files: (): SeenFile[] =>
      [...files].map(([path, { lines, isSomeUnknown }]) => {
        // Where some of it is not known, nothing that is named can be said not to have been seen.
        return { path, lines: isSomeUnknown ? [] : merged(lines) };
      }),
  };
}

function readsOfCall(tool: string, input: Json, result: string): FileRead[] {
  if (EXPLORE.test(tool)) return readsOfAnother(result);
  const path = fileIn(input);
  switch (policyName(tool)) {
    case 'read':
      return path === undefined ? [] : [{ path, lines: shownLines(result) ?? askedLines(input) }];
    case 'grep':
      return searchHits(result, path);
    case 'exec':
      return shellReads(String(commandIn(input) ?? ''), result);
    default:
      return [];
  }
}

/** What the answer of `explore` says of files; see agents.ts. */
function readsOfAnother(result: string): FileRead[] {
  const artifacts = readRecord(readRecord(asRecord(parseJson(result)), 'result'), 'artifacts');
  return readRecords(artifacts.filesRead).flatMap((file): FileRead[] => {
    const path = readString(file, 'path');
    if (path === undefined) return [];
    const ranges = readRecords(file.lines).map(({ from, to }) => {
      return { from: Number(from), to: to === null ? null : Number(to) };
    });
    return (ranges.length === 0 ? [null] : ranges).map((lines) => ({ path, lines }));
  });
}

/** By the numbers that two clients write before each line; a file that is shown without them says nothing. */
function shownLines(result: string): LineRange | undefined {
  const numbers = [...result.matchAll(/^ *(\d{1,9})(?:\t|→|: )/gm)].map(([, number]) => Number(number));
  const [from, to] = [numbers[0], numbers.at(-1)];
  const isCounted = numbers.every((number, index) => number === (from ?? 0) + index);
  return from === undefined || to === undefined || !isCounted ? undefined : { from, to };
}

function askedLines(input: Json): LineRange {
  const number = (field: string) => (typeof input[field] === 'number' ? (input[field] as number) : undefined);
  const from = Math.max(1, number('start_line') ?? number('offset') ?? 1);
  const limit = number('limit');
  return { from, to: number('end_line') ?? (limit === undefined ? null : from + limit - 1) };
}

/** In their order, what touches or overlaps as one. */
function merged(ranges: readonly LineRange[]): LineRange[] {
  const found: LineRange[] = [];
  for (const range of ranges.toSorted((one, other) => one.from - other.from)) {
    const last = found.at(-1);
    const lastTo = last === undefined ? 0 : (last.to ?? Number.POSITIVE_INFINITY);
    if (last === undefined || range.from > lastTo + 1) found.push(range);
    else if (range.to === null || range.to > lastTo) found[found.length - 1] = { ...last, to: range.to };
  }
  return found;
}

/** `src/a.ts:1-40,52`, `src/a.ts:1-` to its end; below the directory without it. */
export function seenText({ path, lines }: SeenFile, cwd: string): string {
  const shown = path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
  const ranges = lines.map(({ from, to }) => (to === from ? `${from}` : `${from}-${to ?? ''}`));
  return ranges.length === 0 ? shown : `${shown}:${ranges.join(',')}`;
}

export const UNVERIFIED = '(unverified)';

/** A path in an answer, with lines where it names some: `src/a.ts:10-20`, `a.ts#L10`. */
const NAMED =
  /(?<![\w@/:.\\-])((?:\.{0,2}\/|~\/|[A-Za-z]:[\\/])?(?:[\w@.+-]|\[[\w.-]+\](?=\/))+(?:[\\/](?:[\w@.+-]|\([\w-]+\)(?=\/)|\[[\w.-]+\])+)*)(?:(?::|#L)(\d+)(?:-L?(\d+))?)?(?![\w(/\\])/g;
/** What a bare word has to end with to be a file and not a property: `config.yaml`, not `console.log`. */
const SOURCE =
  /\.(?:[cm]?[jt]sx?|json[c5]?|mdx?|py|go|rs|java|kts?|scala|swift|[ch](?:pp|xx|c|h)?|cs|rb|php|pl|lua|sh|sql|ya?ml|toml|ini|cfg|html?|s?css|less|vue|svelte|xml|txt|csv|proto|s?vh?|vhdl?|tf|gradle)$/i;

/**
 * The answer, in which each path that was never read is marked, as is one whose lines were not shown. `realFile`
 * gives the path without links of a file that there is: a word that could be something else is taken for a path only then.
 */
export function markUnverified(
  answer: string,
  seen: readonly SeenFile[],
  cwd: string,
  realFile: (path: string) => string | undefined,
): string {
  const known = new Map(seen.map((file) => [file.path, file]));
  return answer.replace(
    NAMED,
    (found: string, path: string, first?: string, last?: string, ...rest: unknown[]) => {
      const at = Number(rest[0]);
      const word = path.replace(/[.]+$/, '');
      const full = resolvePath(cwd, word);
      const there = realFile(full);
      const isThere = there !== undefined;
      if (!isThere && !isNamedFile(word, answer, at, first !== undefined)) return found;
      const file = known.get(there ?? full);
      const ending = word.replace(/^(?:\.{3})?\/?/, '/');
      const others = isThere ? [] : seen.filter((one) => one.path.endsWith(ending));
      const from = first === undefined ? null : Number(first);
      const isShown = (one: SeenFile) => from === null || showsLines(one, from, Number(last ?? first));
      if ((file === undefined ? others : [file]).some(isShown)) return found;
      if (
        answer
          .slice(at + found.length)
          .trimStart()
          .startsWith(UNVERIFIED)
      )
        return found;
      const end = found.length - (first === undefined ? path.length - word.length : 0);
      return `${found.slice(0, end)} ${UNVERIFIED}${found.slice(end)}`;
    },
  );
}

function isNamedFile(word: string, answer: string, at: number, hasLines: boolean): boolean {
  if (/^\d+(?:\.\d+)*$/.test(word)) return false;
  if (/[\\/]/.test(word)) return /\.\w{1,10}$/.test(word);
  const before = answer.slice(Math.max(0, at - 8), at);
  const isMarked = hasLines || /[`*]$/.test(before) || /(?:^|\n)\s*(?:[-*]|\d+[.)])\s+$/.test(before);
  return isMarked && SOURCE.test(word);
}

function showsLines({ lines }: SeenFile, from: number, to: number): boolean {
  const isIn = (range: LineRange) => range.from <= to && from <= (range.to ?? Number.POSITIVE_INFINITY);
  return lines.length === 0 || lines.some(isIn);
}

function resolvePath(cwd: string, path: string): string {
  const full = isAbsolutePath(path) ? path : `${cwd}/${path}`;
  const parts: string[] = [];
  for (const part of full.split(/[\\/]/)) {
    if (part === '..') parts.pop();
    else if (part !== '.' && (part !== '' || parts.length === 0)) parts.push(part);
  }
  return parts.join('/');
}
