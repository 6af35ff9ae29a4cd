import { lexicon } from './lexicon.ts';
import { conceptOf, isSubject, type Mention, readActions, readMentions } from './mentions.ts';
import { readRequest } from './request.ts';
import type { Skill } from './skill.ts';
import { type Profile, readProfile, WORD_WEIGHTS } from './skill-profile.ts';
import type { Kind, Word } from './words.ts';

/**
 * Which of the user's skills fits a prompt, if any: lexical, the same answer every time. A wrong suggestion costs more
 * than a missing one, so a skill has to be named in what is asked for, with an action that goes with it.
 *
 *   score = shared / (shared + 0.45 · lacking + 0.35 · foreign) · enough · action · object · alone
 *
 * shared   the words that prompt and skill have in common, in any shape and either language: their weights
 *          (WORD_WEIGHTS) times how rare they are among the loaded skills. A word that only describes another noun
 *          ("release notes page") or stands beside the request counts less.
 * lacking  what is missing of the skill's name, or of its closest pattern or description, whatever is least.
 * foreign  what the request names that the skill does not know.
 * enough   1 from a shared weight of 1 on, or when a whole name or pattern was said.
 * action   1 when the skill does what is asked for, less the further away that is: deleting is far from generating.
 * object   1 when the skill knows what the request is about, less when that is something else of the trade.
 * alone    below 1 when only one telling word is shared, so that neither name nor pattern was said.
 */
export type SkillMatch = { readonly skill: Skill; readonly confidence: number };
export type SkillScore = { readonly skill: Skill; readonly score: number };

const SCORE_MIN = 0.42;
/** Two skills that fit equally well are no answer. */
const LEAD_MIN = 0.02;
const SKILLS_MAX = 200;
/** What is read of all skills together, so that many long ones take no longer. */
const PROFILES_LENGTH_MAX = 12_000;
const PROFILE_LENGTH_MAX = 2000;

const LACKING = 0.45;
const FOREIGN = 0.35;
const RARITY = 0.45;

/** The skill to suggest for the prompt; null when none fits well, or two fit equally. Must not throw. */
export function matchSkill(prompt: string, skills: readonly Skill[]): SkillMatch | null {
  const [best, second] = rankSkills(prompt, skills);
  if (best === undefined || best.score < SCORE_MIN) return null;
  if (second !== undefined && best.score - second.score < LEAD_MIN) return null;
  return { skill: best.skill, confidence: Math.min(1, best.score) };
}

/** All skills that share a word with what the prompt asks for, the best first. */
export function rankSkills(prompt: string, skills: readonly Skill[]): SkillScore[] {
  if (skills.length === 0 || isCommand(prompt)) return [];
  const mentions = readMentions(readRequest(prompt));
  if (mentions.length === 0) return [];
  const loaded = withoutShadowed(skills).slice(0, SKILLS_MAX);
  const lengthMax = Math.min(PROFILE_LENGTH_MAX, PROFILES_LENGTH_MAX / loaded.length);
  const profiles = loaded.map((skill) => readProfile(skill, lengthMax));
  const asked: Asked = { mentions, actions: readActions(mentions), rarity: rarityAmong(profiles) };
  const scores = profiles.map((profile) => ({ skill: profile.skill, score: scoreProfile(profile, asked) }));
  return scores.filter(({ score }) => score > 0).sort((left, right) => right.score - left.score);
}

/** Where a global command and one of the project have the same name, the client runs the project's. */
function withoutShadowed(skills: readonly Skill[]): Skill[] {
  const names = new Set<string>();
  for (const { name, scope } of skills) if (scope === 'project') names.add(name);
  return skills.filter(({ name, scope }) => scope === 'project' || !names.has(name));
}

/** `/deploy-staging now`: whoever types a command needs no hint. */
function isCommand(prompt: string): boolean {
  return /^\s*\/[\w:-]+(?:\s|$)/.test(prompt);
}

type Asked = {
  readonly mentions: readonly Mention[];
  /** What is to be done, and how clearly that was said. */
  readonly actions: ReadonlyMap<string, number>;
  readonly rarity: (concept: string) => number;
};

