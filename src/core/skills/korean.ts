import { type Entry, lexicon } from './lexicon.ts';

/** Korean words without their particles and endings: `마이그레이션을`, `배포하고`, `되돌려줘`, `커밋메시지`. */

/**
 * What an ending makes of its word. `object` and `adverbial` are particles. `verb` may be what is asked for;
 * `attribute` is not, because it describes a noun, the past or a condition; `future` is either, as in `배포할 수 있어`
 * and `배포할 서버`.
 */
export type Ending = 'none' | 'join' | 'object' | 'adverbial' | 'statement' | 'verb' | 'attribute' | 'future';
export type Stem = { readonly text: string; readonly entry: Entry | undefined; readonly ending: Ending };

const TOKEN_LENGTH_MAX = 24;
const KEY_LENGTH_MAX = 9;
const PARTS_MAX = 5;
const VERB_ENDING_LENGTH_MAX = 8;
const MISSPELLED_LENGTH_MIN = 4;

const PARTICLES: readonly (readonly [Ending, string])[] = [
  ['object', '을 를 만 도 은 는 이 가 이나 나 까지도 만은 만이라도 이라도 라도 들'],
  [
    'adverbial',
    '에 에서 에도 에는 에만 에서만 에서는 에서도 에서의 으로 로 으로만 로만 으로는 로는 으로도 로도 부터 까지 에게 한테 께 보다 처럼 마다 에다 에다가 대로 으로서 로서 로써 으로써 으로부터 에서부터 로부터 이라서 라서',
  ],
  ['join', '과 와 랑 이랑 의 용 별 이며 및'],
  [
    'statement',
    '이야 야 예요 이에요 에요 입니다 인데 이지 지 인가 이냐 이니 였어 이었어 이라 라 인 임 이다 다 요 죠 이죠 네 이네 밖에 조차 좀 같은 뿐 이란 란 이라는 라는',
  ],
];

/** `하다`, `되다`, `시키다` after a noun begin with one of these. */
const LIGHT_VERB_STARTS = '하해했한할함합되돼됐된될됨됩시헤진부ㄱ고';
const LIGHT_VERB =
  /^(?:(?:[하해했한할함합되돼됐된될됨됩]|시키|시켜|시킨|시킬|헤줘)(?:고|서|줘.{0,4}|주.{0,6}|는|는데|지.{0,3}|야.{0,4}|도|면.{0,3}|니.{0,4}|려.{0,4}|자.{0,2}|여.{0,3}|기.{0,3}|게.{0,2}|던|도록|봐.{0,3}|라.{0,2}|요|달라.{0,2}|[죠조쥬셈삼]|습니다|고싶.{0,3}|으.{0,4}|네.?|거.{0,4}|어.{0,3}|었.{0,4}|다|까.?|까요|래.{0,2}|시.{0,4}|세요|십시오)?|(?:부탁|진행).*|ㄱㄱ|고고)$/;
/** What may follow a verb stem of one syllable, which is easily the beginning of another word. */
const SHORT_VERB_NEXT = '줘주줄고서야봐보라자달놔놓도는기지면려니어아었았겠을은게던두둬요죠세시';
/** Past, condition and contrast: not what is asked for, unless a wish follows. */
const SETTING = /[했됐었았였렸졌꼈뀌]|(?:면|니까|으니|지만|는데|은데|더니|길래|거든요?|네요?)$/;
const WISH = /[줘주]|좋겠|싶|바라|바랍|부탁|으면$/;

let builtEndings: ReadonlyMap<string, Ending> | undefined;

function particleEndings(): ReadonlyMap<string, Ending> {
  if (builtEndings !== undefined) return builtEndings;
  const endings = new Map<string, Ending>();
  for (const [ending, particles] of PARTICLES) {
    for (const particle of particles.split(' ')) endings.set(particle, ending);
  }
  builtEndings = endings;
  return endings;
}

/** Whether the token only makes a verb of the noun before it: `rollback 해줘`, `배포 부탁해`, `배포 ㄱㄱ`. */
export function isLightVerb(token: string): boolean {
  return LIGHT_VERB_STARTS.includes(token.charAt(0)) && LIGHT_VERB.test(token);
}

/** What stands behind a noun makes it; undefined when it is no ending. */
export function nounEnding(rest: string): Ending | undefined {
  if (rest === '') return 'none';
  const endings = particleEndings();
  const particle = endings.get(rest) ?? (rest.startsWith('들') ? endings.get(rest.slice(1)) : undefined);
  if (particle !== undefined) return particle;
  return isLightVerb(rest) ? verbForm(rest) : undefined;
}

