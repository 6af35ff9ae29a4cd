import type { SearchedText } from './searched-text.ts';
import { nameKind } from './secret-name.ts';
import { SECRET_PLACES } from './secret-rules.ts';
import { isPasswordLike, isReference, isSmallWord, REDACTED } from './secret-value.ts';

/** Secrets at their places in commands and in files of programs, as SECRET_PLACES describes them. */

/** Takes out what stands at the places of secrets. A place is compiled only where all of its own words occur. */
export function redactPlaces(searched: SearchedText): string {
  let safe = searched.text;
  for (let index = 0; index < SECRET_PLACES.length; index++) {
    const [near, place] = SECRET_PLACES[index] as (typeof SECRET_PLACES)[number];
    if (searched.hasOne(near) && mayOccur(place, searched)) safe = redactPlace(place, safe);
  }
  return safe;
}

/** Whether each of its own words, or one of its alternatives, occurs. Mostly the first one does not. */
function mayOccur(place: string, searched: SearchedText): boolean {
  for (let at = 0; at < place.length; ) {
    const blank = place.indexOf(' ', at);
    const end = blank < 0 ? place.length : blank;
    if (!mayHold(place.slice(at, end), searched)) return false;
    at = end + 1;
  }
  return true;
}

function mayHold(word: string, searched: SearchedText): boolean {
  if (!PLACEHOLDER.test(word)) return searched.hasOne(word);
  for (const one of word.split('|')) {
    let isThere = true;
    for (const part of one.split(PLACEHOLDER)) isThere &&= searched.has(part);
    if (isThere) return true;
  }
  return false;
}

const PLACEHOLDER = /[…_¶~§]/;

function redactPlace(place: string, text: string): string {
  const isOnlyIfMade = place.includes('~§');
  const expression = compiled.get(place) ?? expressionOf(place, isOnlyIfMade);
  compiled.set(place, expression);
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
const compiled = new Map<string, RegExp>();

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
