/**
 * How well skills are suggested, on the labelled prompts of test/fixtures/skill-prompts.json, next to the keyword rule
 * of the predecessor.
 *
 *   bun scripts/eval-skills.ts             a table
 *   bun scripts/eval-skills.ts --wrong     and every prompt of the calibration split that was answered wrongly
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSkill, type Skill } from '../src/core/skills/skill.ts';
import { matchSkill } from '../src/core/skills/skill-matcher.ts';

const FIXTURE = join(import.meta.dir, '..', 'test', 'fixtures', 'skill-prompts.json');
const SPLITS = ['calibration', 'test', 'all'] as const;

type LabelledPrompt = {
  readonly id: string;
  readonly prompt: string;
  /** The skill that fits; null when none does. */
  readonly skill: string | null;
  readonly split: string;
};
type Fixture = {
  readonly skills: readonly { name: string; scope: Skill['scope']; file: string }[];
  readonly prompts: readonly LabelledPrompt[];
};
/** Names the skill to suggest, or null. */
export type Matcher = (prompt: string, skills: readonly Skill[]) => string | null;

export type Evaluation = {
  readonly name: string;
  readonly split: (typeof SPLITS)[number];
  /** Right suggestions of all suggestions; 0 when there was none. */
  readonly precision: number;
  /** Right suggestions of all prompts that a skill fits. */
  readonly recall: number;
  readonly f1: number;
  readonly right: number;
  readonly suggested: number;
  readonly positives: number;
  readonly negatives: number;
};

const MATCHERS: Readonly<Record<string, Matcher>> = {
  'self-generation': (prompt, skills) => matchSkill(prompt, skills)?.skill.name ?? null,
  predecessor: matchByKeywords,
};

/** Precision and recall of our matcher and of the predecessor's, for each split. */
export function evaluateSkills(matchers = MATCHERS): Evaluation[] {
  const { skills, prompts } = readFixture();
  return Object.entries(matchers).flatMap(([name, matcher]) =>
    SPLITS.map((split) => {
      const chosen = prompts.filter((prompt) => split === 'all' || prompt.split === split);
      return { name, split, ...evaluate(matcher, skills, chosen) };
    }),
  );
}

function evaluate(matcher: Matcher, skills: readonly Skill[], prompts: readonly LabelledPrompt[]) {
  const answers = prompts.map(({ prompt, skill }) => ({ skill, answer: matcher(prompt, skills) }));
  const right = answers.filter(({ skill, answer }) => answer !== null && answer === skill).length;
  const suggested = answers.filter(({ answer }) => answer !== null).length;
  const positives = answers.filter(({ skill }) => skill !== null).length;
  return {
    precision: suggested === 0 ? 0 : right / suggested,
    recall: right / positives,
    f1: right === 0 ? 0 : (2 * right) / (suggested + positives),
    right,
    suggested,
    positives,
    negatives: prompts.length - positives,
  };
}

function readFixture(): { skills: Skill[]; prompts: readonly LabelledPrompt[] } {
  const { skills, prompts } = JSON.parse(readFileSync(FIXTURE, 'utf8')) as Fixture;
  const read = skills.map(({ name, scope, file }) => readSkill(file, { name, scope, path: `${name}.md` }));
  return { skills: read, prompts };
}

/**
 * The keyword rule of the predecessor: the first pattern of which at least half of the words occur somewhere in the
 * prompt. Its vectors never worked, so that this is all it suggested with.
 */
function matchByKeywords(prompt: string, skills: readonly Skill[]): string | null {
  const lower = prompt.toLowerCase();
  for (const { name, patterns } of skills) {
    for (const pattern of patterns) {
      const words = pattern
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word.length >= 3);
      const found = words.filter((word) => lower.includes(word)).length;
      if (words.length > 0 && found / words.length >= 0.5) return name;
    }
  }
  return null;
}

function print(): void {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`.padStart(8);
  console.log(
    'matcher          split        precision  recall        f1  right  suggested  positives  negatives',
  );
  for (const row of evaluateSkills()) {
    const shares = [row.precision, row.recall, row.f1].map(percent).join('  ');
    const counts = [row.right, row.suggested, row.positives, row.negatives].map((count) =>
      String(count).padStart(9),
    );
    console.log(`${row.name.padEnd(16)} ${row.split.padEnd(12)} ${shares}${counts.join('')}`);
  }
}

/** Only of the calibration split: the other one is there to be surprised by. */
function printWrong(): void {
  const { skills, prompts } = readFixture();
  for (const { id, prompt, skill, split } of prompts) {
    const match = split === 'calibration' ? matchSkill(prompt, skills) : undefined;
    if (match === undefined || (match?.skill.name ?? null) === skill) continue;
    console.log(`${id} ${skill ?? '-'} → ${match?.skill.name ?? '-'}: ${prompt.slice(0, 120)}`);
  }
}

if (import.meta.main) {
  print();
  if (process.argv.includes('--wrong')) printWrong();
}