/** The words that a token of Hangul consists of, the last with its ending. */
export function splitKorean(token: string): readonly Stem[] {
  if (token.length > TOKEN_LENGTH_MAX) return [];
  const known = splitKnown(token, 0, 1);
  if (known !== undefined) return known;
  for (let at = 2; at + 2 <= token.length; at++) {
    const tail = splitKnown(token, at, 2);
    if (tail === undefined || tail[0]?.entry?.kind === 'empty') continue;
    return [{ text: token.slice(0, at), entry: undefined, ending: 'none' }, ...tail];
  }
  for (let at = 2; at < token.length; at++) {
    const ending = nounEnding(token.slice(at));
    if (ending !== undefined) return [{ text: token.slice(0, at), entry: undefined, ending }];
  }
  return [{ text: token, entry: undefined, ending: 'none' }];
}

function splitKnown(token: string, from: number, part: number): Stem[] | undefined {
  const { entries, verbs } = lexicon();
  for (let length = Math.min(KEY_LENGTH_MAX, token.length - from); length > 0; length--) {
    const text = token.slice(from, from + length);
    const entry = entries.get(text);
    if (entry === undefined) continue;
    const rest = token.slice(from + length);
    const isVerb = verbs.has(text);
    const ending = isVerb ? verbEnding(text, rest) : nounEnding(rest);
    const canEnd = part === 1 || length > 1 || isVerb || rest === '';
    if (ending !== undefined && canEnd) return [{ text, entry, ending }];
    if (isVerb || length < 2 || part >= PARTS_MAX) continue;
    const more = splitKnown(token, from + length, part + 1);
    if (more !== undefined) return [{ text, entry, ending: 'none' }, ...more];
  }
  return undefined;
}

function verbEnding(stem: string, rest: string): Ending | undefined {
  if (rest.length > VERB_ENDING_LENGTH_MAX) return undefined;
  if (stem.length === 1 && rest !== '' && !SHORT_VERB_NEXT.includes(rest.charAt(0))) return undefined;
  return verbForm(stem + rest);
}

function verbForm(text: string): Ending {
  if (SETTING.test(text) && !WISH.test(text)) return 'attribute';
  if (text.endsWith('면') || text.endsWith('만')) return 'verb';
  const code = text.charCodeAt(text.length - 1) - 0xac00;
  const finalConsonant = code >= 0 && code < 11_172 ? code % 28 : 0;
  if (finalConsonant === 8) return 'future';
  return finalConsonant === 4 ? 'attribute' : 'verb';
}

/** What a token that is no word of its own makes of the one before: `release를`, `rollback 해줘`, `생성 부탁해`. */
export function attachedEnding(text: string, isGlued: boolean): Ending | undefined {
  if (!isGlued && !isLightVerb(text)) return undefined;
  if (/^(?:부탁|진행|ㄱㄱ|고고)/.test(text)) return 'verb';
  const ending = nounEnding(text);
  const isWord = !isGlued && lexicon().entries.has(text) && !/^[하해한할함]/.test(text);
  return ending === 'none' || isWord ? undefined : ending;
}

/** Two tokens that are one word, written apart: `릴리스 노트`, `풀 리퀘스트를`. */
export function joinedStem(text: string, next: string): Stem | undefined {
  const { entries, verbs, phraseStarts } = lexicon();
  if (!phraseStarts.has(text)) return undefined;
  for (let length = Math.min(KEY_LENGTH_MAX, next.length); length > 0; length--) {
    const entry = entries.get(`${text} ${next.slice(0, length)}`);
    if (entry === undefined) continue;
    const key = text + next.slice(0, length);
    const ending = verbs.has(key) ? 'verb' : nounEnding(next.slice(length));
    if (ending !== undefined) return { text: key, entry, ending };
  }
  return undefined;
}

/** A long word of the glossary with one wrong syllable: `마이그레이숀을`. */
export function splitMisspelledKorean(token: string): Stem | undefined {
  for (let length = Math.min(KEY_LENGTH_MAX, token.length); length >= MISSPELLED_LENGTH_MIN; length--) {
    const ending = nounEnding(token.slice(length));
    const text = token.slice(0, length);
    const entry = ending === undefined ? undefined : neighbour(text);
    if (ending !== undefined && entry !== undefined) return { text, entry, ending };
  }
  return undefined;
}

function neighbour(text: string): Entry | undefined {
  for (const key of longKeys()) {
    if (key.length !== text.length) continue;
    let wrong = 0;
    for (let at = 0; at < key.length && wrong < 2; at++) if (key[at] !== text[at]) wrong++;
    if (wrong === 1) return lexicon().entries.get(key);
  }
  return undefined;
}

let builtLongKeys: readonly string[] | undefined;

function longKeys(): readonly string[] {
  if (builtLongKeys !== undefined) return builtLongKeys;
  const keys: string[] = [];
  for (const key of lexicon().entries.keys()) {
    if (key.length >= MISSPELLED_LENGTH_MIN && key.charCodeAt(0) >= 0xac00) keys.push(key);
  }
  builtLongKeys = keys;
  return keys;
}
