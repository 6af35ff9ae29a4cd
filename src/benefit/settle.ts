import type { Outcome } from '../database/ledger.ts';
import { isCommand, mentionsCommand, tellingWord } from '../lessons/advised-commands.ts';
import { commandFamily } from '../lessons/command.ts';
import { correctness } from '../lessons/command-likeness.ts';
import { blamedWords, culpritOf, type Noise } from '../lessons/failure.ts';
import { placeIn } from '../lessons/learn.ts';
import type { LoggedCall } from '../lessons/lesson.ts';
import { parseShell, type SimpleCommand } from '../lessons/shell.ts';
import type { Channel, FailureGroup } from './model/telling.ts';

/**
 * What came of a telling, read from what a session did. Pure, and blind: nothing here knows whether it was told or held
 * out, so that the same calls have the same outcome in both arms.
 */

/** A call of a tree, with what its cost is counted in. */
export type TreeCall = LoggedCall & {
  /** The project it belongs to, as a failure group names it; `root` is that project's path. */
  readonly place: string;
  readonly root: string;
  /** The file that the tool was called on. */
  readonly file: string | null;
  /** Of its input and its answer, in UTF-16 units. */
  readonly chars: number;
};

/** What a session, its sub-agents, and all that were resumed or forked from it did; calls in order of time. */
export type TreeLog = {
  readonly calls: readonly TreeCall[];
  /** What the user typed, and what the project's own instructions say. */
  readonly prompts: readonly string[];
  /** Nothing has come in for so long that nothing will. */
  readonly isSilent: boolean;
};

/** What a lesson says to run, and what it says fails: quoted commands, in which `…` stands for one word or more. */
export type Advice = {
  readonly use: readonly string[];
  readonly failing: readonly string[];
  /** Where the failing form failed, relative to the project. */
  readonly places: readonly string[];
};

/** A telling of which the outcome is asked. There is no arm in it. */
export type Unsettled = {
  readonly id: number;
  readonly group: FailureGroup;
  readonly channel: Channel;
  /** When it was told, or would have been, in ms. */
  readonly ts: number;
  readonly agent: string | null;
  /** The failing call behind which it was told, where that is known. */
  readonly callId: string | null;
  readonly advice: Advice;
};

/** What came of a telling; the cost is null where nothing failed. */
export type Settled = Omit<Outcome, 'settledAt'>;

/** A cost is counted until there. */
export const CALLS_MAX = 20;
/** After that a tree is done. */
export const SILENT_MS = 24 * 3_600_000;
/** A call's own hook and the transcript name its time differently by so much. */
const NEAR_MS = 60_000;

type FailedCall = TreeCall & { readonly outcome: Extract<LoggedCall['outcome'], { kind: 'failed' }> };
/** A call with its simple commands. */
type Parsed = { readonly call: TreeCall; readonly ms: number; readonly commands: readonly SimpleCommand[] };

/** The outcomes of these tellings, all of one tree. */
export function settle({ calls, prompts, isSilent }: TreeLog, rows: readonly Unsettled[]): Settled[] {
  const parsed = new Map<TreeCall, Parsed>();
  const parse = (call: TreeCall): Parsed => {
    const known = parsed.get(call) ?? {
      call,
      ms: Date.parse(call.ts),
      commands: parseShell(call.line ?? ''),
    };
    parsed.set(call, known);
    return known;
  };
  const failures = calls.filter(isFailed);
  return rows.map((row) => {
    const failure = failureOf(row, failures);
    const cost = failure && costOf(failure, calls, isSilent, parse);
    const { use, failing } = row.advice;
    const since = new Date(row.ts).toISOString();
    const later = calls.filter((call) => call.ts > since && isOfPlace(call, row.group));
    return {
      id: row.id,
      failedAt: failure ? Date.parse(failure.ts) : null,
      failedCall: failure?.id ?? row.callId,
      ...(cost ?? { calls: null, ms: null, chars: null, ended: null }),
      adviceFailed: holding(use, later).some((call) => failsAsAdvised(parse(call), row.advice)),
      formWorked: holding(failing, later).some((call) => worksAsBefore(parse(call), row.advice)),
      leaked: use.some(
        (command) => isLong(command) && prompts.some((text) => mentionsCommand(text, command)),
      ),
    };
  });
}

/** How often what a lesson advises worked and failed since a moment, and how often what it warns of worked. */
export function countAdvice(
  calls: readonly TreeCall[],
  advice: Advice,
): { readonly worked: number; readonly failed: number; readonly formWorked: number } {
  const parse = (call: TreeCall): Parsed => ({ call, ms: 0, commands: parseShell(call.line ?? '') });
  const advised = holding(advice.use, calls).map(parse);
  const isWorking = (one: Parsed) => one.commands.some((command) => isCertainly(one, command, advice.use));
  return {
    worked: advised.filter(isWorking).length,
    failed: advised.filter((one) => failsAsAdvised(one, advice)).length,
    formWorked: holding(advice.failing, calls).filter((call) => worksAsBefore(parse(call), advice)).length,
  };
}

/** Whether a failure says something of the project: not a client's own rule, an interruption, a login, or silence. */
export const MEANT_NOISE: ReadonlySet<Noise | null> = new Set([null, 'finding', 'unclear']);

const isFailed = (call: TreeCall): call is FailedCall =>
  call.outcome.kind === 'failed' && MEANT_NOISE.has(call.outcome.noise);

