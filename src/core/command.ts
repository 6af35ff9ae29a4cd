import { cutText } from './text.ts';

/**
 * What a shell command does, coarse enough to see that a later one does the same thing again: `npm test` after
 * `cd app && CI=1 npm test -- --bail`. Not a shell parser: a wrong reading costs a lesson, never harm.
 */
export type Command = {
  /** The program of the first meaningful part, without path: what `meta.command` stores. */
  readonly program: string;
  /** Programs and subcommands of all meaningful parts, such as `npm run build && npm test`. Empty: nothing to learn. */
  readonly family: string;
  /** Files, packages or tests that the parts were pointed at, sorted. */
  readonly targets: readonly string[];
  /** Exit code 0 does not show that every meaningful part passed: `npm test | tail`, `npm test; ls`. */
  readonly hidesFailure: boolean;
  /** Its output goes to a file, so that even `cat` may have changed something. */
  readonly writesFile?: true;
};

const COMMAND_LENGTH_MAX = 4096;
const PARTS_MAX = 16;
const TARGETS_MAX = 16;
const TARGET_LENGTH_MAX = 120;

/** Run another command: what counts is the command behind them. */
const WRAPPERS = new Set([
  'sudo',
  'time',
  'nohup',
  'nice',
  'env',
  'command',
  'exec',
  'timeout',
  'npx',
  'bunx',
  'stdbuf',
  'xvfb-run',
]);
/** Prepare or report, so that their success proves nothing. */
const NEUTRAL = new Set([
  'cd',
  'echo',
  'printf',
  'export',
  'set',
  'unset',
  'true',
  'false',
  ':',
  'exit',
  'sleep',
  'source',
  '.',
  'pushd',
  'popd',
  'wait',
  'clear',
  'pwd',
  'trap',
  'test',
  '[',
  'then',
  'else',
  'fi',
  'do',
  'done',
  'if',
  'for',
  'while',
  'head',
  'tail',
  'tee',
  'wc',
  'sort',
  'uniq',
  'less',
  'more',
  'grep',
  'rg',
  'ls',
  'date',
  'which',
  'type',
  'whoami',
]);
/** The first word after these names what they do. */
const WITH_SUBCOMMAND = new Set([
  'npm',
  'pnpm',
  'yarn',
  'bun',
  'deno',
  'git',
  'cargo',
  'go',
  'docker',
  'podman',
  'kubectl',
  'helm',
  'pip',
  'pip3',
  'poetry',
  'uv',
  'dotnet',
  'gradle',
  'gradlew',
  'mvn',
  'mvnw',
  'make',
  'just',
  'rake',
  'bundle',
  'terraform',
  'aws',
  'gcloud',
  'az',
  'gh',
  'apt',
  'apt-get',
  'brew',
  'systemctl',
  'composer',
  'php',
  'flutter',
  'dart',
  'swift',
  'mix',
  'rails',
  'conda',
  'nx',
  'turbo',
  'lerna',
  'prisma',
  'supabase',
  'vercel',
  'ng',
  'expo',
  'ninja',
  'task',
  'meson',
  'zig',
  'cmake',
]);
/** Their next word is the real subcommand. */
const SUBCOMMAND_PREFIX = new Set(['run', 'run-script', 'exec', 'x', 'compose', 'dlx', 'tool']);
/** Reads a Bash tool's command. */
export function parseCommand(text: string): Command {
  const script = cutText(text, COMMAND_LENGTH_MAX).replace(/\\\r?\n/g, ' ');
  const split = splitParts(script, text.length >= COMMAND_LENGTH_MAX);
  const parts = split.map((words, index) => parsePart(words, hidesFailure(split, index, script)));
  const meaningful = parts.filter((part) => part.program !== '' && !NEUTRAL.has(part.program));
  const shown = meaningful[0] ?? parts.find((part) => part.program !== '');
  return {
    program: shown?.program ?? '',
    family: meaningful.map((part) => part.name).join(' && '),
    targets: [...new Set(meaningful.flatMap((part) => part.targets))].sort().slice(0, TARGETS_MAX),
    hidesFailure: meaningful.some((part) => part.hidesFailure),
    ...(/>(?![>&]|\s*\/dev\/null)\s*\S/.test(script) ? { writesFile: true as const } : {}),
  };
}

/** Programs and subcommands of a shell command, such as `npm run build && npm test`; empty when it only looks. */
export function commandFamily(text: string): string {
  return parseCommand(text).family;
}

/** Whether one of its parts is our own program: what that says is no error of the project. */
export function isOwnCommand(family: string | null): boolean {
  for (const part of family?.split(' && ') ?? []) if (part === 'self-generation') return true;
  return false;
}

