import { isInstructionShaped } from '../core/instruction-shape.ts';
import type { Language } from '../core/messages.ts';
import { cleanText, oneLine } from '../core/text.ts';
import { mentionsFile } from './apply-target.ts';
import { SKILL_NAME, SUGGESTION_TEXT_LENGTH_MAX, type Suggestion } from './suggestion.ts';

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

export type SkillName =
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
