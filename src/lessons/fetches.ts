import * as lists from './program-lists.ts';
import { type SimpleCommand, unquoted } from './shell.ts';

/**
 * What a command downloads in order to run it. The name decides what runs, so a fix that downloads something is told only
 * where the project's own manifests name it. In doubt a word is taken for such a name: that costs a lesson and never harm.
 */

/** Programs that download something. */
type Kind = {
  readonly starts: RegExp;
  readonly names: 'first' | 'image' | 'all' | 'options';
  /** Options without a value: the word behind one is certainly a name. Behind any other it may be one. */
  readonly flags: RegExp;
};

let made: readonly Kind[] | undefined;

/** Compiled when a command is first looked at: an expression costs a process more than all else here. */
function kindsOfDownloads(): readonly Kind[] {
  made ??= lists.DOWNLOADS.map(([names, programs]) => {
    // Behind a program there may be options, each perhaps with a value, before the subcommand.
    const words = programs.replaceAll('--', '(?: -\\S+(?: [^-\\s]\\S*)?){0,4}?');
    const flags = names === 'image' ? lists.IMAGE_FLAG : lists.FLAG;
    return { starts: new RegExp(`^(?:${words})(?= |$)`, 'i'), names, flags };
  });
  return made;
}

/** An address in any command, also behind an option. */
const ADDRESS =
  /^(?:-[\w.-]*=)?(?:(?:[a-z]+\+)?(?:https?|ftps?|ssh|git|oci|docker):\/\/|git@|www\.|(?:github|gitlab|bitbucket|gist):)/i;
const LOCAL_ADDRESS = /^(?:-[\w.-]*=)?https?:\/\/(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1\])(?=[:/]|$)/i;
/** Assignments that say from where packages come. */
const SOURCE_ASSIGNED =
  /^(?:npm_config|pip|uv|poetry|bundle|cargo|yarn|bun|go)_?\w*(?:registry|index|source|proxy|config|url|links|mirror)\w*=/i;
const SHELL =
  /^(?:(?:ba|z|da|fi|k|c|tc)?sh|python[\d.]*|node|deno|bun|perl|ruby|php|pwsh|powershell|iex|invoke-expression|source|\.|eval)$/i;
const GETTER = /^(?:curl|wget|iwr|irm|invoke-(?:webrequest|restmethod)|aria2c|xh)$/i;

const WORDS_MAX = 400;

/**
 * The names of what a command downloads; undefined when it downloads nothing. An empty list stands for something that no
 * manifest can name, such as a page that goes into a shell.
 */
export function fetchedBy(command: SimpleCommand): readonly string[] | undefined {
  const words = command.words.flatMap((word) => wordsIn(unquoted(word))).slice(0, WORDS_MAX);
  const bare = words.map(baseName);
  const isDownload = bare.some((word) => GETTER.test(word));
  if ((isDownload || command.readsPipe) && bare.some((word) => SHELL.test(word))) return [];
  const names = words.filter(
    (word) => (ADDRESS.test(word) && (isDownload || !LOCAL_ADDRESS.test(word))) || SOURCE_ASSIGNED.test(word),
  );
  const kinds = kindsOfDownloads();
  for (const at of words.keys()) names.push(...namesFrom(words.slice(at), kinds));
  return names.length > 0 ? [...new Set(names)] : undefined;
}

/** Returns true if a command downloads nothing, or only what is named. */
export function isFetchNamed(command: SimpleCommand, isNamed: (fetched: string) => boolean): boolean {
  const fetched = fetchedBy(command);
  return fetched === undefined || (fetched.length > 0 && fetched.every(isNamed));
}

const SPEAKS_OF_FETCHING =
  /--(?:extra-)?index-url\b|--registry\b|--find-links\b|다운로드.{0,10}실행|\b(?:curl|wget|iwr|irm|invoke-(?:webrequest|restmethod)|fetch)\b.{0,80}(?:\||>|\bsh\b|\bbash\b|\s-o\b)/i;

/** Returns true if a sentence speaks of downloading and running something, whatever it is called. */
export function speaksOfFetching(sentence: string): boolean {
  const words = wordsIn(sentence);
  const kinds = kindsOfDownloads().filter(({ names }) => names === 'first' || names === 'image');
  const isStart = (_: string, at: number) =>
    kinds.some(({ starts }) => starts.test(textFrom(words.slice(at))));
  return words.some(isStart) || SPEAKS_OF_FETCHING.test(sentence);
}

