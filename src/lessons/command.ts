/** The client's tools, as far as what they did can be learned from. */
import { cutText } from '../core/text.ts';

const EDITING = new Set(['Edit', 'Write', 'MultiEdit', 'NotebookEdit']);
const FILE = new Set([...EDITING, 'Read']);

/** Returns true if the tool changes the file that it is called on. */
export function isEditingTool(tool: string): boolean {
  return EDITING.has(tool);
}

/** Returns true if the tool is called on one file. */
export function isFileTool(tool: string): boolean {
  return FILE.has(tool);
}

/** The tool that starts a sub-agent: `Task` until 2.1.62, `Agent` since. */
export function isAgentTool(tool: string): boolean {
  return tool === 'Agent' || tool === 'Task';
}

/** Returns true if the tool runs a shell command. */
export function isShellTool(tool: string): boolean {
  return tool === 'Bash' || tool === 'PowerShell';
}

/**
 * What a shell command does, coarse enough to see that a later one does the same thing again. Not a shell parser: a
 * wrong reading costs a lesson, never harm.
 */

const COMMAND_LENGTH_MAX = 4096;
const PARTS_MAX = 16;
const NAME_LENGTH_MAX = 120;

/** Run another command: what counts is the command behind them. */
const WRAPPERS = new Set('sudo time nohup nice env command exec timeout npx bunx stdbuf xvfb-run'.split(' '));
/** Prepare or report, so that their success proves nothing. */
const NEUTRAL_WORDS =
  'cd echo printf export set unset true false : exit sleep source . pushd popd wait clear pwd trap test [ ' +
  'then else fi do done if for while head tail tee wc sort uniq less more grep rg ls date which type whoami';
const NEUTRAL = new Set(NEUTRAL_WORDS.split(' '));
/** The first word after these names what they do. */
const WITH_SUBCOMMAND_WORDS =
  'npm pnpm yarn bun deno git cargo go docker podman kubectl helm pip pip3 poetry uv dotnet gradle gradlew ' +
  'mvn mvnw make just rake bundle terraform aws gcloud az gh apt apt-get brew systemctl composer php ' +
  'flutter dart swift mix rails conda nx turbo lerna prisma supabase vercel ng expo ninja task meson zig ' +
  'cmake';
const WITH_SUBCOMMAND = new Set(WITH_SUBCOMMAND_WORDS.split(' '));
/** Their next word is the real subcommand. */
const SUBCOMMAND_PREFIX = new Set(['run', 'run-script', 'exec', 'x', 'compose', 'dlx', 'tool']);

/**
 * Programs and subcommands of all parts that do something: `npm run build && npm test` of
 * `cd app && CI=1 npm run build; npm test -- --bail | tail`. Empty when it only looks.
 */
export function commandFamily(text: string): string {
  const script = cutText(text, COMMAND_LENGTH_MAX).replace(/\\\r?\n/g, ' ');
  return splitParts(script)
    .flatMap((words) => partName(words) ?? [])
    .join(' && ');
}

/** Returns true if one of its parts is our own program: what that says is no error of the project. */
export function isOwnCommand(family: string | null): boolean {
  return family?.split(' && ').includes('self-generation') === true;
}

/** Undefined when the part does nothing that counts. */
function partName(words: readonly string[]): string | undefined {
  let rest = withoutPrefix(words);
  const path = (rest[0] ?? '').replaceAll('\\', '/');
  const program = path.slice(path.lastIndexOf('/') + 1).replace(/\.(?:exe|cmd|bat)$/i, '');
  if (program === '' || NEUTRAL.has(program)) return undefined;
  rest = rest.slice(1);
  const name = [program];
  if (program.startsWith('python') && rest[0] === '-m') name.push('-m', rest[1] ?? '');
  else if (WITH_SUBCOMMAND.has(program)) {
    rest = rest.filter((word) => !word.startsWith('-') || word === '--');
    const depth = SUBCOMMAND_PREFIX.has(rest[0] ?? '') ? 2 : 1;
    name.push(...rest.slice(0, depth).filter((word) => word !== '--'));
  }
  return cutText(name.join(' '), NAME_LENGTH_MAX);
}

/** Drops assignments, wrappers and the wrappers' own options. */
export function withoutPrefix(words: readonly string[]): readonly string[] {
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
function splitParts(text: string): string[][] {
  const parts: string[][] = [];
  let words: string[] = [];
  const file = /(?:"[^"]*"|'[^']*'|[^\s;|&()"'<>])+/.source;
  const skipped = `#[^\\n]*|\\d*>&[\\d-]?|\\d*&?>>?\\s*${file}|<\\s*${file}`;
  const word = /(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.|[^\s;|&()'"\\<>])+/.source;
  for (const match of text.matchAll(new RegExp(`<<|${skipped}|(\\|\\||&&|[;|&\\n()])|(${word})`, 'gs'))) {
    const [token, operator, quotedWord] = match;
    if (token === '<<') break;
    if (quotedWord !== undefined) words.push(quotedWord.replace(/["']|\\(?![A-Za-z0-9])/g, ''));
    if (operator === undefined) continue;
    if (words.length > 0) parts.push(words);
    words = [];
    if (parts.length >= PARTS_MAX) return parts;
  }
  return words.length > 0 ? [...parts, words] : parts;
}
