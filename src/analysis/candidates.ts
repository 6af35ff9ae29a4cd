import { inertText } from '../core/inert-text.ts';
import { getProjectName } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import { sharedStart } from '../core/text.ts';
import { commandWords, plainLine } from '../lessons/advised-commands.ts';
import { isFileTool, isShellTool } from '../lessons/command.ts';
import { isInformative, normalizeError } from '../lessons/errors/normalize-error.ts';
import type { Noise } from '../lessons/failure.ts';
import { findingsIn, isOwnRule } from '../lessons/findings.ts';
import type { AnalysedCall, CallFailure } from './analysis-store.ts';

/**
 * What a model may learn from: failing calls, grouped, with what the agent did next. Prepared without judgement; what of
 * it is a lesson, the model says.
 */
export type CandidateGroup = {
  /** By which the answer names it. */
  readonly group: number;
  readonly projectPath: string;
  /** The most frequent error of the group, by which a lesson of it is found again. */
  readonly key: string;
  /** The telling line of the example. */
  readonly said: string;
  /** Its most frequent errors. */
  readonly keys: readonly string[];
  /** What a check said of the work itself. */
  readonly isFinding: boolean;
  readonly callIds: readonly string[];
  readonly sessionIds: readonly string[];
  /** The failing commands without what only moves or reports. */
  readonly failingLines: readonly string[];
  /** What is sent of it. */
  readonly shown: ShownGroup;
};

type ShownGroup = {
  readonly project?: string;
  readonly calls: number;
  readonly sessions: number;
  readonly rule?: string;
  /** How often exactly this command worked. */
  readonly worked?: number;
  readonly known?: string;
  /** The other forms of the command that worked next, in any session, and how often. */
  readonly corrected?: readonly string[];
  readonly example: ShownExample;
  readonly elsewhere?: ShownExample;
};

export type CandidateRequest = {
  /** What agents are told of an error already; undefined: nothing. */
  readonly knownFix: (key: string, projectPath: string) => string | undefined;
  /** Whether a lesson of it was withdrawn: then there is to be none. */
  readonly isWithdrawn: (key: string, projectPath: string) => boolean;
  readonly withProject: boolean;
};

const NEXT_CALLS = 3;
const RULES_MAX = 4;
/** In so many sessions even a finding that every project has is worth a look. */
const RECURRING_SESSIONS = 3;
const KEYS_MAX = 8;
const CORRECTIONS_MAX = 4;
const CORRECTION_LENGTH_MAX = 120;
const LINES_MAX = 8;
const KNOWN_LENGTH_MAX = 160;
const NAME_LENGTH_MAX = 80;

/** A failing call, and what the same agent did next. */
type Failing = {
  readonly call: AnalysedCall;
  readonly failure: CallFailure;
  readonly rules: readonly string[];
  readonly next: readonly AnalysedCall[];
  /** The other form of the command that worked next. */
  readonly correctedBy: string | null;
  /** 2: another form of the command worked next, 1: the same one again, 0: neither. */
  readonly correction: 0 | 1 | 2;
};

/** Groups the failing calls of a log, the most promising first. The same calls give the same groups. */
export function findCandidates(calls: readonly AnalysedCall[], request: CandidateRequest) {
  const working = countWorking(calls);
  // A finding belongs to each rule that it names, any other failure to its error.
  const memberships = findFailing(calls).flatMap((failing) => {
    const { call, failure, rules } = failing;
    const causes = rules.length > 0 ? rules.map((rule) => `rule ${rule}`) : [`error ${failure.key}`];
    return causes.map((cause) => ({ cause, name: `${call.projectPath}\n${cause}`, failing }));
  });
  const drafts = [...Map.groupBy(memberships, ({ name }) => name).values()].flatMap((members) => {
    const rule = /^rule (.*)$/s.exec(members[0]?.cause ?? '')?.[1];
    const failures = members.map(({ failing }) => failing);
    return draftOf(failures, rule, working, request) ?? [];
  });
  const groups = drafts
    .sort(compareDrafts)
    .map(({ group }, index): CandidateGroup => ({ ...group, group: index + 1 }));
  return { groups, checks: findChecks(calls) };
}

const NO_CANDIDATES: ReadonlySet<Noise> = new Set(['client', 'interrupted', 'secret', 'silent']);
const CLIENT_RULE = /^\s*(?:<tool_use_error>|InputValidationError|Sibling tool call errored)/;

