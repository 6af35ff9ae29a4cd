import { SearchedText } from '../core/redact-named.ts';
import { cutText, oneLine } from '../core/text.ts';
import { isShellTool } from './command.ts';
import { tellingLines } from './errors/error-lines.ts';
import * as SAYS from './failure-wordings.ts';
import { findingsIn, isOfSecrets, isOwnRule } from './findings.ts';
import { isCheck } from './programs.ts';
import { quoteFinding, quoteMessage, quotePaths, toldWords } from './quote.ts';
import { isAssignment, parseShell, programOf, type SimpleCommand, unquoted } from './shell.ts';

/** A failure as it is recognised again. */
export type Failure = {
  /** The telling line, masked, and what was called: the form under which the failure is found again. */
  readonly key: string;
  /** The telling line as it was printed. */
  readonly said: string;
  /** Why nobody else would gain from knowing that it happened; null when somebody might. */
  readonly noise: Noise | null;
};

/**
 * `client`: a rule of the client's own tools. `interrupted`: ended by somebody. `secret`: about a login. `silent`: said
 * nothing. `finding`: tests, types, lint or build found something in the code under work. `unclear`: nothing says that the
 * call was wrong or lacked something.
 */
export type Noise = 'client' | 'interrupted' | 'secret' | 'silent' | 'finding' | 'unclear';

type FailedCall = {
  readonly tool: string;
  /** The shell command, or the input of another tool. */
  readonly line: string | null;
  /** What was printed, redacted. */
  readonly text: string;
};

const SAID_LENGTH_MAX = 240;
const KEY_LENGTH_MAX = 200;
/** Longer outputs are reports of a check and not messages about a call. */
const MESSAGE_LENGTH_MAX = 6000;
const HIDDEN_LENGTH_MAX = 700;
const HIDDEN_LINES = 3;

/** What a failed call says about itself. */
export function readFailure(call: FailedCall): Failure {
  const text = printed(call.text);
  const noise = noiseOf(call, text);
  if (noise !== null) return failure(call, firstLine(text), noise);
  if (isScan(call, text)) return failure(call, 'a secret was found', 'secret');
  if (text.length <= MESSAGE_LENGTH_MAX) {
    const line = lineThat(isReport(text) ? isEnvironment : isInvocation, text);
    if (line !== undefined) return failure(call, line, null);
  }
  const findings = findingsIn(text);
  const finding = findings.find(({ rule }) => isOwnRule(rule)) ?? findings[0];
  if (finding === undefined) {
    const otherwise = call.tool.startsWith('mcp__') ? null : 'unclear';
    return failure(call, tellingLine(text), isReport(text) ? 'finding' : otherwise);
  }
  const { rule, message } = finding;
  if (isOfSecrets(finding)) return failure(call, 'a secret was found', 'secret', rule);
  if (rule === null) return failure(call, message, 'finding');
  const said = quoteFinding(message);
  return failure(
    call,
    rule === 'format' || said.includes(rule) ? said : `${said} (${rule})`,
    'finding',
    rule,
  );
}

/** The failure that a pipe, a list or `|| true` hides from the exit code, where what was printed says so beyond doubt. */
export function readHiddenFailure(call: FailedCall): Failure | undefined {
  const text = printed(call.text);
  if (text === '' || text.length > HIDDEN_LENGTH_MAX || call.line === null || isReport(text))
    return undefined;
  const commands = parseShell(call.line);
  if (!mayHide(commands)) return undefined;
  const line = lineThat(isCertainInvocation, headOf(text));
  if (line === undefined || noiseOf(call, text) !== null) return undefined;
  const printers = commands.filter((one) => /^(?:echo|printf|Write-\w+)$/.test(programOf(one)));
  const isPrinted = printers.some(({ words }) => words.map(unquoted).join(' ').includes(line));
  return isPrinted ? undefined : failure(call, line, null);
}

/** Returns true if such a failure is looked for at all, whatever the line printed. */
export function mayHideFailure(line: string | null): boolean {
  return line !== null && mayHide(parseShell(line));
}

/** A command may have failed though the line ended well. What another one stood in for is no failure. */
function mayHide(commands: readonly SimpleCommand[]): boolean {
  const programs = commands.map(programOf);
  const hasStandIn = commands.some(
    ({ endedBy }, index) => endedBy === '||' && !DOES_NOTHING.test(programs[index + 1] ?? ''),
  );
  const isHiding = commands.some(({ endedBy, isCertain }) => endedBy === '|' || !isCertain);
  return isHiding && !hasStandIn && !programs.some((one) => SEARCHES.has(one));
}

const DOES_NOTHING = /^(?:|true|:|echo|printf|exit|return)$/;

