import { getProjectName } from '../core/project.ts';
import { isFileTool, isShellTool } from '../lessons/command.ts';
import { isInformative } from '../lessons/errors/normalize-error.ts';
import type { Noise } from '../lessons/failure.ts';
import { findingsIn, isOwnRule } from '../lessons/findings.ts';
import { plainLine } from './advised-commands.ts';
import type { AnalysedCall, CallFailure } from './calls-store.ts';
import {
  findChecks,
  isAlike,
  type ShownExample,
  showExample,
  shown,
  tellingText,
  type WorkingCheck,
} from './shown-failure.ts';

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

export type ShownGroup = {
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

export type Candidates = {
  /** The most promising first. */
  readonly groups: readonly CandidateGroup[];
  readonly checks: readonly WorkingCheck[];
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
const DIRECTORY_LENGTH_MAX = 80;

/** A failing call, and what the same agent did next. */
type Failing = {
  readonly call: AnalysedCall;
  readonly failure: CallFailure;
  readonly rules: readonly string[];
  readonly next: readonly AnalysedCall[];
  readonly correction: Correction;
  /** The other form of the command that worked next. */
  readonly correctedBy: string | null;
};

/** Whether another form of the command worked next, the same one again, or neither. */
type Correction = 'other-form' | 'again' | 'none';
const CORRECTION_RANKS: Readonly<Record<Correction, number>> = { 'other-form': 2, again: 1, none: 0 };

/** Groups the failing calls of a log. The same calls give the same groups, in the same order. */
export function findCandidates(calls: readonly AnalysedCall[], request: CandidateRequest): Candidates {
  const working = countWorking(calls);
  const groups = new Map<string, Failing[]>();
  for (const failing of findFailing(calls)) {
    for (const name of groupNames(failing)) {
      const members = groups.get(name);
      if (members) members.push(failing);
      else groups.set(name, [failing]);
    }
  }
  const drafts = [...groups].flatMap(([name, members]) => draftOf(name, members, working, request) ?? []);
  return {
    groups: drafts.sort(compareDrafts).map(({ group }, index) => ({ ...group, group: index + 1 })),
    checks: findChecks(calls),
  };
}

const NO_CANDIDATES: ReadonlySet<Noise> = new Set(['client', 'interrupted', 'secret', 'silent']);

/** Whether nobody else would gain from knowing that a call failed: a rule of the client, or a refusal. */
function isNoise({ tool, failure }: AnalysedCall): boolean {
  if (failure === null) return true;
  if (failure.noise !== null) return NO_CANDIDATES.has(failure.noise);
  return (
    isFileTool(tool) ||
    /^\s*(?:<tool_use_error>|InputValidationError|Sibling tool call errored)/.test(failure.raw)
  );
}

function findFailing(calls: readonly AnalysedCall[]): Failing[] {
  const threads = new Map<string, AnalysedCall[]>();
  for (const call of calls) {
    const name = `${call.sessionId}\n${call.agentId ?? ''}`;
    const thread = threads.get(name);
    if (thread) thread.push(call);
    else threads.set(name, [call]);
  }
  return [...threads.values()].flatMap((thread) =>
    thread.flatMap((call, index) => {
      const { failure } = call;
      if (failure === null || isNoise(call) || !isInformative(failure.key)) return [];
      const next = thread.slice(index + 1, index + 1 + NEXT_CALLS);
      return [
        {
          call,
          failure,
          rules: rulesIn(failure.raw),
          next,
          correction: correctionOf(call, next),
          correctedBy: correctedBy(call, next),
        },
      ];
    }),
  );
}

/** The rules that an output names, the first few. */
function rulesIn(output: string): string[] {
  const rules = findingsIn(output).flatMap(({ rule }) => rule ?? []);
  return [...new Set(rules)].slice(0, RULES_MAX);
}

/** A finding belongs to each rule that it names, any other failure to its error. */
function groupNames({ call, failure, rules }: Failing): string[] {
  const names = rules.length > 0 ? rules.map((rule) => `rule ${rule}`) : [`error ${failure.key}`];
  return names.map((name) => `${call.projectPath}\n${name}`);
}

function correctionOf(call: AnalysedCall, next: readonly AnalysedCall[]): Correction {
  const forms = next.map((one) => (one.failure === null ? formOf(one, call) : 'none'));
  return forms.includes('other-form') ? 'other-form' : forms.includes('again') ? 'again' : 'none';
}

function correctedBy(call: AnalysedCall, next: readonly AnalysedCall[]): string | null {
  const other = next.find((one) => one.failure === null && formOf(one, call) === 'other-form');
  return other?.line ? plainLine(other.line) || other.line : null;
}

function formOf(next: AnalysedCall, { tool, line }: AnalysedCall): Correction {
  if (next.tool !== tool || next.line === null || line === null) return 'none';
  const [left, right] = [plainLine(line) || line, plainLine(next.line) || next.line];
  if (left === right) return 'again';
  return isAlike(left, right) ? 'other-form' : 'none';
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
  name: string,
  members: readonly Failing[],
  working: ReadonlyMap<string, number>,
  { knownFix, isWithdrawn, withProject }: CandidateRequest,
): Draft | undefined {
  const [, kind = ''] = name.split('\n');
  const rule = kind.startsWith('rule ') ? kind.slice('rule '.length) : undefined;
  const ranked = members.toSorted(compareExamples);
  const [best] = ranked;
  if (best === undefined) return undefined;
  const { projectPath } = best.call;
  const allKeys = byFrequency(members.map(({ failure }) => failure.key));
  if (allKeys.some((key) => isWithdrawn(key, projectPath))) return undefined;
  const keys = allKeys.slice(0, KEYS_MAX);
  const sessionIds = [...new Set(members.map(({ call }) => call.sessionId))];
  const lines = members.flatMap(({ call: { tool, line } }) =>
    line !== null && isShellTool(tool) ? [plainLine(line)] : [],
  );
  const failingLines = byFrequency(lines.filter(Boolean)).slice(0, LINES_MAX);
  const known = keys.map((key) => knownFix(key, projectPath)).find((fix) => fix !== undefined);
  const worked = failingLines.reduce((sum, line) => sum + (working.get(`${projectPath}\n${line}`) ?? 0), 0);
  const corrected = corrections(members);
  const other = ranked.find(({ call }) => call.sessionId !== best.call.sessionId);
  const isFinding = rule !== undefined || members.some(({ failure }) => failure.noise === 'finding');
  const correction = Math.max(...members.map((member) => CORRECTION_RANKS[member.correction]));
  const isOfTheWork = isFinding && !isOwnRule(rule ?? null) && correction < CORRECTION_RANKS['other-form'];
  if (isOfTheWork && sessionIds.length < RECURRING_SESSIONS) return undefined;
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
        ...(withProject ? { project: shown(getProjectName(projectPath), DIRECTORY_LENGTH_MAX) } : {}),
        calls: members.length,
        sessions: sessionIds.length,
        ...(rule === undefined ? {} : { rule: shown(rule, DIRECTORY_LENGTH_MAX) }),
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

/** `npm run test ×3`, the most frequent first. */
function corrections(members: readonly Failing[]): string[] {
  const lines = members.flatMap((member) => member.correctedBy ?? []);
  return byFrequency(lines)
    .slice(0, CORRECTIONS_MAX)
    .map((line) => `${shown(line, CORRECTION_LENGTH_MAX)} ×${lines.filter((one) => one === line).length}`);
}

/** Different texts, the most frequent first. */
function byFrequency(texts: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([, left], [, right]) => right - left).map(([text]) => text);
}

/** Those that another form of the command corrected come first, then the newest. */
function compareExamples(left: Failing, right: Failing): number {
  const rank = CORRECTION_RANKS[right.correction] - CORRECTION_RANKS[left.correction];
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
