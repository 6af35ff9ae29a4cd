import { z } from 'zod';
import { readDeclaration } from '../../core/hook-declaration.ts';
import { isInstructionShaped } from '../../core/instruction-shape.ts';
import { redactSecrets } from '../../core/redact.ts';
import { type Proposal, readProposal, SUGGESTION_TEXT_LENGTH_MAX } from '../../core/suggestion.ts';
import type { CandidateGroup } from './candidates.ts';
import { type LessonsRead, readLessons } from './lesson-answer.ts';

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
/** Lower-case letters, digits and Hangul: nothing that means something in a path. */
export const SKILL_NAME = /^[a-z0-9가-힣][a-z0-9가-힣_-]{0,63}$/;
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
      if (read.kind === 'read') return read.declaration;
      context.addIssue({ code: 'custom', message: read.reason });
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
export type SentGroups = ReadonlyMap<number, CandidateGroup>;

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
    if (read.kind === 'read') proposals.push(read.proposal);
    else problems.push(...read.problems.map((problem) => `suggestions[${index}]${problem}`));
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
  const fenced = /```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```/.exec(answer)?.[1];
  const braced = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);
  for (const candidate of [answer, fenced, braced]) {
    if (candidate === undefined) continue;
    try {
      const value: unknown = JSON.parse(candidate);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    } catch {
      // Then the next reading.
    }
  }
  return undefined;
}

type SuggestionResult =
  | { readonly kind: 'read'; readonly proposal: Proposal }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };

function readSuggestion(value: unknown, groups: SentGroups): SuggestionResult {
  const parsed = SUGGESTION.safeParse(value);
  if (!parsed.success) return { kind: 'wrong', problems: issuesOf(parsed.error, '.') };
  const suggestion = parsed.data;
  const shown =
    suggestion.type === 'claude_md' ? suggestion.rule : suggestion.type === 'skill' ? suggestion.action : '';
  for (const one of [suggestion.summary, suggestion.evidence, shown]) {
    if (isInstructionShaped(one))
      return { kind: 'wrong', problems: [': reads like an instruction to ignore, fetch, send or destroy'] };
  }
  // From the numbers in the answer to the errors themselves, by which the rule's effect will be measured.
  const errorsOf = (numbers: readonly number[]) => numbers.flatMap((one) => groups.get(one)?.keys ?? []);
  const named = suggestion.type === 'claude_md' ? { errors: errorsOf(suggestion.groups) } : {};
  const proposal = readProposal({ ...suggestion, ...named });
  return proposal === undefined
    ? { kind: 'wrong', problems: [': holds nothing that could be applied'] }
    : { kind: 'read', proposal };
}

function validOnes<Item extends z.ZodType>(item: Item, value: unknown): z.infer<Item>[] {
  const candidates = Array.isArray(value) ? value.slice(0, LIST_MAX) : [];
  return candidates.flatMap((candidate) => {
    const parsed = item.safeParse(candidate);
    return parsed.success ? [parsed.data] : [];
  });
}

function issuesOf(error: z.ZodError, before: '' | '.'): string[] {
  return error.issues.slice(0, LIST_MAX).map(({ path, message }) => {
    const at = path.map(String).join('.');
    return `${at === '' ? '' : `${before}${at}`}: ${message}`;
  });
}
