import { ACTIONS, DEEDS, EMPTY, TASKS } from './glossary-actions.ts';
import { AREAS, COMMON, DOMAIN, QUALITIES, THINGS } from './glossary-subjects.ts';

/** What a word means, and how clearly: `playwright` only suggests end-to-end tests. */
export type Meaning = { readonly concept: string; readonly strength: number };
/** From what every request has to what one request is about. */
export type Kind = 'action' | 'deed' | 'task' | 'thing' | 'area' | 'quality' | 'common' | 'domain';
export type Entry = { readonly kind: Kind | 'empty'; readonly meanings: readonly Meaning[] };

export type Lexicon = {
  readonly entries: ReadonlyMap<string, Entry>;
  /** Stems of Korean verbs, which take endings of their own. */
  readonly verbs: ReadonlySet<string>;
  /** Which general actions are of a kind: to fix and to repair, to write and to generate. */
  readonly families: ReadonlyMap<string, string>;
  /** First words of English phrases, with how many words the longest has. */
  readonly phraseStarts: ReadonlyMap<string, number>;
};
type Draft = {
  readonly entries: Map<string, Entry>;
  readonly verbs: Set<string>;
  readonly families: Map<string, string>;
  readonly phraseStarts: Map<string, number>;
};

const SUGGESTED = 0.75;

let built: Lexicon | undefined;

/** The glossary as it is looked up; built for the first prompt that needs it, and never changed. */
export function lexicon(): Lexicon {
  built ??= buildLexicon();
  return built;
}

/** Plain loops and few calls: a hook does this once in its life, without machine code. */
function buildLexicon(): Lexicon {
  const draft: Draft = { entries: new Map(), verbs: new Set(), families: new Map(), phraseStarts: new Map() };
  learn(draft, 'action', ACTIONS);
  learn(draft, 'deed', DEEDS);
  learn(draft, 'task', TASKS);
  learn(draft, 'thing', THINGS);
  learn(draft, 'area', AREAS);
  learn(draft, 'quality', QUALITIES);
  learn(draft, 'common', COMMON);
  learn(draft, 'domain', DOMAIN);
  learn(draft, 'empty', EMPTY);
  return draft;
}

const EMPTY_ENTRY: Entry = { kind: 'empty', meanings: [] };
const COLON = 0x3a;
const TILDE = 0x7e;

function learn(draft: Draft, kind: Entry['kind'], glossary: string): void {
  const { entries, verbs } = draft;
  let entry = EMPTY_ENTRY;
  for (const form of glossary.trim().split(/\s/)) {
    const last = form.charCodeAt(form.length - 1);
    if (last === COLON) entry = { kind, meanings: readName(draft, form) };
    else if (form.includes('_')) learnPhrase(draft, form, entry);
    else if (last === TILDE) {
      verbs.add(form.slice(0, -1));
      learnForm(draft, form.slice(0, -1), entry);
    } else if (!entries.has(form)) entries.set(form, entry);
    else if (kind !== 'empty') learnForm(draft, form, entry);
  }
}

/** `change/upgrade>change:` is a meaning of the family `change` that also suggests `change`. */
function readName({ families }: Draft, text: string): Meaning[] {
  const slash = text.indexOf('/');
  const suggests = text.indexOf('>');
  const concept = text.slice(slash + 1, suggests < 0 ? -1 : suggests);
  if (slash > 0) families.set(concept, text.slice(0, slash));
  const meanings: Meaning[] = [{ concept, strength: 1 }];
  if (suggests < 0) return meanings;
  for (const other of text.slice(suggests + 1, -1).split(',')) {
    meanings.push({ concept: other, strength: SUGGESTED });
  }
  return meanings;
}

function learnForm({ entries }: Draft, form: string, entry: Entry): void {
  const known = entries.get(form);
  if (known === undefined) entries.set(form, entry);
  else entries.set(form, { kind: known.kind, meanings: merge(known.meanings, entry.meanings) });
}

/** A phrase is also known written as one word: `pull_request`, `릴리스_노트`. */
function learnPhrase(draft: Draft, form: string, entry: Entry): void {
  const isVerb = form.endsWith('~');
  const words = (isVerb ? form.slice(0, -1) : form).split('_');
  const [first = ''] = words;
  draft.phraseStarts.set(first, Math.max(draft.phraseStarts.get(first) ?? 0, words.length));
  if (isVerb) draft.verbs.add(words.join(''));
  learnForm(draft, words.join(''), entry);
  learnForm(draft, words.join(' '), entry);
}

function merge(known: readonly Meaning[], more: readonly Meaning[]): readonly Meaning[] {
  const fresh = more.filter(({ concept }) => !known.some((meaning) => meaning.concept === concept));
  return [...known, ...fresh];
}
