import { z } from 'zod';
import { isInstructionShaped } from '../../core/instruction-shape.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cleanText, oneLine } from '../../core/text.ts';
import { isFetchNamed, speaksOfFetching } from '../../lessons/fetches.ts';
import { parseShell } from '../../lessons/shell.ts';
import { namedByManifests } from '../manifests.ts';
import type { CandidateGroup } from './candidates.ts';
import { commandWords, quotedCommands } from './shell-words.ts';

const LESSON_KINDS = ['command', 'environment', 'directory', 'order', 'cause', 'convention'] as const;

/** A lesson as the model wrote it, with the failures that it is about. */
export type ModelLesson = {
  readonly group: CandidateGroup;
  readonly advice: string;
  readonly kind: (typeof LESSON_KINDS)[number];
  readonly confidence: number;
};

export type LessonsRead = {
  readonly lessons: readonly ModelLesson[];
  /** Why others were refused: they are not asked for again. */
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
  const lessons: ModelLesson[] = [];
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
  before: readonly ModelLesson[],
): ModelLesson | string {
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
  const isNamed = namedByManifests(group.projectPath);
  if (!mayBeTold(plain, (fetched) => isNamed(fetched, '')))
    return "downloads and runs something that the project's manifests do not name";
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

/** Whether advice gets nothing from elsewhere, or in quoted commands only what is named: a sentence cannot be read so closely. */
function mayBeTold(advice: string, isNamed: (fetched: string) => boolean): boolean {
  const outside = advice.replace(/`[^`]*`/g, ' ');
  const commands = quotedCommands(advice).flatMap((command) => parseShell(command));
  return !speaksOfFetching(outside) && commands.every((command) => isFetchNamed(command, isNamed));
}

/**
 * The commands of advice in backticks, as they may be told before anybody has read it: never its words, of which nothing could be
 * proven. None where one is risky or carries a sentence, or where the words may speak against one or ask for something
 * else. Whether they ran here with success is for the caller to find out.
 */
export function commandsAlone(advice: string): string {
  const commands = quotedCommands(advice);
  const words = advice.normalize('NFKC').replace(/`[^`]*`/g, COMMAND);
  const isSafe =
    mayBeTold(advice, () => false) &&
    !ASKS.test(words) &&
    !commands.some((command) => RISKY_COMMANDS.test(command) || saysSomething(command)) &&
    !words.split(/[.,:;!?](?:\s|$)/).some(mayDeny);
  if (!isSafe) return '';
  let told = '';
  for (const command of new Set(commands)) {
    const more = `${told === '' ? '' : `${told}, `}\`${command}\``;
    if (more.length <= COMMANDS_LENGTH_MAX) told = more;
  }
  return told;
}

/** Room for them and for what is said of them in the fix of a context. */
const COMMANDS_LENGTH_MAX = 110;

/** Stands for a quoted command among the words around it. */
const COMMAND = '`';

/** Whether a clause may deny a command of its own, or the next one's: that it ran here proves it, and not that it is of no use. */
function mayDeny(clause: string): boolean {
  return (clause.includes(COMMAND) && DENIES.test(clause)) || BEGINS_DENYING.test(clause);
}

const DENIES =
  /\b(?:not?|never|none|without|instead|rather|cannot|\w+n't|avoid|stop|unless|except|fail\w*|wrong|breaks?|useless)\b|없|아니|아닌|아닙|않|말[고아]|마세요|마십시오|대신|실패|안 /i;
const BEGINS_DENYING = /^\s*(?:not?|never|none|without|instead|avoid|stop|do not|don't)\b/i;

/** Whether a command prints or carries a sentence. */
function saysSomething(command: string): boolean {
  return commandWords(command).some(
    ([program = '', ...others]) => SPEAKERS.has(program) || others.some((word) => /\s\S+\s/.test(word)),
  );
}

const SPEAKERS = new Set(['echo', 'printf', 'say', 'wall', 'write', 'notify-send', ':']);

/** Words that ask for something that no command of this advice does. */
const ASKS =
  /(?<![\w-])(?:allow|approve|bypass|commit|confirm|delete|deploy|destroy|disable|disregard|drop|exec|fetch|flaky|forget|force|grant|ignore|install|kill|login|mail|merge|obey|password|permissions?|publish|purge|push|release|report|reset|revert|revoke|say|secrets?|send|share|skip|stash|sudo|tell|tokens?|trust|upload|wipe)(?![\w-])|무시|잊|알리|말하|삭제|지우|지워|전송|보내|공유|배포|건너뛰|승인|허용|보고|설치|토큰|비밀|권한|커밋|푸시/i;

const RISKY_COMMANDS =
  /(?:^|[\s;&|(])(?:rm|rmdir|unlink|shred|dd|mkfs\S*|sudo|su|doas|chmod|chown|kill|pkill|killall|curl|wget|nc|ssh|scp|rsync|eval|exec|source|env|printenv|base64|crontab|launchctl|systemctl|osascript|security|gpg|pass)(?=\s|$)|\b(?:push|publish|deploy|release|login|logout|destroy|delete|drop|purge|prune|reset|clean|clobber|rebase|revert|stash|checkout|restore)\b|--(?:force|hard|yes|no-verify|delete|global|system)\b|\s-[a-z]*f\b|\$\(|\.env\b|~\/\.|\/etc\//i;
