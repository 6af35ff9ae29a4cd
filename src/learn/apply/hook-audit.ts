import { cleanText } from '../../core/text.ts';
import { isDot, readTokens, type TextToken, type Token } from './js-tokens.ts';

/** What is to be known about a hook's code before it may run; one that is `forbidden` keeps it from running. */
export type Finding = {
  readonly kind: 'forbidden' | 'noted';
  readonly line: number;
  readonly reason: string;
};

export const HOOK_CODE_BYTES_MAX = 16 * 1024;

/** What a hook needs: its event, files, the names of things. */
const MODULES = [
  'node:fs',
  'node:fs/promises',
  'node:os',
  'node:path',
  'node:process',
  'node:url',
  'node:util',
];
/** Not `on`: a listener's `this` would be `process` as a whole. */
const PROCESS_PARTS = new Set(
  'argv arch cwd env exit exitCode hrtime memoryUsage nextTick pid platform stderr stdin stdout uptime'.split(
    ' ',
  ),
);
/** `process`, `{ env, exit as stop }` or both: not as a namespace, not by `default`, and nothing under a known name. */
const KNOWN_PART = `(?:${[...PROCESS_PARTS].join('|')})(?: as [^\\s,{}*]+)?`;
const KNOWN_CLAUSE = new RegExp(
  `^(?:process|(?:process , )?\\{ ${KNOWN_PART}(?: , ${KNOWN_PART})*(?: ,)? \\})$`,
);
const META_PARTS = new Set(['dirname', 'file', 'filename', 'dir', 'main', 'path', 'url']);

const MAKES_CODE = 'makes code out of text';
const LOADS_CODE = 'loads or starts other code';
const REACHES_ALL = 'reaches everything there is';
const USES_NETWORK = 'uses the network';
const DECIDES = "decides about a tool's call, which a suggested hook may not";
/** Only to say so early: when it runs, nothing of that kind is let through. */
const DECISIONS = [
  'permissionDecision',
  'updatedInput',
  'updatedPermissions',
  'updatedToolOutput',
  'updatedMCPToolOutput',
];
const HIDES_TEXT = 'hides what a text says';

/** As a name, as a property, and as a text that could become the name of a property. */
const FORBIDDEN_ANYWHERE = new Map<string, string>([
  ...named(MAKES_CODE, 'eval Function AsyncFunction GeneratorFunction AsyncGeneratorFunction ShadowRealm'),
  ...named(MAKES_CODE, 'WebAssembly getPrototypeOf setPrototypeOf __proto__ Reflect Proxy'),
  ...named(MAKES_CODE, 'getOwnPropertyDescriptor getOwnPropertyDescriptors getOwnPropertyNames'),
  ...named(
    LOADS_CODE,
    '_linkedBinding dlopen execve getBuiltinModule mainModule createRequire child_process',
  ),
  ...named(REACHES_ALL, 'currentTarget srcElement composedPath'),
  ...DECISIONS.map((name): [string, string] => [name, DECIDES]),
]);
const FORBIDDEN_NAMES = new Map<string, string>([
  ...named(LOADS_CODE, 'Worker SharedWorker importScripts binding'),
  ...named(USES_NETWORK, 'fetch WebSocket WebSocketStream XMLHttpRequest EventSource sendBeacon'),
  ...named(HIDES_TEXT, 'atob btoa unescape fromCharCode fromCodePoint'),
]);
const FORBIDDEN_TEXTS = new Map<string, string>([
  ...named(MAKES_CODE, 'constructor'),
  ...named(HIDES_TEXT, 'base64 base64url hex'),
]);
/** Only when they stand for themselves: `input.module` is a field of the event. */
const FORBIDDEN_GLOBALS = new Map<string, string>([
  ...named(REACHES_ALL, 'globalThis global self window frames'),
  ...named(LOADS_CODE, 'Bun Deno require module exports'),
  ...named('changes what names mean', 'with'),
]);
const WRITING_FUNCTIONS = new Set(
  [
    'appendFile chmod chown copyFile cp createWriteStream link mkdir mkdtemp open rename rm rmdir symlink truncate',
    'unlink utimes write writeFile writev',
  ].flatMap((names) => names.split(' ').flatMap((name) => [name, `${name}Sync`])),
);

const ESCAPES_MAX = 8;
const ENCODED = /[A-Za-z0-9+/=_-]{80}/;
const SEARCHED_TOKENS_MAX = 200;

/** Whether nothing in the code forbids to run it. */
export function passesAudit(findings: readonly Finding[]): boolean {
  return findings.every(({ kind }) => kind !== 'forbidden');
}

/**
 * Looks through the code of a suggested hook, first as it is written and then as the runtime's own parser reads it.
 * Code can hide what it does from every such look, so this only keeps out what has no place in a hook; the user still
 * has to read what is left. Never throws.
 */
