import { type Phase, WRITING_PHASE } from './phase-gates.ts';
import { inertPart, inertWords, PATH_LENGTH_MAX } from './quote.ts';
import type { Words } from './words.ts';

/** By what a piece of the work is judged, in the words of the plan. */
export type Verification = {
  readonly pass_criteria: string;
  readonly fail_criteria: string;
  readonly affected_files: readonly string[];
};

const CRITERIA_LENGTH_MAX = 2000;
const FILES_MAX = 50;

/** By what a piece is judged in this phase, one line each and an empty one; none where the plan names nothing. */
export function criteriaLines(criteria: Verification | null, phase: Phase, words: Words): string[] {
  if (criteria === null) return [];
  const when = phase < WRITING_PHASE ? words.later : '';
  const rows = [
    [words.passes + when, inertPart(criteria.pass_criteria, CRITERIA_LENGTH_MAX)],
    [words.fails + when, inertPart(criteria.fail_criteria, CRITERIA_LENGTH_MAX)],
    [words.files, filesLine(criteria.affected_files, words)],
  ];
  return [...rows.map(([name, text]) => `${name}: ${text || words.none}`), ''];
}

/** The files on one line, those beyond the first ones as a number. */
export function filesLine(files: readonly string[], words: Words): string {
  const shown = files.slice(0, FILES_MAX).map((file) => inertWords(file, PATH_LENGTH_MAX));
  const more = files.length > shown.length ? [words.more(files.length - shown.length)] : [];
  return [...shown, ...more].join(', ');
}
