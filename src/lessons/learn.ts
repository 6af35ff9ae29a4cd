import { relativeFile } from '../core/project.ts';
import { isEditingTool } from './command.ts';
import { areAlike, correctness, isSameWork, sharedWords } from './command-likeness.ts';
import { blamedWords, culpritOf, maskLine } from './failure.ts';
import { isFetchNamed } from './fetches.ts';
import { findingsIn, isOfSecrets, isOwnRule } from './findings.ts';
import type { ErrorGroup, Evidence, LogEntry, LoggedCall, Outcome, Remedy } from './lesson.ts';
import { asksForHelp, isCheck, isLook, isRead, isSetUp, siblingScript, undoes } from './programs.ts';
import { leftOut, quoteCommand, quoteFinding, quotePair, quotePaths, quotePlace } from './quote.ts';
import { isAssignment, joinPaths, parseShell, programOf, type SimpleCommand, unquoted } from './shell.ts';

/**
 * Learns from a project's calls what failed, what helped, and what of that another agent would gain from. Pure: the same
 * log gives the same lessons. What each rule earned on real sessions stands in docs/design/lessons.md.
 */

/** A shell call with its commands. */
type Shell = LoggedCall & {
  readonly commands: readonly Placed[];
  /** Of the commands those that are known to have worked. */
  readonly worked: readonly Placed[];
  /** The command that failed; undefined also where nobody knows which, or where it ran: that is no matter of the project. */
  readonly culprit: Placed | undefined;
};
/** A command and where it ran, relative to the project. */
type Placed = SimpleCommand & { readonly place: string; readonly shape: string };
/** What an agent did, or was told. */
type Entry = Shell | LogEntry;
type FailedShell = Shell & { readonly outcome: Extract<Outcome, { kind: 'failed' }> };

/** Something that helped once. */
type Observation = {
  readonly failure: FailedShell;
  readonly helper: Shell;
  readonly remedy: Remedy;
  /** By what two observations are of the same remedy. */
  readonly sameness: string;
  readonly likeness: number;
  /** Shape and place of the command that is told, to see whether it fails elsewhere. */
  readonly shape: string;
};

/** Whether a command gets nothing from elsewhere but what the project names itself. */
type MayTell = (command: Placed) => boolean;

/** How many shell calls after a failure are looked at for its correction. */
const CORRECTION_CALLS = 2;
const FIXER_CALLS = 4;
const LIKENESS_MIN = 0.6;
const STEP_COST = 0.2;
const IDS_KEPT = 5;
/** Stands for a place of which nothing is known; it is no place in the project. */
const UNKNOWN = '/\0';
const LINT_SESSIONS_MIN = 2;

/** Whether the project's own manifests name what a command gets from elsewhere; `place` is where that command ran. */
export type IsNamed = (fetched: string, place: string) => boolean;

/** The groups of a project's errors. `log` is in order of time; `root` is the project's path. */
export function learn(log: readonly LogEntry[], root: string, isNamed: IsNamed = () => false): ErrorGroup[] {
  if (!log.some((entry) => entry.kind === 'call' && entry.outcome.kind === 'failed')) return [];
  const mayTell: MayTell = (command) => isFetchNamed(command, (name) => isNamed(name, command.place));
  const streams = streamsOf(log, root);
  const shells = streams.flatMap((stream) => stream.filter(isShell));
  const tally = tallyOf(shells);
  const observations = Map.groupBy(
    streams.flatMap((stream) => observe(stream, mayTell)),
    ({ failure }) => failure.outcome.key,
  );
  const findings = Map.groupBy(ownFindings(shells), ({ rule }) => rule);
  const groups = Map.groupBy(shells.filter(isFailed), ({ outcome }) => outcome.key);
  return [...groups].map(([key, failures]) => {
    const newest = failures.at(-1) as FailedShell;
    const found =
      bestRemedy(failures, observations.get(key) ?? [], tally) ??
      acrossSessions(failures, shells, tally, mayTell) ??
      lintRule(newest, findings);
    const lesson = found && {
      key,
      said: quotePaths((found.failure ?? newest).outcome.said, root),
      remedy: found.remedy,
      evidence: evidenceOf(failures, found.helpers),
    };
    return { key, sessions: countSessions(failures), isOpen: isOpen(newest, tally), lesson: lesson ?? null };
  });
}

