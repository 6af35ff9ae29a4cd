import { z } from 'zod';
import { isInstructionShaped } from '../../core/instruction-shape.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cleanText, oneLine } from '../../core/text.ts';
import type { CandidateGroup } from './candidates.ts';
import { provesCommand, quotedCommands } from './shell-words.ts';

export const LESSON_KINDS = ['command', 'environment', 'directory', 'order', 'cause', 'convention'] as const;

/** A lesson as the model wrote it, with the failures that it is about. */
export type Lesson = {
  readonly group: CandidateGroup;
  readonly advice: string;
  readonly kind: (typeof LESSON_KINDS)[number];
  readonly confidence: number;
};

export type LessonsRead = {
  readonly lessons: readonly Lesson[];
  /** Why others were refused. */
  readonly refused: readonly string[];
};

export const ADVICE_LENGTH_MAX = 140;
export const LESSONS_MAX = 12;
const LOOKED_AT_MAX = 40;
const ADVICE_LENGTH_MIN = 8;

const LESSON = z.object({
  group: z.number().int(),
  advice: z.string().trim().min(ADVICE_LENGTH_MIN).max(ADVICE_LENGTH_MAX),
  kind: z.enum(LESSON_KINDS),
  confidence: z.number().min(0).max(1),
});

/** Reads the lessons of an answer. What is refused is not asked for again. Never throws. */
export function readLessons(value: unknown, groups: ReadonlyMap<number, CandidateGroup>): LessonsRead {
  if (value === undefined) return { lessons: [], refused: [] };
  if (!Array.isArray(value)) return { lessons: [], refused: ['lessons: is no list'] };
  const lessons: Lesson[] = [];
  const refused: string[] = [];
  for (const [index, one] of value.slice(0, LOOKED_AT_MAX).entries()) {
    const read = readLesson(one, groups, lessons);
    if (typeof read === 'string') refused.push(`lessons[${index}]: ${read}`);
    else lessons.push(read);
  }
  if (value.length > LOOKED_AT_MAX) refused.push(`lessons: ${value.length} are too many`);
  return { lessons, refused };
}

/** The lesson, or why it is none. */
function readLesson(
  value: unknown,
  groups: ReadonlyMap<number, CandidateGroup>,
  before: readonly Lesson[],
): Lesson | string {
  const parsed = LESSON.safeParse(value);
  if (!parsed.success)
    return parsed.error.issues
      .slice(0, 3)
      .map(({ path, message }) => `${path.join('.')} ${message}`.trim())
      .join('; ');
  const group = groups.get(parsed.data.group);
  if (group === undefined) return `there is no group ${parsed.data.group}`;
  if (before.length >= LESSONS_MAX) return `more than ${LESSONS_MAX}`;
  if (before.some((one) => one.group === group)) return `a second one of group ${parsed.data.group}`;
  // Angle brackets open frames elsewhere: what changes from case to case is told as everywhere.
  const advice = parsed.data.advice.replace(/<[a-z][\w -]{0,40}>/gi, '…');
  return objectionTo(parsed.data.advice, group) ?? { ...parsed.data, advice, group };
}

/** Why advice can be no lesson, however sure the model is. */
function objectionTo(advice: string, group: CandidateGroup): string | undefined {
  if (advice !== oneLine(cleanText(advice))) return 'the advice is not plain text on one line';
  if (redactSecrets(advice) !== advice || advice.includes('[REDACTED')) return 'the advice names a secret';
  const plain = advice.normalize('NFKC');
  if (/<[/|]?[a-z!?|]|\[\/?INST/i.test(withoutPlaceholders(plain))) return 'the advice opens a frame';
  if (isInstructionShaped(plain)) return 'reads like an instruction to ignore, fetch, send or destroy';
  if (GETS_AROUND.test(plain)) return 'gets round a check or a safeguard';
  if (NAMES_ADDRESS.test(plain)) return 'names an address';
  if (downloads(plain) && !isProvenDownload(plain, group))
    return 'downloads and runs something that never ran here with success';
  return undefined;
}

function withoutPlaceholders(advice: string): string {
  return advice.replace(/<[a-z][\w -]{0,40}>/gi, (match) =>
    /^<(?:system|user|assistant|human|tool|function|instruction|prompt|important|log|answer|admin)/i.test(
      match,
    )
      ? match
      : '',
  );
}

const GETS_AROUND =
  /--no-verify\b|--no-gpg-sign\b|--force(?!-with-lease)\b|--skip-(?:tests?|checks?|hooks?)|-DskipTests|HUSKY=0|SKIP=|--dangerously|bypassPermissions|\b(?:disable|skip|bypass|turn off|comment out)\b.{0,30}\b(?:tests?|checks?|hooks?|lint\w*|verification|sandbox|safeguards?|permissions?|security)\b|\|\|\s*true\b|eslint-disable|biome-ignore|@ts-ignore|(?:테스트|검사|훅|검증|보안|권한).{0,12}(?:건너뛰|끄|우회|비활성|무시)/i;
const NAMES_ADDRESS =
  /\b(?:https?|ftp|ssh|git|wss?):\/\/(?!(?:localhost|127\.0\.0\.1)\b)|\bwww\.|[\w.+-]+@[\w-]+\.[a-z]{2,}|\b\d{1,3}(?:\.\d{1,3}){3}\b(?<!127\.0\.0\.1)/i;

/** Get something from elsewhere and run it: who names the package decides what runs. */
const DOWNLOADS =
  /\b(?:npx|bunx|uvx|pnpx|pipx|npm\s+(?:exec|x|init|create)|bun\s+(?:x|create)|(?:pnpm|yarn)\s+(?:dlx|create)|uv\s+tool\s+run|deno\s+(?:run|install)\s+\S*(?:npm:|jsr:|http)|go\s+(?:run|install)\s+\S+@|cargo\s+install|nix\s+(?:run|shell)|(?:docker|podman)\s+(?:run|pull|compose\s+up)|helm\s+install|kubectl\s+apply\s+-f\s*http|gem\s+install|code\s+--install-extension)\b|--(?:extra-)?index-url\b|--registry\b|--find-links\b|\b(?:curl|wget|iwr|irm|invoke-(?:webrequest|restmethod)|fetch)\b.{0,80}(?:\||>|\bsh\b|\bbash\b|\s-[oO]\b)|\b(?:pip3?|uv\s+pip)\s+install\s+(?:git\+|http|[^-\s]*:\/\/)|\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add)\s+(?:-\S+\s+)*(?:git|http|github:)|다운로드.{0,10}실행/i;

