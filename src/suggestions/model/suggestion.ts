import { asRecord, isRecord, type Json, readRecord, readString, readTexts } from '../../core/guards.ts';
import { inertText, isInstructionShaped } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cleanText, cutText, fingerprint, oneLine } from '../../core/text.ts';
import { isFileTool, isShellTool } from '../../lessons/command.ts';
import { readLessonEvidence } from '../../lessons/lesson.ts';

/** What may be proposed: a command for the user, a rule for CLAUDE.md, a hook, or a lesson that agents are told. */
export const SUGGESTION_TYPES = ['skill', 'claude_md', 'hook', 'lesson'] as const;
type SuggestionType = (typeof SUGGESTION_TYPES)[number];

/** `new` was never announced, `shown` was; the user decides between `applied` and `dismissed`. */
export const SUGGESTION_STATUSES = ['new', 'shown', 'applied', 'dismissed', 'expired'] as const;
export type SuggestionStatus = (typeof SUGGESTION_STATUSES)[number];

/** What depends on the type. `errors`: the normalised errors that a rule is to prevent. */
type SuggestionDetails = {
  readonly skillName?: string;
  /** Of a hook; one without contains code, as earlier versions and other implementations proposed it. */
  readonly hook?: HookDeclaration;
  /** Of a hook that contains code. */
  readonly hookEvent?: string;
  readonly errors?: readonly string[];
  /** Prompts, in the user's words, that a skill is for. */
  readonly examples?: readonly string[];
  readonly lesson?: LessonDetails;
};

/** A suggestion as an analysis makes it; the model wrote it, so it is data until the user applies it. */
export type Proposal = {
  readonly type: SuggestionType;
  /** One line. */
  readonly summary: string;
  readonly evidence: string;
  /** What would be applied: the rule, the skill's instructions, the hook in words, the advice. */
  readonly text: string;
  readonly priority: number;
  readonly details: SuggestionDetails;
};

/** A proposal with its history. */
export type Suggestion = Proposal & {
  readonly id: string;
  /** When it was first and last proposed, ISO. */
  readonly ts: string;
  readonly lastTs: string;
  /** `all` for suggestions that are not about one project; then the path is empty. */
  readonly project: string;
  readonly projectPath: string;
  /** `cache`: found in analysis_cache, left there by another implementation. `team`: a member of the user's team shares it. */
  readonly origin: 'analysis' | 'cache' | 'team';
  readonly status: SuggestionStatus;
  readonly decidedTs: string | null;
  readonly why: string | null;
  /** What apply did, as apply wrote it. */
  readonly applied: unknown;
};

const SUMMARY_LENGTH_MAX = 300;
const EVIDENCE_LENGTH_MAX = 500;
const RULE_LENGTH_MAX = 400;
export const SUGGESTION_TEXT_LENGTH_MAX = 16_384;
/** Lower-case letters, digits and Hangul: nothing that has a meaning in a path. */
export const SKILL_NAME = /^[a-z0-9가-힣][a-z0-9가-힣_-]{0,63}$/;

/** The same proposal for the same project has the same id, however often and in whatever order it is made. */
export function suggestionId(proposal: Proposal, projectPath: string): string {
  const { type, text, details } = proposal;
  const key = type === 'skill' ? (details.skillName ?? '') : comparable(text);
  return `s${fingerprint([projectPath, type, details.hookEvent ?? '', key].join('\n')).padStart(9, '0')}`;
}

/** Without case, punctuation and spacing, which models change from one answer to the next. */
function comparable(text: string): string {
  return (
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(' ') ?? ''
  );
}

/** A suggestion as it stands in analysis_cache, in the shape of any implementation; undefined when it is none. */
export function readProposal(value: unknown): Proposal | undefined {
  if (!isRecord(value)) return undefined;
  const type = SUGGESTION_TYPES.find((one) => one === value.type);
  const text = type && suggestedText(type, value);
  const summary =
    line(value, 'summary', SUMMARY_LENGTH_MAX) || cutText(oneLine(text ?? ''), SUMMARY_LENGTH_MAX);
  if (type === undefined || !text || summary === '') return undefined;
  const { priority } = value;
  return {
    type,
    summary,
    evidence: line(value, 'evidence', EVIDENCE_LENGTH_MAX),
    text,
    priority: typeof priority === 'number' && Number.isFinite(priority) ? priority : 0,
    details: readDetails(value),
  };
}

