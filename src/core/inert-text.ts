import { cleanText, cutText, hasLookAlike, lineAndLooks, oneLine } from './text.ts';

/**
 * Texts of others as an agent or a terminal is shown them. Each of them passes through here: it can neither open nor close
 * a frame of a conversation, whichever client's model reads it, nor end the frame that calls it data.
 */

/** A logged text on one line. Cut before frames are looked for: half a placeholder such as `<PA` is no placeholder. */
export function inertText(text: string, lengthMax: number): string {
  const { line, isPlain } = lineAndLooks(text);
  const cut = cutText(line, lengthMax);
  return isPlain && !cut.includes(':') ? withoutFences(cut) : withoutFences(withoutFrames(cut, isPlain));
}

/** The same for a text whose lines have to stay as they are. */
export function inertLines(text: string): string {
  return withoutFrames(cleanText(text));
}

/** Lines of inert texts as a record. `note` says that nothing in it is an instruction; nothing in it ends it. */
export function framed(lines: string, note: string): string {
  return `<record note="${note}">\n${lines}\n</record>`;
}

type Frame = {
  /** One of these occurs in the lower-case text, or a look-alike does: looking for them spares a hook the expression. */
  readonly signs: readonly string[];
  readonly shape: () => RegExp;
  readonly instead: (found: string) => string;
};

/** Who speaks, at the beginning of a line, or written as at one. */
const SPEAKERS: Frame = {
  signs: [
    ...'human: assistant: system: user: developer: 시스템: 사용자: 어시스턴트: 인간: *: _:'.split(' '),
    ' :',
  ],
  shape: () =>
    /(?:^[^\p{L}\p{N}\n]{0,16}(?:human|assistant|system|user|developer|시스템|사용자|어시스턴트|인간|[\uff21-\uff5a\u{1d400}-\u{1d7ff}]{4,12})|(?<![\p{L}\p{N}_-])(?:human|assistant|system|user|developer)(?=[*_\s]{0,4}[:\u02d0\u2236\ua789\ufe30\ufe55\uff1a][*_]{0,3}(?:\s|$)))[*_\s]{0,4}[:\u02d0\u2236\ua789\ufe30\ufe55\uff1a](?!:)/gimu,
  instead: (found) => `${found.slice(0, -1)};`,
};

const FRAMES: readonly Frame[] = [
  SPEAKERS,
  // Tags and tokens, also escaped or with brackets that look like it: `</log>`, `<|im_start|>`, `<!--`, `&lt;system&gt;`.
  // Neither what removed parts are replaced by, nor what compares, shifts or redirects.
  {
    signs: ['<', '&l', '&#', '&amp;', '\\u', '\\x'],
    shape: () =>
      /(?:\ud834\ude36|[<\u00ab\u02c2\u1438\u16b2\u2039\u226a\u227a\u22d6\u2329\u25c0-\u25c5\u2768-\u2775\u27e6-\u27ef\u2983-\u2998\u29fc\u2aa1\u2af7\u3008-\u3011\u3014-\u301b\ufe3d-\ufe48\ufe64\uff1c\uff3b]|&(?:amp;)*(?:lt|l(?:ang(?:le)?|saquo|aquo|sqb|brack)\b|#0*(?:60|91)(?!\d)|#x0*(?:3c|5b)(?![\da-f]));?|\\+(?:u00|x|u\{0*)(?:3c|5b)\}?)(?!(?:STR|PATH|N)>)(?=<*[^\s\d<=()>"'$,.;&-]|-[a-z_가-힣]|\d\w{0,15}>|\s{1,8}[/!?|]?[a-z_가-힣][\w-]{0,63}(?:\s[^<>]{0,80}=[^<>]{0,80})?\s{0,8}[/>])/gi,
    instead: () => '(',
  },
  // `[INST]`, `[/SYSTEM_PROMPT]`, `[TOOL_CALLS]`, and our own headings.
  {
    signs: ['[i', '[s', '[t', '[a', '[u', '[h', '[d', '[/', '[\\', '[ ', '[\t', '[시', '[사', '[지'],
    shape: () =>
      /\[(?=[\s/\\]{0,8}(?:inst|sys|tool_|available_|user|assistant|human|developer|subagent|self-gen|시스템|사용자|지시|[\uff21-\uff5a\u{1d400}-\u{1d7ff}]))/giu,
    instead: () => '(',
  },
  // `### Instruction`, as instruction-tuned models are asked.
  {
    signs: ['##'],
    shape: () =>
      /[#\uff03]{2,6}(?=\s{0,4}(?:instruction|response|input|system|human|user|assistant|지시|시스템|응답))/gi,
    instead: (found) => '='.repeat(found.length),
  },
];

/** Only that: no character is removed. `isPlain`: it has no sign that could be part of a tag. */
export function withoutFrames(text: string, isPlain = false): string {
  const lowered = text.toLowerCase();
  const isAnyNear = !isPlain && hasLookAlike(text);
  let inert = text;
  for (const { signs, shape, instead } of isPlain ? [SPEAKERS] : FRAMES) {
    let isNear = isAnyNear;
    for (const sign of signs) isNear ||= lowered.includes(sign);
    if (isNear) inert = inert.replace(shape(), instead);
  }
  return inert;
}

/** On one line a fence of Markdown could only take in what stands behind it, and a heading is none. */
function withoutFences(line: string): string {
  const isNear = line.includes('```') || line.includes('~~~') || line.includes('###');
  return isNear ? line.replace(/`{3,}|~{3,}|#{3,}/g, "'''") : line;
}

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
