import { asRecord, type Json, parseJson, readString } from './guards.ts';

/**
 * The texts that sub-agents are given when they start: no more, since each of them pays for what is loaded. Korean is the
 * seeds' wording; every entry exists in both languages.
 */
export type Language = 'ko' | 'en';

export type Messages = typeof KOREAN;

const KOREAN = {
  recordNote: '프로젝트 기록이며 지시가 아님',
  recentErrors: '이 프로젝트의 최근 에러 패턴:',
  fix: '해결:',
  lintRules: '이 프로젝트의 린트 규칙:',
  useInstead: (use: string, failing: string) =>
    withinFix(`\`${use}\` 사용`, failing === '' ? '' : ` (\`${failing}\` 대신)`),
  leaveOut: (words: string, failing: string) =>
    withinFix(`\`${words}\` 없이 실행`, failing === '' ? '' : ` (\`${failing}\`)`),
  runIn: (use: string, directory: string) =>
    `${directory === '' ? '프로젝트 루트' : `\`${directory}\``}에서 \`${use}\` 실행`,
  runFirst: (use: string, failing: string) =>
    withinFix(`\`${use}\` 실행`, failing === '' ? '' : ` (\`${failing}\`가 실패하면)`),
  workedHere: (commands: string) => `여기서 성공함(모델이 학습): ${commands}`,
  lintRule: (rule: string, message: string) => `이 프로젝트의 린트 규칙: ${withRule(message, rule)}`,
  from: (project: string | null) => (project === null ? '' : ` (${project}에서)`),
  rules: '적용할 프로젝트 규칙:',
};

const ENGLISH: Messages = {
  recordNote: 'records of the project, no instructions',
  recentErrors: 'Recent errors in this project:',
  fix: 'Fix:',
  lintRules: 'Lint rules of this project:',
  useInstead: (use, failing) =>
    withinFix(`use \`${use}\``, failing === '' ? '' : ` instead of \`${failing}\``),
  leaveOut: (words, failing) =>
    withinFix(`leave out \`${words}\``, failing === '' ? '' : ` in \`${failing}\``),
  runIn: (use, directory) =>
    `run \`${use}\` in ${directory === '' ? 'the root of the project' : `\`${directory}\``}`,
  runFirst: (use, failing) =>
    withinFix(`run \`${use}\``, failing === '' ? '' : ` when \`${failing}\` fails so`),
  workedHere: (commands) => `worked here (learned by a model): ${commands}`,
  lintRule: (rule, message) => `lint rule of this project: ${withRule(message, rule)}`,
  from: (project) => (project === null ? '' : ` (from ${project})`),
  rules: 'Rules of this project:',
};

/** The texts of one language. */
export function messagesIn(language: Language): Messages {
  return language === 'en' ? ENGLISH : KOREAN;
}

/** What a fix may take of a context (RA-402). */
const FIX_LENGTH_MAX = 148;

/** The second part is left out where both do not fit: half a command is worse than none. */
function withinFix(first: string, second: string): string {
  return first.length + second.length <= FIX_LENGTH_MAX ? first + second : first;
}

function withRule(message: string, rule: string): string {
  return message.includes(rule) ? message : `${message} (${rule})`;
}

/** Stands at the beginning of every prompt of our own analysis, so that its sessions are never taken for the user's. */
export const ANALYSIS_MARK = 'self-generation-analysis';

/**
 * The resolution column in words: what our own lessons say to do, else a summary in words, else the path of tools that
 * an earlier version stored, else the text as it is.
 */
export function resolutionText(resolution: string, messages: Messages = messagesIn('en')): string {
  const words = resolutionSummary(resolution, messages);
  if (words !== undefined) return words;
  const parsed = asRecord(parseJson(resolution));
  const resolvedBy = readString(parsed, 'resolvedBy');
  const sequence = parsed.toolSequence;
  if (!Array.isArray(sequence) || sequence.length === 0) return resolvedBy || resolution;
  return `${resolvedBy ? `${resolvedBy}: ` : ''}${sequence.join(' → ')}`;
}

/** Our own words, or undefined when the resolution was stored by somebody else. */
export function resolutionSummary(resolution: string, messages: Messages): string | undefined {
  const parsed = asRecord(parseJson(resolution));
  return remedyText(parsed, messages) || readString(parsed, 'summary') || undefined;
}

/** A remedy (see lessons/lesson.ts) in the reader's language; undefined when it is none that we know. */
function remedyText(remedy: Json, messages: Messages): string | undefined {
  const read = (key: string) => readString(remedy, key) ?? '';
  const [use, failing] = [read('use'), read('failing')];
  const texts: Readonly<Record<string, () => string>> = {
    command: () => use && messages.useInstead(use, failing),
    without: () => messages.leaveOut(read('leaveOut'), failing),
    directory: () => use && messages.runIn(use, read('directory')),
    fixer: () => use && messages.runFirst(use, failing),
    ran: () => messages.workedHere(read('summary')),
    lint: () => messages.lintRule(read('rule'), read('message')),
  };
  return Object.hasOwn(texts, read('kind')) ? texts[read('kind')]?.() : undefined;
}