/** `endedBy`: the operator behind the words; `''` at the end, `cut` where reading stopped before it. */
type Words = { readonly words: string[]; endedBy: string };
type Part = { program: string; name: string; targets: string[]; hidesFailure: boolean };

/** Whether the whole command can succeed although this part of it failed. */
function hidesFailure(parts: readonly Words[], index: number, script: string): boolean {
  const part = parts[index];
  if (part === undefined || part.words[0] === '!') return true;
  if (part.endedBy === '') return false;
  if (part.endedBy === '|') return !/\bset\b[^\n;&|]*\bpipefail\b/.test(script);
  if (part.endedBy === '&&') {
    // The failure is the result of the whole list of `&&`, so what matters stands behind that.
    const last = parts.slice(index).find(({ endedBy }) => endedBy !== '&&' && endedBy !== '|');
    return last !== undefined && last.endedBy !== '';
  }
  return !(/^[;\n]$/.test(part.endedBy) && /\bset\s+-[a-z]*e/.test(script));
}

function parsePart({ words }: Words, hidesFailure: boolean): Part {
  let rest = withoutPrefix(words);
  const path = (rest[0] ?? '').replaceAll('\\', '/');
  const program = path.slice(path.lastIndexOf('/') + 1).replace(/\.(?:exe|cmd|bat)$/i, '');
  rest = rest.slice(1);
  const name = [program];
  if (program.startsWith('python') && rest[0] === '-m') {
    name.push('-m', rest[1] ?? '');
    rest = rest.slice(2);
  } else if (WITH_SUBCOMMAND.has(program)) {
    rest = rest.filter((word) => !word.startsWith('-') || word === '--');
    const depth = SUBCOMMAND_PREFIX.has(rest[0] ?? '') ? 2 : 1;
    name.push(...rest.slice(0, depth).filter((word) => word !== '--'));
    rest = rest.slice(depth);
  }
  const targets = rest.filter(isTarget).map((word) => cutText(word, TARGET_LENGTH_MAX));
  return { program, name: cutText(name.join(' '), TARGET_LENGTH_MAX), targets, hidesFailure };
}

function isTarget(word: string): boolean {
  return word !== '' && !word.startsWith('-') && !/^\d+$/.test(word);
}

/** Drops assignments, wrappers and the wrappers' own options. */
function withoutPrefix(words: string[]): string[] {
  let index = 0;
  while (index < words.length) {
    const word = words[index] ?? '';
    if (word === '!' || /^[A-Za-z_]\w*=/.test(word)) index++;
    else if (WRAPPERS.has(word)) {
      index++;
      while (/^(?:-|\d+[smh]?$)/.test(words[index] ?? '')) index++;
    } else break;
  }
  return words.slice(index);
}

/**
 * Splits at `;`, `&`, `|` and line ends outside quotes; words lose their quotes. Comments and redirections are left
 * out. Stops at a here-document.
 */
function splitParts(text: string, isCut: boolean): Words[] {
  const parts: Words[] = [];
  const subshells: boolean[] = [];
  let words: string[] = [];
  const file = /(?:"[^"]*"|'[^']*'|[^\s;|&()"'<>])+/.source;
  const skipped = `#[^\\n]*|\\d*>&[\\d-]?|\\d*&?>>?\\s*${file}|<\\s*${file}`;
  const word = /(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.|[^\s;|&()'"\\<>])+/.source;
  for (const match of text.matchAll(new RegExp(`<<|${skipped}|(\\|\\||&&|[;|&\\n()])|(${word})`, 'gs'))) {
    const [token, operator, quotedWord] = match;
    if (token === '<<') return [...parts, { words, endedBy: '' }];
    if (quotedWord !== undefined) words.push(quotedWord.replace(/["']|\\(?![A-Za-z0-9])/g, ''));
    if (operator === undefined) continue;
    if (operator === '(') subshells.push(words.length === 0);
    // `(a)` has the result of what it is part of; `$(a)` and `<(a)` have none that counts.
    const endedBy = operator === ')' && !subshells.pop() ? '$)' : operator;
    const last = parts.at(-1);
    if (words.length > 0) parts.push({ words, endedBy });
    else if (last?.endedBy === ')') last.endedBy = endedBy;
    words = [];
    if (parts.length >= PARTS_MAX) return endParts(parts, 'cut');
  }
  if (words.length > 0) parts.push({ words, endedBy: '' });
  return endParts(parts, isCut ? 'cut' : '');
}

function endParts(parts: Words[], endedBy: '' | 'cut'): Words[] {
  const last = parts.at(-1);
  if (last !== undefined && (endedBy === 'cut' || /^[;\n)]$/.test(last.endedBy))) last.endedBy = endedBy;
  return parts;
}