/** Returns true if nobody else would gain from knowing of a failure: a rule of the client, or a refusal. */
function isNoise(tool: string, { noise, raw }: CallFailure): boolean {
  return noise !== null ? NO_CANDIDATES.has(noise) : isFileTool(tool) || CLIENT_RULE.test(raw);
}

function findFailing(calls: readonly AnalysedCall[]): Failing[] {
  const threads = Map.groupBy(calls, ({ sessionId, agentId }) => `${sessionId}\n${agentId ?? ''}`);
  return [...threads.values()].flatMap((thread) =>
    thread.flatMap((call, index) => {
      const { failure, tool } = call;
      if (failure === null || isNoise(tool, failure) || !isInformative(failure.key)) return [];
      const rules = new Set(findingsIn(failure.raw).flatMap(({ rule }) => rule ?? []));
      const next = thread.slice(index + 1, index + 1 + NEXT_CALLS);
      return [{ call, failure, rules: [...rules].slice(0, RULES_MAX), next, ...correctionOf(call, next) }];
    }),
  );
}

function correctionOf(
  { tool, line }: AnalysedCall,
  next: readonly AnalysedCall[],
): Pick<Failing, 'correction' | 'correctedBy'> {
  const plainOf = (one: string) => plainLine(one) || one;
  const failing = line === null ? null : plainOf(line);
  const worked = next.flatMap((one) =>
    one.failure === null && one.tool === tool && one.line !== null ? plainOf(one.line) : [],
  );
  const other = worked.find((one) => failing !== null && one !== failing && isAlike(failing, one)) ?? null;
  const isAgain = failing !== null && worked.includes(failing);
  return { correction: other === null ? (isAgain ? 1 : 0) : 2, correctedBy: other || null };
}

