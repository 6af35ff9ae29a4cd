import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprint } from '../../../src/core/text.ts';
import {
  decideTriage,
  readTriageAnswer,
  type Triage,
  type TriageAnswer,
  type TriageLabel,
} from '../../../src/orchestrate/triage/triage.ts';

/** The set of prompts with their labels, as test/fixtures/triage/notes.md describes it. */

export type LabelledPrompt = {
  readonly key: string;
  readonly language: 'en' | 'ko';
  readonly kind: string;
  readonly label: TriageLabel;
  readonly wish: 'team' | 'single' | null;
  readonly prompt: string;
};

const FIXTURES = join(import.meta.dir, '../../fixtures/triage');

export const PROMPTS: readonly LabelledPrompt[] = readFileSync(join(FIXTURES, 'prompts.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

/** Whether no rule may be tuned on it. */
export function isHeldOut({ prompt }: LabelledPrompt): boolean {
  return Number.parseInt(fingerprint(prompt).slice(-1), 36) % 2 === 1;
}

/** What a model said to each prompt, by the prompt or its key. */
export function keptAnswers(): ReadonlyMap<string, TriageAnswer> {
  const file = join(FIXTURES, 'answers.json');
  const said: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
  return new Map(
    PROMPTS.flatMap(({ key, prompt }) => {
      const own = said[prompt] ?? said[key];
      const answer = readTriageAnswer(typeof own === 'string' ? own : JSON.stringify(own ?? null));
      return answer === undefined ? [] : [[prompt, answer] as const];
    }),
  );
}

export type Score = {
  /** Of all: a team or not, as labelled. */
  readonly right: number;
  /** Of all: the very label. */
  readonly exact: number;
  /** Of those that are for no team: taken for one. */
  readonly falsePipelines: number;
  /** The keys of wishes that were not obeyed, and of prompts without one in which one was seen. */
  readonly disobeyed: readonly string[];
  readonly imagined: readonly string[];
};

/** How well a way to decide does on some prompts; without `decide` ours, with these answers. */
export function scoreOf(
  prompts: readonly LabelledPrompt[],
  decide: (prompt: string) => Pick<Triage, 'label' | 'by'>,
): Score {
  const rows = prompts.map((one) => ({ ...one, said: decide(one.prompt) }));
  const share = (part: readonly unknown[], whole: readonly unknown[]) => part.length / whole.length;
  const others = rows.filter(({ label }) => label !== 'team');
  const keys = (found: readonly LabelledPrompt[]) => found.map(({ key }) => key);
  return {
    right: share(
      rows.filter(({ label, said }) => (label === 'team') === (said.label === 'team')),
      rows,
    ),
    exact: share(
      rows.filter(({ label, said }) => label === said.label),
      rows,
    ),
    falsePipelines: share(
      others.filter(({ said }) => said.label === 'team'),
      others,
    ),
    disobeyed: keys(rows.filter(({ wish, said }) => wish !== null && said.label !== wish)),
    imagined: keys(rows.filter(({ wish, said }) => wish === null && said.by === 'wish')),
  };
}

/** Our own way to decide, with what a model said. */
export function decidedWith(answers: ReadonlyMap<string, TriageAnswer>) {
  return (prompt: string) => decideTriage({ prompt, flag: null, answer: answers.get(prompt) ?? null });
}
