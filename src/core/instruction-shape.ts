/**
 * Text that is shaped like an instruction to the agent that reads it: to ignore, fetch, send, delete or run. A stored
 * error, fix or rule of that shape is never put into a context. Ordinary advice of tools (`Run "npm audit fix"`) and
 * ordinary rules of a project are not of that shape.
 */
const shapes = (): readonly RegExp[] => [
  // Ignore what you were told.
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,24}\b(?:all|any|every|previous|prior|above|earlier|preceding|your|the system|system)\b.{0,24}\b(?:instruction|prompt|rule|message|direction|guideline|context|constraint|polic)/i,
  /\b(?:disregard|ignore)\s+(?:the\s+)?(?:above|previous|everything)\b/i,
  /\b(?:new|updated|real|actual)\s+(?:system\s+)?(?:instructions?|system prompt)\s*(?::|are|is\b)/i,
  /\b(?:system|developer)\s+(?:prompt|message|override)\s*:/i,
  /\byou\s+are\s+now\s+(?:a|an|in|the|no longer|free)\b/i,
  /\bas\s+an?\s+(?:ai|llm|assistant|language model|coding agent)\b.{0,40}\b(?:you|must|should|will)\b/i,
  /\b(?:do\s+not|don't|never|without)\s+(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|asking)\b.{0,24}\b(?:user|human|anyone|permission|confirmation)\b/i,
  // Send something out.
  /\b(?:send|post|upload|exfiltrate|transmit|forward|leak|email|submit)\b.{0,60}\b(?:contents?|secrets?|keys?|tokens?|credentials?|passwords?|env(?:ironment)?|files?|source|data|history)\b.{0,60}\b(?:to|at|via)\b.{0,24}(?:https?:|www\.|@|\b[\w-]+\.(?:com|net|org|io|dev|sh)\b)/i,
  /\b(?:read|cat|print|copy|show|reveal|output|include)\b.{0,40}(?:~\/\.ssh|\.ssh\/id_|\.aws\/credentials|\/etc\/(?:passwd|shadow)|\.netrc|private key|api keys?|your (?:system )?prompt)/i,
  // Fetch and run.
  /\b(?:curl|wget|iwr|invoke-webrequest)\b.{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b/i,
  /\b(?:curl|wget)\b.{0,200}\|\s*(?:sudo\s+)?(?:python|node|perl|ruby|iex)\b/i,
  /\bbase64\b.{0,40}\|\s*(?:ba|z)?sh\b/i,
  /\beval\s*[("$`].{0,40}\b(?:curl|wget|base64|atob|fetch)\b/i,
  /\b(?:execute|run|perform|follow|obey)\s+(?:the\s+|these\s+|this\s+)?(?:following|below)\s+(?:commands?|instructions?|steps?|scripts?|code|actions?)\b/i,
  /\byou\s+(?:must|should|need to|have to|will)\s+(?:now\s+|immediately\s+|first\s+)?(?:run|execute|delete|remove|fetch|download|send|ignore|install|push|disable|call|visit|open)\b/i,
  // Destroy, or switch the safeguards off.
  /\brm\s+-[a-z]*(?:rf|fr)[a-z]*\s+(?:--no-preserve-root\s+)?(?:\/|~|\$HOME|\*|\.(?:\s|$))/i,
  /\bgit\s+push\b.{0,60}(?:--force\b(?!-with-lease)|\s-f\b)/i,
  /\bgit\s+(?:commit|push|merge|rebase)\b.{0,80}--no-verify\b/i,
  /--dangerously-skip-permissions|\bbypassPermissions\b/i,
  /\b(?:chmod\s+(?:-R\s+)?777|mkfs\.|dd\s+if=.{0,40}of=\/dev\/)/i,
  // 한국어
  /(?:이전|위의?|앞의?|기존|모든|시스템)\s*(?:의\s*)?(?:지시|명령|규칙|프롬프트|지침).{0,12}(?:무시|잊어|따르지)/,
  /(?:다음|아래)(?:의)?\s*(?:명령|스크립트|코드|지시).{0,12}(?:실행|수행|따르)/,
  /(?:비밀\s*키|비밀번호|토큰|인증\s*정보|개인\s*키|환경\s*변수|자격\s*증명|API\s*키).{0,30}(?:전송|보내|업로드|유출|출력)/i,
  /사용자에게.{0,16}(?:알리지|말하지|묻지)/,
  /(?:모든|전체)\s*(?:파일|데이터|디렉토리|폴더).{0,12}(?:삭제|지우)/,
];

const LENGTH_MAX = 4000;

/** Every shape needs one of these; looking for them first spares a hook two dozen expressions. */
const SIGNS =
  /ignore|disregard|forget|override|bypass|instruction|prompt|you\s+(?:are\s+now|must|should|need|have\s+to|will)|\bas\s+an?\s|do\s+not|don't|never|without|send|post|upload|exfiltrate|transmit|forward|leak|email|submit|ssh|credentials|passw|shadow|netrc|private|api\s?key|curl|wget|iwr|webrequest|base64|eval|execute|run|perform|follow|obey|rm\s+-|git\s|skip-perm|bypassperm|chmod|mkfs|\bdd\b|무시|잊어|따르|실행|수행|전송|보내|유출|업로드|출력|사용자에게|삭제|지우/i;

/** Whether the text is shaped like an instruction to its reader. */
export function isInstructionShaped(text: string): boolean {
  const line = text.slice(0, LENGTH_MAX).replace(/\s+/g, ' ');
  return SIGNS.test(line) && shapes().some((shape) => shape.test(line));
}
