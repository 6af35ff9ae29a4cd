import { z } from 'zod';
import { jsonInProse } from '../../core/json-in-prose.ts';
import { inertWords } from '../prompts/quote.ts';
import { orchestrationSignals, type Signal } from './signals.ts';
import { wishIn } from './wishes.ts';

/** Who is to do what a prompt asks for: a flag decides, else a wish, else a model, else one agent. */

export const TRIAGE_LABELS = ['direct', 'single', 'team'] as const;
/** `direct`: words are enough; `single`: work for one agent; `team`: work to be divided. */
export type TriageLabel = (typeof TRIAGE_LABELS)[number];

export type TriageAnswer = {
  readonly label: TriageLabel;
  /** The words of the prompt that decide it. */
  readonly evidence: string;
  /** What is to be changed, and how large that is. */
  readonly size: string;
};

export type Triage = {
  readonly label: TriageLabel;
  readonly by: 'flag' | 'wish' | 'model' | 'default';
  readonly evidence: string;
  /** Of the seed, shown and not used. */
  readonly signals: readonly Signal[];
};

const EVIDENCE_LENGTH_MAX = 300;
const shown = (text: string) => inertWords(text, EVIDENCE_LENGTH_MAX);
const words = z.string().default('').transform(shown);
const ANSWER = z.object({ label: z.enum(TRIAGE_LABELS), evidence: words, size: words });

/** The answer in a model's words; undefined when there is none of that form in them. */
export function readTriageAnswer(text: string): TriageAnswer | undefined {
  const [found] = jsonInProse(text, (value) => ANSWER.safeParse(value).success).slice(-1);
  return found && ANSWER.parse(found.value);
}

/** What decides: `--pipeline` or `--direct`, the words of the prompt, the answer of a model, or else one agent. */
export function decideTriage(asked: {
  readonly prompt: string;
  readonly flag: 'direct' | 'pipeline' | null;
  /** Null: no model was asked, or its answer could not be read. */
  readonly answer: TriageAnswer | null;
}): Triage {
  const { prompt, flag, answer } = asked;
  const signals = orchestrationSignals(prompt);
  if (flag !== null)
    return { label: flag === 'pipeline' ? 'team' : 'direct', by: 'flag', evidence: `--${flag}`, signals };
  const wish = wishIn(prompt);
  if (wish !== undefined) return { label: wish.label, by: 'wish', evidence: shown(wish.evidence), signals };
  if (answer !== null) return { label: answer.label, by: 'model', evidence: answer.evidence, signals };
  return { label: 'single', by: 'default', evidence: '', signals };
}