/** A search prints what it finds, and that may be about failures. */
const SEARCHES = new Set('grep rg ag cat sed awk less find git gh journalctl strings xxd'.split(' '));

/** What a scanner for secrets says quotes them, unless it refuses the call. */
function isScan({ line }: FailedCall, text: string): boolean {
  const scanned = [text, ...parseShell(line ?? '').map(({ words }) => words.join(' '))];
  return (
    scanned.some((one) => SAYS.SCANNER.test(one)) && lineThat(isCertainInvocation, headOf(text)) === undefined
  );
}

const headOf = (text: string): string => text.split('\n', HIDDEN_LINES).join('\n');

/** Without the exit code, the client's tag, and the lines in which a package manager repeats the script. */
function printed(text: string): string {
  return text
    .replace(/^Exit code (?:\d+|\?)\s*/, '')
    .replace(/<\/?tool_use_error>/g, '')
    .replace(/^(?:\s*(?:[$>] [^\n]*)?\n)+/, '')
    .trim();
}

/** The first line that sounds like an error, else the first that says something. */
function tellingLine(text: string): string {
  const lines = tellingLines(text).map((line) => line.replace(SAYS.MARGIN, ''));
  const said = lines.filter((line) => !/^npm (?:error|ERR!)$/.test(line));
  return said.find((line) => SAYS.SOUNDS_LIKE_ERROR.test(line)) ?? said[0] ?? firstLine(text);
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** `rule`: a linter's, which is recognised by its name, whatever it is said about. */
function failure(call: FailedCall, line: string, noise: Noise | null, rule: string | null = null): Failure {
  const printed = cutText(oneLine(line), SAID_LENGTH_MAX);
  const commands = isShellTool(call.tool) && call.line !== null ? parseShell(call.line) : [];
  const said = quoteMessage(printed, commands);
  const culprit = culpritOf(commands, printed, noise);
  // Beside the masked line stands what makes it this failure and no other of the same wording.
  const called =
    culprit && (blamedWords(culprit, printed).length > 0 ? programOf(culprit) : shapeStart(culprit));
  const key = `${rule ?? maskLine(said)} · ${called ?? call.tool}`;
  return { key: cutText(quotePaths(key, null), KEY_LENGTH_MAX), said: quotePaths(said, null), noise };
}

/** Words of the command that the message quotes, beside its program. */
export function blamedWords(command: SimpleCommand, said: string): string[] {
  const names = namesIn(said);
  const values = command.words.map(unquoted).filter((one) => one.length > 1 && one !== programOf(command));
  return values.filter((value) => names.some((name) => isNamed(value, name)));
}

function isNamed(word: string, name: string): boolean {
  // `-A` in `-An`.
  const isInCluster = /^-\w$/.test(name) && /^-[A-Za-z]{2,5}$/.test(word) && word.includes(name.charAt(1));
  return word === name || (/^--?\w/.test(name) && word.startsWith(`${name}=`)) || isInCluster;
}

const SHAPE_WORDS = 3;

function shapeStart(command: SimpleCommand): string {
  const start = command.words.findIndex((word) => !isAssignment(word));
  return toldWords(command)
    .slice(start, start + SHAPE_WORDS)
    .map(maskLine)
    .join(' ');
}

/** Words that a message quotes or that are options. */
function namesIn(said: string): string[] {
  const quoted = [...said.matchAll(/["'`‘“]([^"'`’”]{1,60})["'`’”]/g)].map((match) => match[1] as string);
  const options = said.match(/(?<![\w-])--?[A-Za-z][\w-]*/g) ?? [];
  const letters = [...said.matchAll(/option -- '?(\w)/g)].map((match) => `-${match[1]}`);
  const files = said.match(/(?<![\w.])\.{0,2}\/[\w@./-]{2,}/g) ?? [];
  return [...quoted, ...options, ...letters, ...files];
}

/** Programs that prepare, print or shorten: what fails is another one. */
const BESIDE = new Set('echo printf head tail true : sleep wc sort uniq tee pwd cat'.split(' '));

/**
 * The simple command that a message is about: the one whose program begins the line, the one that has a word which the
 * line quotes, of findings the last check, else the first that does something. Undefined when that cannot be said.
 */
export function culpritOf<Command extends SimpleCommand>(
  commands: readonly Command[],
  said: string,
  noise: Noise | null,
): Command | undefined {
  if (/(?:^|: )cd: /.test(said)) return undefined;
  const begins = (program: string) => said.startsWith(`${program}:`) || said.startsWith(`${program} `);
  const named = commands.find((command) => {
    const program = programOf(command);
    return program !== '' && (begins(program) || said.includes(`: ${program}:`));
  });
  if (named !== undefined) return named;
  const doing = commands.filter((command) => !BESIDE.has(programOf(command)));
  const quoting = doing.find((command) => blamedWords(command, said).length > 0);
  const check = noise === 'finding' ? doing.findLast(isCheck) : undefined;
  return quoting ?? check ?? doing[0] ?? commands[0];
}

function noiseOf(call: FailedCall, text: string): Noise | null {
  if (!isShellTool(call.tool) && !call.tool.startsWith('mcp__')) return 'client';
  if (SAYS.INTERRUPTED.test(text) || SAYS.INTERRUPTED.test(call.text)) return 'interrupted';
  if (SAYS.CLIENT_RULE.test(text)) return 'client';
  if (text === '' || !/\p{L}{2}/u.test(text)) return 'silent';
  return SAYS.SECRET.test(text) ? 'secret' : null;
}

/** Returns true for a report about the code under work. */
function isReport(text: string): boolean {
  // Go says FAIL also where it could not even begin.
  return SAYS.REPORT.test(text.replace(/^FAIL\t\S+ \[setup failed\]$|^FAIL$/gm, ''));
}

/** Returns true if a line says that the call itself was wrong, or that what it needs was not there. */
function isInvocation(line: string): boolean {
  return isCertainInvocation(line) || says(SAYS.LIKELY_INVOCATION, line) || isEnvironment(line);
}

/** Also among the findings of a check such a line says that something was missing around it. */
const isEnvironment = (line: string) => SAYS.ENVIRONMENT.test(line) || SAYS.UNSET_VARIABLE.test(line);

const isCertainInvocation = (line: string) => says(SAYS.CERTAIN_INVOCATION, line);

const compiled = new Map<string, RegExp>();

/** Lines are short and many: one walk along each says which wordings it can have. */
function says(wordings: SAYS.Wordings, line: string): boolean {
  const searched = new SearchedText(line.toLowerCase());
  for (const [near, wording] of wordings) {
    if (!searched.hasOne(near)) continue;
    const expression = compiled.get(wording) ?? new RegExp(wording, 'i');
    compiled.set(wording, expression);
    if (expression.test(line)) return true;
  }
  return false;
}

/**
 * The first line of a message that is such a one; one that ends in a colon takes the next along. A mere hint gives way to
 * another such line, or to the line before it that sounds like an error.
 */
function lineThat(holds: (line: string) => boolean, text: string): string | undefined {
  const lines = text.split('\n', 200).map((line) => line.trim().replace(SAYS.MARGIN, ''));
  // Node.js and Python show the line of the program above a mark: it is no message.
  const isSource = (line: string, below = '') =>
    /^(?:throw|raise|return)\b/.test(line) || /^\^+$/.test(below);
  const fitting = lines.flatMap((line, index) =>
    line.length <= 600 && !isSource(line, lines[index + 1]) && holds(line) ? [index] : [],
  );
  const told = fitting.find((index) => !SAYS.HINT.test(lines[index] as string)) ?? fitting[0];
  if (told === undefined) return undefined;
  const line = lines[told] as string;
  if (SAYS.HINT.test(line))
    return lines.slice(0, told).findLast((one) => SAYS.SOUNDS_LIKE_ERROR.test(one)) ?? line;
  const next = lines.slice(told + 1).find((one) => one !== '');
  return line.endsWith(':') && next !== undefined ? `${line} ${next}` : line;
}

/** A line in which numbers, hashes, absolute paths, addresses and long quotations are masked. */
export function maskLine(line: string): string {
  return oneLine(line)
    .replace(/\bhttps?:\/\/\S+/g, '…')
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{20,}\b/gi, '#')
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{7,64}\b/g, '#')
    .replace(/(["'`])(?:(?!\1).){41,}\1/g, '"…"')
    .replace(/(?<![\w.@-])(?:~|[A-Za-z]:)?(?:[\\/][\w.@+ -]*[\w.@+-](?=[\\/]))+[\\/][\w.@+-]+[\\/]?/g, '…')
    .replace(/(?<![A-Za-z]{2}\d*)\d+(?:\.\d+)*/g, (number, at: number, text: string) =>
      isPort(number, text.slice(Math.max(0, at - 12), at)) ? number : '#',
    )
    .replace(/^(?:error|fatal|warning|npm (?:error|ERR!)(?: code)?|bash|sh|zsh)(?:: (?:line #: )?| )/i, '')
    .trim();
}

const EPHEMERAL_PORT = 32_768;

/** Which port it is says what is not there; those that the system hands out differ each time. */
function isPort(number: string, before: string): boolean {
  return /(?:\bport[ =:]|localhost:|\d\.\d+:|::)$/i.test(before) && Number(number) < EPHEMERAL_PORT;
}
