import { cleanText, cutText } from '../text.ts';

/** One of the user's commands: a Markdown file in `.claude/commands`. */
export type Skill = {
  readonly name: string;
  readonly scope: 'global' | 'project';
  readonly path: string;
  /** Empty when the file has none. */
  readonly description: string;
  /** Prompts that the skill was made from, as an analysis wrote them down. */
  readonly patterns: readonly string[];
  readonly keywords: readonly string[];
  readonly body: string;
};

const FILE_LENGTH_MAX = 65_536;
const FRONT_MATTER_LINES_MAX = 100;
const NAME_LENGTH_MAX = 200;
const DESCRIPTION_LENGTH_MAX = 300;
const PATTERNS_MAX = 20;
const PATTERN_LENGTH_MAX = 200;
const KEYWORDS_MAX = 30;
const KEYWORD_LENGTH_MAX = 100;
const BODY_LENGTH_MAX = 4000;

const PATTERNS_HEADING = /^#.*(?:감지된 패턴|Detected patterns)/i;
/** Says of every generated skill the same. */
const TEMPLATE_SENTENCE = 'AI가 감지한 반복 패턴에서 생성된 스킬입니다.';

/** A skill as its file says it. Must not throw: the file is the user's. */
export function readSkill(
  text: string,
  { name, scope, path }: Pick<Skill, 'name' | 'scope' | 'path'>,
): Skill {
  const clean = cleanText(cutText(text, FILE_LENGTH_MAX))
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .normalize('NFC');
  const { values, body: rest } = splitFrontMatter(clean);
  const body = withoutComments(rest).trim();
  return {
    name: cutText(name.normalize('NFC'), NAME_LENGTH_MAX),
    scope,
    path,
    description: cutText(
      unquote((values.get('description') ?? []).join(' ')) || firstSentence(body),
      DESCRIPTION_LENGTH_MAX,
    ),
    patterns: extractPatterns(body),
    keywords: readKeywords(values.get('keywords') ?? []),
    body: cutText(body, BODY_LENGTH_MAX),
  };
}

/** Prompts in the section `감지된 패턴`: its list items without quotation marks. */
export function extractPatterns(body: string): string[] {
  const patterns: string[] = [];
  let isInside = false;
  for (const line of body.split('\n')) {
    if (line.startsWith('#')) isInside = PATTERNS_HEADING.test(line);
    else if (isInside && line.startsWith('- ')) {
      const pattern = cutText(line.slice(2), 2 * PATTERN_LENGTH_MAX)
        .trim()
        .replace(/^"+|"+$/g, '')
        .trim();
      if (pattern !== '') patterns.push(cutText(pattern, PATTERN_LENGTH_MAX));
    }
    if (patterns.length >= PATTERNS_MAX) break;
  }
  return patterns;
}

type FrontMatter = { readonly values: ReadonlyMap<string, readonly string[]>; readonly body: string };

/** `key: value` and `key:` with a block list; anything else of YAML is passed over. */
function splitFrontMatter(text: string): FrontMatter {
  const values = new Map<string, string[]>();
  const lines = text.trimStart().split('\n', FRONT_MATTER_LINES_MAX + 2);
  if (lines[0]?.trimEnd() !== '---') return { values, body: text };
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---');
  if (end < 0) return { values, body: text };
  let current: string[] | undefined;
  for (const line of lines.slice(1, end)) {
    const pair = /^([A-Za-z][\w-]*):(?:\s+(.*))?$/.exec(line);
    const item = /^\s*-\s+(.*)$/.exec(line) ?? /^\s+(\S.*)$/.exec(line);
    if (pair !== null) {
      const value = (pair[2] ?? '').trim();
      // The text of a folded or literal block follows on lines of its own.
      current = value === '' || /^[|>][+-]?$/.test(value) ? [] : [value];
      values.set((pair[1] ?? '').toLowerCase(), current);
    } else if (item !== null && current !== undefined) current.push((item[1] ?? '').trim());
  }
  const bodyAt = lines.slice(0, end + 1).join('\n').length + 1;
  return { values, body: text.trimStart().slice(bodyAt) };
}

/** A flow list, a block list or a text with commas. */
function readKeywords(values: readonly string[]): string[] {
  const parts = values.flatMap((value) => value.replace(/^\[|\]$/g, '').split(','));
  const keywords = parts
    .map((part) => cutText(unquote(part), KEYWORD_LENGTH_MAX))
    .filter((part) => part !== '');
  return keywords.slice(0, KEYWORDS_MAX);
}

function unquote(text: string): string {
  const trimmed = text.trim();
  const quoted = /^(["'])(.*)\1$/s.exec(trimmed);
  return quoted === null ? trimmed : (quoted[2] ?? '').trim();
}

function firstSentence(body: string): string {
  for (const line of body.split('\n')) {
    const sentence = line.trim();
    if (sentence !== '' && sentence !== '---' && !sentence.startsWith('#') && sentence !== TEMPLATE_SENTENCE)
      return sentence;
  }
  return '';
}

function withoutComments(text: string): string {
  return text.includes('<!--') ? text.replace(/<!--[\s\S]*?(?:-->|$)/g, '') : text;
}