/** 1 for what one skill knows, less the more know it. With one skill everything is rare, hence WORD_WEIGHTS. */
function rarityAmong(profiles: readonly Profile[]): (concept: string) => number {
  const counts = new Map<string, number>();
  for (const { concepts } of profiles) {
    for (const concept of concepts.keys()) counts.set(concept, (counts.get(concept) ?? 0) + 1);
  }
  return (concept) => 1 / (1 + RARITY * Math.log2(counts.get(concept) ?? 1));
}

function scoreProfile(profile: Profile, asked: Asked): number {
  if (!asked.mentions.some(({ word }) => word.kind !== 'action' && knows(profile, word))) return 0;
  const { shared, telling, isTellingOpen, foreign, said } = compare(profile, asked);
  const { lacking, covered } = closestIntent(profile, said, asked.rarity);
  const action = actionFit(profile, asked.actions);
  const isWholeNamed = lacking < 0.05;
  const object = Math.max(objectFit(profile, asked), isWholeNamed ? 0.8 : 0);
  const enough = Math.max(Math.min(1, shared), action === 1 ? covered ** 2 : 0);
  const isNamed = telling > 1 || isWholeNamed || (action === 1 && covered >= (telling === 1 ? 0.6 : 0.7));
  const alone = isNamed ? 1 : isTellingOpen || telling === 0 || action === 1 ? 0.7 : 0.5;
  return (shared / (shared + LACKING * lacking + FOREIGN * foreign)) * enough * action * object * alone;
}

const TELLING = 0.45;
/** What a request names besides; unknown words and names are mostly what the work is done to. */
const FOREIGN_WEIGHTS: Readonly<Record<Kind, number>> = {
  deed: 1,
  thing: 1,
  quality: 0.5,
  task: 0.6,
  area: 0.6,
  unknown: 0.15,
  domain: 0.15,
  common: 0.4,
  action: 0,
  name: 0,
};

type Comparison = {
  readonly shared: number;
  /** How many of the skill's words were said that tell it from others, and whether one is not just a place. */
  readonly telling: number;
  readonly isTellingOpen: boolean;
  readonly foreign: number;
  /** What the prompt says, as clearly as this skill can take it. */
  readonly said: ReadonlyMap<string, number>;
};

function compare(profile: Profile, { mentions, rarity }: Asked): Comparison {
  const shares = new Map<string, { weight: number; isOpen: boolean }>();
  const misses = new Map<string, number>();
  const said = new Map<string, number>();
  for (const mention of mentions) {
    const { word, isRequest } = mention;
    const clarity = mention.weight * headFactor(profile, mention);
    for (const { concept, strength } of word.meanings) raise(said, concept, strength * clarity);
    const best = bestShare(profile, word, rarity);
    if (best !== undefined) {
      const weight = best.strength * clarity * WORD_WEIGHTS[word.kind];
      const known = shares.get(best.word);
      const isOpen = word.role !== 'adverbial' || known?.isOpen === true;
      shares.set(best.word, { weight: Math.max(weight, known?.weight ?? 0), isOpen });
    } else if (isRequest && word.form !== 'attribute') {
      raise(misses, conceptOf(word), FOREIGN_WEIGHTS[word.kind]);
    }
  }
  const all = [...shares.values()];
  const telling = all.filter(({ weight }) => weight >= TELLING);
  return {
    shared: sum(all.map(({ weight }) => weight)),
    telling: telling.length,
    isTellingOpen: telling.some(({ isOpen }) => isOpen),
    foreign: sum(misses.values()),
    said,
  };
}

function bestShare(profile: Profile, { meanings }: Word, rarity: (concept: string) => number) {
  let best: { strength: number; word: string } | undefined;
  for (const { concept, strength } of meanings) {
    const known = profile.concepts.get(concept);
    const shared = known === undefined ? 0 : known.strength * strength * rarity(concept);
    if (known !== undefined && shared > (best?.strength ?? 0)) best = { strength: shared, word: known.word };
  }
  return best;
}

/** Below 1 for a noun that only describes another, which this skill does not know. */
function headFactor(profile: Profile, { word, head }: Mention): number {
  if (head === undefined || head === word || word.form !== 'noun' || word.kind === 'quality') return 1;
  if (head.kind === 'name' || head.kind === 'domain' || knows(profile, head)) return 1;
  return head.kind === 'unknown' ? 0.8 : 0.35;
}

