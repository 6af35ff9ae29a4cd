import { z } from 'zod';
import { isRecord, parseJson } from '../core/guards.ts';
import { isInstructionShaped } from '../core/inert-text.ts';
import { redactSecrets } from '../core/redact.ts';
import { cleanText, oneLine } from '../core/text.ts';
import { commandWords, quotedCommands } from '../lessons/advised-commands.ts';
import { isFetchNamed, speaksOfFetching } from '../lessons/fetches.ts';
import { namedByManifests } from '../lessons/learn-project.ts';
import { parseShell } from '../lessons/shell.ts';
import {
  type Proposal,
  readDeclaration,
  readProposal,
  SKILL_NAME,
  SUGGESTION_TEXT_LENGTH_MAX,
} from '../suggestions/model/suggestion.ts';
import type { CandidateGroup } from './candidates.ts';

/** A lesson as the model wrote it, with the failures that it is about. */
export type ModelLesson = Readonly<Omit<z.infer<typeof LESSON>, 'group'>> & {
  readonly group: CandidateGroup;
};

type LessonsRead = {
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
  kind: z.enum(['command', 'environment', 'directory', 'order', 'cause', 'convention']),
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

/** Returns true if advice gets nothing from elsewhere, or in quoted commands only what is named: a sentence cannot be read so closely. */
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

/** Returns true if a clause may deny a command of its own, or the next one's: that it ran here proves it, and not that it is of no use. */
function mayDeny(clause: string): boolean {
  return (clause.includes(COMMAND) && DENIES.test(clause)) || BEGINS_DENYING.test(clause);
}

const DENIES =
  /\b(?:not?|never|none|without|instead|rather|cannot|\w+n't|avoid|stop|unless|except|fail\w*|wrong|breaks?|useless)\b|없|아니|아닌|아닙|않|말[고아]|마세요|마십시오|대신|실패|안 /i;
const BEGINS_DENYING = /^\s*(?:not?|never|none|without|instead|avoid|stop|do not|don't)\b/i;

/** Returns true if a command prints or carries a sentence. */
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

/** What a usable answer holds. Everything in it is bounded and redacted; the proposals are still only proposals. */
export type AnalysisAnswer = LessonsRead & {
  readonly clusters: readonly z.infer<typeof CLUSTER>[];
  readonly workflows: readonly z.infer<typeof WORKFLOW>[];
  readonly errorPatterns: readonly z.infer<typeof ERROR_PATTERN>[];
  readonly proposals: readonly Proposal[];
};

export type AnswerResult =
  | { readonly kind: 'valid'; readonly answer: AnalysisAnswer }
  /** `usable`: what is left when the suggestions that are wrong are dropped; undefined when nothing can be read. */
  | {
      readonly kind: 'invalid';
      readonly problems: readonly string[];
      readonly usable: AnalysisAnswer | undefined;
    };

export const ANSWER_LENGTH_MAX = 256 * 1024;
const LIST_MAX = 20;
const SUGGESTIONS_MAX = 10;

/** Over-long text is a wrong answer and not one to be cut: a rule's first half may say the opposite. */
const text = (lengthMax: number) => z.string().max(lengthMax).transform(redactSecrets);
const required = (lengthMax: number) => z.string().trim().min(1).max(lengthMax).transform(redactSecrets);
const count = z.number().int().nonnegative().catch(0);
const list = <Item extends z.ZodType>(item: Item) => z.array(item).max(LIST_MAX).default([]);

const CLUSTER = z.object({
  id: text(60).default(''),
  summary: required(300),
  intent: text(40).default('other'),
  count,
  examples: list(text(300)),
});
const WORKFLOW = z.object({ pattern: required(500), count, purpose: text(300).default(''), sessions: count });
const ERROR_PATTERN = z.object({
  pattern: required(400),
  count,
  tools: list(text(60)),
  proposedRule: text(400).default(''),
});

const COMMON = {
  summary: required(300),
  evidence: text(500).default(''),
  priority: z.number().min(-1000).max(1000).catch(0),
};
const SUGGESTION = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('claude_md'),
    ...COMMON,
    rule: oneLineOf(400),
    groups: list(z.number().int()),
  }),
  z.object({
    type: z.literal('skill'),
    ...COMMON,
    skillName: z.string().regex(SKILL_NAME, 'must be a name of lower-case letters, digits and dashes'),
    action: required(SUGGESTION_TEXT_LENGTH_MAX),
    examples: list(text(200)),
  }),
  z.object({
    type: z.literal('hook'),
    ...COMMON,
    hook: z.unknown().transform((value, context) => {
      const read = readDeclaration(value);
      if (typeof read !== 'string') return read;
      context.addIssue({ code: 'custom', message: read });
      return z.NEVER;
    }),
  }),
]);
const DOCUMENT = z.object({
  clusters: z.unknown().optional(),
  workflows: z.unknown().optional(),
  errorPatterns: z.unknown().optional(),
  suggestions: z.array(z.unknown()).max(SUGGESTIONS_MAX),
  lessons: z.unknown().optional(),
});