function suggestedText(type: SuggestionType, value: Json): string {
  if (type === 'claude_md')
    return line(value, 'rule', RULE_LENGTH_MAX) || line(value, 'summary', RULE_LENGTH_MAX);
  if (type === 'lesson') return line(value, 'advice', RULE_LENGTH_MAX);
  const hook = type === 'hook' ? readDeclaration(value.hook) : '';
  if (typeof hook !== 'string') return describeDeclaration(hook);
  const text = type === 'skill' ? readString(value, 'action') : readString(value, 'hookCode');
  return cutText(cleanText(text ?? ''), SUGGESTION_TEXT_LENGTH_MAX);
}

/** The fields that are there; `details` itself is read back with the same function. */
export function readDetails(value: Json): SuggestionDetails {
  const skillName = line(value, 'skillName', 64);
  const hook = readDeclaration(value.hook);
  const hookEvent = line(value, 'hookEvent', 64);
  const errors = texts(value.errors, 10, 200);
  const examples = texts(value.examples, 5, 200);
  const lesson = readLessonDetails(value.lesson);
  return {
    ...(skillName && { skillName }),
    ...(typeof hook !== 'string' && { hook }),
    ...(hookEvent && { hookEvent }),
    ...(errors.length > 0 && { errors }),
    ...(examples.length > 0 && { examples }),
    ...(lesson && { lesson }),
  };
}

const LESSON_TEXT_LENGTH_MAX = 1000;

/** To which error a lesson belongs. */
type LessonDetails = NonNullable<ReturnType<typeof readLessonDetails>>;

function readLessonDetails(value: unknown) {
  if (!isRecord(value)) return undefined;
  const errorKey = readString(value, 'errorKey');
  if (!errorKey) return undefined;
  return {
    errorKey: cutText(errorKey, LESSON_TEXT_LENGTH_MAX),
    /** The telling line. */
    said: line(value, 'said', LESSON_TEXT_LENGTH_MAX),
    kind: line(value, 'kind', 64),
    confidence: typeof value.confidence === 'number' ? value.confidence : 0,
    evidence: readLessonEvidence(readRecord(value, 'evidence')),
  };
}

function texts(value: unknown, most: number, lengthMax: number): string[] {
  return readTexts(value)
    .map((one) => cutText(oneLine(one), lengthMax))
    .filter((one) => one !== '')
    .slice(0, most);
}

function line(value: Json, key: string, lengthMax: number): string {
  return cutText(oneLine(readString(value, key) ?? ''), lengthMax);
}

/** The events of a tool's call: what is to be known at any other moment is a rule or a lesson. */
export const DECLARED_EVENTS = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'] as const;

/**
 * A hook that a model proposed: which calls it is about, and what is said then. It contains no code, and no expression
 * that could run away: names and words are compared whole, and a glob has only stars.
 */
export type HookDeclaration = {
  readonly event: (typeof DECLARED_EVENTS)[number];
  /** Whole names of tools. */
  readonly tools: readonly string[];
  /** Of these tools' calls only those that begin with this command, or that are about such a file of the project. */
  readonly when?: { readonly command: string } | { readonly path: string };
  /** To refuse the call, which only PreToolUse can, or to tell the agent something. */
  readonly action: 'tell' | 'deny';
  /** What is told, or the reason of the refusal: one line. */
  readonly text: string;
};

const KEYS = ['event', 'tools', 'when', 'action', 'text'];
const TOOLS_MAX = 10;
const CONDITION_LENGTH_MAX = 200;
export const DECLARED_TEXT_LENGTH_MAX = 400;