export function auditHookCode(code: string): Finding[] {
  const bytes = Buffer.byteLength(code);
  if (bytes > HOOK_CODE_BYTES_MAX)
    return [forbidden(1, `it has ${bytes} bytes, ${HOOK_CODE_BYTES_MAX} are the most`)];
  const written = [...invisible(code), ...inTokens(code)];
  if (!passesAudit(written)) return inOrder(written);
  const known = new Set(written.map(({ reason }) => reason));
  // The runtime's form has other lines; what only stands there was written to be overlooked.
  const read = asParsed(code.replace(/^#!/, '//')).filter(
    ({ kind, reason }) => kind === 'forbidden' && !known.has(reason),
  );
  return inOrder([...written, ...read]);
}

function named(reason: string, names: string): [string, string][] {
  return names.split(' ').map((name) => [name, reason]);
}

function forbidden(line: number, reason: string): Finding {
  return { kind: 'forbidden', line, reason };
}

function inOrder(findings: readonly Finding[]): Finding[] {
  const unlike = new Map(findings.map((finding) => [`${finding.line} ${finding.reason}`, finding]));
  return [...unlike.values()].sort((left, right) => left.line - right.line);
}

function invisible(code: string): Finding[] {
  return code
    .split('\n')
    .flatMap((line, index) =>
      cleanText(line) === line ? [] : [forbidden(index + 1, 'has control or invisible characters')],
    );
}

/**
 * What the parser finds. The imports are looked at before the code is printed anew: printing runs macros, and a macro is
 * an import.
 */
function asParsed(code: string): Finding[] {
  const transpiler = new Bun.Transpiler({ loader: 'js', target: 'bun' });
  try {
    const imported = transpiler.scanImports(code).flatMap(({ path }) => checkModule(path, 1));
    return imported.length > 0
      ? imported
      : inTokens(withLetters(transpiler.transformSync(code))).map(onFirstLine);
  } catch (error) {
    const { line, message } = firstProblem(error);
    return [forbidden(line, `is no valid JavaScript module: ${message}`)];
  }
}

/** The printer writes every letter that is not in ASCII as an escape; what is in ASCII it never does. */
function withLetters(printed: string): string {
  return printed.replace(/\\u(?:\{([\da-f]{1,6})\}|([\da-f]{4}))/gi, (all, point?: string, unit?: string) => {
    const code = Number.parseInt(point ?? unit ?? '', 16);
    return code < 0x80 ? all : String.fromCodePoint(Math.min(code, 0x10ffff));
  });
}

function onFirstLine({ kind, reason }: Finding): Finding {
  return { kind, line: 1, reason: `written so that it is hard to see: ${reason}` };
}

function firstProblem(error: unknown): { line: number; message: string } {
  type Problem = { message?: unknown; position?: { line?: unknown } | null; errors?: Problem[] };
  const problem = (error as Problem).errors?.[0] ?? (error as Problem);
  const line = Number(problem.position?.line ?? 1);
  return { line: line > 0 ? line : 1, message: String(problem.message ?? error).slice(0, 200) };
}

type Tokens = readonly (Token | TextToken)[];

function inTokens(code: string): Finding[] {
  const result = readTokens(code);
  if (result.kind === 'unclear')
    return [forbidden(result.line, `cannot be read for certain: ${result.reason}`)];
  return result.tokens.flatMap((token, index) => {
    if (token.kind === 'word') return inWord(token, index, result.tokens);
    if (token.kind === 'text') return inText(token);
    return token.text === '[' ? inSubscript(index, result.tokens) : [];
  });
}

function inWord({ text, line }: Token, index: number, tokens: Tokens): Finding[] {
  const name = text.replace(/^#/, '');
  const isProperty = isDot(tokens[index - 1]);
  if (name.includes('\\')) return [forbidden(line, `"${name}" is a name written with escapes`)];
  const reason =
    FORBIDDEN_ANYWHERE.get(name) ??
    FORBIDDEN_NAMES.get(name) ??
    (isProperty ? undefined : FORBIDDEN_GLOBALS.get(name));
  if (reason !== undefined) return [forbidden(line, `"${name}" ${reason}`)];
  if (name === 'constructor' && (isProperty || tokens[index + 1]?.text !== '('))
    return [forbidden(line, `"constructor" ${MAKES_CODE}`)];
  if (name === 'decision' && tokens[index + 1]?.text === ':')
    return [forbidden(line, `"decision" ${DECIDES}`)];
  if (WRITING_FUNCTIONS.has(name)) return [{ kind: 'noted', line, reason: `changes files: ${name}` }];
  if (isProperty) return [];
  if (name === 'import') return inImport(index, tokens);
  if (name === 'from') return inFrom(index, tokens);
  return name === 'process' ? inProcess(index, tokens) : [];
}

/** `import 'x'`, `import('x')` and `import.meta.url`; `import … from 'x'` is found at its `from`. */
function inImport(index: number, tokens: Tokens): Finding[] {
  const line = tokens[index]?.line ?? 1;
  const [next, second, third, fourth] = tokens.slice(index + 1, index + 5);
  if (next?.kind === 'text') return checkModule(next.text, line);
  if (isDot(next)) {
    const isKnown = second?.text === 'meta' && isDot(third) && META_PARTS.has(fourth?.text ?? '');
    return isKnown ? [] : [forbidden(line, `"import.${second?.text}" other than its path ${LOADS_CODE}`)];
  }
  if (next?.text !== '(') return [];
  if (second?.kind !== 'text' || third?.text !== ')')
    return [forbidden(line, 'import() of something that is not written there')];
  // As a value it could be looked up in; as a declaration its parts have to be named.
  return second.text === 'node:process'
    ? [forbidden(line, `import("node:process") ${LOADS_CODE}`)]
    : checkModule(second.text, line);
}

function inFrom(index: number, tokens: Tokens): Finding[] {
  const module = tokens[index + 1];
  if (module?.kind !== 'text') return [];
  const unknown = checkModule(module.text, module.line);
  if (unknown.length > 0 || module.text !== 'node:process') return unknown;
  let start = index;
  while (start > 0 && !(tokens[start]?.kind === 'word' && tokens[start]?.text === 'import')) start--;
  const clause = tokens.slice(start + 1, index);
  const written = clause.map(({ text }) => text).join(' ');
  const isKnown = clause.every(({ kind }) => kind !== 'text') && KNOWN_CLAUSE.test(written);
  if (tokens[start]?.text === 'import' && isKnown) return [];
  const what = `"${written.slice(0, 100)}" of node:process ${LOADS_CODE}`;
  return [forbidden(module.line, `${what}; a hook may import { ${[...PROCESS_PARTS].join(', ')} }`)];
}

function checkModule(name: string, line: number): Finding[] {
  if (MODULES.includes(name)) return [];
  return [forbidden(line, `imports "${name.slice(0, 100)}"; a hook may import ${MODULES.join(', ')}`)];
}

/** `process` itself must not get into other hands: only named parts of it are used. */
function inProcess(index: number, tokens: Tokens): Finding[] {
  const line = tokens[index]?.line ?? 1;
  const isImported =
    ['import', 'as', ',', '{'].includes(tokens[index - 1]?.text ?? '') && followsFrom(index, tokens);
  if (isImported) return [];
  const part = isDot(tokens[index + 1]) ? tokens[index + 2]?.text : undefined;
  if (part !== undefined && PROCESS_PARTS.has(part)) return [];
  const what = part === undefined ? '"process" as a whole' : `"process.${part}"`;
  return [forbidden(line, `${what} ${LOADS_CODE}; a hook may use ${[...PROCESS_PARTS].join(', ')}`)];
}

/** Whether this word stands in `import … from 'node:process'`. */
function followsFrom(index: number, tokens: Tokens): boolean {
  const rest = tokens.slice(index + 1, index + 1 + SEARCHED_TOKENS_MAX);
  const end = rest.findIndex(({ kind, text }) => kind !== 'word' && ![',', '{', '}', '*'].includes(text));
  return rest[end]?.kind === 'text' && rest[end]?.text === 'node:process' && rest[end - 1]?.text === 'from';
}

function inText({ text, source, line }: TextToken): Finding[] {
  const reason = FORBIDDEN_ANYWHERE.get(text) ?? FORBIDDEN_TEXTS.get(text);
  if (reason !== undefined) return [forbidden(line, `the text "${text}" ${reason}`)];
  const decision = DECISIONS.find((name) => text.includes(name));
  if (decision !== undefined) return [forbidden(line, `a text with "${decision}" ${DECIDES}`)];
  const escapes = source.match(/\\[xu]/g)?.length ?? 0;
  if (escapes > ESCAPES_MAX) return [forbidden(line, `a text with ${escapes} escapes ${HIDES_TEXT}`)];
  return ENCODED.test(text) ? [forbidden(line, `a long text without words ${HIDES_TEXT}`)] : [];
}

/** `x['con' + 'structor']`: the name of a property that is put together where it is used. */
function inSubscript(index: number, tokens: Tokens): Finding[] {
  const before = tokens[index - 1];
  const isValue =
    before !== undefined &&
    (before.kind !== 'mark' || [')', ']', '}', '?.'].includes(before.text)) &&
    !(
      before.kind === 'word' &&
      ['return', 'of', 'in', 'case', 'await', 'yield', 'typeof', 'const', 'let', 'var'].includes(before.text)
    );
  if (!isValue) return [];
  let depth = 0;
  let hasText = false;
  let isJoined = false;
  for (const { kind, text } of tokens.slice(index, index + SEARCHED_TOKENS_MAX)) {
    if (kind === 'mark' && text === '[') depth++;
    if (kind === 'mark' && text === ']' && --depth === 0) break;
    hasText ||= kind === 'text';
    isJoined ||= ['+', '${', 'concat', 'join', 'replace', 'replaceAll', 'reverse'].includes(text);
  }
  const line = tokens[index]?.line ?? 1;
  return hasText && isJoined
    ? [forbidden(line, 'the name of a property is put together where it is used')]
    : [];
}
