import type { Node } from 'jsonc-parser';
import { type ClientFeatures, isKnownToAll } from '../clients/claude/version.ts';
import { isRecord, type Json } from '../core/guards.ts';
import { type HookEventName, type HookMode, type HookRegistration, hooksIn } from '../hooks/hook-names.ts';
import type { Refusal, TextEdit, TextRemoval } from './file-plan.ts';
import {
  appliedEntry,
  type Invocation,
  type Owner,
  ownerOf,
  type RecognisedHook,
  recogniseEntry,
  wantedEntry,
} from './hook-command.ts';
import {
  appendTo,
  type Document,
  isAlone,
  items,
  jsonOf,
  keyOf,
  parseDocument,
  place,
  properties,
  propertyValue,
  removeNode,
  reparse,
  replaceNode,
} from './json-file.ts';
import type { Place } from './manifest.ts';

export type Registration = Owner & Invocation & { readonly hooks: readonly HookRegistration[] };

/** One of our entries, or of the predecessor's, and the event under which it stands. */
export type FoundEntry = RecognisedHook & { readonly event: string };

export type InspectResult =
  | { readonly kind: 'read'; readonly entries: readonly FoundEntry[]; readonly isDisabled: boolean }
  | Refusal;

type Entry = { readonly event: string; readonly group: Node; readonly node: Node };
type OwnEntry = Entry & RecognisedHook;
/** Where an entry stands. */
type Spot = Pick<HookRegistration, 'event' | 'matcher'>;

/** Each step adds, rewrites or removes one entry, so a real file needs a few dozen. */
const STEPS_MAX = 10_000;

/** What has to stand in the settings of a client with these features. */
export function registrationFor(options: {
  readonly place: Place;
  readonly platform: string;
  readonly features: ClientFeatures;
  readonly mode: HookMode;
  /** Whether a session is woken when a background run of its own has something to tell. */
  readonly wakes: boolean;
  /** Where an earlier install put the program: entries that name it are ours as well. */
  readonly binaryBefore: string | undefined;
}): Registration {
  const { place, platform, features, mode, wakes, binaryBefore } = options;
  return {
    ...ownerOf(place, platform, binaryBefore),
    binary: place.paths.binary,
    form: features.execForm ? 'exec' : 'shell',
    knowsAsync: features.asyncHooks,
    hooks: hooksIn(mode).filter(
      (hook) => features.events.includes(hook.event) && (!hook.wakes || (wakes && features.asyncHooks)),
    ),
  };
}

/**
 * The settings text with each hook registered exactly once, in today's form. Everything else keeps its bytes. A file
 * that cannot be understood without doubt is refused, with the place and what to do. Never throws on bad text.
 */
export function registerHooks(text: string | undefined, registration: Registration): TextEdit {
  const parsed = parseDocument(text ?? '');
  if (parsed.kind === 'refused') return parsed;
  const objection = objectionTo(parsed, registration.hooks);
  if (objection !== undefined) return { kind: 'refused', reason: objection };
  let current: Document = parsed;
  for (let step = 0; step < STEPS_MAX; step++) {
    const next = nextText(current, registration);
    if (next === undefined) {
      return current.text === text ? { kind: 'unchanged' } : { kind: 'edited', text: current.text };
    }
    current = reparse(next);
  }
  throw new Error(`Cannot register hooks: more than ${STEPS_MAX} edits`);
}

/**
 * The settings text without the entries for which `isOurs` is true, in whatever event they stand, and without the
 * groups, events and `hooks` objects that held nothing else. Never throws on bad text.
 */
export function unregisterHooks(text: string, isOurs: (entry: unknown) => boolean): TextRemoval {
  const parsed = parseDocument(text);
  if (parsed.kind === 'refused') return parsed;
  let current: Document = parsed;
  for (let step = 0; step < STEPS_MAX; step++) {
    const entry = entriesOf(current.root).find(({ node }) => isOurs(jsonOf(node)));
    if (entry === undefined) {
      if (current === parsed) return { kind: 'unchanged' };
      return { kind: /^\s*\{\s*\}\s*$/.test(current.text) ? 'emptied' : 'edited', text: current.text };
    }
    current = reparse(removeNode(current.text, withEmptyHolders(entry.node)));
  }
  throw new Error(`Cannot unregister hooks: more than ${STEPS_MAX} edits`);
}