/** Which repository a project is a clone of may be found out after something was told in it, under its path. */
const isOfPlace = ({ place, root }: TreeCall, group: FailureGroup): boolean =>
  group.place === place || group.place === root;

/** At a failure the failing call itself, else the first of the same group after it was told. */
function failureOf({ group, channel, ts, agent, callId }: Unsettled, failures: readonly FailedCall[]) {
  const isOfGroup = (call: FailedCall) => isOfPlace(call, group) && call.outcome.key === group.key;
  if (channel === 'start') return failures.find((call) => Date.parse(call.ts) > ts && isOfGroup(call));
  const own = failures.find(({ id }) => id === callId);
  if (own !== undefined || callId !== null) return own;
  const distance = (call: TreeCall) => Math.abs(Date.parse(call.ts) - ts);
  const near = failures.filter(
    (call) => call.agent === agent && isOfPlace(call, group) && distance(call) <= NEAR_MS,
  );
  return near.sort((one, other) => distance(one) - distance(other))[0];
}

/** What the failing agent did behind the failure until the same check passed. */
function costOf(
  failure: FailedCall,
  calls: readonly TreeCall[],
  isSilent: boolean,
  parse: (call: TreeCall) => Parsed,
): Pick<Settled, 'calls' | 'ms' | 'chars' | 'ended'> {
  const passes = checkOf(failure, parse(failure));
  const from = Date.parse(failure.ts);
  const cost = { calls: 0, ms: 0, chars: 0 };
  for (let at = calls.indexOf(failure) + 1; at < calls.length; at++) {
    const call = calls[at] as TreeCall;
    if (call.session !== failure.session || call.agent !== failure.agent) continue;
    cost.calls++;
    cost.ms = Date.parse(call.ts) - from;
    cost.chars += call.chars;
    if (passes(parse(call))) return { ...cost, ended: 'passed' };
    if (cost.calls === CALLS_MAX) return { ...cost, ended: 'cap' };
  }
  return { ...cost, ended: isSilent ? 'left' : null };
}

/** Whether a call shows that what failed passes now. */
function checkOf(
  { tool, file, line, outcome }: FailedCall,
  { commands }: Parsed,
): (later: Parsed) => boolean {
  if (line === null)
    return ({ call }) => call.outcome.kind === 'worked' && call.tool === tool && call.file === file;
  const culprit = culpritOf(commands, outcome.said, outcome.noise);
  if (culprit === undefined) return () => false;
  const about = { said: outcome.said, blamed: blamedWords(culprit, outcome.said) };
  const isSame = (one: SimpleCommand) => isSameCheck(culprit, one, about);
  return (later) => passedIn(later, outcome).some(isSame);
}

/**
 * The commands of a call that got through: that worked; after one that was called in a wrong way, also the check that was
 * understood and found something, as what it found is another matter.
 */
function passedIn({ call, commands }: Parsed, before: FailedCall['outcome']): readonly SimpleCommand[] {
  const { outcome } = call;
  if (outcome.kind === 'worked') return commands.filter(({ isCertain }) => isCertain);
  const isUnderstood = outcome.kind === 'failed' && outcome.noise === 'finding' && before.noise === null;
  const found = isUnderstood ? culpritOf(commands, outcome.said, outcome.noise) : undefined;
  return found === undefined ? [] : [found];
}

const LIKENESS_MIN = 0.6;

/** By its family, where that is more than a program that does all kinds of things; else as another way to say it. */
function isSameCheck(
  culprit: SimpleCommand,
  command: SimpleCommand,
  about: Parameters<typeof correctness>[2],
): boolean {
  const family = commandFamily(culprit.words.join(' '));
  const isFamily = family.includes(' ') && family === commandFamily(command.words.join(' '));
  return isFamily || correctness(culprit, command, about) >= LIKENESS_MIN;
}

/** The shell calls that can hold one of these commands. */
function holding(commands: readonly string[], calls: readonly TreeCall[]): TreeCall[] {
  const words = commands.flatMap((command) => tellingWord(command) ?? []);
  return calls.filter(({ line }) => line !== null && words.some((word) => line.includes(word)));
}

/**
 * The advised command failed, and that was no finding of a check. What is also the form that is warned of says nothing: they
 * may differ by a quote alone.
 */
function failsAsAdvised({ call: { outcome }, commands }: Parsed, { use, failing }: Advice): boolean {
  if (outcome.kind !== 'failed' || outcome.noise !== null) return false;
  const culprit = culpritOf(commands, outcome.said, outcome.noise);
  return culprit !== undefined && isOneOf(culprit, use) && !isOneOf(culprit, failing);
}

/** What is said to fail worked, where it had failed. */
function worksAsBefore(one: Parsed, { use, failing, places }: Advice): boolean {
  const { root, directory } = one.call;
  return one.commands.some(
    (command) =>
      isCertainly(one, command, failing) &&
      !isOneOf(command, use) &&
      places.includes(placeIn(root, directory, command.directory)),
  );
}

function isCertainly({ call }: Parsed, command: SimpleCommand, wanted: readonly string[]): boolean {
  return call.outcome.kind === 'worked' && command.isCertain && isOneOf(command, wanted);
}

function isOneOf(command: SimpleCommand, wanted: readonly string[]): boolean {
  return wanted.some((one) => isCommand(command, one));
}

/** One word says nothing of where it comes from. */
const isLong = (command: string): boolean => command.trim().includes(' ');