/** The words of a word that is a command itself: `sh -c "npx tool"`, `$(curl …)`. */
const wordsIn = (text: string): string[] => text.split(/[\s"'`;&|(){}<>$\\]+/).filter((word) => word !== '');

function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1).replace(/\.(?:exe|cmd|bat|ps1)$/i, '');
}

const textFrom = ([program = '', ...others]: readonly string[]) => [baseName(program), ...others].join(' ');

/** The names of what is downloaded if the program of these words is one that downloads. */
function namesFrom(words: readonly string[], kinds: readonly Kind[]): string[] {
  const text = textFrom(words);
  const kind = kinds.find(({ starts }) => starts.test(text));
  const start = kind?.starts.exec(text)?.[0];
  if (kind === undefined || start === undefined) return [];
  const operands = words.slice(start.split(' ').length);
  const { names, count } = operandNames(start, operands, kind);
  // What follows the tool that is run is the tool's, but npm reads its own options anywhere.
  const behind = kind.names === 'all' || /^npm /i.test(start) ? 0 : operands.length - count;
  const operandsNamed = kind.names === 'options' ? [] : names.map((name) => packageOf(start, name));
  return [...operandsNamed, ...optionNames(words.slice(1, words.length - behind))];
}

/** The names among the operands, and how many words were looked at to be certain of them. */
function operandNames(start: string, operands: readonly string[], { names: which, flags }: Kind) {
  const names: string[] = [];
  for (const [at, word] of operands.entries()) {
    const before = operands[at - 1] ?? '';
    if (word.startsWith('-')) continue;
    const isCertain =
      !before.startsWith('-') || before.includes('=') || flags.test(before) || before === '--';
    const isFile = isLocal(word, start);
    if (!isFile) names.push(word);
    // What stands behind a file that `go run` and `deno run` run are its arguments.
    const isLast = which !== 'all' && isCertain && (!isFile || /^(?:go|deno) /.test(start));
    if (isLast) return { names, count: at + 1 };
  }
  return { names, count: operands.length };
}

function optionNames(operands: readonly string[]): string[] {
  return operands.flatMap((word, at) => {
    const [option = '', value = operands[at + 1]] = word.split(/=(.*)/s, 2);
    return lists.NAMING_OPTION.test(option) && value !== undefined ? value.split(',') : [];
  });
}

/** Something of the project itself. */
function isLocal(word: string, start: string): boolean {
  if (/^(?:\.{0,2}|~)\/|^\.{1,2}$|^[A-Za-z]:\\|^(?:file|link|workspace|portal):/.test(word)) return true;
  if (/^go /i.test(start)) return !/^[\w-]+(?:\.[\w-]+)+\//.test(word);
  if (/^deno (?:.* )?(?:run|serve|test|bench|compile|install)$/i.test(start))
    return !/^(?:https?|npm|jsr|data|blob):/.test(word);
  if (/^brew /i.test(start)) return !word.includes('/');
  return !ADDRESS.test(word) && /\.(?:txt|toml|ya?ml|lock|in|whl)$/.test(word);
}

/** `npm create vite` downloads `create-vite`. */
function packageOf(start: string, name: string): string {
  if (!/^(?:npm|pnpm|yarn|bun) (?:.* )?(?:init|innit|create)$/i.test(start)) return name;
  const [, scope = '', rest = ''] = /^(@[^/]+)?\/?(.*)$/.exec(name) ?? [];
  return [scope, scope !== '' && rest === '' ? 'create' : `create-${rest}`].filter(Boolean).join('/');
}

/**
 * The name under which a manifest has it: without version, tag and extras. What is fetched under the name of another
 * (`name@npm:other`) stays as it is, and no manifest has that.
 */
export function manifestName(fetched: string): string {
  // Deno's way to say from which registry a package comes, perhaps with a file of it.
  const [named = fetched] = /^(?:npm:|jsr:)\/?(?:@[^/]+\/)?[^/]+/.exec(fetched) ?? [];
  const name = named.replace(/^(?:npm|jsr):\/?/, '');
  const [, bare = name] =
    /^(@?[\w./-]*\w)(?:\[[\w,-]*\])?(?:(?:@|[=~!<>]=?)[\w.^~*<>=+-]*|:\w[\w.-]*)?(?:@sha256:[0-9a-f]+)?$/.exec(
      name,
    ) ?? [];
  return bare;
}
