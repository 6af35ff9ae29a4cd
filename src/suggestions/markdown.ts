import { isInstructionShaped } from '../core/instruction-shape.ts';
import type { Language } from '../core/messages.ts';
import { cleanText, oneLine } from '../core/text.ts';
import { mentionsFile } from './apply-target.ts';
import { SKILL_NAME, SUGGESTION_TEXT_LENGTH_MAX, type Suggestion } from './suggestion.ts';

/**
 * Our rules in a CLAUDE.md: list items in one block between two markers. Text in, text out; everything outside the block
 * keeps its characters. A new block stands at the end of the file behind an empty line, and a file whose last line does
 * not end stays one: so the block can be taken out again without a trace.
 */
const START = '<!-- self-generation:rules -->';
const END = '<!-- /self-generation:rules -->';
export const RULES_HEADINGS = { ko: '## 자동 감지된 규칙', en: '## Rules detected automatically' } as const;

const RULE_LENGTH_MAX = 400;

type InsertResult =
  /** `line`: where the rule stands now, from 1. */
  | { readonly kind: 'inserted'; readonly text: string; readonly line: number }
  /** A list item says the same already; `isOurs`: inside our block. */
  | { readonly kind: 'present'; readonly line: number; readonly isOurs: boolean }
  | Damaged;

type RemoveResult =
  | { readonly kind: 'removed'; readonly text: string }
  /** The rule does not stand in our block. */
  | { readonly kind: 'absent' }
  | Damaged;

/** The markers do not enclose one block. */
type Damaged = { readonly kind: 'damaged'; readonly line: number; readonly reason: string };

/** Why a rule cannot stand as one item of the block, or undefined. */
export function objectionToRule(rule: string): string | undefined {
  if (rule.trim() === '') return 'it is empty';
  if (rule.length > RULE_LENGTH_MAX) return `it has more than ${RULE_LENGTH_MAX} characters`;
  if (rule !== oneLine(rule)) return 'it is not one line of visible characters';
  if (/<!--|-->/.test(rule)) return 'it has a comment mark in it, which could end our block';
  if (mentionsFile(rule)) return 'it names a file with "@", which the client would read into every session';
  return undefined;
}

/** The text with the rule as the last item of our block, which is made when there is none. */
export function insertRule(text: string, rule: string, heading: string): InsertResult {
  const lines = linesOf(text);
  const block = findBlock(lines);
  if (block.kind === 'damaged') return block;
  const known = lines.findIndex((line) => itemIn(line.text) === rule);
  if (known >= 0) {
    const isOurs = block.kind === 'found' && known > block.start && known < block.end;
    return { kind: 'present', line: known + 1, isOurs };
  }
  if (block.kind === 'found') {
    const { eol } = lines[block.start] as Line;
    const at = offsetOf(lines, block.end);
    return {
      kind: 'inserted',
      text: `${text.slice(0, at)}- ${rule}${eol}${text.slice(at)}`,
      line: block.end + 1,
    };
  }
  const eol = lines.find((line) => line.eol !== '')?.eol ?? '\n';
  const isBlank = text === '' || text === BOM;
  const endsLine = isBlank || text.endsWith('\n');
  const gap = isBlank ? '' : endsLine ? eol : eol + eol;
  const before = text + gap;
  const made = [START, heading, `- ${rule}`, END].join(eol) + (endsLine ? eol : '');
  return { kind: 'inserted', text: before + made, line: linesOf(`${before}|`).length + 2 };
}

/** The text without the rule, and without our block when nothing but its heading is left in it. */
export function removeRule(text: string, rule: string): RemoveResult {
  const lines = linesOf(text);
  const block = findBlock(lines);
  if (block.kind !== 'found') return block;
  const at = lines.findIndex(
    (line, index) => index > block.start && index < block.end && itemIn(line.text) === rule,
  );
  if (at < 0) return { kind: 'absent' };
  const others = lines.slice(block.start + 1, block.end).filter((_, index) => block.start + 1 + index !== at);
  const headings: readonly string[] = Object.values(RULES_HEADINGS);
  const isEmpty = others.every(({ text }) => text.trim() === '' || headings.includes(text.trim()));
  if (!isEmpty) return { kind: 'removed', text: cut(text, offsetOf(lines, at), offsetOf(lines, at + 1)) };
  const { text: first, eol } = lines[block.start] as Line;
  let start = offsetOf(lines, block.start) + (first.startsWith(BOM) ? BOM.length : 0);
  // The empty line that we put before the block, and what we put behind a last line that did not end.
  const previous = lines[block.start - 1];
  if (previous?.text === '' && previous.eol === eol) {
    start -= eol.length;
    if (lines[block.end]?.eol === '' && text.slice(0, start).endsWith(eol)) start -= eol.length;
  }
  return { kind: 'removed', text: cut(text, start, offsetOf(lines, block.end + 1)) };
}