function knows({ concepts }: Profile, { meanings }: Word): boolean {
  return meanings.some(({ concept }) => concepts.has(concept));
}

/** How much is missing of the way to ask for the skill that is closest, and how much of any was said at most. */
function closestIntent(
  { intents }: Profile,
  said: ReadonlyMap<string, number>,
  rarity: (concept: string) => number,
) {
  let lacking = Number.POSITIVE_INFINITY;
  let least = Number.POSITIVE_INFINITY;
  let covered = 0;
  for (const intent of intents) {
    let missing = 0;
    let total = 0;
    let found = 0;
    for (const { kind, meanings } of intent) {
      const weight = WORD_WEIGHTS[kind];
      const concept = meanings[0]?.concept ?? '';
      const clarity = Math.max(
        0,
        ...meanings.map((meaning) => meaning.strength * (said.get(meaning.concept) ?? 0)),
      );
      // Who says "test" has said half of "load test".
      const named = kind === 'unknown' ? clarity : (said.get(concept) ?? 0);
      missing += (1 - clarity) * weight * rarity(concept);
      total += weight;
      found += ((named + clarity) / 2) * weight;
    }
    if (found > 0) lacking = Math.min(lacking, missing);
    least = Math.min(least, missing);
    if (total > 0) covered = Math.max(covered, found / total);
  }
  return { lacking: Number.isFinite(lacking) ? lacking : least, covered };
}

/** How well the families of actions go together; rows are what is asked for, columns what the skill does. */
const FAMILIES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  make: { make: 0.95, change: 0.85, mend: 0.6, look: 0.5 },
  change: { change: 0.95, mend: 0.9, make: 0.85, look: 0.6 },
  mend: { mend: 1, change: 0.9, look: 0.8, make: 0.6 },
  look: { look: 0.95, mend: 0.8, change: 0.7, make: 0.5 },
  run: { run: 1, make: 0.6, look: 0.6, change: 0.5 },
  send: { send: 1, make: 0.6 },
  tell: { tell: 0.8 },
};
const UNRELATED = 0.3;

function actionFit(profile: Profile, actions: ReadonlyMap<string, number>): number {
  if (actions.size === 0) return 0.9;
  let best = 0.15;
  for (const [action, strength] of actions) {
    best = Math.max(best, oneActionFit(profile, action) * (0.5 + 0.5 * strength));
  }
  return best;
}

function oneActionFit({ actions, concepts }: Profile, action: string): number {
  if (actions.has(action)) return 1;
  const { families } = lexicon();
  const family = families.get(action);
  if (family === undefined) return concepts.has(action) ? 0.6 : 0.5;
  if (actions.size === 0) return family === 'take' || family === 'tell' ? UNRELATED : 0.9;
  const isWork = family === 'make' || family === 'change' || family === 'look';
  let best = 0;
  for (const own of actions) {
    const ownFamily = families.get(own);
    const fit = ownFamily === undefined ? (isWork ? 0.6 : 0) : (FAMILIES[family]?.[ownFamily] ?? UNRELATED);
    best = Math.max(best, fit);
  }
  return best;
}

/** Whether the skill knows one of the nouns that the request is about. */
function objectFit(profile: Profile, { mentions }: Asked): number {
  let hasKnownHead = false;
  let hasOpenHead = false;
  let isDeed = false;
  for (const { word, head, isRequest } of mentions) {
    if (!isRequest) continue;
    if (word.form === 'verb' && word.kind !== 'action' && knows(profile, word)) isDeed = true;
    if (word !== head || word.role === 'adverbial' || word.kind === 'action') continue;
    if (knows(profile, word)) return 1;
    if (isSubject(word) && word.kind !== 'domain') hasKnownHead = true;
    else hasOpenHead = true;
  }
  if (!hasKnownHead) return 1;
  return isDeed || hasOpenHead ? 0.85 : 0.75;
}

function raise(numbers: Map<string, number>, key: string, value: number): void {
  numbers.set(key, Math.max(value, numbers.get(key) ?? 0));
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
