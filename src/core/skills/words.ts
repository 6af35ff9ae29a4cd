import { englishEntry, englishStem, misspelledEntry } from './english.ts';
import {
  attachedEnding,
  type Ending,
  joinedStem,
  type Stem,
  splitKorean,
  splitMisspelledKorean,
} from './korean.ts';
import { type Entry, type Kind as KnownKind, lexicon, type Meaning } from './lexicon.ts';
import { englishSound, koreanSound } from './loan-words.ts';
import { readTokens, type Token } from './tokens.ts';

/**
 * The words of a Korean or English text and what they mean, so that `배포해 주세요` and `deploying` are the same. A
 * glossary and the regular endings of both languages, no model; what is not in the glossary means its own stem and sound.
 */
export type Word = {
  /** Most likely first; a name means nothing. */
  readonly meanings: readonly Meaning[];
  readonly kind: Kind;
  /** `attribute`: a verb that asks for nothing, because it describes a noun (`추가하는 마이그레이션`) or the past. */
  readonly form: 'noun' | 'verb' | 'attribute';
  /** What the noun is to the verb, as far as a particle or a preposition tells. */
  readonly role: 'object' | 'adverbial' | 'open';
  /** Whether the next word belongs to another phrase. */
  readonly endsPhrase: boolean;
};
/** `name`: an identifier, a file, a number. `unknown`: a word that is not in the glossary. */
export type Kind = KnownKind | 'unknown' | 'name';

type Draft = { -readonly [Key in keyof Word]: Word[Key] };
const STEM_LENGTH_MAX = 40;
/** An unknown Korean word may end in what looks like a particle: `그라파나`. */
const WHOLE = 0.9;
/** Words that sound the same are mostly the same, the longer the surer. */
const LONG_SOUND = 0.75;
const SHORT_SOUND = 0.5;
const TYPOS_MAX = 8;
const MISSPELLED_LENGTH_MIN = 4;

const PREPOSITIONS = wordSet(
  'for in on to from with at by into onto against via using about across between inside within without per as under behind over through during after before when if that which where so because',
);
/** An action behind one of these, or behind nothing, is a verb: `please deploy`, `and commit`. */
const BEFORE_VERBS = wordSet(
  "and then to please you we i also just now be let's lets us need needs or ok okay so go help can could kindly quickly pls again not",
);
const DETERMINERS = wordSet(
  'the a an this that these those my our your his her their its it all every each some any me us them',
);
/** `roll the release back` is `roll back`. */
const PARTICLES = wordSet('back off on up out over');
const PARTICLE_DISTANCE_MAX = 5;
/** English nouns without a subject of their own, which let the noun before them be the head. */
const TRANSPARENT = wordSet('code file files part parts work stuff thing things case cases');
/** Shapes that are never the verb: `validation`, `changes`. */
const NOMINAL = /(?:[ts]ion|sis|ance|[^s]s)$/;
/** `takes nine seconds to load`, `3분이나 걸려`. */
const LONG_TIME = /\b(?:takes?|taking|took) (?:\w+ ){0,3}(?:seconds|minutes|hours|ages|forever|long)\b/i;
const LONG_TIME_KOREAN =
  /(?:(?<!\d)\d{1,9} ?(?:초|분|시간)(?:이나|나|씩|도)?|오래|한참)(?: ?이상| ?넘게)? ?걸(?:려|린|리|림)[가-힣]*/;

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}

/** Whether such a word can be what somebody wants done. */
export function canAct(kind: Kind): boolean {
  return kind === 'action' || kind === 'deed' || kind === 'task';
}

/** The words of a text that say what it is about, in order. */
export function readWords(text: string): Word[] {
  return read(text, () => false);
}

/** The same for texts that were typed in a hurry: unknown words are taken for what they nearly are. */
export function readTypedWords(texts: readonly string[]): Word[][] {
  let typosLeft = TYPOS_MAX;
  const mayMend = () => typosLeft-- > 0;
  return texts.map((text) =>
    read(text.replace(LONG_TIME, ' slow ').replace(LONG_TIME_KOREAN, ' 느려 '), mayMend),
  );
}

