import { AROUND_PROGRAM, CAUSES } from './error-wordings.ts';
import { OF_THE_SYSTEM } from './names-in-errors.ts';

/** What identifies an error exactly: its code, and the program that is missing. */

/** `TS2304`, `E0382`, `LNK1104`, `P1001`, `ERR_REQUIRE_ESM`, `curl: (7)`, `code: '28P01'`. */
const CODE =
  /\b(?!SHA|UTF|ISO|RFC|ED|CVE)[A-Z]{1,6}-?(?:\d{4,5}|0\d{3})\b|\bERR_[A-Z_]+|curl: \(\d+\)|\bcode: '[0-9A-Z]{5}'|status=\d+\/[A-Z]+|ERROR \d{4} \(/g;
const MAY_HAVE_CODE = /\d\d|\d:\d|ERR_|curl/;
/** `5:1  error  'x' is not defined  no-undef`. */
const RULE = /^\d+:\d+ +(?:error|warning) .* {2}([\w@/-]+)$/m;
/** Codes of one compiler for one mistake. */
const EQUAL_CODES = (
  'TS2531 TS18047|TS2532 TS18048|TS2533 TS18049|TS2304 TS2552|TS2339 TS2551|TS2591 TS2580|TS2593 TS2582|' +
  'TS2741 TS2739 TS2740|TS2554 TS2555|TS2305 TS2614 TS2724|TS5083 TS6053|TS7006 TS7031 TS7005 TS7034|' +
  'TS2571 TS18046|TS6133 TS6192 TS6196 TS6198|TS2307 TS2792|LNK1104 LNK1168'
)
  .split('|')
  .map((codes) => codes.split(' '));

/** The codes in the text, and the rule of a linter. */
export function codesIn(text: string): Set<string> {
  const codes = new Set<string>();
  if (!MAY_HAVE_CODE.test(text)) return codes;
  for (const code of text.match(CODE) ?? []) codes.add(equalCodes(code)[0] as string);
  const rule = text.includes(':') ? RULE.exec(text)?.[1] : undefined;
  if (rule !== undefined) codes.add(`rule ${rule}`);
  return codes;
}

/** All codes for the same mistake, first the one that stands for them. */
export function equalCodes(code: string): readonly string[] {
  return EQUAL_CODES.find((codes) => codes.includes(code)) ?? [code];
}

/** Whether both have codes of one kind, and none in common. */
export function codesDiffer(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  let isSameKind = false;
  for (const code of left) {
    if (right.has(code)) return false;
    for (const other of right) isSameKind ||= kindOf(code) === kindOf(other);
  }
  return isSameKind;
}

/** What stands before the number. */
function kindOf(code: string): string {
  if (code.startsWith('ERR_')) return 'ERR_';
  return code.startsWith('rule ') ? 'rule' : code.replace(/\d.*/, '');
}

/** The program that a shell, make or an image did not find. */
export function missingProgram(text: string): string | undefined {
  for (const around of AROUND_PROGRAM) {
    const [before = '', after = ''] = around.split('*');
    const name =
      before.length > after.length ? nameBehind(text, before, after) : nameBefore(text, before, after);
    if (name !== '') return name;
  }
  return undefined;
}

function nameBehind(text: string, before: string, after: string): string {
  const at = text.indexOf(before);
  if (at < 0) return '';
  const start = at + before.length;
  let end = start;
  while (isOfName(text.charCodeAt(end))) end++;
  return text.startsWith(after, end) ? text.slice(start, end) : '';
}

function nameBefore(text: string, before: string, after: string): string {
  const end = text.indexOf(after);
  if (end < 0) return '';
  let start = end;
  while (isOfName(text.charCodeAt(start - 1))) start--;
  return text.endsWith(before, start) ? text.slice(start, end) : '';
}

/** Letters, digits, `+`, `-`, `.`, `_`. */
function isOfName(code: number): boolean {
  const isDigit = code >= 0x30 && code <= 0x39;
  return isLetter(code | 0x20) || isDigit || code === 0x2b || code === 0x2d || code === 0x2e || code === 0x5f;
}

/** By what a program, or a language, is known in what is printed. */
const PROGRAMS: readonly RegExp[] = [
  OF_THE_SYSTEM,
  /\bTS\d{4}\b|\btsc\b/,
  /error\[E\d{4}\]|\bcargo\b|rustc|\.rs:\d|panicked at/i,
  /\.go:\d|\bgo: |goroutine|go\.(?:mod|sum)\b|dial (?:tcp|unix)/,
  /\.java:\d|\bjava[x.]|Exception in thread|JAVA_HOME|maven-compiler|(?:source|target) release/i,
  /gradle|configuration ':|task ':|^\* What went/i,
  /maven|\bmvn|^Failed to execute goal|^BUILD FAILURE/im,
  /Traceback|File "|\.py\b|\b[A-Z]\w+Error: \[Errno|\[Errno \d|\bpip\b|pytest|^(?:Module|Import|Indentation|Key|Unicode\w+|OS|Recursion|Index|Attribute)\w*Error\b|^(?!java|org\.|com\.|io\.)(?:[a-z_]+\.)+\w+(?:Error|Exception)\b/m,
  /node:|\.[cm]?js\b|\b(?:code|syscall): '|\bE[A-Z]{5,}\b|^(?:Range|Reference|Syntax)Error\b|^(?:Uncaught )?TypeError: [A-Z]/m,
  /^code E|\bnpm\b|registry\.npmjs|\bjest\b|vitest|testTimeout|^error \S+@\d|[Ss]napshot/m,
  /postgres|psql|psycopg|pg-protocol|PSQL|relation|릴레이션|:?5432\b|^오류: /m,
  /mysql|mariadb|ERROR \d{4} \(/i,
  /redis|NOAUTH|WRONGPASS|MISCONF|:6379\b/i,
  /sqlite|no such (?:table|column)/i,
  /docker|buildkit|response from daemon|failed to solve|pull rate limit/i,
  /kube|connection to the server \S+ was/i,
  /\bgit\b|git@|^fatal: |^hint: |^remote: |unstaged|\brebase\b/m,
  /curl: \(/,
  /\bssh\b|\bscp\b/,
  /nginx|connecting to upstream/,
  /\bapt\b|dpkg|^[EWN]: /m,
  /terraform/i,
  /\baws\b|\barn:/i,
  /gcloud/,
  /^make: |Makefile/m,
  /cmake/i,
  /\bld\b|collect2|\.[ch](?:pp)?:\d/,
];

/** The programs that a text is of, by their place in the table: often several, one within the other. */
export function programsIn(text: string): Set<number> {
  const programs = new Set<number>();
  for (const [index, sign] of PROGRAMS.entries()) if (sign.test(text)) programs.add(index);
  return programs;
}

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
  const isIn = (part: string) => lower.includes(part);
  for (const cause of causes) for (const parts of wordingsOf(cause)) if (parts.every(isIn)) return true;
  return false;
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

const partsOf = (wording: string) =>
  wording.charCodeAt(0) === GAPS ? wording.slice(1).split('*') : [wording];

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

const isLetter = (code: number): boolean => code >= 0x61 && code <= 0x7a;

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
