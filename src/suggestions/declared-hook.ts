import { isRecord, type Json } from '../core/guards.ts';
import { inertText } from '../core/inert-text.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { redactSecrets } from '../core/redact.ts';
import { cleanText } from '../core/text.ts';
import { isFileTool, isShellTool } from '../lessons/command.ts';

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

export type DeclarationResult =
  | { readonly kind: 'read'; readonly declaration: HookDeclaration }
  | { readonly kind: 'wrong'; readonly reason: string };

const KEYS = ['event', 'tools', 'when', 'action', 'text'];
const TOOLS_MAX = 10;
const CONDITION_LENGTH_MAX = 200;
export const DECLARED_TEXT_LENGTH_MAX = 400;

/** Reads a declaration, proposed or stored. Nothing is put right: what is not wholly understood is wrong. Never throws. */
export function readDeclaration(value: unknown): DeclarationResult {
  if (!isRecord(value)) return wrong('must be an object that says event, tools, action and text');
  const { tools, when, action } = value;
  const text = typeof value.text === 'string' ? value.text.trim() : '';
  const stranger = Object.keys(value).find((key) => !KEYS.includes(key));
  if (stranger !== undefined) return wrong(`must not have "${inertText(stranger, 40)}"`);
  const event = DECLARED_EVENTS.find((one) => one === value.event);
  if (event === undefined) return wrong(`event: must be one of ${DECLARED_EVENTS.join(', ')}`);
  if (!isListOfTools(tools)) return wrong(`tools: must be 1 to ${TOOLS_MAX} whole names of tools`);
  if (action !== 'tell' && action !== 'deny') return wrong('action: must be "tell" or "deny"');
  if (action === 'deny' && event !== 'PreToolUse') return wrong('action: only PreToolUse can deny');
  const condition = when === undefined ? {} : readCondition(when, tools);
  if (typeof condition === 'string') return wrong(`when: ${condition}`);
  if (text === '' || inertText(text, DECLARED_TEXT_LENGTH_MAX) !== text)
    return wrong(`text: must be one line of at most ${DECLARED_TEXT_LENGTH_MAX} characters without tags`);
  if (isInstructionShaped(text))
    return wrong('text: reads like an instruction to ignore, fetch, send or destroy');
  const declaration: HookDeclaration = { event, tools, ...condition, action, text };
  return holdsSecret(declaration) ? wrong('must not hold a secret') : { kind: 'read', declaration };
}

function holdsSecret({ when = { path: '' }, text }: HookDeclaration): boolean {
  const condition = 'command' in when ? when.command : when.path;
  return redactSecrets(text) !== text || redactSecrets(condition) !== condition;
}

function wrong(reason: string): DeclarationResult {
  return { kind: 'wrong', reason };
}

function isListOfTools(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > TOOLS_MAX) return false;
  return value.every((name) => typeof name === 'string' && /^[A-Za-z][\w-]{0,127}$/.test(name));
}

/** The condition, or what is wrong with it. */
function readCondition(value: unknown, tools: readonly string[]): Pick<HookDeclaration, 'when'> | string {
  const { command, path, ...others }: Json = isRecord(value) ? value : {};
  if (Object.keys(others).length === 0) {
    if (typeof command === 'string' && path === undefined)
      return objectionToCommand(command, tools) ?? { when: { command } };
    if (typeof path === 'string' && command === undefined)
      return objectionToPath(path, tools) ?? { when: { path } };
  }
  return 'must be {"command": "…"} or {"path": "…"}';
}

function objectionToCommand(command: string, tools: readonly string[]): string | undefined {
  if (!tools.every(isShellTool)) return 'only Bash and PowerShell have a command';
  const isPlain = /^[\p{L}\p{N}_@%+=:,./-]+(?: [\p{L}\p{N}_@%+=:,./-]+)*$/u.test(command);
  return isPlain && isShortAndClean(command)
    ? undefined
    : 'command: must be the first words of one command, as they are typed, without quotes and signs of the shell';
}

function objectionToPath(path: string, tools: readonly string[]): string | undefined {
  if (!tools.every(isFileTool)) return 'only the tools that read or edit a file have a path';
  const isGlob = /^[\p{L}\p{N}_@%+=,. *-]+(?:\/[\p{L}\p{N}_@%+=,. *-]+)*$/u.test(path);
  const isInside = !path.split('/').some((name) => name === '..' || name === '.');
  return isGlob && isInside && isShortAndClean(path)
    ? undefined
    : 'path: must be a path inside the project, in which "*" stands for any name and "**" for any directories';
}

/** Nothing in it is invisible, so that what a person reads is what is compared. */
function isShortAndClean(text: string): boolean {
  return text.length <= CONDITION_LENGTH_MAX && cleanText(text) === text && text.trim() === text;
}

const MOMENTS = { PreToolUse: 'Before', PostToolUse: 'After', PostToolUseFailure: 'After failing' } as const;

/** The declaration as a person reads it: `Before Bash calls whose command begins with "npm publish": denied: "…"`. */
export function describeDeclaration({ event, tools, when, action, text }: HookDeclaration): string {
  const calls = `${MOMENTS[event]} ${tools.join(', ')} calls`;
  const which =
    when === undefined
      ? ''
      : 'command' in when
        ? ` whose command begins with "${when.command}"`
        : ` whose file is "${when.path}"`;
  return `${calls}${which}: ${action === 'deny' ? 'denied' : 'told'}: "${text}"`;
}