/** Where reading stands. Plain data and functions: they are cheaper than a class where nothing is compiled. */
type Reading = {
  readonly tokens: readonly Token[];
  readonly words: Draft[];
  readonly mayMend: () => boolean;
  /** The word before, also when it means nothing. */
  before: string;
  isBehindPreposition: boolean;
};

const END: Token = { is: 'break', text: '', isGlued: false };

function read(text: string, mayMend: () => boolean): Word[] {
  const reading: Reading = {
    tokens: readTokens(text),
    words: [],
    mayMend,
    before: '',
    isBehindPreposition: false,
  };
  const { tokens, words } = reading;
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at] ?? END;
    if (token.is === 'english') at += readEnglish(reading, at, token.text);
    else if (token.is === 'korean') at += readKorean(reading, at, token);
    else {
      readOther(reading, token);
      at++;
    }
  }
  return words;
}

function readOther(reading: Reading, { is, text }: Token): void {
  if (is === 'name') add(reading, 'name', NO_MEANINGS);
  else endPhrase(reading);
  reading.before = is === 'name' || text === ',' || text === '|' ? text : '';
  if (reading.before === '') reading.isBehindPreposition = false;
}

/** Reads the word or phrase there and returns how many tokens it has. */
function readEnglish(reading: Reading, at: number, text: string): number {
  const { tokens, before } = reading;
  const phrase = lexicon().phraseStarts.has(text) ? phraseAt(tokens, at, text) : undefined;
  const length = phrase?.length ?? 1;
  const entry =
    phrase?.entry ?? englishEntry(text) ?? (reading.mayMend() ? misspelledEntry(text) : undefined);
  reading.before = text;
  if (entry?.kind === 'empty') {
    readEmpty(reading, text);
    return length;
  }
  const kind = entry?.kind ?? 'unknown';
  const meanings = entry?.meanings ?? unknownEnglish(text);
  const isVerbPlace = before === '' || BEFORE_VERBS.has(before);
  const next = tokens[at + length] ?? END;
  if (isVerbPlace && canAct(kind) && !NOMINAL.test(text)) {
    const isNeeded = before === 'need' || before === 'needs' || before === 'be';
    addVerb(reading, kind, meanings, isNeeded || !/(?:ing|ed)$/.test(text) ? 'verb' : 'attribute');
  } else if (
    isVerbPlace &&
    kind === 'unknown' &&
    before === '' &&
    next.is === 'english' &&
    !NOMINAL.test(text)
  ) {
    addVerb(reading, kind, meanings, 'verb');
  } else if (isVerbPlace && !canAct(kind) && DETERMINERS.has(next.text)) {
    // "log the user id" is not about logs.
    addVerb(reading, 'deed', [unknown(`to ${text}`)], 'verb');
  } else if (!isVerbPlace && isParticiple(reading, text, kind)) {
    endPhrase(reading);
    reading.isBehindPreposition = true;
  } else add(reading, kind, meanings, reading.isBehindPreposition ? 'adverbial' : 'open');
  return length;
}

function readEmpty(reading: Reading, text: string): void {
  if (TRANSPARENT.has(text)) return;
  endPhrase(reading);
  if (PREPOSITIONS.has(text)) reading.isBehindPreposition = true;
  else if (text === 'and' || text === 'then') reading.isBehindPreposition = false;
}

/** "stories covering errors": what follows belongs to the noun before. */
function isParticiple({ words }: Reading, text: string, kind: Kind): boolean {
  return text.endsWith('ing') && (kind === 'unknown' || kind === 'action') && words.at(-1)?.form === 'noun';
}

/** The longest English phrase of the glossary that starts there, also with an object inside: `roll it back`. */
function phraseAt(
  tokens: readonly Token[],
  at: number,
  first: string,
): { entry: Entry; length: number } | undefined {
  const { entries, phraseStarts } = lexicon();
  for (let length = phraseStarts.get(first) ?? 0; length >= 2; length--) {
    const words = tokens.slice(at, at + length);
    if (words.length < length || words.some(({ is }) => is !== 'english')) continue;
    const entry = englishEntry(words.map(({ text }) => text).join(' '));
    if (entry !== undefined) return { entry, length };
  }
  for (let apart = 2; apart <= PARTICLE_DISTANCE_MAX; apart++) {
    const { is, text } = tokens[at + apart] ?? END;
    if (is !== 'english') return undefined;
    const entry = PARTICLES.has(text) ? entries.get(`${first} ${text}`) : undefined;
    if (entry !== undefined) return { entry, length: 1 };
  }
  return undefined;
}

