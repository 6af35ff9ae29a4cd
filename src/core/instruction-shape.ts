import { hasLookAlike, oneLine } from './text.ts';

/**
 * Text that is shaped like an instruction to the agent that reads it: to ignore, fetch, send, delete or run. A stored
 * error, fix or rule of that shape is never put into a context. Ordinary advice of tools (`Run "npm audit fix"`) and
 * ordinary rules of a project are not of that shape.
 */

/** Each shape under the words of which one must occur: looking for them first spares a hook two dozen expressions. */
const SHAPES: Readonly<Record<string, () => RegExp>> = {
  // Ignore what you were told.
  'ignore|disregard|forget|override|bypass': () =>
    /(?<!\w-|\b(?:not|never|don't) )\b(?:ignore|disregard|forget|override|bypass)\b.{0,24}\b(?:all|any|every|previous|prior|above|earlier|preceding|your|the system|system)\b.{0,24}\b(?:instruction|prompt|rule|message|direction|guideline|context|constraint|polic)/i,
  'disregard|ignore': () => /\b(?:disregard|ignore)\s+(?:the\s+)?(?:above|previous|everything)\b/i,
  'instruction|system prompt': () =>
    /\b(?:new|updated|real|actual)\s+(?:system\s+)?(?:instructions?|system prompt)\s*(?::|are|is\b)/i,
  'prompt|message|override': () => /\b(?:system|developer)\s+(?:prompt|message|override)\s*:/i,
  'you are now': () =>
    /\byou\s+are\s+now\s+(?:a|an|in|the|no longer|free|dan|root|admin|jailbroken|unrestricted)\b/i,
  'as a': () =>
    /\bas\s+an?\s+(?:ai|llm|assistant|language model|coding agent)\b.{0,40}\b(?:you|must|should|will)\b/i,
  'tell|inform|mention|notify|alert|asking': () =>
    /\b(?:do\s+not|don't|never|without)\s+(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|asking)\b.{0,24}\b(?:user|human|anyone|permission|confirmation)\b/i,
  // Send something out.
  'send|post|upload|exfiltrate|transmit|forward|leak|email|submit': () =>
    /\b(?:send|post|upload|exfiltrate|transmit|forward|leak|email|submit)\b.{0,60}\b(?:contents?|secrets?|keys?|tokens?|credentials?|passwords?|env(?:ironment)?|files?|source|data|history)\b.{0,60}\b(?:to|at|via)\b.{0,24}(?:https?:|www\.|@|\b[\w-]+\.(?:com|net|org|io|dev|sh)\b)/i,
  'ssh|.aws|/etc/|netrc|private key|api key|prompt': () =>
    /(?<!\b(?:not|never|don't) )\b(?:read|cat|print|copy|show|reveal|output|include)\b.{0,40}(?:~\/\.ssh|\.ssh\/id_|\.aws\/credentials|\/etc\/(?:passwd|shadow)|\.netrc|private key|api keys?|your (?:system )?prompt)/i,
  // Fetch and run.
  'curl|wget|iwr|irm|invoke-': () =>
    /\b(?:curl|wget|iwr|irm|invoke-(?:webrequest|restmethod))\b.{0,200}\|\s*(?:sudo\s+)?(?:(?:ba|z|da|k|fi)?sh|python[\d.]*|node|bun|deno|perl|ruby|php|iex|invoke-expression)\b/i,
  'curl|wget': () =>
    /(?:\b(?:(?:ba|z|da|k)?sh|python[\d.]*|source)\b|\.).{0,20}(?:<\(|\$\(|`)\s*(?:curl|wget)\b/i,
  base64: () => /\bbase64\b.{0,40}\|\s*(?:ba|z)?sh\b/i,
  eval: () => /\beval\s*[("$`].{0,40}\b(?:curl|wget|base64|atob|fetch)\b/i,
  'following|below': () =>
    /\b(?:execute|run|perform|follow|obey)\s+(?:the\s+|these\s+|this\s+)?(?:following|below)\s+(?:commands?|instructions?|steps?|scripts?|code|actions?)\b/i,
  'below|above': () =>
    /\b(?:execute|run|perform|follow|obey)\s+(?:the|these|this)\s+(?:commands?|instructions?|scripts?|code)\s+(?:below|above)\b/i,
  // "You must run", "you have to remove" and "you should install" are what tools advise.
  'you ': () =>
    /\byou\s+(?:must|should|need to|have to|will)\s+(?:(?:now|immediately|first)\s+(?:run|execute|delete|remove|fetch|download|send|ignore|install|push|disable|call|visit|open)|execute|delete|send|upload|ignore|disable|visit)\b/i,
  // Destroy, or switch the safeguards off.
  'rm -': () =>
    /\brm\s+(?=(?:-\S+\s+){0,5}(?:-[a-z]*r|--recursive))(?=(?:-\S+\s+){0,5}(?:-[a-z]*f|--force))(?:-\S+\s+){1,6}(?:\/|~|\$HOME|\*|\.(?:\s|$))/i,
  'git push': () => /\bgit\s+push\b.{0,60}(?:--force\b(?!-with-lease)|\s-f\b)/i,
  '--no-verify': () => /\bgit\s+(?:commit|push|merge|rebase)\b.{0,80}--no-verify\b/i,
  permissions: () => /--dangerously-skip-permissions|\bbypassPermissions\b/i,
  'chmod|mkfs|dd if': () => /\b(?:chmod\s+(?:-R\s+)?777|mkfs\.|dd\s+if=.{0,40}of=\/dev\/)/i,
  // 한국어
  '무시|잊어|따르지': () =>
    /(?:이전|위의?|앞의?|기존|모든|시스템)\s*(?:의\s*)?(?:지시|명령|규칙|프롬프트|지침).{0,12}(?:따르지|(?:무시|잊어)(?!(?:하|되)?지\s*(?:마|말|않|못)))/,
  '실행|수행|따르': () =>
    /(?:다음|아래)(?:의)?\s*(?:명령|스크립트|코드|지시).{0,12}(?:실행|수행|따르)(?!(?:하|되)?지\s*(?:마|말|않|못))/,
  '전송|보내|업로드|유출|출력': () =>
    /(?:비밀\s*키|비밀번호|토큰|인증\s*정보|개인\s*키|환경\s*변수|자격\s*증명|API\s*키).{0,30}(?:전송|보내|업로드|유출|출력)(?!(?:하|되)?지\s*(?:마|말|않|못))/i,
  사용자에게: () => /사용자에게.{0,16}(?:알리지|말하지|묻지)/,
  '삭제|지우': () =>
    /(?:모든|전체)\s*(?:파일|데이터|디렉토리|폴더).{0,12}(?:삭제|지우)(?!(?:하|되)?지\s*(?:마|말|않|못))/,
};

const LENGTH_MAX = 4000;

/** Whether the text is shaped like an instruction to its reader, also when look-alike characters disguise it. */
export function isInstructionShaped(text: string): boolean {
  const line = plain(oneLine(text).slice(0, LENGTH_MAX));
  const lowered = line.toLowerCase();
  for (const words in SHAPES) {
    let isNear = false;
    for (const word of words.split('|')) isNear ||= lowered.includes(word);
    if (isNear && SHAPES[words]?.().test(line)) return true;
  }
  return false;
}

/** Normalising is dear when it is done for the first time, so it is left to texts that have look-alike characters. */
function plain(line: string): string {
  return hasLookAlike(line) ? line.normalize('NFKC').replaceAll('\u200c', '').replaceAll('\u200d', '') : line;
}