/** How often each command worked, by project and plain form. */
function countWorking(calls: readonly AnalysedCall[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { tool, line, failure, projectPath } of calls) {
    if (failure !== null || line === null || !isShellTool(tool)) continue;
    const name = `${projectPath}\n${plainLine(line)}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

type Draft = { readonly group: Omit<CandidateGroup, 'group'>; readonly rank: readonly number[] };

function draftOf(
  members: readonly Failing[],
  rule: string | undefined,
  working: ReadonlyMap<string, number>,
  { knownFix, isWithdrawn, withProject }: CandidateRequest,
): Draft | undefined {
  const ranked = members.toSorted(compareExamples);
  const [best] = ranked;
  if (best === undefined) return undefined;
  const { projectPath } = best.call;
  const allKeys = byFrequency(members.map(({ failure }) => failure.key)).map(([key]) => key);
  if (allKeys.some((key) => isWithdrawn(key, projectPath))) return undefined;
  const isFinding = rule !== undefined || members.some(({ failure }) => failure.noise === 'finding');
  const correction = Math.max(...members.map((member) => member.correction));
  const sessionIds = [...new Set(members.map(({ call }) => call.sessionId))];
  const isOfTheWork = isFinding && !isOwnRule(rule ?? null) && correction < 2;
  if (isOfTheWork && sessionIds.length < RECURRING_SESSIONS) return undefined;
  const keys = allKeys.slice(0, KEYS_MAX);
  const lines = members.map(({ call: { tool, line } }) =>
    line !== null && isShellTool(tool) ? plainLine(line) : '',
  );
  const failingLines = byFrequency(lines.filter(Boolean))
    .map(([line]) => line)
    .slice(0, LINES_MAX);
  const known = keys.map((key) => knownFix(key, projectPath)).find((fix) => fix !== undefined);
  const worked = failingLines.reduce((sum, line) => sum + (working.get(`${projectPath}\n${line}`) ?? 0), 0);
  // `npm run test ×3`
  const corrected = byFrequency(members.flatMap((member) => member.correctedBy ?? []))
    .slice(0, CORRECTIONS_MAX)
    .map(([line, count]) => `${shown(line, CORRECTION_LENGTH_MAX)} ×${count}`);
  const other = ranked.find(({ call }) => call.sessionId !== best.call.sessionId);
  return {
    group: {
      projectPath,
      key: keys[0] ?? '',
      said: tellingText(best.failure),
      keys,
      isFinding,
      callIds: members.map(({ call }) => call.id),
      sessionIds,
      failingLines,
      shown: {
        ...(withProject ? { project: shown(getProjectName(projectPath), NAME_LENGTH_MAX) } : {}),
        calls: members.length,
        sessions: sessionIds.length,
        ...(rule === undefined ? {} : { rule: shown(rule, NAME_LENGTH_MAX) }),
        ...(worked > 0 ? { worked } : {}),
        ...(corrected.length > 1 ? { corrected } : {}),
        ...(known === undefined ? {} : { known: shown(known, KNOWN_LENGTH_MAX) }),
        example: showExample(best, rule),
        ...(other === undefined || isFinding ? {} : { elsewhere: showExample(other, rule) }),
      },
    },
    rank: [sessionIds.length, isFinding ? 0 : 1, correction, members.length],
  };
}

/** Different texts with their counts, the most frequent first. */
function byFrequency(texts: readonly string[]): (readonly [text: string, count: number])[] {
  const counts = [...Map.groupBy(texts, (text) => text)].map(([text, all]) => [text, all.length] as const);
  return counts.sort(([, left], [, right]) => right - left);
}

/** Those that another form of the command corrected come first, then the newest. */
function compareExamples(left: Failing, right: Failing): number {
  const rank = right.correction - left.correction;
  if (rank !== 0) return rank;
  return left.call.ts < right.call.ts ? 1 : left.call.ts > right.call.ts ? -1 : 0;
}

/** Sessions, then wrong invocations before findings, then whether it was corrected, then calls. */
function compareDrafts(left: Draft, right: Draft): number {
  for (const [index, value] of left.rank.entries()) {
    const difference = (right.rank[index] ?? 0) - value;
    if (difference !== 0) return difference;
  }
  return left.group.key < right.group.key ? -1 : 1;
}

/** A failing call as it is sent to a model: bounded, redacted, and unable to open a frame. */
type ShownExample = {
  readonly command: string;
  readonly in?: string;
  readonly says: string;
  readonly next: readonly string[];
};

const SAYS_LENGTH_MAX = 300;
const COMMAND_LENGTH_MAX = 400;
const NEXT_LENGTH_MAX = 260;
const REMARK_LENGTH_MAX = 160;
const OUTCOME_LENGTH_MAX = 120;
const DIRECTORY_LENGTH_MAX = 80;
const ALIKE_MIN = 0.5;

/** What a failing call looked like: the command, what it said, around a rule where one is named, and what came next. */
function showExample({ call, failure, next }: Failing, rule: string | undefined): ShownExample {
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
function tellingText({ said, raw }: CallFailure): string {
  return shown(isTelling(said) ? said : withoutExitLine(raw), OUTCOME_LENGTH_MAX);
}

/** The command line, or the tool and what it was called on. */
function commandText({ tool, line, command, file }: AnalysedCall): string {
  if (isShellTool(tool)) return oneLined(line ?? command ?? tool);
  return oneLined(`${tool} ${file ?? line ?? ''}`.trim());
}

function oneLined(text: string): string {
  return shown(text.trim().replace(/\s*\n\s*/g, ' ⏎ '), Number.MAX_SAFE_INTEGER);
}

/** The text, or of a long one its beginning and what is around the first difference to another. */
function aroundDifference(text: string, other: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const at = sharedStart(text, other);
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
function isAlike(left: string, right: string): boolean {
  const [one, other] = [new Set(left.split(/\s+/)), new Set(right.split(/\s+/))];
  const shared = [...one].filter((word) => other.has(word)).length;
  return (2 * shared) / (one.size + other.size) >= ALIKE_MIN;
}

/** Text of the log as it may be sent; empty where there is none. */
export function shown(text: unknown, lengthMax: number): string {
  return inertText(redactSecrets(String(text ?? '')), lengthMax);
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
const CHECK_WORD =
  /^(?:tests?|lint|check|checks|typecheck|type-check|tsc|build|fmt|format|vet|clippy|pytest|jest|vitest|mocha|eslint|biome|ruff|mypy|golangci-lint|rspec|phpunit|verify|ci|precommit|pre-commit)(?::[\w:-]+)?$/;
const CHECK_WORD_PLACES = 4;
const CHECK_RUNS_MIN = 2;

/** The commands that checked the work and passed, the most frequent first. */
function findChecks(calls: readonly AnalysedCall[]): WorkingCheck[] {
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
      ...(directory ? { in: shown(directory, DIRECTORY_LENGTH_MAX) } : {}),
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