function readKorean(reading: Reading, at: number, { text, isGlued }: Token): number {
  const next = reading.tokens[at + 1] ?? END;
  reading.before = text;
  const attached = reading.words.length > 0 ? attachedEnding(text, isGlued) : undefined;
  if (attached !== undefined) {
    endWord(reading, attached, next.text);
    return 1;
  }
  reading.isBehindPreposition = false;
  const joined = next.is === 'korean' && !next.isGlued ? joinedStem(text, next.text) : undefined;
  const behind = joined === undefined ? next : (reading.tokens[at + 2] ?? END);
  for (const stem of joined === undefined ? stems(text, reading.mayMend) : [joined]) {
    addKorean(reading, stem, text, behind.text);
  }
  return joined === undefined ? 1 : 2;
}

function stems(text: string, mayMend: () => boolean): readonly Stem[] {
  const found = splitKorean(text);
  const isUnknown =
    found.length === 1 && found[0]?.entry === undefined && text.length >= MISSPELLED_LENGTH_MIN;
  const mended = isUnknown && mayMend() ? splitMisspelledKorean(text) : undefined;
  return mended === undefined ? found : [mended];
}

function addKorean(reading: Reading, { text, entry, ending }: Stem, token: string, next: string): void {
  if (entry?.kind === 'empty') {
    if (ending === 'object' || ending === 'adverbial' || ending === 'verb') endPhrase(reading);
    return;
  }
  if (entry !== undefined) add(reading, entry.kind, entry.meanings);
  else add(reading, 'unknown', unknownKorean(text, token));
  if (ending !== 'none') endWord(reading, ending, next);
}

function add(
  { words }: Reading,
  kind: Kind,
  meanings: readonly Meaning[],
  role: Word['role'] = 'open',
): void {
  words.push({ kind, meanings, form: 'noun', role, endsPhrase: false });
}

function addVerb(reading: Reading, kind: Kind, meanings: readonly Meaning[], form: Word['form']): void {
  endPhrase(reading);
  reading.isBehindPreposition = false;
  reading.words.push({ kind, meanings, form, role: 'open', endsPhrase: true });
}

function endPhrase({ words }: Reading): void {
  const last = words[words.length - 1];
  if (last !== undefined) last.endsPhrase = true;
}

/** What the particle or ending makes of the last word. */
function endWord({ words }: Reading, ending: Ending, next: string): void {
  const last = words[words.length - 1];
  if (last === undefined) return;
  if (ending === 'object' || ending === 'adverbial') {
    last.role = ending;
    last.form = 'noun';
  }
  if (ending === 'verb' || ending === 'attribute') last.form = ending;
  if (ending === 'future') last.form = '수것거게'.includes(next.charAt(0) || ' ') ? 'verb' : 'attribute';
  if (ending !== 'join' && ending !== 'none') last.endsPhrase = true;
}

const NO_MEANINGS: readonly Meaning[] = [];

function unknown(text: string, strength = 1): Meaning {
  return { concept: text.slice(0, STEM_LENGTH_MAX), strength };
}

function unknownEnglish(text: string): Meaning[] {
  const stem = englishStem(text);
  return [unknown(stem), ...heard(englishSound(stem))];
}

/** `grafana` and `그라파나` are the same word by their sound. */
function unknownKorean(stem: string, token: string): Meaning[] {
  if (stem === token) return [unknown(stem), ...heard(koreanSound(stem))];
  return [unknown(stem), unknown(token, WHOLE), ...heard(koreanSound(stem)), ...heard(koreanSound(token))];
}

function heard(sound: string | undefined): Meaning[] {
  return sound === undefined ? [] : [unknown(`sound ${sound}`, sound.length > 3 ? LONG_SOUND : SHORT_SOUND)];
}
