import { isInstructionShaped } from '../core/inert-text.ts';
import { cleanText, cutText, oneLine } from '../core/text.ts';
import type { Language } from '../core/told-texts.ts';
import { Refused } from '../setup/file-plan.ts';
import { SKILL_NAME, SUGGESTION_TEXT_LENGTH_MAX, type Suggestion } from './model/suggestion.ts';

/** The Markdown that apply writes, text in and text out: rules in what agents read in every session, and skills. */

export const LIKE_AN_INSTRUCTION =
  'it reads like an instruction to ignore, fetch, send, delete or hide something';

/** `@` where the client reads a file: at the beginning of a word. `a@b.c` and `` `@types/x` `` are none. */
const MENTION = /(?:^|\s)@\S/;
/** Behind a bracket or a quote only what cannot be anything but a path. */
const PATH = /(?:^|[\s("'[])@["']?(?:[~/]|\.{1,2}(?:\/|\w)|[^\s`]*\.\.\/)/;
/** What certainly opens a fence: at the margin, and with no backtick behind it. In a list it may end before its end. */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;

/**
 * Whether a Markdown text has the client read a file into the context. In code, which is no place for a mention, names
 * such as `@Component` are allowed; a path is not, because what the client takes for code may be something else.
 */
export function mentionsFile(text: string): boolean {
  return PATH.test(text) || proseOf(text).some((line) => MENTION.test(line));
}

/** The lines without what is certainly code: a block that is never closed is none. */
function proseOf(text: string): string[] {
  const prose: string[] = [];
  let open: { readonly mark: string; readonly lines: string[] } | undefined;
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const mark = FENCE.exec(line)?.[1];
    if (open === undefined) {
      prose.push(withoutSpans(line));
      if (mark !== undefined) open = { mark, lines: [] };
    } else if (mark?.startsWith(open.mark) && line.trim() === mark) open = undefined;
    else open.lines.push(withoutSpans(line));
  }
  return [...prose, ...(open?.lines ?? [])];
}

/** A backslash or an element may make an ordinary character of a backtick; then nothing counts as code. */
function withoutSpans(line: string): string {
  return /[\\<]/.test(line) ? line : line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, '``');
}

/**
 * Our rules in a CLAUDE.md are list items in one block between two markers; everything outside the block keeps its
 * characters. A new block stands at the end of the file behind an empty line, and a file whose last line does not end
 * stays one: so the block can be taken out again without a trace.
 */
const START = '<!-- self-generation:rules -->';
const END = '<!-- /self-generation:rules -->';
export const RULES_HEADINGS = { ko: '## 자동 감지된 규칙', en: '## Rules detected automatically' } as const;

const RULE_LENGTH_MAX = 400;
const BOM = '\uFEFF';

/** The line, counted from 1, in which a list item says the same already; `isOurs`: inside our block. */
type Present = { readonly line: number; readonly isOurs: boolean };

/** Why a rule cannot stand as one item of the block, or undefined. */
export function objectionToRule(rule: string): string | undefined {
  if (rule.trim() === '') return 'it is empty';
  if (rule.length > RULE_LENGTH_MAX) return `it has more than ${RULE_LENGTH_MAX} characters`;
  if (rule !== oneLine(rule)) return 'it is not one line of visible characters';
  if (/<!--|-->/.test(rule)) return 'it has a comment mark in it, which could end our block';
  if (mentionsFile(rule)) return 'it names a file with "@", which the client would read into every session';
  return isInstructionShaped(rule) ? LIKE_AN_INSTRUCTION : undefined;
}

/** The text with the rule as the last item of our block, which is made when there is none. @throws Refused */
export function insertRule(text: string, rule: string, heading: string, path: string): string | Present {
  const lines = linesOf(text);
  const block = findBlock(lines, path);
  const known = lines.findIndex((line) => itemIn(line) === rule);
  if (known >= 0)
    return { line: known + 1, isOurs: block !== undefined && known > block.start && known < block.end };
  if (block !== undefined)
    return lines.toSpliced(block.end, 0, `- ${rule}${eolOf(lines[block.start])}`).join('');
  const eol = lines.map(eolOf).find((one) => one !== '') ?? '\n';
  const isBlank = text === '' || text === BOM;
  const endsLine = isBlank || text.endsWith('\n');
  const gap = isBlank ? '' : endsLine ? eol : eol + eol;
  const made = [START, heading, `- ${rule}`, END].join(eol);
  return text + gap + made + (endsLine ? eol : '');
}

/** The text without the rule in our block, and without the block when only its heading is left. @throws Refused */
export function removeRule(text: string, rule: string, path: string): string {
  const lines = linesOf(text);
  const { start, end } = findBlock(lines, path) ?? { start: 0, end: 0 };
  const at = lines.findIndex((line, index) => index > start && index < end && itemIn(line) === rule);
  if (at < 0) return text;
  const headings: readonly string[] = ['', ...Object.values(RULES_HEADINGS)];
  const others = lines.slice(start + 1, end).toSpliced(at - start - 1, 1);
  if (others.some((line) => !headings.includes(line.trim()))) return lines.toSpliced(at, 1).join('');
  let before = lines.slice(0, start).join('') + (lines[start]?.startsWith(BOM) ? BOM : '');
  // The empty line that we put before the block, and what we put behind a last line that did not end.
  const eol = eolOf(lines[start]);
  if (lines[start - 1] === eol) {
    before = before.slice(0, -eol.length);
    if (eolOf(lines[end]) === '' && before.endsWith(eol)) before = before.slice(0, -eol.length);
  }
  return before + lines.slice(end + 1).join('');
}

/** Lines with their ends; `\r` alone ends no line. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function eolOf(line = ''): string {
  return /\r?\n$/.exec(line)?.[0] ?? '';
}

function itemIn(line: string): string | undefined {
  return /^\s*- (.*)$/.exec(line.slice(0, line.length - eolOf(line).length))?.[1]?.trim();
}

/** From which line to which our block is; undefined without one. @throws Refused when the marks do not enclose one block */
function findBlock(lines: readonly string[], path: string) {
  const marks = lines
    .map((line, index) => ({ mark: line.trim(), index }))
    .filter(({ mark }) => mark === START || mark === END);
  const [start, end, extra] = marks;
  if (start === undefined) return undefined;
  const damaged = (index: number, reason: string) =>
    new Refused(`"${path}", line ${index + 1}: ${reason}; put it right there`);
  if (start.mark !== START) throw damaged(start.index, 'our block of rules ends there and begins nowhere');
  if (end === undefined) throw damaged(start.index, 'our block of rules begins there and never ends');
  if (end.mark !== END) throw damaged(end.index, 'our block of rules begins there a second time');
  if (extra !== undefined) throw damaged(extra.index, 'there is a second block of our rules');
  return { start: start.index, end: end.index };
}

/** The predecessor's name for a skill to which the model gave none. */
const DEFAULT_NAME = 'auto-skill';

/** Names that Windows keeps for devices, with any ending. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;
/** Commands of the client itself: a file of that name would shadow them, or never be reached. */
const BUILT_IN = new Set(
  [
    'add-dir agents autocompact bashes batch branch btw bug chrome clear code-review color compact config context copy',
    'cost debug desktop diff doctor effort exit export extra-usage fast feedback focus fork goal heapdump help hooks ide',
    'init insights install-github-app install-slack-app keybindings list-agents login logout loop mcp memory mobile',
    'model output-style passes permissions plan plugin plugins pr-comments privacy-settings quit rate-limit-options',
    'recap release-notes reload-plugins reload-skills remote-control remote-env rename resume review rewind run sandbox',
    'schedule security-review settings simplify skills stats status statusline stickers tag tasks team-onboarding',
    'terminal-setup theme think-back todos ultraplan ultrareview upgrade usage verify vim voice web-setup',
  ].flatMap((names) => names.split(' ')),
);

/** The name of the skill that a suggestion makes, by which it is also called. @throws Refused when it may not be the name of a file. */
export function skillNameOf({ details }: Pick<Suggestion, 'details'>): string {
  const name = (details.skillName ?? DEFAULT_NAME).normalize('NFC');
  const objection = !SKILL_NAME.test(name)
    ? 'is not made of lower-case letters, digits, Hangul, "-" and "_", 64 at most'
    : DEVICE_NAME.test(name)
      ? 'is the name of a device on Windows'
      : BUILT_IN.has(name)
        ? 'is a command of Claude Code itself'
        : undefined;
  if (objection !== undefined) throw new Refused(`its name "${name}" ${objection}`);
  return name;
}

/** Why this must not become a skill that an agent follows, or undefined. `file`: all that would stand in it. */
export function objectionToSkill(
  { text, summary, evidence, details }: Pick<Suggestion, 'text' | 'summary' | 'evidence' | 'details'>,
  file: string,
): string | undefined {
  if (text.trim() === '') return 'it has no instructions';
  if (text.length > SUGGESTION_TEXT_LENGTH_MAX)
    return `it has more than ${SUGGESTION_TEXT_LENGTH_MAX} characters`;
  if (cleanText(file) !== file) return 'it has control or invisible characters';
  if (/!`|```!/.test(file)) return 'it would run a shell command each time it is called (!`…`)';
  if (mentionsFile(file))
    return 'it names a file with "@", which the client would read each time it is called';
  const shown = [summary, evidence, ...(details.examples ?? [])];
  if (/<!--/.test(shown.join())) return 'it has a comment where none belongs';
  if (/<!--\s*\/?self-generation/i.test(text)) return 'it has our own mark in it';
  return [...shown, ...piecesOf(text)].some(isInstructionShaped) ? LIKE_AN_INSTRUCTION : undefined;
}

const PIECE_LENGTH = 4000;
const PIECE_STEP = 3500;

/** A long text is looked at piece by piece, which overlap: only so much is looked at at once. */
function piecesOf(text: string): string[] {
  const count = Math.ceil(text.length / PIECE_STEP);
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * PIECE_STEP, index * PIECE_STEP + PIECE_LENGTH),
  );
}

