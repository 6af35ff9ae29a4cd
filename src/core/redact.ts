import {
  isPasswordLike,
  isReference,
  isSmallWord,
  isWordy,
  nameKind,
  REDACTED,
  redactNamed,
  SearchedText,
} from './redact-named.ts';
import { IMAGE_BEGINNINGS, SECRET_PLACES, TOKEN_SHAPES } from './secret-rules.ts';
import { cleanText } from './text.ts';

/**
 * Keeps secrets off the disk. What secrets look like is data (secret-rules.ts); here is the walk, in this order: what is
 * surest comes first, because what it takes out is nothing to be judged any more. Every expression is linear in its input
 * (bounded repeats, no nested ones), because the input is whatever a program printed. A hook pays for each expression that
 * it uses for the first time, so they are made where a cheap look has found a reason.
 */
const STEPS: readonly ((searched: SearchedText) => string)[] = [
  redactKeyBlocks, // blocks that say what they are
  redactShapes, // tokens that are recognised by themselves
  redactPlaces, // what stands where programs take a password
  redactNamed, // what a name in front of it gives away
  redactUrls,
  redactRandom, // what nothing gives away but that it looks made at random
];

/** Replaces what looks like a secret by `[REDACTED]` and leaves what surrounds it. Idempotent, never throws. */
export function redactSecrets(text: string): string {
  // What has been taken out may leave a place of another secret: then it is looked through again.
  let safe = text;
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const before = safe;
    safe = redactOnce(before);
    if (safe === before) break;
  }
  return safe;
}

const PASSES_MAX = 5;

/** The text as it is, and where it has escapes, its plain form: kept only if that has something to hide. */
function redactOnce(text: string): string {
  if (text.length < 6) return text;
  const safe = takeSteps(text);
  const open = unescaped(safe);
  if (open === safe) return safe;
  const redacted = takeSteps(open);
  return redacted === open ? safe : redacted;
}

function takeSteps(text: string): string {
  let searched = new SearchedText(text);
  for (const step of STEPS) {
    const safe = step(searched);
    if (safe !== searched.text) searched = new SearchedText(safe);
  }
  return searched.text;
}

const ESCAPES_DEPTH_MAX = 4;

/** What a terminal does not show: where it stands, a word would begin or end elsewhere than it does for its reader. */
const UNSEEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f\u2060-\u206f\ufeff]/;