/** `helpers`: the calls that show that it helps; `failure`: one that it helped after. */
type Found = {
  readonly remedy: Remedy;
  readonly helpers: readonly LoggedCall[];
  readonly failure?: FailedShell;
};

/** One after the other what each agent did, in each of its sessions. */
function streamsOf(log: readonly LogEntry[], root: string): Entry[][] {
  const entries = log.map((one) =>
    one.kind === 'call' && one.line !== null ? withCommands(one, one.line, root) : one,
  );
  const nameOf = (one: Entry) => `${one.session}\n${(one.kind === 'call' && one.agent) || ''}`;
  return [...Map.groupBy(entries, nameOf).values()];
}

function withCommands(call: LoggedCall, line: string, root: string): Shell {
  const { outcome } = call;
  const commands = parseShell(line).map((command) => {
    const place = placeIn(root, call.directory, command.directory);
    return { ...command, place, shape: shapeOf(command, place) };
  });
  const isKnown = ({ isCertain, place }: Placed) => isCertain && place !== UNKNOWN;
  const worked = outcome.kind === 'worked' ? commands.filter(isKnown) : [];
  const culprit = outcome.kind === 'failed' ? culpritOf(commands, outcome.said, outcome.noise) : undefined;
  return { ...call, commands, worked, culprit: culprit && isOutside(culprit.place) ? undefined : culprit };
}

const isShell = (entry: Entry): entry is Shell => 'commands' in entry;

const isFailed = (call: Shell): call is FailedShell => call.outcome.kind === 'failed';

/**
 * Where a command ran, relative to the project where that lies in it: in `directory`, as `cd` said, from where the shell
 * stood.
 */
export function placeIn(root: string, shellDirectory: string, directory: string | null): string {
  if (directory === null) return UNKNOWN;
  if (directory === '' || directory === '.') return withoutDetour(shellDirectory, root);
  if (!isAbsolute(directory)) return withoutDetour(joinPaths(shellDirectory, directory), root);
  const relative = relativeFile(directory, root);
  if (relative === relativeFile(root, null)) return '';
  return relative === directory ? directory.replace(/\/+$/, '') : withoutDetour(relative, root);
}

const isAbsolute = (path: string): boolean => /^(?:[/~]|[A-Za-z]:)/.test(path);

/** Above the project and down again by its own name. */
function withoutDetour(place: string, root: string): string {
  const [up = ''] = /^(?:\.\.\/)*/.exec(place) ?? [];
  const own = root.split(/[\\/]/).slice(-up.length / 3);
  const rest = place.slice(up.length).split('/');
  const isBack = up !== '' && own.every((segment, index) => segment === rest[index]);
  return isBack ? rest.slice(own.length).join('/') : place;
}

/** By what two commands are the same one: numbers and hashes masked, with the place. */
function shapeOf({ words }: SimpleCommand, place: string): string {
  return `${place}\n${words.map((word) => maskLine(isPattern(word) ? word : unquoted(word))).join(' ')}`;
}

/** What the shell would replace, were it not for quotes. */
const isPattern = (word: string): boolean => /[*?[\]{}]/.test(word) && !/\s/.test(word);

type Count = { worked: number; lastWorked: string; failed: number; firstFailed: string };
type Tally = ReadonlyMap<string, Count>;

/** How often each command worked and failed. Of a call that failed only the command that failed counts. */
function tallyOf(shells: readonly Shell[]): Tally {
  const tally = new Map<string, Count>();
  const countOf = (shape: string) => {
    const count = tally.get(shape) ?? { worked: 0, lastWorked: '', failed: 0, firstFailed: '~' };
    tally.set(shape, count);
    return count;
  };
  for (const call of shells) {
    for (const { shape } of call.worked) {
      const count = countOf(shape);
      count.worked++;
      if (call.ts > count.lastWorked) count.lastWorked = call.ts;
    }
    if (!isFailed(call) || call.culprit === undefined) continue;
    const count = countOf(call.culprit.shape);
    // A check that finds something has understood its call.
    if (call.outcome.noise === null) count.failed++;
    if (call.ts < count.firstFailed) count.firstFailed = call.ts;
  }
  return tally;
}

/** What helped in one agent's work. */
function observe(stream: readonly Entry[], mayTell: MayTell): Observation[] {
  return stream.flatMap((entry, index) => {
    if (!isShell(entry) || !isFailed(entry)) return [];
    const { noise } = entry.outcome;
    if (noise !== null && noise !== 'finding' && noise !== 'unclear') return [];
    const later = untilInterrupted(stream, index + 1);
    const corrected = noise === 'finding' ? undefined : correction(entry, later, mayTell);
    return corrected ?? fixer(entry, later, mayTell) ?? [];
  });
}

