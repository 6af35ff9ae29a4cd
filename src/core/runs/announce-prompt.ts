import { inertLines, inertText } from '../inert-text.ts';
import type { Language } from '../messages.ts';
import { cutText } from '../text.ts';
import type { Run } from './run.ts';

const TASK_LENGTH_MAX = 500;
const REPLY_LENGTH_MAX = 2000;

/** The exact reply with which a sub-agent has nothing posted. */
export const ANNOUNCE_SKIP = 'ANNOUNCE_SKIP';

const WORDS = {
  ko: {
    contract: [
      '정확히 다음 형식으로만 답하고 다른 것은 쓰지 마세요.',
      '<작업의 결과. 기록을 읽지 않아도 쓸 수 있을 만큼 완전하게>',
      '<문제, 열린 질문, 바꾼 파일. 없으면 "- (none)">',
      '"Status:" 줄은 쓰지 마세요. 상태는 이미 알려져 있습니다.',
      `보고할 것이 전혀 없을 때만 정확히 ${ANNOUNCE_SKIP}라고 답하세요.`,
    ],
    ended:
      '작업이 끝났습니다. 도구를 쓰지 말고 더 진행하지도 마세요. 작업을 맡긴 에이전트에게 결과를 말로만 정리하세요.',
    session: (requester: string, own: string) => `요청자: ${requester}\n이 세션: ${own}`,
    task: '작업:',
    lastReply: '당신의 마지막 답:',
    none: '(없음)',
  },
  en: {
    contract: [
      'Answer in exactly this form and with nothing else:',
      '<what came out of the task, complete enough to be used without reading your transcript>',
      '<problems, open questions, files that were changed; or "- (none)">',
      'Write no "Status:" line: the status is known already.',
      `Only if there is nothing at all worth reporting, answer exactly ${ANNOUNCE_SKIP}.`,
    ],
    ended:
      'Your work on the task has ended. Use no tools and do nothing further: only put into words, for the agent that ' +
      'gave you the task, what came out of it.',
    session: (requester: string, own: string) => `Requester: ${requester}\nYour session: ${own}`,
    task: 'Task:',
    lastReply: 'Your last reply:',
    none: '(not available)',
  },
} as const;

/** What a report has to look like: for the announce step, and in the first prompt where there is none. Failing is no reason to be silent. */
export function reportContract(language: Language): string {
  const [form, result, notes, ...rules] = WORDS[language].contract;
  return [form, '', 'Result:', result, '', 'Notes:', notes, '', ...rules].join('\n');
}

/** What the child is asked in its own session when its work is done, in the language of its first prompt. */
export function announcePrompt({
  run,
  lastReply,
  language,
}: {
  run: Run;
  lastReply: string | null;
  language: Language;
}): string {
  const words = WORDS[language];
  const reply = (lastReply ?? '').trim();
  return [
    'Sub-agent announce step.', // By which it is known in a log, in any language.
    '',
    words.ended,
    '',
    words.session(run.requester.key, run.childKey),
    `${words.task} ${inertText(run.task, TASK_LENGTH_MAX)}`,
    words.lastReply,
    reply === '' ? words.none : inertLines(cutText(reply, REPLY_LENGTH_MAX)),
    '',
    reportContract(language),
  ].join('\n');
}