/** The text without the escapes of JSON, shells, terminals, addresses and HTML; of printable ASCII only, and however often escaped. */
function unescaped(text: string): string {
  let open = text;
  for (let depth = 0; depth < ESCAPES_DEPTH_MAX; depth++) {
    const before = open;
    if (open.includes('\\')) {
      open = open
        .replace(/\\{1,8}(?:u00|u\{|x)([2-7][0-9a-f])\}?/gi, fromHex)
        .replace(/\\{1,8}(?=["'/])|[ \t]{0,8}\\{1,4}(?:\r?\n|[ \t])[ \t]{0,40}/g, (found) =>
          /\s/.test(found) ? ' ' : '',
        );
    }
    if (open.includes('%')) open = open.replace(/%([2-7][0-9a-f])/gi, fromHex);
    if (open.includes('&')) {
      open = open
        .replace(/&#x([2-7][0-9a-f]);/gi, fromHex)
        .replace(/&#(3[2-9]|[4-9]\d|1[01]\d|12[0-6]);/g, (_all, code: string) =>
          String.fromCharCode(Number(code)),
        )
        .replace(/&(?:quot|apos);/g, '"');
    }
    if (/[\uff01-\uff5e]/.test(open)) open = open.normalize('NFKC');
    if (UNSEEN.test(open)) open = cleanText(open);
    if (open === before) break;
  }
  return open;
}

function fromHex(_all: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

/** A block that is never closed was cut off: then all that follows belongs to it. */
function redactKeyBlocks(searched: SearchedText): string {
  const { text } = searched;
  if (!searched.has('PRIVATE KEY')) return text;
  const begin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
  const end = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
  let kept = '';
  let at = 0;
  for (let open = begin.exec(text); open !== null; open = begin.exec(text)) {
    kept += text.slice(at, open.index) + REDACTED;
    end.lastIndex = begin.lastIndex;
    at = end.exec(text) === null ? text.length : end.lastIndex;
    begin.lastIndex = at;
  }
  return kept + text.slice(at);
}

/** Tokens that are recognised by their own shape. */
function redactShapes(searched: SearchedText): string {
  const { text } = searched;
  if (!/[^\s"']{15}/.test(text)) return text;
  let shapes = '';
  for (const [near, shape] of TOKEN_SHAPES) if (searched.hasOne(near)) shapes += `|${shape}`;
  return shapes === '' ? text : text.replace(anyOf(shapes), REDACTED);
}

const EXPRESSIONS_MAX = 64;
/** What was compiled for texts before: in a long text, and in an import, the same shapes come near again and again. */
const compiledShapes = new Map<string, RegExp>();

function anyOf(shapes: string): RegExp {
  const known = compiledShapes.get(shapes);
  if (known !== undefined) return known;
  const expression = new RegExp(`(?<![A-Za-z0-9])(?:${shapes.slice(1)})`, 'gm');
  if (compiledShapes.size >= EXPRESSIONS_MAX) compiledShapes.clear();
  compiledShapes.set(shapes, expression);
  return expression;
}

/** Takes out what stands at the places of secrets. A place is compiled only where all of its own words occur. */
function redactPlaces(searched: SearchedText): string {
  let safe = searched.text;
  for (const place of SECRET_PLACES) {
    // Mostly the first word does not occur, and the others need no look.
    if (!mayHold(place.slice(0, place.indexOf(' ')), searched)) continue;
    if (place.split(' ').every((word) => mayHold(word, searched))) safe = redactPlace(place, safe);
  }
  return safe;
}

function mayHold(word: string, searched: SearchedText): boolean {
  if (!PLACEHOLDER.test(word)) return searched.hasOne(word);
  return word.split('|').some((one) => one.split(PLACEHOLDER).every((part) => searched.has(part)));
}

const PLACEHOLDER = /[…_¶~§]/;

function redactPlace(place: string, text: string): string {
  const isOnlyIfMade = place.includes('~§');
  const expression = compiledPlaces.get(place) ?? expressionOf(place, isOnlyIfMade);
  compiledPlaces.set(place, expression);
  return text.replace(expression, (all: string, ...found: unknown[]) => {
    const { before, value, name } = found.at(-1) as { before: string; value: string; name?: string };
    const quote = /^["']/.exec(value)?.[0] ?? '';
    const bare = quote === '' ? value : value.slice(1, -1);
    const isNoSecret =
      isReference(bare) ||
      (quote === '' && isSmallWord(bare)) ||
      (isOnlyIfMade && !isPasswordLike(bare)) ||
      (before.endsWith(':') && isOwner(bare, before)) ||
      (name !== undefined && nameKind(name.replace(/["']/g, '')) !== 'sure');
    return isNoSecret ? all : `${before}${quote}${REDACTED}${quote}`;
  });
}

/** `-u 1000:1000`, `--user node:node`, `rsync -u host:/srv`: a group or a path. */
function isOwner(value: string, before: string): boolean {
  return /^\d+$|^[/]/.test(value) || before.slice(0, -1).endsWith(value);
}

/** At most one for each place. */
const compiledPlaces = new Map<string, RegExp>();

const BLANKS = '[ \\t\\r\\n]{1,8}';
/** Of the program itself, before its subcommand. */
const FLAGS = `(?:${BLANKS}--?[\\w-]{1,40}(?:=[^\\s|;&]{1,80})?(?=[ \\t]+[^-\\s])){0,2}?`;
const WORD = '(?:"[^"\\n]{0,256}"|\'[^\'\\n]{0,256}\'|[^\\s|;&"\']{1,256})';
const WITH_DIGIT = '(?=[^\\s]{0,256}\\d)';
const VALUE = '"[^"\\n]{1,512}"|\'[^\'\\n]{1,512}\'|(?!-)[^\\s"\'|;&<>()]{1,512}';

function expressionOf(place: string, isOnlyIfMade: boolean): RegExp {
  let before = '';
  let after = '';
  let isBehind = false;
  for (const [index, word] of place.split(' ').entries()) {
    const blanks = index === 0 || before.endsWith('…') ? '' : index === 1 ? FLAGS + BLANKS : BLANKS;
    if (isBehind) after += word === '…' ? `(?:${BLANKS}${WORD}){0,12}?` : BLANKS + sourceOf(word);
    else if (word === '…') before += `(?:[ \\t]{1,8}${WORD}){0,16}?`;
    else if (word.includes('§')) {
      const [own = '', rest = ''] = word.split('§');
      const start = own.replace('~', '');
      before += start === '' ? blanks : `${blanks}["']?${sourceOf(start)}`;
      after += rest === '' ? '' : sourceOf(rest);
      isBehind = true;
    } else before += blanks + sourceOf(word);
  }
  return new RegExp(
    `(?<before>(?<![\\w.-])${before})(?<value>${isOnlyIfMade ? WITH_DIGIT : ''}(?:${VALUE}))${after === '' ? '' : `(?=${after})`}`,
    'g',
  );
}

/** The expression of one word: `_` is any word or part of one, `|` parts alternatives. */
function sourceOf(word: string): string {
  if (word === '_') return WORD;
  if (word === '¶') return '(?<name>[^\\s|;&=]{1,128})';
  if (word === '|') return '\\|';
  const alternatives = word
    .split('|')
    .map((one) => one.replace(/[.*+?^${}()[\]\\/]/g, '\\$&').replaceAll('_', '[^\\s:/|;&"\']{1,128}'));
  return alternatives.length === 1 ? (alternatives[0] as string) : `(?:${alternatives.join('|')})`;
}

/** Passwords and tokens in addresses: before the `@`, among the parameters. */
function redactUrls({ text }: SearchedText): string {
  if (!text.includes('://')) return text;
  const hide = (all: string, before: string, value: string) => (isReference(value) ? all : before + REDACTED);
  return text
    .replace(
      /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"']{0,256}:)([^\s/?#"']{1,512}|[^\s/@"']{1,512})(?=@)/gi,
      hide,
    )
    .replace(
      /\b([a-z][a-z0-9+.-]{1,20}:\/\/)([^\s/:@"'?#]{8,512})(?=@)/gi,
      (all, before: string, value: string) =>
        value.length >= 20 || isPasswordLike(value) ? hide(all, before, value) : all,
    )
    .replace(
      /([?&#;](?:sig|signature|key|token|jwt|code|auth|access_token|password|pwd|pass|pw|secret|sid|session|hmac|sign|x-(?:amz|goog)-(?:signature|credential|security-token))=)([^\s&"'<>]{6,2000})/gi,
      hide,
    );
}

const RUN_LENGTH_MIN = 32;
const ENTROPY_BITS_MIN = 4;

/** Long runs of characters without the structure of words, paths or digests. */
function redactRandom({ text }: SearchedText): string {
  if (!/[A-Za-z0-9+/_-]{32}/.test(text)) return text;
  const run = /(?<![A-Za-z0-9+/_-]|h1:)[A-Za-z0-9+/_-]{32,4096}={0,2}(?![A-Za-z0-9+/_-])/g; // h1: is a checksum of Go
  return text.replace(run, (found) => (isPath(found) ? withoutRandomSegments(found) : judged(found)));
}

function judged(run: string): string {
  return run.length >= RUN_LENGTH_MIN && isRandom(run) ? REDACTED : run;
}

/** What stands in a path besides the names of files does not make them a secret. */
function isPath(run: string): boolean {
  if (!run.includes('/')) return false;
  const names = run.split('/').filter((segment) => segment.length >= 3 && isWordy(segment));
  return names.length >= (run.startsWith('/') ? 1 : 2);
}

function withoutRandomSegments(path: string): string {
  return path.split('/').map(judged).join('/');
}

function isRandom(run: string): boolean {
  if (/^sha(?:1|256|384|512)[-+_/]/i.test(run)) return false; // an integrity value
  if (IMAGE_BEGINNINGS.some((beginning) => run.startsWith(beginning))) return false;
  // Digests and UUIDs have letters of one case.
  if (![/[a-z]/, /[A-Z]/, /\d/].every((shape) => shape.test(run))) return false;
  return !isWordy(run) && entropyBits(run) >= ENTROPY_BITS_MIN;
}

function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/**
 * Replaces every `<private>…</private>` by `[PRIVATE]`, nested ones with their outermost, and trims (REQ-DC-011). A
 * tag that is never closed stays as it is.
 */
export function stripPrivateTags(text: string): string {
  if (!text || !/<private/i.test(text)) return text ? text.trim() : text;
  const open: number[] = [];
  const blocks: { start: number; end: number }[] = [];
  for (const tag of text.matchAll(/<(\/?)private\b[^<>]*>/gi)) {
    if (tag[1] === '') open.push(tag.index);
    else {
      const start = open.pop();
      if (start === undefined) continue;
      while ((blocks.at(-1)?.start ?? -1) > start) blocks.pop();
      blocks.push({ start, end: tag.index + tag[0].length });
    }
  }
  let at = 0;
  let kept = '';
  for (const { start, end } of blocks) {
    kept += `${text.slice(at, start)}[PRIVATE]`;
    at = end;
  }
  return (kept + text.slice(at)).trim();
}

/** `[SENSITIVE_PATH]` for a file that holds secrets, else the path as it is (REQ-DC-202). */
export function maskSensitivePath(path: string): string {
  const normal = path.replaceAll('\\', '/');
  const name = normal.slice(normal.lastIndexOf('/') + 1);
  const isSensitive =
    /^(?:\.env|\.env\.(?!(?:example|sample|template|dist)$).+|\.envrc|credentials(?:\.json)?|.+\.(?:key|pem|p12|pfx|keystore|jks|kdbx|ppk)|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.npmrc|\.pypirc|[._]netrc|\.pgpass|\.git-credentials|\.htpasswd|secrets?\.(?:ya?ml|json|toml|ini|properties)|service[-_]account.*\.json|.+\.tfvars)$/i.test(
      name,
    );
  return isSensitive || /(?:^|\/)\.(?:ssh|gnupg|aws)\//i.test(normal) ? '[SENSITIVE_PATH]' : path;
}