/** The hook of an applied suggestion, as the client is to ask it. */
export type AppliedRegistration = {
  readonly id: string;
  readonly event: HookEventName;
  readonly matcher?: string;
  readonly timeoutSeconds: number;
};

/**
 * The settings text with one more entry, for this applied hook, in the form that our own hooks have. Of an event that not
 * every client knows there has to be a hook of ours: a client that does not know it would ignore the whole file. Never
 * throws on bad text.
 */
export function registerApplied(
  text: string,
  hook: AppliedRegistration,
  owner: Owner & Pick<Invocation, 'binary'>,
): TextEdit {
  const parsed = parseDocument(text);
  if (parsed.kind === 'refused') return parsed;
  const objection = objectionTo(parsed, [hook]);
  if (objection !== undefined) return { kind: 'refused', reason: objection };
  const ours = ownEntries(parsed.root, owner).filter(({ kind }) => kind === 'ours');
  const model =
    ours.find(({ event }) => event === hook.event) ?? (isKnownToAll(hook.event) ? ours[0] : undefined);
  if (model === undefined) return { kind: 'refused', reason: `no hook of ours stands under "${hook.event}"` };
  const form = asRecord(jsonOf(model.node)).args === undefined ? 'shell' : 'exec';
  const wanted = appliedEntry(hook.id, hook.timeoutSeconds, { ...owner, form });
  const standing = entriesOf(parsed.root).filter(({ node }) => isApplied(jsonOf(node), hook.id, owner));
  if (standing.length === 0) return { kind: 'edited', text: appendGroup(parsed, hook, wanted) };
  const isSame = standing.every(({ event, group }) => event === hook.event && matcherFits(group, hook));
  return isSame
    ? { kind: 'unchanged' }
    : { kind: 'refused', reason: 'it is registered already, for something else' };
}

/** Whether an entry is that of this suggestion. */
export function isApplied(entry: unknown, id: string, owner: Owner): boolean {
  const found = recogniseEntry(entry, owner);
  return found?.kind === 'applied' && found.id === id;
}

/** What stands in the settings of ours and of the predecessor's. Never throws on bad text. */
export function inspectHooks(text: string, owner: Owner): InspectResult {
  const parsed = parseDocument(text);
  if (parsed.kind === 'refused') return parsed;
  const entries = ownEntries(parsed.root, owner).map(({ event, kind, name }) => ({ event, kind, name }));
  return {
    kind: 'read',
    entries,
    isDisabled: jsonOf(propertyValue(parsed.root, 'disableAllHooks')) === true,
  };
}

/** The text after the next edit that is needed, or undefined when every hook stands there once and as it should. */
function nextText(document: Document, registration: Registration): string | undefined {
  const own = ownEntries(document.root, registration);
  const kept: Node[] = [];
  for (const hook of registration.hooks) {
    const wanted = wantedEntry(hook, registration);
    const usable = own.filter(
      (entry) =>
        entry.event === hook.event &&
        entry.name === hook.name &&
        (matcherFits(entry.group, hook) || isAlone(entry.node)),
    );
    const current = usable.find((entry) => isCurrent(entry, hook, wanted));
    if (current !== undefined) kept.push(current.node);
    else if (usable[0] !== undefined) return rewrite(document, usable[0], hook, wanted);
    else return appendGroup(document, hook, wanted);
  }
  const superfluous = own.find(({ node }) => !kept.includes(node));
  return superfluous && removeNode(document.text, withEmptyHolders(superfluous.node));
}

function isCurrent(entry: OwnEntry, hook: Spot, wanted: Json): boolean {
  const value = jsonOf(entry.node);
  const same = (key: string) => isRecord(value) && JSON.stringify(value[key]) === JSON.stringify(wanted[key]);
  return (
    matcherFits(entry.group, hook) &&
    ['type', 'command', 'args', 'timeout', 'async', 'asyncRewake'].every(same)
  );
}

