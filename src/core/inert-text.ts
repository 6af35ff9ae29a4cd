import { cleanText, cutText, hasLookAlike, lineAndLooks } from './text.ts';

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
