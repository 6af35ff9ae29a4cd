import { inertText } from '../core/inert-text.ts';
import { redactSecrets } from '../core/redact.ts';
import { isShellTool } from '../lessons/command.ts';
import { isInformative, normalizeError } from '../lessons/errors/normalize-error.ts';
import { commandWords } from './advised-commands.ts';
import type { AnalysedCall, CallFailure } from './calls-store.ts';

/** A failing call as it is sent to a model: bounded, redacted, and unable to open a frame. */
export type ShownExample = {
  readonly command: string;
  readonly in?: string;
  readonly says: string;
  readonly next: readonly string[];
};

type FailedCall = {
  readonly call: AnalysedCall;
  readonly failure: CallFailure;
  readonly next: readonly AnalysedCall[];
};

const SAYS_LENGTH_MAX = 300;
const COMMAND_LENGTH_MAX = 400;
const NEXT_LENGTH_MAX = 260;
const REMARK_LENGTH_MAX = 160;
const OUTCOME_LENGTH_MAX = 120;
const DIRECTORY_LENGTH_MAX = 80;
const ALIKE_MIN = 0.5;

/** What a failing call looked like: the command, what it said, around a rule where one is named, and what came next. */
export function showExample({ call, failure, next }: FailedCall, rule: string | undefined): ShownExample {
  const command = commandText(call);
  const alike = next
    .filter((one) => one.failure === null)
    .map(commandText)
    .find((text) => isAlike(text, command) && text !== command);
  return {
    command: aroundDifference(command, alike ?? command, COMMAND_LENGTH_MAX),
    ...(call.directory ? { in: shown(call.directory, DIRECTORY_LENGTH_MAX) } : {}),
    says: saysOf(failure, rule),
    next: next.flatMap((one) => showNext(one, command)),
  };
}

/** What the agent said before it, and the call with its outcome. */
function showNext(call: AnalysedCall, failed: string): string[] {
  const text = aroundDifference(commandText(call), failed, NEXT_LENGTH_MAX);
  const where = call.directory ? ` (in ${shown(call.directory, DIRECTORY_LENGTH_MAX)})` : '';
  const outcome = call.failure === null ? 'ok' : `failed (${tellingText(call.failure)})`;
  return [
    ...(call.remark ? [`agent: ${shown(call.remark, REMARK_LENGTH_MAX)}`] : []),
    `${outcome}: ${text}${where}`,
  ];
}

/** The telling line, else the beginning of what was printed. */
export function tellingText({ said, raw }: CallFailure): string {
  return shown(isTelling(said) ? said : withoutExitLine(raw), OUTCOME_LENGTH_MAX);
}

/** The command line, or the tool and what it was called on. */
function commandText({ tool, line, family, file }: AnalysedCall): string {
  if (isShellTool(tool)) return oneLined(line ?? family ?? tool);
  return oneLined(`${tool} ${file ?? line ?? ''}`.trim());
}

function oneLined(text: string): string {
  return shown(text.trim().replace(/\s*\n\s*/g, ' ⏎ '), Number.MAX_SAFE_INTEGER);
}

/** The text, or of a long one its beginning and what is around the first difference to another. */
function aroundDifference(text: string, other: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  const before = Math.floor(lengthMax / 3);
  if (at >= text.length || at < lengthMax - before) return `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
  const from = Math.min(at - 40, text.length - (lengthMax - before));
  const part = text.slice(from, from + lengthMax - before);
  const end = from + part.length < text.length ? '…' : '';
  return `${text.slice(0, before).toWellFormed()}…${part.toWellFormed()}${end}`;
}

/** What is around the telling line, or around the rule. */
function saysOf({ said, raw }: CallFailure, rule: string | undefined): string {
  const sought = rule ?? (isTelling(said) ? said.trim() : undefined);
  const text = withoutExitLine(raw);
  const at = sought === undefined ? 0 : text.indexOf(sought);
  if (sought !== undefined && at < 0) return shown(`${said} ${text}`, SAYS_LENGTH_MAX);
  const room = Math.max(0, SAYS_LENGTH_MAX - (sought?.length ?? 0));
  const from = Math.max(0, at - Math.floor(room / 2));
  return shown(text.slice(from, from + SAYS_LENGTH_MAX).toWellFormed(), SAYS_LENGTH_MAX);
}

function isTelling(said: string): boolean {
  return said.trim() !== '' && isInformative(normalizeError(said));
}

function withoutExitLine(raw: string): string {
  return raw.replace(/^Exit code \d+\s*\n/, '');
}

/** Returns true if two commands have half of their words in common. */
export function isAlike(left: string, right: string): boolean {
  const [one, other] = [new Set(left.split(/\s+/)), new Set(right.split(/\s+/))];
  const shared = [...one].filter((word) => other.has(word)).length;
  return (2 * shared) / (one.size + other.size) >= ALIKE_MIN;
}

/** Text of the log as it may be sent. */
export function shown(text: string, lengthMax: number): string {
  return inertText(redactSecrets(text), lengthMax);
}

/** A command that checks the work, and how often it passed and failed. */
export type WorkingCheck = {
  readonly command: string;
  readonly in?: string;
  readonly ok: number;
  readonly failed: number;
};

const CHECKS_MAX = 15;
const CHECK_LENGTH_MAX = 160;
const CHECK_DIRECTORY_LENGTH_MAX = 80;
const CHECK_WORD =
  /^(?:tests?|lint|check|checks|typecheck|type-check|tsc|build|fmt|format|vet|clippy|pytest|jest|vitest|mocha|eslint|biome|ruff|mypy|golangci-lint|rspec|phpunit|verify|ci|precommit|pre-commit)(?::[\w:-]+)?$/;
const CHECK_WORD_PLACES = 4;
const CHECK_RUNS_MIN = 2;

/** The commands that checked the work and passed, the most frequent first. */
export function findChecks(calls: readonly AnalysedCall[]): WorkingCheck[] {
  const checks = new Map<string, { command: string; directory: string; ok: number; failed: number }>();
  for (const { tool, line, directory, failure, projectPath } of calls) {
    if (line === null || !isShellTool(tool)) continue;
    for (const command of new Set(commandWords(line).flatMap((words) => checkIn(words) ?? []))) {
      const name = `${projectPath}\n${directory}\n${command}`;
      const check = checks.get(name) ?? { command, directory: directory ?? '', ok: 0, failed: 0 };
      if (failure === null) check.ok++;
      else check.failed++;
      checks.set(name, check);
    }
  }
  return [...checks.values()]
    .filter(({ ok }) => ok >= CHECK_RUNS_MIN)
    .sort((left, right) => right.ok - left.ok)
    .slice(0, CHECKS_MAX)
    .map(({ command, directory, ok, failed }) => ({
      command: shown(command, CHECK_LENGTH_MAX),
      ...(directory ? { in: shown(directory, CHECK_DIRECTORY_LENGTH_MAX) } : {}),
      ok,
      failed,
    }));
}

/** `bun run lint` of `bun run lint src --max 3`: up to the word that names the check. */
function checkIn(words: readonly string[]): string | undefined {
  const at = words.slice(0, CHECK_WORD_PLACES).findIndex((word) => CHECK_WORD.test(word));
  const isNamed = at > 0 || (at === 0 && words[0] !== 'test');
  return isNamed && words.slice(0, at).every((word) => /^[\w@./:-]+$/.test(word))
    ? words.slice(0, at + 1).join(' ')
    : undefined;
}
