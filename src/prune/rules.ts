import { isRefused } from '../clients/refusals.ts';
import type { Json } from '../core/guards.ts';
import { policyName } from '../runs/model/tool-policy.ts';
import type { PruneSettings } from '../settings/prune-settings.ts';
import type { Call, Message } from './call.ts';
import { type Decision, decisionOf, SAVED_CHARS_MIN } from './decision.ts';
import { isWholeFile, namedPath, protectionOf, resolvedPath } from './files.ts';
import { longTextsIn } from './input.ts';
import { asAbove, asFailed, asReadLater, asWrittenLater, isOutputPruned, isPruned } from './placeholder.ts';

/** A decision that could be made. `since`: of so many messages a request consists at least for it to hold. */
export type Candidate = { readonly decision: Decision; readonly since: number };

/** A call, and how many of what stand up to it, its own message included. */
type Place = {
  readonly call: Call;
  readonly messages: number;
  readonly answers: number;
  readonly prompts: number;
};

type Found = { readonly place: Place; readonly decision: Decision; readonly since: number };

/**
 * What the rules would have shown no more, of each call at most one thing. A candidate depends on nothing that stands behind
 * its `since`, so that a longer history gives the same and more. `isLeft`: the call is left out of all.
 */
export function candidatesOf(
  messages: readonly Message[],
  settings: PruneSettings,
  { project, isLeft }: { readonly project: string; readonly isLeft: (call: Call) => boolean },
): Candidate[] {
  const isProtected = protectionOf(settings, project);
  const [promptsAt, answersAt, compactionsAt]: [number[], number[], number[]] = [[], [], []];
  const found = new Map<string, Found>();
  const isFound = (callId: string) => found.has(callId);
  const add = (place: Place, decision: Decision | undefined, since = place.messages) => {
    const { id } = place.call;
    if (decision === undefined || found.has(id) || isProtected(place.call)) return false;
    found.set(id, { place, decision, since });
    return true;
  };
  const [isLate, errors] = [settings.protectedTurns > 0, [] as Place[]];
  let [duplicates, files] = [new Duplicates(), new Files(project)];
  for (const [index, { by, calls, isCompaction }] of messages.entries()) {
    (by === 'user' ? promptsAt : answersAt).push(index);
    if (isCompaction === true) {
      compactionsAt.push(index);
      [duplicates, files] = [new Duplicates(), new Files(project)];
    }
    for (const call of calls) {
      if (isLeft(call)) continue;
      const place = { call, messages: index + 1, answers: answersAt.length, prompts: promptsAt.length };
      // A file that is shown at first, because it is new, and stands there again, makes way above.
      const isOfFiles = isLate && settings.supersedeWrites && policyName(call.tool) === 'read';
      const above = settings.deduplicate && !isOfFiles ? duplicates.see(place, isFound) : undefined;
      const isShown = !(add(place, above) && !isLate) && !isOutputPruned(call.output);
      const older = settings.supersedeWrites ? files.see(place, isShown) : [];
      for (const one of older) add(one.place, one.decision, place.messages);
      if (settings.purgeErrors && call.state === 'failed' && !isPruned(call) && !isRefused(call.output))
        errors.push(place);
    }
  }
  for (const place of errors) {
    const since = answersAt[place.answers - 1 + settings.errorSteps];
    if (since !== undefined) add(place, failedLongAgo(place.call), since + 1);
  }
  return [...found.values()].flatMap(({ place, decision, since }) => {
    const free = isLate ? promptsAt[place.prompts - 1 + settings.protectedTurns] : since;
    const end = compactionsAt.find((at) => at >= place.messages) ?? messages.length;
    const from = Math.max(since, (free ?? messages.length) + (isLate ? 1 : 0));
    return from <= end ? [{ decision, since: from }] : [];
  });
}

/** Answers within which a call that is repeated was not content with its placeholder. */
const REPEATED_WITHIN_ANSWERS = 2;

/** The newest call of each kind that stands in full, and when the model was last referred to it. */
class Duplicates {
  readonly #shown = new Map<string, { readonly call: Call; toldAt: number }>();

  /** That the output of the call is that of the one before, word for word; also of commands, as it is compared. */
  see({ call, answers }: Place, isGivingWay: (callId: string) => boolean): Decision | undefined {
    if (call.output.length < SAVED_CHARS_MIN && !isOutputPruned(call.output)) return undefined;
    const key = `${call.tool}\n${call.state}\n${inOrder(call.input)}`;
    const before = this.#shown.get(key);
    if (isPruned(call)) {
      if (before !== undefined && isOutputPruned(call.output)) before.toldAt = answers;
      return undefined;
    }
    const isAskedFor =
      before !== undefined && answers > before.toldAt && answers <= before.toldAt + REPEATED_WITHIN_ANSWERS;
    const stands = before?.call.output === call.output && !isGivingWay(before.call.id);
    if (before === undefined || !stands || isAskedFor) {
      this.#shown.set(key, { call, toldAt: Number.NEGATIVE_INFINITY });
      return undefined;
    }
    const [placeholder, anchor] = [asAbove(call), before.call.id];
    const decision = decisionOf(call, { rule: 'deduplicate', part: 'output', placeholder, anchor });
    if (decision !== undefined) before.toldAt = answers;
    return decision;
  }
}

/** The same text for the same input, in whatever order its keys stand. */
function inOrder(input: Json): string {
  let text = '';
  for (const key of Object.keys(input).sort())
    text += `${JSON.stringify(key)}:${JSON.stringify(input[key])},`;
  return text;
}

const OF_FILES: readonly string[] = ['read', 'write', 'edit'];

type Superseded = { readonly place: Place; readonly decision: Decision | undefined };
const NONE: readonly Superseded[] = [];

/** What stands of each file: the calls that read it, or wrote to it, since it was last shown or written as a whole. */
class Files {
  readonly #places = new Map<string, Place[]>();
  readonly #paths = new Map<string, string>();
  readonly #project: string;

  constructor(project: string) {
    this.#project = project;
  }

  /** The calls that the call makes superfluous. `isShown`: its output stands there. */
  see(place: Place, isShown: boolean): readonly Superseded[] {
    const { call } = place;
    const kind = policyName(call.tool);
    const named = OF_FILES.includes(kind) && call.state === 'done' ? namedPath(call) : undefined;
    if (named === undefined || isPruned(call) || !isShown) return NONE;
    const path = this.#paths.get(named) ?? resolvedPath(named, this.#project);
    this.#paths.set(named, path);
    const before = this.#places.get(path) ?? [];
    const isWrite = kind === 'write' && typeof call.input.content === 'string';
    const isWhole = before.length > 0 && (isWrite || (kind === 'read' && isWholeFile(call)));
    if (!isWhole) before.push(place);
    this.#places.set(path, isWhole ? [place] : before);
    return isWhole ? before.map((one) => ({ place: one, decision: superseded(one.call, call) })) : NONE;
  }
}

function superseded(call: Call, by: Call): Decision | undefined {
  const isRead = policyName(call.tool) === 'read';
  const how = policyName(by.tool) === 'read' ? 'read' : 'write';
  return decisionOf(call, {
    rule: 'supersede-writes',
    part: isRead ? 'output' : 'input',
    placeholder: isRead ? asReadLater(call, how) : asWrittenLater(call, how),
    anchor: by.id,
  });
}

function failedLongAgo(call: Call): Decision | undefined {
  const placeholder = asFailed(longTextsIn(call.input));
  return decisionOf(call, { rule: 'purge-errors', part: 'input', placeholder, anchor: null });
}
