import { z } from 'zod';
import { parseJson } from '../../core/guards.ts';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import { readTextFile } from '../../system/runtime-bun.ts';
import type { TurnFiles } from '../model/run.ts';
import { type Ending, OUTCOMES } from '../model/turn.ts';

/** How a turn ended on another machine, as the process that waited for it leaves that for the supervisor. */

const AWAY_END = z.object({
  outcome: z.enum(OUTCOMES),
  error: z.string().nullable(),
  exit: z.object({ code: z.number().nullable(), signal: z.string().nullable() }).nullable(),
  notes: z.array(z.string()),
});

export type WrittenEnd = z.infer<typeof AWAY_END>;

/** Leaves it for the supervisor. */
export function writeAwayEnd({ away }: Pick<TurnFiles, 'away'>, end: WrittenEnd): void {
  writeFileAtomic(away, JSON.stringify(end), { mode: 0o600 });
}

/** What was left; undefined: nothing. */
export function readAwayEnd({ away }: Pick<TurnFiles, 'away'>): WrittenEnd | undefined {
  const read = AWAY_END.safeParse(parseJson(readTextFile(away) ?? ''));
  return read.success ? read.data : undefined;
}

const UNKNOWN =
  'the process that waited for the other machine ended; what became of the work there is not known';

/** The ending with what the machine says. A stop that was asked for here counts, and so does what its client itself reported. */
export function withAwayEnd(ending: Ending, end: WrittenEnd | undefined, isStopped: boolean): Ending {
  if (end === undefined)
    return isStopped || ending.outcome === 'success'
      ? ending
      : { ...ending, outcome: 'lost', error: UNKNOWN };
  const noted = { ...ending, notes: [...ending.notes, ...end.notes] };
  if (isStopped) return noted;
  if (end.outcome === 'success') return noted;
  return { ...noted, outcome: end.outcome, error: end.error ?? ending.error };
}
