/** The signals by which the seed took a prompt for work of several. They are shown, and decide nothing: on unseen prompts they are right in half the cases. */

const LENGTH_MIN = 80;
const SIGNALS_MIN = 2;
const KEYWORD =
  /\.(?:js|ts|jsx|tsx|py|md|json|css|html|sql|ya?ml|sh|go|rs|swift)\b|구현|작성|만들어|수정|코딩|리팩|버그|에러|디버그|테스트|빌드|설치|배포|삭제|추가|변경|생성|개발|엔드포인트|서버|라우트|스키마|컴포넌트|모듈|함수|클래스|\bAPI\b|\bDB\b/gi;
const FILE_PATH = /(?:src|bin|public|lib|devlog|config|components?|pages?|api)\//i;
const SEVERAL_TASKS = /그리고|다음에|먼저|또한|추가로|\n\s*\n|\d+\.\s/;

export type Signal = 'long' | 'keyword' | 'keywords' | 'path' | 'several tasks';

/** Which of the seed's five signals a prompt has. */
export function orchestrationSignals(text: string): readonly Signal[] {
  const keywords = new Set(text.match(KEYWORD));
  const found: readonly (readonly [Signal, boolean])[] = [
    ['long', text.trim().length >= LENGTH_MIN],
    ['keyword', keywords.size > 0],
    ['keywords', keywords.size > 1],
    ['path', FILE_PATH.test(text)],
    ['several tasks', SEVERAL_TASKS.test(text)],
  ];
  return found.flatMap(([signal, isThere]) => (isThere ? signal : []));
}

/** Whether the seed would have orchestrated: two signals or more (`needsOrchestration`, Tier 1). */
export function needsOrchestration(text: string): boolean {
  return orchestrationSignals(text).length >= SIGNALS_MIN;
}

export { needsOrchestration as isOrchestration };

/** Whether the text says to go on with the open work, and nothing else (seed 004). */
export function isContinueIntent(text: string): boolean {
  return [/^\/?continue$/i, /^이어서(?:\s*해줘)?$/i, /^계속(?:\s*해줘)?$/i].some((one) =>
    one.test(text.trim()),
  );
}