/** The shell calls that follow, as far as nothing else can have helped: a prompt, or a change of a file. */
function untilInterrupted(stream: readonly Entry[], from: number): Shell[] {
  const later = stream.slice(from);
  const end = later.findIndex((one) => one.kind === 'prompt' || (!isShell(one) && isEditingTool(one.tool)));
  return later
    .slice(0, end < 0 ? later.length : end)
    .filter(isShell)
    .slice(0, FIXER_CALLS);
}

/** The same thing said in another way, which was accepted. */
function correction(failure: FailedShell, later: readonly Shell[], mayTell: MayTell) {
  const { culprit } = failure;
  if (culprit === undefined || hasVariable(culprit)) return undefined;
  // What works again as it was, was no wrong call.
  const isAgain = ({ shape }: Placed) => shape === culprit.shape;
  if (later.some((call) => call.worked.some(isAgain))) return undefined;
  const { said, noise } = failure.outcome;
  const blamed = blamedWords(culprit, said);
  const correctedBy = (helper: Shell, command: Placed, value: number): Observation | undefined => {
    const common = { failure, helper, likeness: value, shape: command.shape };
    const isHere = culprit.place === command.place;
    if (!isSameWork(culprit, command) || (isHere && culprit.shape !== command.shape)) {
      const remedy = remedyOf(culprit, command);
      return remedy && { ...common, remedy, sameness: JSON.stringify(remedy) };
    }
    const [use, directory] = [quoteCommand(command), quotePlace(command.place)];
    if (isHere || use === undefined || directory === undefined) return undefined;
    return { ...common, remedy: { kind: 'directory', use, directory }, sameness: `in ${command.place}` };
  };
  let best: Observation | undefined;
  later.slice(0, CORRECTION_CALLS).forEach((helper, step) => {
    for (const command of acceptedIn(helper, failure)) {
      const value = correctness(culprit, command, { said, blamed }) - step * STEP_COST;
      if (value < LIKENESS_MIN || value <= (best?.likeness ?? 0) || asksForHelp(command, culprit)) continue;
      // An error that does not blame the call is corrected only by what was added to that very call, at once.
      const isAtOnce = step === 0 && helper.outcome.kind === 'worked';
      if (noise !== null && !(isAtOnce && isExtended(culprit, command, said) && !isLook(culprit))) continue;
      if (hasVariable(command) || (undoes(command) && !undoes(culprit)) || !mayTell(command)) continue;
      best = correctedBy(helper, command, value) ?? best;
    }
  });
  return best;
}

function remedyOf(culprit: SimpleCommand, command: SimpleCommand): Remedy | undefined {
  const leaveOut = leftOut(culprit, command);
  const failing = leaveOut === undefined ? undefined : quoteCommand(culprit);
  if (leaveOut !== undefined && failing !== undefined) return { kind: 'without', failing, leaveOut };
  const pair = quotePair(culprit, command);
  return pair && { kind: 'command', ...pair };
}

const isOutside = (place: string): boolean => isAbsolute(place) || place.startsWith('..');

/**
 * Every word of the one stands in the other in the same order: in another directory, behind something, or with an option. Options
 * that a check's message does not name make it look at less.
 */
function isExtended(culprit: SimpleCommand, command: SimpleCommand, said: string): boolean {
  const behind = command.words.slice(-culprit.words.length).join(' ') === culprit.words.join(' ');
  const isMissing = /no such file|not found|does not exist|없/i.test(said);
  if (behind) return command.words.length > culprit.words.length || isMissing || !isCheck(culprit);
  let at = 0;
  let hasOption = false;
  for (const word of command.words) {
    if (word === culprit.words[at]) at++;
    else if (word.startsWith('-')) hasOption ||= !isCheck(culprit) || said.includes(word);
    else hasOption ||= isAssignment(word);
  }
  return at === culprit.words.length && hasOption;
}

/** What worked, or failed for a reason that shows that its wording was understood. */
function acceptedIn(helper: Shell, failure: FailedShell): readonly Placed[] {
  if (!isFailed(helper)) return helper.worked.filter(({ place }) => !isOutside(place));
  const isUnderstood = helper.outcome.key !== failure.outcome.key && helper.outcome.noise === 'finding';
  const culprit = isUnderstood ? helper.culprit : undefined;
  return culprit === undefined ? [] : [culprit];
}