function oneLineOf(lengthMax: number) {
  return z
    .string()
    .trim()
    .min(1)
    .max(lengthMax)
    .refine((value) => !/[\r\n]/.test(value), 'must be one line')
    .transform(redactSecrets);
}

/** The failures that were sent, by their numbers: rules and lessons may be about no others. */
type SentGroups = ReadonlyMap<number, CandidateGroup>;

/** Reads a model's answer. Never throws. */
export function readAnalysisAnswer(answer: string, groups: SentGroups): AnswerResult {
  if (answer.length > ANSWER_LENGTH_MAX) {
    return unusable(`the answer has ${answer.length} characters, ${ANSWER_LENGTH_MAX} are allowed`);
  }
  const found = findObject(answer);
  if (found === undefined) return unusable('there is no JSON object in the answer');
  const document = DOCUMENT.safeParse(found);
  if (!document.success) return unusable(...issuesOf(document.error, ''));
  const problems: string[] = [];
  const proposals: Proposal[] = [];
  document.data.suggestions.forEach((value, index) => {
    const read = readSuggestion(value, groups);
    if ('summary' in read) proposals.push(read);
    else problems.push(...read.map((problem) => `suggestions[${index}]${problem}`));
  });
  // These are only shown: what is wrong in them is left out without another turn.
  const usable = {
    clusters: validOnes(CLUSTER, document.data.clusters),
    workflows: validOnes(WORKFLOW, document.data.workflows),
    errorPatterns: validOnes(ERROR_PATTERN, document.data.errorPatterns),
    proposals,
    ...readLessons(document.data.lessons, groups),
  };
  return problems.length === 0 ? { kind: 'valid', answer: usable } : { kind: 'invalid', problems, usable };
}

function unusable(...problems: string[]): AnswerResult {
  return { kind: 'invalid', problems, usable: undefined };
}

/** The content of a fenced block, else from the first brace to the last, else nothing (REQ-AA-005). */
function findObject(answer: string): unknown {
  const fenced = /```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```/.exec(answer)?.[1] ?? '';
  const braced = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);
  return [answer, fenced, braced].map(parseJson).find(isRecord);
}

/** The proposal, or what is wrong with it. */
function readSuggestion(value: unknown, groups: SentGroups): Proposal | readonly string[] {
  const parsed = SUGGESTION.safeParse(value);
  if (!parsed.success) return issuesOf(parsed.error, '.');
  const suggestion = parsed.data;
  const shown =
    suggestion.type === 'claude_md' ? suggestion.rule : suggestion.type === 'skill' ? suggestion.action : '';
  if ([suggestion.summary, suggestion.evidence, shown].some(isInstructionShaped))
    return [': reads like an instruction to ignore, fetch, send or destroy'];
  // From the numbers in the answer to the errors themselves, by which the rule's effect will be measured.
  const groupNumbers = suggestion.type === 'claude_md' ? suggestion.groups : undefined;
  const errors = groupNumbers?.flatMap((one) => groups.get(one)?.keys ?? []);
  const proposal = readProposal({ ...suggestion, ...(errors && { errors }) });
  return proposal ?? [': holds nothing that could be applied'];
}

function validOnes<Item extends z.ZodType>(item: Item, value: unknown): z.infer<Item>[] {
  const candidates = Array.isArray(value) ? value.slice(0, LIST_MAX) : [];
  return candidates.flatMap((candidate) => item.safeParse(candidate).data ?? []);
}

function issuesOf(error: z.ZodError, before: '' | '.'): string[] {
  return error.issues.slice(0, LIST_MAX).map(({ path, message }) => {
    const at = path.map(String).join('.');
    return `${at === '' ? '' : `${before}${at}`}: ${message}`;
  });
}