/** What a condition may be about, for which tools, and in which shape. */
const CONDITIONS = {
  command: {
    isFor: isShellTool,
    otherTools: 'only Bash and PowerShell have a command',
    shape: /^[\p{L}\p{N}_@%+=:,./-]+(?: [\p{L}\p{N}_@%+=:,./-]+)*$/u,
    wrong:
      'command: must be the first words of one command, as they are typed, without quotes and signs of the shell',
  },
  path: {
    isFor: isFileTool,
    otherTools: 'only the tools that read or edit a file have a path',
    shape: /^(?!(?:.*\/)?\.\.?(?:\/|$))[\p{L}\p{N}_@%+=,. *-]+(?:\/[\p{L}\p{N}_@%+=,. *-]+)*$/u,
    wrong:
      'path: must be a path inside the project, in which "*" stands for any name and "**" for any directories',
  },
} as const;

/** Reads a declaration, proposed or stored, or returns what is wrong with it: nothing is put right. Never throws. */
export function readDeclaration(value: unknown): HookDeclaration | string {
  if (!isRecord(value)) return 'must be an object that says event, tools, action and text';
  const { tools, when, action } = value;
  const text = typeof value.text === 'string' ? value.text.trim() : '';
  const stranger = Object.keys(value).find((key) => !KEYS.includes(key));
  if (stranger !== undefined) return `must not have "${inertText(stranger, 40)}"`;
  const event = DECLARED_EVENTS.find((one) => one === value.event);
  if (event === undefined) return `event: must be one of ${DECLARED_EVENTS.join(', ')}`;
  if (!isListOfTools(tools)) return `tools: must be 1 to ${TOOLS_MAX} whole names of tools`;
  if (action !== 'tell' && action !== 'deny') return 'action: must be "tell" or "deny"';
  if (action === 'deny' && event !== 'PreToolUse') return 'action: only PreToolUse can deny';
  const condition = when === undefined ? {} : readCondition(when, tools);
  if (typeof condition === 'string') return `when: ${condition}`;
  if (text === '' || inertText(text, DECLARED_TEXT_LENGTH_MAX) !== text)
    return `text: must be one line of at most ${DECLARED_TEXT_LENGTH_MAX} characters without tags`;
  if (isInstructionShaped(text)) return 'text: reads like an instruction to ignore, fetch, send or destroy';
  const told = [text, ...Object.values(condition.when ?? {})];
  if (told.some((one) => redactSecrets(one) !== one)) return 'must not hold a secret';
  return { event, tools, ...condition, action, text };
}

function isListOfTools(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > TOOLS_MAX) return false;
  return value.every((name) => typeof name === 'string' && /^[A-Za-z][\w-]{0,127}$/.test(name));
}

/** The condition, or what is wrong with it. */
function readCondition(value: unknown, tools: readonly string[]): Pick<HookDeclaration, 'when'> | string {
  const [[key, text] = [], ...others] = Object.entries(asRecord(value));
  if ((key !== 'command' && key !== 'path') || typeof text !== 'string' || others.length > 0)
    return 'must be {"command": "…"} or {"path": "…"}';
  const { isFor, otherTools, shape, wrong } = CONDITIONS[key];
  if (!tools.every(isFor)) return otherTools;
  // Nothing in it is invisible, so that what a person reads is what is compared.
  const isClean = text.length <= CONDITION_LENGTH_MAX && cleanText(text) === text && text.trim() === text;
  if (!isClean || !shape.test(text)) return wrong;
  return { when: key === 'command' ? { command: text } : { path: text } };
}

const MOMENTS = { PreToolUse: 'Before', PostToolUse: 'After', PostToolUseFailure: 'After failing' } as const;

/** The declaration as a person reads it: `Before Bash calls whose command begins with "npm publish": denied: "…"`. */
export function describeDeclaration({ event, tools, when, action, text }: HookDeclaration): string {
  const calls = `${MOMENTS[event]} ${tools.join(', ')} calls`;
  let which = '';
  if (when !== undefined)
    which =
      'command' in when ? ` whose command begins with "${when.command}"` : ` whose file is "${when.path}"`;
  return `${calls}${which}: ${action === 'deny' ? 'denied' : 'told'}: "${text}"`;
}
