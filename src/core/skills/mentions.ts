import type { Piece } from './request.ts';
import { canAct, readTypedWords, type Word } from './words.ts';

/** A word of a prompt where it stands. */
export type Mention = {
  readonly word: Word;
  /** Whether it says what is to be done, or only why and where. */
  readonly isRequest: boolean;
  /** How much it says about what is wanted, 0 to 1. */
  readonly weight: number;
  /** The noun that its phrase is about: `page` in "release notes page". */
  readonly head: Word | undefined;
};

const MENTIONS_MAX = 120;
/** When there are more clauses beside the request than this, each of them counts less. */
const SETTINGS_MAX = 4;

/** The words of the pieces of a prompt, each way to say something once. */
export function readMentions(pieces: readonly Piece[]): Mention[] {
  const texts = readTypedWords(pieces.map(({ text }) => text));
  const mentions = pieces.flatMap((piece, at) => mentionsIn(texts[at] ?? [], piece));
  // "There are lint errors. Fix them": a request that names nothing is about what was said just before.
  const isBare = !mentions.some(({ isRequest, word }) => isRequest && isSubject(word));
  const settings = pieces.filter(({ role }) => role === 'setting').length;
  const share = Math.min(1, SETTINGS_MAX / Math.max(1, settings));
  const weighted = mentions.map((mention) => {
    if (mention.isRequest) return mention;
    const weight = isBare && mention.weight >= 0.6 ? 0.9 : mention.weight;
    return { ...mention, weight: weight * share };
  });
  return withoutRepetition(weighted);
}

function mentionsIn(words: readonly Word[], { role, weight }: Piece): Mention[] {
  const mentions: Mention[] = [];
  let start = 0;
  for (let at = 0; at < words.length; at++) {
    if (words[at]?.endsPhrase === false && at + 1 < words.length) continue;
    const phrase = words.slice(start, at + 1);
    const head = phrase.findLast(({ form, kind }) => form === 'noun' && kind !== 'quality');
    for (const word of phrase) mentions.push({ word, isRequest: role === 'request', weight, head });
    start = at + 1;
  }
  return mentions;
}

function withoutRepetition(mentions: readonly Mention[]): Mention[] {
  const different = new Map<string, Mention>();
  for (const mention of mentions) {
    const { word, head, isRequest } = mention;
    const key = `${conceptOf(word)} ${word.form} ${word.role} ${isRequest} ${word === head || conceptOf(head)}`;
    const known = different.get(key);
    if (known === undefined && different.size >= MENTIONS_MAX) continue;
    if (known === undefined || known.weight < mention.weight) different.set(key, mention);
  }
  return [...different.values()];
}

/** What a word means first of all; empty for a name. */
export function conceptOf(word: Word | undefined): string {
  return word?.meanings[0]?.concept ?? '';
}

/** Point back to what was said before: "find the cause". */
const BACK_REFERENCES = new Set(['cause', 'problem', 'error']);

/** Whether a word of the glossary says what the request is about. */
export function isSubject(word: Word): boolean {
  const { form, kind } = word;
  if (form !== 'noun' || kind === 'action' || kind === 'quality') return false;
  return kind !== 'unknown' && kind !== 'name' && !BACK_REFERENCES.has(conceptOf(word));
}

const TROUBLES = new Set('error warning bug problem vulnerability conflict flaky slow'.split(' '));

/** What is to be done, and how clearly that was said: the verbs of the request, or else its last noun of that kind. */
export function readActions(mentions: readonly Mention[]): Map<string, number> {
  const acting = mentions.filter(
    ({ isRequest, word }) => isRequest && (canAct(word.kind) || word.form === 'verb'),
  );
  const verbs = acting.filter(({ word }) => word.form === 'verb');
  const nouns = acting.filter(({ word }) => word.form === 'noun' && word.role !== 'adverbial');
  const actions = new Map<string, number>();
  for (const { word } of verbs.length > 0 ? verbs : nouns.slice(-1)) {
    for (const { concept, strength } of word.meanings) {
      actions.set(concept, Math.max(strength, actions.get(concept) ?? 0));
    }
  }
  const heads = mentions
    .filter(({ isRequest, word, head }) => isRequest && word === head)
    .map(({ word }) => word);
  // Getting rid of errors is fixing them, and running a deployment is deploying.
  const isTrouble = ({ meanings }: Word) => meanings.some(({ concept }) => TROUBLES.has(concept));
  if (actions.has('remove') && heads.some(isTrouble)) actions.set('fix', 1);
  if (actions.has('run')) for (const head of heads) if (head.kind === 'deed') actions.set(conceptOf(head), 1);
  return actions;
}
