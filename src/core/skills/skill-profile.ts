import type { Skill } from './skill.ts';
import { canAct, type Kind, readWords, type Word } from './words.ts';

/** What a skill is about, as its name, its description, its patterns and its keywords say. */
export type Profile = {
  readonly skill: Skill;
  /** What it names or suggests, how clearly, and with which word. */
  readonly concepts: ReadonlyMap<string, { readonly strength: number; readonly word: string }>;
  /** Its name, its description and each pattern: ways to ask for it. */
  readonly intents: readonly (readonly Word[])[];
  /** What it does. */
  readonly actions: ReadonlySet<string>;
};

/** How much a shared word says about what somebody wants. */
export const WORD_WEIGHTS: Readonly<Record<Kind, number>> = {
  deed: 1,
  thing: 1,
  quality: 0.8,
  task: 0.65,
  area: 0.65,
  unknown: 0.7,
  domain: 0.5,
  common: 0.45,
  action: 0.2,
  name: 0,
};

/** The profile of a skill, from at most so many characters. */
export function readProfile(skill: Skill, lengthMax: number): Profile {
  const concepts = new Map<string, { strength: number; word: string }>();
  const actions = new Set<string>();
  const intents: Word[][] = [];
  let left = lengthMax;
  const learn = (text: string, of: 'name' | 'sentence' | 'keywords') => {
    const words = left > 0 ? readWords(text.slice(0, left)) : [];
    left -= text.length;
    const verb = of === 'name' ? nameVerb(words) : undefined;
    for (const word of words) {
      const acts = word === verb || (of === 'sentence' && word.form === 'verb');
      for (const { concept, strength } of word.meanings) {
        if (acts) actions.add(concept);
        if (strength <= (concepts.get(concept)?.strength ?? 0)) continue;
        concepts.set(concept, { strength, word: word.meanings[0]?.concept ?? '' });
      }
    }
    if (of !== 'keywords' && words.length > 0) intents.push(words);
  };
  learn(nameWords(skill.name), 'name');
  learn(skill.description, 'sentence');
  for (const pattern of skill.patterns) learn(pattern, 'sentence');
  learn(skill.keywords.join(', '), 'keywords');
  return { skill, concepts, intents, actions };
}

/** `sync-fork` syncs, `docker-build` builds, and `bisect` bisects. */
function nameVerb(words: readonly Word[]): Word | undefined {
  const [first] = words;
  if (first === undefined || words.length === 1 || canAct(first.kind)) return first;
  return words.findLast(({ kind }) => canAct(kind));
}

/** `deploy-staging`, `git:commit` and `openPr` are two words each. */
function nameWords(name: string): string {
  return name.replace(/[-_:.]/g, ' ').replace(/([a-z0-9])([A-Z])/g, '$1 $2');
}
