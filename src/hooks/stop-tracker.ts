import { type Decision, NOTHING } from './decision.ts';

/** Stop: nothing of its own to record; what the transcript has gained is read before, as for every hook. */
export function decideStop(): Decision {
  return NOTHING;
}