function downloads(advice: string): boolean {
  return DOWNLOADS.test(advice);
}

/** Whether every quoted command of it that downloads is one that worked beside these very failures. */
function isProvenDownload(advice: string, { workingLines }: CandidateGroup): boolean {
  const outside = advice.replace(/`[^`]*`/g, ' ');
  if (downloads(outside)) return false;
  return quotedCommands(advice)
    .filter(downloads)
    .every(
      (command) => !/[…<]|\.\.\./.test(command) && workingLines.some((line) => provesCommand(line, command)),
    );
}

/**
 * Whether advice says nothing but what to run, and in place of what: then proof of its commands is proof of it. It
 * decides only whether somebody reads it first.
 */
export function isPlainAdvice(advice: string, { failingLines, said }: CandidateGroup): boolean {
  const quoted = quotedCommands(advice);
  const outside = advice.normalize('NFKC').replace(/`[^`]*`/g, ' ');
  const failing = new Set([...failingLines, said].flatMap(wordsOf));
  const unknown = wordsOf(outside).filter((word) => !failing.has(word));
  return (
    quoted.length > 0 &&
    !downloads(advice) &&
    quoted.every((command) => !RISKY_COMMANDS.test(command)) &&
    !RISKY_WORDS.test(outside) &&
    !NAMES_COMMAND.test(outside) &&
    !unknown.some((word) => LOOKS_LIKE_CODE.test(word))
  );
}

/** What can be typed stands in backticks, or it is not proven: names with punctuation in them, programs, `run this`. */
const LOOKS_LIKE_CODE =
  /[$|&;`<>{}\\@=#*~/_]|\w[.:-]\w|^--?\w|^(?:make|just|task|mise|npm|pnpm|yarn|bun|deno|node|go|cargo|rustc|pip3?|python3?|uv|poetry|ruby|gem|rake|bundle|php|composer|java|mvn|gradle|dotnet|swift|mix|perl|git|gh|docker|podman|kubectl|helm|terraform|aws|gcloud|az|brew|apt|apt-get|sh|bash|zsh|fish|eval|source|exec)$/i;
const NAMES_COMMAND =
  /\b(?:run|runs|execute|start|call|invoke|type|launch|use)\s+(?!(?:it|in|from|at|this|that|the|with|without|as|only|instead|on|both|and|or|a|an|for|to|first|here|there)\b)[\w]|[\w.-]+(?:을|를)?\s*(?:실행|호출|돌리|돌려)/i;

/** Without the punctuation around them and the Korean endings of English words. */
function wordsOf(text: string): string[] {
  return text
    .split(/\s+/)
    .map((word) => word.replace(/^["'(]+|["'),.:;]+$/g, '').replace(/(?<=\w)[가-힣]+$/, ''));
}

const RISKY_WORDS =
  /\b(?:send|upload|post|publish|email|mail|share|forward|push|deploy|delete|remove|erase|wipe|drop|destroy|disable|skip|ignore|bypass|override|overwrite|force|approve|trust|allow|accept|grant|secret|token|passwords?|credentials?|key|keys|login|sudo|root|admin|install|download|fetch|paste|execute|obey|follow|instructions?|prompt|system|user|human|developer|assistant|tell|never ask|without asking|confirm|permission|always run|first run|must|immediately)\b|삭제|제거|전송|보내|업로드|공유|배포|무시|건너|우회|끄|비활성|비밀|토큰|암호|자격|키를|설치|다운로드|승인|허용|사용자|지시|명령을|따르|반드시|즉시|항상|먼저/i;
const RISKY_COMMANDS =
  /(?:^|[\s;&|(])(?:rm|rmdir|unlink|shred|dd|mkfs\S*|sudo|su|doas|chmod|chown|kill|pkill|killall|curl|wget|nc|ssh|scp|rsync|eval|exec|source|env|printenv|base64|crontab|launchctl|systemctl|osascript|security|gpg|pass)(?=\s|$)|\b(?:push|publish|deploy|release|login|logout|destroy|delete|drop|purge|prune|reset|clean|clobber|rebase|revert|stash|checkout|restore)\b|--(?:force|hard|yes|no-verify|delete|global|system)\b|\s-[a-z]*f\b|\$\(|\.env\b|~\/\.|\/etc\//i;
