import type { Language } from './messages.ts';

/** The texts that main sessions are given, and any agent behind a failing call. */
export type SessionMessages = typeof KOREAN;

const KOREAN = {
  knownError: '[Self-Generation 에러 KB] 이전에 동일 에러를 해결한 이력이 있습니다:',
  similarError: '[Self-Generation 에러 KB] 이 에러는 아니지만 비슷한 에러를 해결한 이력이 있습니다:',
  similarErrorNames: (known: string, asked: string) =>
    `- 차이: 해결된 에러는 ${known}, 지금 에러는 ${asked}에 관한 것`,
  knownErrorText: (error: string) => `- 에러: ${error}`,
  knownErrorFix: (fix: string) => `- 해결 방법: ${fix}`,
  similarErrorAdvice: '이 에러에도 맞는지 먼저 확인하세요.',
  knownErrorAdvice: '이 정보를 참고하여 해결을 시도하세요.',
  analysisHeading: '[Self-Generation] AI 패턴 분석 결과:',
  analysisAdvice: '사용자에게 이 개선 제안을 알려주세요.',
  applyAdvice: '사용자가 승인하면 터미널에서 `self-generation apply <id>`를 실행하라고 알려주세요.',
  dismissAdvice: '사용자가 거부하면 `self-generation dismiss <id>`로 기록하세요.',
  previousSession: (time: string) => `[Self-Generation] 이전 세션 컨텍스트 (${time}):`,
  previousCounts: (prompts: number, tools: number) => `- 프롬프트 ${prompts}개, 도구 ${tools}회 사용`,
  previousPrompts: (prompts: string) => `- 이전 세션 마지막 작업: ${prompts}`,
  previousFiles: (files: string) => `- 수정 중이던 파일: ${files}`,
  previousErrors: (count: number, errors: string) => `- 미해결 에러 ${count}건: ${errors}`,
  resumeErrors: (errors: string) => `- [RESUME] 미해결 에러 상세: ${errors}`,
  previousTools: (tools: string) => `- 주요 도구: ${tools}`,
};

const ENGLISH: SessionMessages = {
  knownError: '[Self-Generation error KB] This error has been solved before:',
  similarError: '[Self-Generation error KB] A similar error, but not this one, has been solved before:',
  similarErrorNames: (known, asked) => `- Difference: it was about ${known}, this error is about ${asked}`,
  knownErrorText: (error) => `- Error: ${error}`,
  knownErrorFix: (fix) => `- Fix: ${fix}`,
  similarErrorAdvice: 'Check first whether the fix also applies here.',
  knownErrorAdvice: 'This may help to solve it again.',
  analysisHeading: '[Self-Generation] Results of the pattern analysis:',
  analysisAdvice: 'Please tell the user about these suggestions.',
  applyAdvice: 'To accept one, the user runs `self-generation apply <id>` in their own terminal.',
  dismissAdvice: 'To refuse one, `self-generation dismiss <id>`.',
  previousSession: (time) => `[Self-Generation] Previous session (${time}):`,
  previousCounts: (prompts, tools) => `- Prompts: ${prompts}, tool calls: ${tools}`,
  previousPrompts: (prompts) => `- Last tasks: ${prompts}`,
  previousFiles: (files) => `- Files being edited: ${files}`,
  previousErrors: (count, errors) => `- Unresolved errors (${count}): ${errors}`,
  resumeErrors: (errors) => `- [RESUME] Unresolved errors in full: ${errors}`,
  previousTools: (tools) => `- Main tools: ${tools}`,
};

/** The texts of one language. */
export function sessionMessagesIn(language: Language): SessionMessages {
  return language === 'en' ? ENGLISH : KOREAN;
}
