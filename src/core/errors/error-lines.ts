/** The lines of an output that say what went wrong, without what programs print around them. */

const LINES_MAX = 200;
const KEPT_MAX = 8;
const LINE_LENGTH_MAX = 400;

/** First words of lines that are about something else: stacks, what ran, how often it failed. Looked up as ` word `. */
const OTHER_FIRST_WORDS =
  ' at goroutine Traceback Emitted throw raise return Node.js ... ❯ --> LINE 줄 위치 $ + # -- --- info INFO INFO: [notice]' +
  ' Checking Updating Compiling Downloading Building collect2: cc1: 컴파일이 FAILURE: FAIL FAILED' +
  ' FAILED: Tests Tests: Snapshots: Time: note: help: ';
/** Longer beginnings of such lines. */
const OTHER_BEGINNINGS = (
  'File "|from /|from <|created by |stack backtrace|Stack trace|Require stack|During handling of|' +
  'The above exception|make: *** [|make: Entering|make: Leaving|make: Verzeichnis|make: 디렉터리|ninja: build stopped|Picked up |' +
  'Unable to find image|Command failed|Process finished|error Command failed|' +
  'error: failed to push some refs|error: could not compile|error: aborting due|error: linking with|' +
  'clang: error: linker command|error: test failed|error: failed to run custom build command|' +
  "process didn't exit successfully|ERROR: failed to solve: process|warning: build failed|" +
  'compilation terminated|BUILD FAIL|What went wrong|Execution failed for task|Test suite|Test Suites|' +
  'Test Files|For more information|Ran all|Found 1 error|While resolving|Found: |Try:|Run with --|Get more help|To see the full stack|Re-run Maven|' +
  '[Help 1]|A complete log'
).split('|');
/** The same behind `npm ERR!` and `gyp ERR!`. */
const OTHER_OF_NPM = ' errno path cwd command syscall Lifecycle A build System node not ';

const TAG = 'tool_use_error>';
const OF_NPM = /^(?:npm|gyp) (?:ERR!|error) (?:stack )?/;
/** How deep make calls itself says nothing. */
const OF_MAKE = /^g?make(?:\[\d+\])?: /;
/** Who says it, and when: log times, levels, process numbers, bullets, pytest's margin. */
const PREFIX =
  /^(?:E {2,}|FAILED \S+ - |#\d+ [\d.]+ +|[>*●×✖›⠿] |\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z| ?[+-]\d{4})?\]? *|\[\d[\d:.]*\] *|\d\d:\d\d:\d\d[\d.,]* +|\[[A-Za-z]{4,5}\]:? *|\(node:\d+\) |remote: )+/;
/** `12 | let x`, `> 12 | let x`, ` | ^^^`, `#8 [4/6] COPY`, `3 errors`. */
const CODE_OR_COUNT =
  /^(?:=+ .* =+$|>? ?\d* ?\||#?\d+ (?:\[|errors?\b|warnings?\b|problems?\b|failing\b|passing\b))/;
const TELLING =
  /^peer |error|exception|fatal|fail|cannot|can't|could ?n[o']t|unable|denied|not |invalid|missing|unexpected|undefined|refused|panic|no such|already|오류|실패|없|못/i;

/**
 * The telling lines of an output, at most eight; the lines as they are when none is left. Plain loops, and expressions
 * only where a first letter calls for them: a hook pays for each that it uses once.
 */
export function tellingLines(output: string): string[] {
  const lines = withoutMiddle(withoutTags(output).split('\n'));
  const start = behindScript(lines);
  const kept: string[] = [];
  let codeDepth = Number.POSITIVE_INFINITY;
  for (let index = start; index < lines.length; index++) {
    const line = lines[index] as string;
    const text = line.trim();
    if (text === '') continue;
    const depth = line.indexOf(text);
    // Below each place of a stack Python prints a line of code, further in.
    if (text.startsWith('File "')) codeDepth = depth + 1;
    else if (depth < codeDepth) codeDepth = Number.POSITIVE_INFINITY;
    if (depth < codeDepth) keepIfTelling(text, kept);
  }
  if (kept.length > 0) return kept.length <= KEPT_MAX ? kept : mostTelling(kept);
  return lines.slice(start, start + KEPT_MAX).map((line) => line.trim().slice(0, LINE_LENGTH_MAX));
}

function withoutTags(text: string): string {
  return text.includes(TAG) ? text.replaceAll(`<${TAG}`, '').replaceAll(`</${TAG}`, '') : text;
}

function withoutMiddle(lines: string[]): string[] {
  const half = LINES_MAX / 2;
  return lines.length <= LINES_MAX ? lines : [...lines.slice(0, half), ...lines.slice(-half)];
}

/** The exit code comes first, then the lines in which a package manager repeats the script. */
function behindScript(lines: readonly string[]): number {
  let start = 0;
  while (start < lines.length - 1) {
    const text = (lines[start] as string).trim();
    if (text !== '' && !text.startsWith('> ') && !text.startsWith('Exit code ')) break;
    start++;
  }
  return start;
}

function keepIfTelling(text: string, kept: string[]): void {
  const isOfNpm = text.startsWith('npm ') || text.startsWith('gyp ');
  const said = isOfNpm ? text.replace(OF_NPM, '') : text.replace(OF_MAKE, 'make: ');
  const message = mayHavePrefix(said) ? said.replace(PREFIX, '') : said;
  if (!hasWord(message) || isOther(message)) return;
  if (isOfNpm && isOtherOfNpm(message)) return;
  kept.push(message.slice(0, LINE_LENGTH_MAX));
}

function mayHavePrefix(text: string): boolean {
  return (
    !isLetter(text.charCodeAt(0)) ||
    text.startsWith('E ') ||
    text.startsWith('FAILED ') ||
    text.startsWith('remote: ')
  );
}

function isOther(text: string): boolean {
  if (OTHER_FIRST_WORDS.includes(` ${firstWord(text)} `)) return true;
  if (!isLetter(text.charCodeAt(0)) && CODE_OR_COUNT.test(text)) return true;
  for (const beginning of OTHER_BEGINNINGS) if (text.startsWith(beginning)) return true;
  return false;
}

function isOtherOfNpm(text: string): boolean {
  return OTHER_OF_NPM.includes(` ${firstWord(text)} `) || text.startsWith('code ELIFECYCLE');
}

function firstWord(text: string): string {
  const blank = text.indexOf(' ');
  return blank < 0 ? text : text.slice(0, blank);
}

function isLetter(code: number): boolean {
  const lower = code | 0x20;
  return (
    (lower >= 0x61 && lower <= 0x7a) || (code >= 0xc0 && code < 0x2000) || (code >= 0x3040 && code < 0xd7a4)
  );
}

/** Two letters in a row: not `^^^^`, `---`, `x = 1`. */
function hasWord(text: string): boolean {
  for (let index = 1; index < text.length; index++) {
    if (isLetter(text.charCodeAt(index)) && isLetter(text.charCodeAt(index - 1))) return true;
  }
  return false;
}

/** The first and the last of those that sound like an error. */
function mostTelling(lines: string[]): string[] {
  const telling = lines.filter((line) => TELLING.test(line));
  const from = telling.length > 0 ? telling : lines;
  const half = KEPT_MAX / 2;
  return from.length <= KEPT_MAX ? from : [...from.slice(0, half), ...from.slice(-half)];
}
