import type { Standing } from '../../src/orchestrate/standing.ts';
import { standingOf } from '../../src/orchestrate/standing.ts';
import { planText, subtask } from './scripted.ts';
import { Simulated } from './simulated.ts';

/** An orchestration of ann, who writes documents, and bob, whose first attempt does not pass. */
export type Played = {
  readonly simulated: Simulated;
  /** How it stood before each answer, and at its end. */
  readonly standings: readonly Standing[];
};

export type Texts = { readonly task?: string; readonly result?: string; readonly prompt?: string };

/** Plays it to its end. */
export function played({ task, result = 'Result: done', prompt }: Texts = {}): Played {
  const simulated = new Simulated();
  if (prompt !== undefined) Object.assign(simulated.orchestration, { prompt });
  const standings: Standing[] = [];
  simulated.run(({ key }) => {
    standings.push(standingOf(simulated.state));
    if (key === 'plan')
      return planText([subtask('ann', { role: 'docs' }), subtask('bob', task === undefined ? {} : { task })]);
    if (key.startsWith('review'))
      return simulated.verdicts((agent) => !(agent === 'bob' && key === 'review.1'));
    return result;
  });
  standings.push(standingOf(simulated.state));
  return { simulated, standings };
}
