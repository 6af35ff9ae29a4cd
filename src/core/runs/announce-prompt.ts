import { inertLines, inertText } from '../inert-text.ts';
import { cutText } from '../text.ts';
import type { Run } from './run.ts';

const TASK_LENGTH_MAX = 500;
const REPLY_LENGTH_MAX = 2000;

/** The exact reply with which a sub-agent has nothing posted. */
export const ANNOUNCE_SKIP = 'ANNOUNCE_SKIP';

/**
 * What a report has to look like. For the announce step, and in the first prompt for those who spare themselves it.
 * Failing is no reason to be silent: a report is left out only when there is nothing to say.
 */
export const REPORT_CONTRACT = [
  'Answer in exactly this form and with nothing else:',
  '',
  'Result:',
  '<what came out of the task, complete enough to be used without reading your transcript>',
  '',
  'Notes:',
  '<problems, open questions, files that were changed; or "- (none)">',
  '',
  'Write no "Status:" line: the status is known already.',
  `Only if there is nothing at all worth reporting, answer exactly ${ANNOUNCE_SKIP}.`,
].join('\n');

/** What the child is asked in its own session when its work is done. */
export function announcePrompt({ run, lastReply }: { run: Run; lastReply: string | null }): string {
  return [
    'Sub-agent announce step.',
    '',
    'Your work on the task has ended. Use no tools and do nothing further: only put into words, for the agent that ' +
      'gave you the task, what came out of it.',
    '',
    `Requester: ${run.requester.key}`,
    `Your session: ${run.childKey}`,
    `Task: ${inertText(run.task, TASK_LENGTH_MAX)}`,
    'Your last reply:',
    lastReply === null || lastReply.trim() === ''
      ? '(not available)'
      : inertLines(cutText(lastReply.trim(), REPLY_LENGTH_MAX)),
    '',
    REPORT_CONTRACT,
  ].join('\n');
}
