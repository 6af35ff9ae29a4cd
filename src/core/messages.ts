/** The texts that agents are given. Korean is the seeds' wording; every entry exists in both languages. */
export type Language = 'ko' | 'en';

export type Messages = typeof KOREAN;

const KOREAN = {
  recentErrors: '이 프로젝트의 최근 에러 패턴:',
  fix: '해결:',
  byModel: '모델이 학습',
  lintRules: '이 프로젝트의 린트 규칙:',
  useInstead: (use: string, failing: string) =>
    withinFix(`\`${use}\` 사용`, failing === '' ? '' : ` (\`${failing}\` 대신)`),
  leaveOut: (words: string, failing: string) =>
    withinFix(`\`${words}\` 없이 실행`, failing === '' ? '' : ` (\`${failing}\`)`),
  runIn: (use: string, directory: string) =>
    `${directory === '' ? '프로젝트 루트' : `\`${directory}\``}에서 \`${use}\` 실행`,
  runFirst: (use: string, failing: string) =>
    withinFix(`\`${use}\` 실행`, failing === '' ? '' : ` (\`${failing}\`가 실패하면)`),
  lintRule: (rule: string, message: string) => `이 프로젝트의 린트 규칙: ${withRule(message, rule)}`,
  rules: '적용할 프로젝트 규칙:',
  knownError: '[Self-Generation 에러 KB] 이전에 동일 에러를 해결한 이력이 있습니다:',
  knownErrorText: (error: string) => `- 에러: ${error}`,
  knownErrorFix: (fix: string) => `- 해결 방법: ${fix}`,
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

const ENGLISH: Messages = {
  recentErrors: 'Recent errors in this project:',
  fix: 'Fix:',
  byModel: 'learnt by a model',
  lintRules: 'Lint rules of this project:',
  useInstead: (use, failing) =>
    withinFix(`use \`${use}\``, failing === '' ? '' : ` instead of \`${failing}\``),
  leaveOut: (words, failing) =>
    withinFix(`leave out \`${words}\``, failing === '' ? '' : ` in \`${failing}\``),
  runIn: (use, directory) =>
    `run \`${use}\` in ${directory === '' ? 'the root of the project' : `\`${directory}\``}`,
  runFirst: (use, failing) =>
    withinFix(`run \`${use}\``, failing === '' ? '' : ` when \`${failing}\` fails so`),
  lintRule: (rule, message) => `lint rule of this project: ${withRule(message, rule)}`,
  rules: 'Rules of this project:',
  knownError: '[Self-Generation error KB] This error has been solved before:',
  knownErrorText: (error) => `- Error: ${error}`,
  knownErrorFix: (fix) => `- Fix: ${fix}`,
  knownErrorAdvice: 'This may help to solve it again.',
  analysisHeading: '[Self-Generation] Results of the pattern analysis:',
  analysisAdvice: 'Please tell the user about these suggestions.',
  applyAdvice: 'Who agrees applies it with `self-generation apply <id>` in a terminal of his own.',
  dismissAdvice: 'If the user refuses, `self-generation dismiss <id>` keeps that.',
  previousSession: (time) => `[Self-Generation] Previous session (${time}):`,
  previousCounts: (prompts, tools) => `- Prompts: ${prompts}, tool calls: ${tools}`,
  previousPrompts: (prompts) => `- Last tasks: ${prompts}`,
  previousFiles: (files) => `- Files being edited: ${files}`,
  previousErrors: (count, errors) => `- Unresolved errors (${count}): ${errors}`,
  resumeErrors: (errors) => `- [RESUME] Unresolved errors in full: ${errors}`,
  previousTools: (tools) => `- Main tools: ${tools}`,
};

/** The texts of one language. */
export function messagesIn(language: Language): Messages {
  return language === 'en' ? ENGLISH : KOREAN;
}

/** What a fix may take of a context (RA-402). */
const FIX_LENGTH_MAX = 148;

/** The second part is left out where both do not fit: half a command is worse than none. */
function withinFix(first: string, second: string): string {
  return first.length + second.length <= FIX_LENGTH_MAX ? first + second : first;
}

function withRule(message: string, rule: string): string {
  return message.includes(rule) ? message : `${message} (${rule})`;
}
