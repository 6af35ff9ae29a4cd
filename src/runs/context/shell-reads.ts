import { isAbsolutePath } from '../../core/state-paths.ts';

/** Which lines of which files a command line has shown: for clients that read by commands. */

/** Lines from 1 on, both ends among them; null: to the end. */
export type LineRange = { readonly from: number; readonly to: number | null };

/** `lines` null: some of its lines, nobody says which. */
export type FileRead = { readonly path: string; readonly lines: LineRange | null };

const WHOLE: LineRange = { from: 1, to: null };
const HEAD_LINES = 10;
const SEARCHES = ['rg', 'grep', 'egrep', 'fgrep', 'ag'];
const WHOLE_READERS = ['cat', 'nl', 'bat', 'less', 'more', 'tac'];

/**
 * The files that a command line has read when it ended well: by cat, nl, head, tail, sed -n, and by a search that says
 * which lines it has found. Names are taken as they stand, below the directory of a `cd` before them; what a shell would
 * have to expand is left out.
 */
export function shellReads(command: string, output: string): FileRead[] {
  let directory = '';
  const reads: FileRead[] = [];
  for (const pipeline of splitCommand(command)) {
    const [first = [], ...filters] = pipeline;
    const [program = '', ...args] = first;
    const name = program.slice(program.lastIndexOf('/') + 1);
    if (name === 'cd') directory = joined(directory, args[0] ?? '');
    const isSearch = SEARCHES.includes(name) || (name === 'git' && args[0] === 'grep');
    const found = isSearch ? searchHits(output, plainNames(args).at(-1)) : readsOf(name, args, filters);
    reads.push(...found.map((read) => ({ ...read, path: joined(directory, read.path) })));
  }
  return reads;
}

function readsOf(name: string, args: readonly string[], filters: readonly (readonly string[])[]): FileRead[] {
  const files = plainNames(args);
  const lines = WHOLE_READERS.includes(name) ? WHOLE : sliceOf(name, args);
  if (lines === undefined) return [];
  // `nl -ba file | sed -n '10,20p'` has shown what the last of them let through.
  const shown = filters.reduce<LineRange | null>(
    (range, [filter = '', ...rest]) => (range === WHOLE ? (sliceOf(filter, rest) ?? null) : null),
    lines,
  );
  const names = name === 'sed' ? files.slice(1) : files;
  return names.map((path) => ({ path, lines: shown }));
}

/** What of a file these let through; null: it cannot be said, undefined: they are no such filter. */
function sliceOf(name: string, args: readonly string[]): LineRange | null | undefined {
  const count = /^-(?:n|-lines=)?\s*(\+?\d+)$/.exec(
    args.join(' ').match(/-(?:n|-lines=)?\s*\+?\d+/)?.[0] ?? '',
  );
  if (name === 'head') return { from: 1, to: Number(count?.[1] ?? HEAD_LINES) };
  if (name === 'tail') return count?.[1]?.startsWith('+') ? { from: Number(count[1]), to: null } : null;
  if (name !== 'sed' || !args.includes('-n')) return name === 'sed' ? null : undefined;
  const script = args.find((arg) => !arg.startsWith('-')) ?? '';
  const [, from, to] = /^(\d+)(?:,(\d+|\$))?p$/.exec(script) ?? [];
  if (from === undefined) return null;
  return { from: Number(from), to: to === '$' ? null : Number(to ?? from) };
}

/** Arguments that are no options, and none of an option; nothing that a shell expands. */
function plainNames(args: readonly string[]): string[] {
  return args.filter((arg, index) => {
    const isCount = /^\+?\d+$/.test(arg) && /^-[nc]$/.test(args[index - 1] ?? '');
    return !arg.startsWith('-') && !isCount && !/[*?$`<>]/.test(arg.replace(/^\d+(?:,(?:\d+|\$))?p$/, ''));
  });
}

/**
 * `path:12:text`, and `path-11-text` around it; `12:text` where only one file was searched; a path on a line, and
 * `Line 12:` or `L12:` below it.
 */
export function searchHits(output: string, only: string | undefined): FileRead[] {
  let heading = only;
  const lines = output.split('\n');
  const paths = new Set(lines.map((line) => HIT.exec(line)?.[1]));
  return lines.flatMap((line) => {
    const [, title] = /^(?:File: )?((?:\/|[\w.-]+\/|[\w-]+\.)[^:\n]{0,1000}?):?$/.exec(line) ?? [];
    if (title !== undefined) heading = title;
    const [, path, number] = HIT.exec(line) ?? [];
    if (path !== undefined && !/^\s*\d+$/.test(path)) return [hit(path, number)];
    const [, near, nearNumber] = /^([^\s-][^\n]{0,1000}?)-(\d+)-/.exec(line) ?? [];
    if (near !== undefined && paths.has(near)) return [hit(near, nearNumber)];
    const [, own] = /^\s*(?:Line |L)?(\d+)[:-]/.exec(line) ?? [];
    return own === undefined || heading === undefined ? [] : [hit(heading, own)];
  });
}

const HIT = /^([^:\s][^:\n]{0,1000}):(\d+)[:-]/;

function hit(path: string, number: string | undefined): FileRead {
  return { path, lines: { from: Number(number), to: Number(number) } };
}

function joined(directory: string, path: string): string {
  return directory === '' || isAbsolutePath(path) ? path : `${directory}/${path}`;
}

/** The pipelines of a command line, each its commands, each their words; quotes are taken off. */
function splitCommand(command: string): string[][][] {
  const pipelines: string[][][] = [[[]]];
  let word: string | undefined;
  const endWord = () => {
    if (word !== undefined) pipelines.at(-1)?.at(-1)?.push(word);
    word = undefined;
  };
  for (const [token] of command.matchAll(
    /"(?:[^"\\]|\\.)*"|'[^']*'|\\.|&&|\|\||[;&|\n]|[^\S\n]+|[^\s"'\\;&|]+|./gs,
  )) {
    if (/^[^\S\n]+$/.test(token)) endWord();
    else if (/^(?:&&|\|\||[;&|\n])$/.test(token)) {
      endWord();
      if (token === '|') pipelines.at(-1)?.push([]);
      else pipelines.push([[]]);
    } else word = (word ?? '') + unquoted(token);
  }
  endWord();
  return pipelines;
}

function unquoted(token: string): string {
  if (token.startsWith("'") && token.length > 1) return token.slice(1, -1);
  if (token.startsWith('"') && token.length > 1) return token.slice(1, -1).replace(/\\(["\\$`])/g, '$1');
  return token.startsWith('\\') ? token.slice(1) : token;
}