/** Clients leave longer ones out. */
const DESCRIPTION_LENGTH_MAX = 500;

const TEXTS = {
  ko: {
    origin: 'AI가 감지한 반복 패턴에서 생성된 스킬입니다.',
    pattern: '## 감지된 패턴',
    instructions: '## 실행 지침',
  },
  en: {
    origin: 'A skill made from a pattern that the analysis of the log found.',
    pattern: '## Detected patterns',
    instructions: '## Instructions',
  },
} as const;

/** A skill's file: what clients show of it, the patterns in the user's own words, and where it came from. */
export function skillFile(
  name: string,
  {
    id,
    summary,
    evidence,
    text,
    details,
  }: Pick<Suggestion, 'id' | 'summary' | 'evidence' | 'text' | 'details'>,
  language: Language,
): string {
  const { origin, pattern, instructions } = TEXTS[language];
  const patterns = (details.examples ?? [evidence]).map(oneLine).filter((one) => one !== '');
  return [
    '---',
    `name: ${name}`,
    // As YAML has texts in double quotes.
    `description: ${JSON.stringify(cutText(oneLine(summary), DESCRIPTION_LENGTH_MAX))}`,
    '---',
    '',
    `# /${name}`,
    '',
    origin,
    '',
    pattern,
    ...patterns.map((one) => `- ${one}`),
    '',
    instructions,
    '',
    text.trimEnd(),
    '',
    `<!-- self-generation:skill ${id} -->`,
    '',
  ].join('\n');
}