const BOM = '\uFEFF';

/** A line without its end. `\r` alone ends no line. */
type Line = { readonly text: string; readonly eol: '\n' | '\r\n' | '' };

function linesOf(text: string): Line[] {
  return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => {
    const eol = line.endsWith('\r\n') ? '\r\n' : line.endsWith('\n') ? '\n' : '';
    return { text: line.slice(0, line.length - eol.length), eol };
  });
}

function offsetOf(lines: readonly Line[], index: number): number {
  return lines.slice(0, index).reduce((sum, { text, eol }) => sum + text.length + eol.length, 0);
}

function cut(text: string, start: number, end: number): string {
  return text.slice(0, start) + text.slice(end);
}

type Block =
  | { readonly kind: 'found'; readonly start: number; readonly end: number }
  | { readonly kind: 'absent' }
  | Damaged;

function findBlock(lines: readonly Line[]): Block {
  const marks = lines.flatMap(({ text }, index) => {
    const mark = text.replace(BOM, '').trim();
    return mark === START || mark === END ? [{ mark, index }] : [];
  });
  const [start, end, extra] = marks;
  if (start === undefined) return { kind: 'absent' };
  const damaged = (index: number, reason: string): Damaged => ({ kind: 'damaged', line: index + 1, reason });
  if (start.mark !== START) return damaged(start.index, 'our block of rules ends there and begins nowhere');
  if (end === undefined) return damaged(start.index, 'our block of rules begins there and never ends');
  if (end.mark !== END) return damaged(end.index, 'our block of rules begins there a second time');
  if (extra !== undefined) return damaged(extra.index, 'there is a second block of our rules');
  return { kind: 'found', start: start.index, end: end.index };
}

function itemIn(line: string): string | undefined {
  return /^\s*- (.*)$/.exec(line)?.[1]?.trim();
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

type SkillName =
  | { readonly kind: 'valid'; readonly name: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** The name of the command that a suggestion makes, if it may be the name of a file. */
export function skillNameOf({ details }: Pick<Suggestion, 'details'>): SkillName {
  const name = (details.skillName ?? DEFAULT_NAME).normalize('NFC');
  const refused = (reason: string): SkillName => ({
    kind: 'refused',
    reason: `its name "${name}" ${reason}`,
  });
  if (!SKILL_NAME.test(name))
    return refused('is not made of lower-case letters, digits, Hangul, "-" and "_", 64 at most');
  if (DEVICE_NAME.test(name)) return refused('is the name of a device on Windows');
  if (BUILT_IN.has(name)) return refused('is a command of Claude Code itself');
  return { kind: 'valid', name };
}

/** Why this must not become a command that an agent follows, or undefined. `file`: all that would stand in it. */
export function objectionToSkill(
  { text, evidence, details }: Pick<Suggestion, 'text' | 'evidence' | 'details'>,
  file: string,
): string | undefined {
  if (text.trim() === '') return 'it has no instructions';
  if (text.length > SUGGESTION_TEXT_LENGTH_MAX)
    return `it has more than ${SUGGESTION_TEXT_LENGTH_MAX} characters`;
  if (cleanText(file) !== file) return 'it has control or invisible characters';
  if (/!`|```!/.test(file)) return 'it would run a shell command each time it is called (!`…`)';
  if (mentionsFile(file))
    return 'it names a file with "@", which the client would read each time it is called';
  const shown = [evidence, ...(details.examples ?? [])];
  if (/<!--/.test(shown.join())) return 'it has a comment where none belongs';
  if (/<!--\s*\/?self-generation/i.test(text)) return 'it has our own mark in it';
  if ([...shown, ...piecesOf(text)].some(isInstructionShaped))
    return 'it reads like an instruction to ignore, fetch, send, delete or hide something';
  return undefined;
}

const PIECE_LENGTH = 4000;
const PIECE_OVERLAP = 500;

/** A long text is looked at piece by piece: only so much is looked at at once. */
function piecesOf(text: string): string[] {
  const count = Math.ceil(text.length / (PIECE_LENGTH - PIECE_OVERLAP));
  return Array.from({ length: count }, (_, index) => {
    const start = index * (PIECE_LENGTH - PIECE_OVERLAP);
    return text.slice(start, start + PIECE_LENGTH);
  });
}

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

/**
 * What stands in the command's file. The patterns are the user's own words; the comment at the end says where it came
 * from.
 */
export function skillFile(
  name: string,
  { id, evidence, text, details }: Pick<Suggestion, 'id' | 'evidence' | 'text' | 'details'>,
  language: Language,
): string {
  const { origin, pattern, instructions } = TEXTS[language];
  const patterns = (details.examples ?? [evidence]).map(oneLine).filter((one) => one !== '');
  return [
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