/** An absent matcher, an empty one and `*` mean the same. */
function matcherFits(group: Node, hook: Spot): boolean {
  const matcher = jsonOf(propertyValue(group, 'matcher'));
  if (hook.matcher !== undefined) return matcher === hook.matcher;
  return matcher === undefined || matcher === '' || matcher === '*';
}

function rewrite(document: Document, entry: OwnEntry, hook: Spot, wanted: Json): string {
  const {
    type: _type,
    command: _command,
    args: _args,
    timeout: _timeout,
    async: _async,
    asyncRewake: _asyncRewake,
    ...others
  } = asRecord(jsonOf(entry.node));
  const renewed = { ...wanted, ...others };
  if (matcherFits(entry.group, hook)) return replaceNode(document, entry.node, renewed);
  const { matcher: _matcher, hooks: _hooks, ...rest } = asRecord(jsonOf(entry.group));
  return replaceNode(document, entry.group, { ...groupOf(hook, renewed), ...rest });
}

function appendGroup(document: Document, hook: Spot, wanted: Json): string {
  const group = groupOf(hook, wanted);
  const hooks = propertyValue(document.root, 'hooks');
  if (hooks === undefined)
    return appendTo(document, document.root, { key: 'hooks', value: { [hook.event]: [group] } });
  const event = propertyValue(hooks, hook.event);
  return event === undefined
    ? appendTo(document, hooks, { key: hook.event, value: [group] })
    : appendTo(document, event, { value: group });
}

function groupOf(hook: Spot, entry: Json): Json {
  return { ...(hook.matcher === undefined ? {} : { matcher: hook.matcher }), hooks: [entry] };
}

/** Why hooks cannot be added to this document without guessing what its author means, or undefined. */
function objectionTo({ root, text }: Document, hooks: readonly Spot[]): string | undefined {
  const twice = (object: Node, key: string) =>
    properties(object).filter((property) => keyOf(property) === key)[1];
  const at = (node: Node) => place(text, node.offset);
  const secondHooks = twice(root, 'hooks');
  if (secondHooks !== undefined)
    return `${at(secondHooks)}: "hooks" stands there a second time; merge the two`;
  const holder = propertyValue(root, 'hooks');
  if (holder === undefined) return undefined;
  if (holder.type !== 'object') return `${at(holder)}: "hooks" is not an object; make it {} or remove it`;
  for (const { event } of hooks) {
    const second = twice(holder, event);
    if (second !== undefined) return `${at(second)}: "${event}" stands there a second time; merge the two`;
    const groups = propertyValue(holder, event);
    if (groups !== undefined && groups.type !== 'array') {
      return `${at(groups)}: "${event}" is not a list; make it [] or remove it`;
    }
  }
  return undefined;
}

/** Every entry of every group of every event; what is not shaped like one is passed over. */
function entriesOf(root: Node): Entry[] {
  return properties(root)
    .filter((property) => keyOf(property) === 'hooks')
    .flatMap((property) => properties(property.children?.[1]))
    .flatMap((property) =>
      items(property.children?.[1]).flatMap((group) =>
        items(propertyValue(group, 'hooks')).map((node) => ({ event: keyOf(property), group, node })),
      ),
    );
}

/** What the user applied from a suggestion is no entry of ours to keep in order. */
function ownEntries(root: Node, owner: Owner): OwnEntry[] {
  return entriesOf(root).flatMap((entry) => {
    const recognised = recogniseEntry(jsonOf(entry.node), owner);
    return recognised === undefined || recognised.kind === 'applied' ? [] : [{ ...entry, ...recognised }];
  });
}

/** The outermost of entry, group, event and `hooks` that would be empty without the entry. */
function withEmptyHolders(entry: Node): Node {
  const groupList = entry.parent?.parent?.parent?.parent;
  const hooksObject = groupList?.parent?.parent;
  if (!isAlone(entry)) return entry;
  const group = entry.parent?.parent?.parent;
  if (group === undefined || !isAlone(group)) return group ?? entry;
  const event = groupList?.parent;
  if (event === undefined || !isAlone(event)) return event ?? group;
  return hooksObject?.parent ?? event;
}

function asRecord(value: unknown): Json {
  return isRecord(value) ? value : {};
}
