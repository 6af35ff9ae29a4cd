import type { SearchedText } from './searched-text.ts';
import { DOUBTFUL_WORDS, HARMLESS_NAME, SECRET_STEMS, SECRET_WORDS } from './secret-rules.ts';

/** Whether what a name names is a secret: surely, or only when it looks like one. */
export type NameKind = 'sure' | 'doubtful' | undefined;

/** Judges `DB_PW`, `--client-secret`, `spring.datasource.password`, `비밀번호는`. */
export function nameKind(name: string): NameKind {
  const kind = kindByWords(name);
  return kind === undefined || isHarmless(name) ? undefined : kind;
}

function kindByWords(name: string): NameKind {
  const squashed = name.toLowerCase().replace(/[^a-z0-9가-힣]+/g, '');
  for (const stem of SECRET_STEMS) if (squashed.includes(stem)) return 'sure';
  const words = wordsOf(name);
  if (words.some((word) => SECRET_WORDS.has(word)) || /pass$|(?:^|:)_auth$/i.test(name)) return 'sure';
  return words.some((word) => DOUBTFUL_WORDS.has(word)) ? 'doubtful' : undefined;
}

/** Whether a text may have such names in it: mostly the only look that it costs. */
export function mayNameSecrets(searched: SearchedText): boolean {
  const isIn = (word: string) => searched.hasInAnyCase(word);
  if (isIn('key') || isIn('pass') || isIn('비밀')) return true;
  if (SECRET_STEMS.some(isIn) || isIn('connection') || isIn('phrase')) return true;
  for (const words of [SECRET_WORDS, DOUBTFUL_WORDS]) for (const word of words) if (isIn(word)) return true;
  return false;
}

let harmless: RegExp | undefined;

function isHarmless(name: string): boolean {
  harmless ??= new RegExp(HARMLESS_NAME, 'i');
  return harmless.test(name.replace(/(?<=[a-z])(?=[A-Z])/g, '_'));
}

/** `DB_PW`, `dbPw` and `db-pw2` are `db` and `pw`. */
function wordsOf(name: string): string[] {
  return name
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toLowerCase()
    .split(/[^a-z가-힣]+/);
}
