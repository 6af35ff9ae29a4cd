/**
 * The sound of English words in Korean letters: `그라파나` is grafana. Only the consonants are compared, in the classes
 * that Korean spelling keeps apart, because the vowels are written as everybody hears them.
 */

/** Fewer consonants fit too many words. */
const SOUND_LENGTH_MIN = 3;

/** Initial consonants of syllables in the order of Unicode; `-` is silent. */
const INITIALS = 'KKNTTLMPPSS-SSSKTP-';
/** Final consonants in the order of Unicode, the first of two; `-` is none. */
const FINALS = '-KKKNNNTLLLLLLLLMPPTTNTTKTP-';

/** The consonants of a Korean word as an English speaker would hear them; undefined when they say too little. */
export function koreanSound(word: string): string | undefined {
  let sound = '';
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at) - 0xac00;
    if (code < 0 || code >= 11_172) return undefined;
    sound += `${INITIALS[Math.floor(code / 588)]}.${FINALS[code % 28]}`;
  }
  return consonants(sound.replaceAll('-', ''));
}

/** The same of an English word. An r is not heard before a consonant or at the end. */
export function englishSound(word: string): string | undefined {
  const heard = word
    .toLowerCase()
    .replace(/tion|sion|cian/g, 's.n')
    .replace(/sch/g, 'sk')
    .replace(/tch|ch|sh/g, 's')
    .replace(/ph/g, 'p')
    .replace(/th/g, 't')
    .replace(/gh|h(?![aeiouy])/g, '')
    .replace(/ng(?![aeiouy])/g, 'n')
    .replace(/c(?=[eiy])|ge?$|j|z/g, (match) => (match === 'g' ? 'k' : 's'))
    .replace(/x/g, 'ks')
    .replace(/r(?![aeiouy])/g, '')
    .replace(/[aeiouwyh]+/g, '.');
  return consonants(heard.replace(/[a-z]/g, (letter) => CLASSES[letter] ?? ''));
}

const CLASSES: Readonly<Record<string, string>> = {
  b: 'P',
  f: 'P',
  p: 'P',
  v: 'P',
  c: 'K',
  g: 'K',
  k: 'K',
  q: 'K',
  d: 'T',
  t: 'T',
  l: 'L',
  r: 'L',
  m: 'M',
  n: 'N',
  s: 'S',
};

function consonants(sound: string): string | undefined {
  const letters = sound.replace(/([A-Z])\1+/g, '$1').replace(/[^A-Z]/g, '');
  return letters.length < SOUND_LENGTH_MIN ? undefined : letters;
}