function hasVariable({ words }: SimpleCommand): boolean {
  return words.some((word) => /(?<!\\)\$[\w{(]|`/.test(word.replace(/'[^']*'/g, '')));
}

/** What such scripts repair; of anything else it has to be seen that the check passes then. */
const REPAIRED = /format|sorted|organi[sz]e|indent|whitespace|prettier|quotes|semicolon/i;

/** What made the very same command work again, or its script's own sibling that repairs. */
function fixer(failure: FailedShell, later: readonly Shell[], mayTell: MayTell): Observation | undefined {
  const { culprit } = failure;
  if (culprit === undefined) return undefined;
  const { noise, said, text } = failure.outcome;
  const isAgain = ({ shape }: Placed) => shape === culprit.shape;
  const fixerBy = (helper: Shell, command: Placed, isSure: boolean): Observation | undefined => {
    // What reads a pipe is half a command.
    if (!mayTell(command) || undoes(command) || hasVariable(command) || command.readsPipe) return undefined;
    const [failing, use] = [quoteCommand(culprit), quoteCommand(command)];
    if (failing === undefined || use === undefined) return undefined;
    const isNamed = text.includes(command.words.map(unquoted).join(' '));
    const likeness = isSure || isNamed || (noise !== 'finding' && isSetUp(command)) ? 1 : 0;
    const remedy = { kind: 'fixer', failing, use } as const;
    return { failure, helper, remedy, sameness: use, likeness, shape: command.shape };
  };
  const helpers: { call: Shell; command: Placed; isKnown: boolean }[] = [];
  for (const call of later) {
    if (call.outcome.kind !== 'worked') {
      if (!call.commands.some(isAgain)) return undefined;
      continue;
    }
    for (const command of call.commands) {
      const isKnown = call.worked.includes(command);
      // A script that repairs repairs what a check has found, and in the same place.
      if (isKnown && noise !== null && command.place === culprit.place && siblingScript(culprit, command)) {
        const isSure = REPAIRED.test(said) || later.some(({ worked }) => worked.some(isAgain));
        return fixerBy(call, command, isSure);
      }
      if (isAgain(command) && isKnown) {
        const [first] = helpers;
        const isOne = first?.isKnown && helpers.every((one) => one.command.shape === first.command.shape);
        return isOne ? fixerBy(first.call, first.command, false) : undefined;
      }
      // What perhaps helped speaks against any other that did.
      if (!isAgain(command) && !isRead(command)) helpers.push({ call, command, isKnown });
    }
  }
  return undefined;
}

/** The best remedy of a group, unless the log speaks against it. */
function bestRemedy(failures: readonly FailedShell[], observations: readonly Observation[], tally: Tally) {
  const remedies = [...Map.groupBy(observations, ({ sameness }) => sameness).values()].sort(
    (left, right) =>
      countSessions(helpersOf(right)) - countSessions(helpersOf(left)) || likeliest(right) - likeliest(left),
  );
  const seen = remedies.find((one) => isWorthTelling(one, failures, tally));
  const newest = seen?.at(-1);
  return seen && newest && { remedy: newest.remedy, failure: newest.failure, helpers: helpersOf(seen) };
}

function likeliest(observations: readonly Observation[]): number {
  return Math.max(...observations.map(({ likeness }) => likeness));
}

const helpersOf = (observations: readonly Observation[]): Shell[] => observations.map(({ helper }) => helper);

/** `seen`: all observations of one remedy. */
function isWorthTelling(seen: readonly Observation[], failures: readonly FailedShell[], tally: Tally) {
  const { failure, remedy, shape } = seen.at(-1) as Observation;
  const sessions = countSessions(helpersOf(seen));
  const told = tally.get(shape);
  if (told !== undefined && told.failed > 0 && told.failed >= told.worked) return false;
  if (remedy.kind === 'fixer') return likeliest(seen) === 1 || sessions > 1;
  // The plain command works by now as well: it was something else that failed.
  if (worksByNow(failures, tally)) return false;
  return sessions > 1 || !isSaidByItself(failure, remedy);
}

/** The failing command worked after it had failed, at least as often. */
function worksByNow(failures: readonly FailedShell[], tally: Tally): boolean {
  const shapes = new Set(failures.map((failure) => failure.culprit?.shape ?? ''));
  let worked = 0;
  for (const shape of shapes) {
    const count = tally.get(shape);
    if (count && count.lastWorked > count.firstFailed) worked += count.worked;
  }
  return worked >= failures.length;
}

/** The message names the words that are to be left out. */
function isSaidByItself({ outcome }: FailedShell, remedy: Remedy): boolean {
  if (remedy.kind !== 'without') return false;
  const words = remedy.leaveOut.split(' ');
  const options = words.filter((word) => word.startsWith('-'));
  return (options.length > 0 ? options : words).every((word) => outcome.said.includes(word));
}

/** Nothing close by helped, but elsewhere the project says it with one other word, and that works. */
function acrossSessions(
  failures: readonly FailedShell[],
  shells: readonly Shell[],
  tally: Tally,
  mayTell: MayTell,
): Found | undefined {
  const { culprit, outcome } = failures.at(-1) as FailedShell;
  if (culprit === undefined || hasVariable(culprit)) return undefined;
  if (outcome.noise !== null || worksByNow(failures, tally)) return undefined;
  const isAlike = (command: Placed) => command.place === culprit.place && differsInOneWord(culprit, command);
  const helpers = shells.filter(({ worked }) => worked.some(isAlike));
  const command = helpers[0]?.worked.find(isAlike);
  const count = command && tally.get(command.shape);
  if (command === undefined || count === undefined || countSessions(helpers) < 2) return undefined;
  if (count.worked < 5 * Math.max(1, count.failed) || undoes(command) || !mayTell(command)) return undefined;
  const remedy = remedyOf(culprit, command);
  return remedy && { remedy, helpers };
}

function differsInOneWord(left: SimpleCommand, right: SimpleCommand): boolean {
  const { length } = left.words;
  if (length < 3 || right.words.length !== length || programOf(left) !== programOf(right)) return false;
  const [at = -1, ...others] = [...left.words.keys()].filter((one) => left.words[one] !== right.words[one]);
  const [word = '', other = ''] = [left.words[at], right.words[at]];
  return others.length === 0 && /^[a-z][\w:-]{2,}$/.test(word) && areAlike(word, other);
}

type OwnFinding = { readonly rule: string; readonly message: string; readonly call: FailedShell };

/** What the linters found of rules that the project has chosen. */
function ownFindings(shells: readonly Shell[]): OwnFinding[] {
  return shells.flatMap((call) => {
    if (!isFailed(call) || call.outcome.noise !== 'finding' || call.culprit === undefined) return [];
    return findingsIn(call.outcome.text).flatMap((finding) => {
      const { rule, message } = finding;
      return isOwnRule(rule) && !isOfSecrets(finding) ? [{ rule, message, call }] : [];
    });
  });
}

function lintRule(
  { outcome }: FailedShell,
  findings: ReadonlyMap<string, readonly OwnFinding[]>,
): Found | undefined {
  const rule = findingsIn(outcome.text).find((finding) => isOwnRule(finding.rule))?.rule ?? '';
  const uses = findings.get(rule) ?? [];
  const helpers = uses.map(({ call }) => call);
  if (countSessions(helpers) < LINT_SESSIONS_MIN) return undefined;
  const message = quoteFinding(sharedWords(uses.map((use) => use.message)));
  return { remedy: { kind: 'lint', rule, message }, helpers };
}

function isOpen({ culprit, ts }: FailedShell, tally: Tally): boolean {
  const count = culprit && tally.get(culprit.shape);
  return count === undefined || count.lastWorked <= ts;
}

const countSessions = (calls: readonly LoggedCall[]) => new Set(calls.map(({ session }) => session)).size;

function evidenceOf(failures: readonly LoggedCall[], helping: readonly LoggedCall[]): Evidence {
  // One call may have put several findings of a check right.
  const helpers = [...new Map(helping.map((call) => [call.id, call])).values()];
  const times = [...failures, ...helpers].map(({ ts }) => ts).sort();
  return {
    sessions: countSessions(helpers),
    agents: new Set(helpers.map(({ session, agent }) => `${session} ${agent}`)).size,
    failed: failures.length,
    helped: helpers.length,
    first: times[0] ?? '',
    last: times.at(-1) ?? '',
    failedCalls: failures.slice(-IDS_KEPT).map(({ id }) => id),
    helpedCalls: helpers.slice(-IDS_KEPT).map(({ id }) => id),
  };
}
