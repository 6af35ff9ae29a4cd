import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Node } from 'jsonc-parser';
import { type ClientFeatures, isKnownToAll } from '../clients/claude/setup.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { asRecord, isRecord, type Json, lookOr } from '../core/guards.ts';
import {
  HOOKS,
  type Hook,
  type HookEventName,
  type HookMode,
  type HookName,
  hooksIn,
} from '../hooks/hooks.ts';
import { realPath } from '../system/atomic-file.ts';
import { Refused, type Removal } from './file-plan.ts';
import {
  appendTo,
  type Document,
  holderIn,
  insertAt,
  isAlone,
  items,
  jsonOf,
  keyOf,
  parseDocument,
  properties,
  propertyValue,
  removeNode,
  reparse,
  replaceNode,
} from './json-file.ts';
import type { Place } from './manifest.ts';

/** Our hooks in Claude Code's settings.json, and in Codex' hooks.json: how an entry is recognised and written, text in and text out. */

/** By what an entry of settings.json is known to be ours, or the predecessor's. */
export type Owner = {
  /** Absolute spellings of our binary's path. */
  readonly binaries: readonly string[];
  /** Where the predecessor kept its scripts, absolute. */
  readonly predecessorDirectories: readonly string[];
  /** What `$HOME` stands for in a command. */
  readonly userHome: string | undefined;
  readonly platform: string;
};

/** How the client is to start our binary. */
export type Invocation = {
  readonly binary: string;
  /** `exec`: command and args, run directly. `shell`: one quoted command line, for clients before 2.1.139. */
  readonly form: 'exec' | 'shell';
  readonly platform: string;
  /** The client can start a hook without waiting for it. */
  readonly knowsAsync?: boolean;
  /** What a hook is told of who calls it; nothing by Claude Code. */
  readonly caller?: ClientName;
};

/** One of the product's own hooks, in today's form or as the predecessor registered it. */
type RecognisedHook = { readonly kind: 'ours' | 'predecessor'; readonly name: HookName };
/** `applied`: a hook that the user applied from the suggestion with this id. */
type Recognised = RecognisedHook | { readonly kind: 'applied'; readonly id: string };

/** By what our entries are recognised: every spelling of the binary's path that a settings file may hold. */
export function ownerOf({ paths, userHome, platform, binaryBefore }: Place): Owner {
  const inRealDirectory = `${realPath(paths.hooks)}/${basename(paths.binary)}`;
  const binaries = [paths.binary, realPath(paths.binary), inRealDirectory, binaryBefore ?? paths.binary];
  const scripts = [paths.hooks, ...(userHome === undefined ? [] : [`${userHome}/.self-generation/hooks`])];
  return { binaries: [...new Set(binaries)], predecessorDirectories: scripts, userHome, platform };
}

/** What a suggestion's id looks like: nothing that means something in a path or to a shell. */
export const SUGGESTION_ID = /^(?:s[0-9a-z]{9,11}|t[0-9a-f]{16})$/;
/** The names of the scripts that earlier versions wrote for hooks that contain code. */
export const SCRIPT_FILE = /^s[0-9a-z]{9,11}\.mjs$/;

/** Whose entry of a group's `hooks` this is, by its whole command; undefined when it is somebody else's. */
export function recogniseEntry(entry: unknown, owner: Owner): Recognised | undefined {
  if (!isRecord(entry) || typeof entry.command !== 'string') return undefined;
  if (entry.type !== undefined && entry.type !== 'command') return undefined;
  const words = wordsOf(entry.command, entry.args, owner);
  const samePath = (left: string, right: string) => spelling(left, owner) === spelling(right, owner);
  const known = (name: string | undefined) => HOOKS.find((hook) => hook.name === name)?.name;
  const [program = '', first = '', second, third = ''] = words;
  if (first === 'hook' && owner.binaries.some((binary) => samePath(binary, program))) {
    const isFromCaller = words.length === 4 && CLIENT_NAMES.includes(third);
    const name = words.length === 3 || isFromCaller ? known(second) : undefined;
    if (name !== undefined) return { kind: 'ours', name };
    const isApplied = second === 'applied' || second === 'script'; // As earlier versions called it.
    if (words.length === 4 && isApplied && SUGGESTION_ID.test(third)) return { kind: 'applied', id: third };
  }
  const [, directory = '', script] = /^(.*)[\\/]([a-z-]+)\.mjs$/.exec(words.slice(1).join(' ')) ?? [];
  const name = known(script);
  if (program !== 'node' || name === undefined) return undefined;
  const isTheirs = owner.predecessorDirectories.some((scripts) => samePath(scripts, directory));
  return isTheirs ? { kind: 'predecessor', name } : undefined;
}

/** The program and its arguments; none when a shell would do more with the line than start one program. */
function wordsOf(command: string, args: unknown, owner: Owner): readonly string[] {
  if (Array.isArray(args)) return args.every((word) => typeof word === 'string') ? [command, ...args] : [];
  return (owner.platform === 'win32' ? windowsWords(command) : posixWords(command, owner.userHome)) ?? [];
}

function posixWords(command: string, home = '$HOME'): string[] | undefined {
  const part =
    /'([^']*)'|"((?:[^"\\$`]|\\.|\$HOME(?!\w)|\$\{HOME\})*)"|(\$HOME(?!\w)|\$\{HOME\})|\\(.)|([^\s'"\\$`;&|<>()*?[\]{}#!~]+)|([ \t]+)/y;
  const words = [''];
  for (let at = 0; at < command.length; at = part.lastIndex) {
    part.lastIndex = at;
    const found = part.exec(command);
    if (found === null) return undefined;
    const [, single, double, variable, escaped, plain, gap] = found;
    const expanded = double
      ?.replace(/\$HOME(?!\w)|\$\{HOME\}/g, () => home)
      .replace(/\\(["\\$`])/g, (_, character: string) => character);
    const piece = single ?? expanded ?? escaped ?? plain ?? (variable === undefined ? '' : home);
    if (gap === undefined) words.push(`${words.pop() ?? ''}${piece}`);
    else words.push('');
  }
  return words.filter((word) => word !== '');
}

function windowsWords(command: string): string[] | undefined {
  if (/[&|<>^%]/.test(command)) return undefined;
  return (command.match(/"[^"]*"|[^\s"]+/g) ?? []).map((word) => word.replaceAll('"', ''));
}

function spelling(path: string, owner: Owner): string {
  if (owner.platform !== 'win32') return path.replace(/\/{2,}/g, '/');
  return path.replace(/[\\/]+/g, '/').toLowerCase();
}

/** The entry as it has to stand in the file. */
export function wantedEntry(
  hook: Pick<Hook, 'name' | 'timeoutSeconds' | 'isAsync' | 'wakes'>,
  invocation: Invocation,
): Json {
  const { caller } = invocation;
  const words = ['hook', hook.name, ...(caller === undefined ? [] : [caller])];
  const entry = entryOf(words, hook.timeoutSeconds, invocation);
  if (!hook.isAsync || !invocation.knowsAsync) return entry;
  return { ...entry, async: true, ...(hook.wakes && { asyncRewake: true }) };
}

/** The entry by which the applied hook of this suggestion is asked. */
export function appliedEntry(id: string, timeoutSeconds: number, invocation: Invocation): Json {
  return entryOf(['hook', 'applied', id], timeoutSeconds, invocation);
}

/** `args`: words that no shell would take apart. */
function entryOf(args: readonly string[], timeout: number, { binary, form, platform }: Invocation): Json {
  if (form === 'exec') return { type: 'command', command: binary, args, timeout };
  return { type: 'command', command: commandLine(binary, args, platform), timeout };
}

/** The line by which a shell starts the program. `args`: words that no shell would take apart. */
export function commandLine(binary: string, args: readonly string[], platform: string): string {
  // On Windows the line is read by a POSIX shell or by cmd.exe: both take forward slashes inside double quotes.
  const quoted =
    platform === 'win32' ? `"${binary.replaceAll('\\', '/')}"` : `'${binary.replaceAll("'", `'\\''`)}'`;
  return [quoted, ...args].join(' ');
}

/** What our plugin of Claude Code is called. */
export const PLUGIN_NAME = 'self-generation';

/** Under which name, `self-generation@MARKETPLACE`, a settings text switches our plugin on; undefined where it does not. */
export function enabledPlugin(text: string): string | undefined {
  const plugins = lookOr(() => propertyValue(parseDocument(text).root, 'enabledPlugins'), undefined);
  return properties(plugins)
    .filter((property) => jsonOf(property.children?.[1]) === true)
    .map(keyOf)
    .find((name) => name.startsWith(`${PLUGIN_NAME}@`));
}

/** A hook as a client has to know it. */
export type RegisteredHook = Omit<Hook, 'handler'>;

export type Registration = Owner & Invocation & { readonly hooks: readonly RegisteredHook[] };

/** One of our entries, or of the predecessor's, and the event under which it stands. */
export type FoundEntry = RecognisedHook & { readonly event: string };

type Entry = { readonly event: string; readonly group: Node; readonly node: Node };
type OwnEntry = Entry & RecognisedHook;
/** Where an entry stands. */
type Spot = Pick<Hook, 'event' | 'matcher'>;

/** Each step adds, rewrites or removes one entry, so a real file needs a few dozen. */
const STEPS_MAX = 10_000;

/** What has to stand in the settings of a client with these features. */
export function registrationFor(
  place: Place,
  features: ClientFeatures,
  /** `wakes`: whether a session is woken when a background run of its own has something to tell; `text`: the settings. */
  {
    mode,
    wakes,
    text = '',
  }: { readonly mode: HookMode; readonly wakes: boolean; readonly text?: string | undefined },
): Registration & { readonly plugin: string | undefined } {
  // It hands no single call to a hook, and Windows does not start its launcher.
  const mayRun = mode === 'session' && place.platform !== 'win32';
  const plugin = mayRun ? enabledPlugin(text) : undefined;
  const hooks = plugin === undefined ? hooksIn(mode) : [];
  return {
    ...ownerOf(place),
    binary: place.paths.binary,
    form: features.execForm ? 'exec' : 'shell',
    knowsAsync: features.asyncHooks,
    plugin,
    hooks: hooks.filter(
      (hook) => features.events.includes(hook.event) && (!hook.wakes || (wakes && features.asyncHooks)),
    ),
  };
}

/**
 * The settings text with each hook registered exactly once, in today's form. Everything else keeps its bytes. A file
 * that cannot be understood without doubt is refused, with the place and what to do. @throws Refused
 */
export function registerHooks(text: string | undefined, registration: Registration): string {
  const parsed = parseDocument(text ?? '');
  checkHolders(parsed, registration.hooks);
  return editRepeatedly(parsed, (document) => nextText(document, registration));
}

/** Takes out what is ours, in whatever event it stands, with the groups, events and `hooks` that held nothing else. */
export function hookRemoval(isOurs: (entry: unknown) => boolean): Required<Removal> {
  const nextWithout = ({ text, root }: Document) => {
    const entry = entriesOf(root).find(({ node }) => isOurs(jsonOf(node)));
    return entry && removeNode(text, withEmptyHolders(entry.node));
  };
  return {
    remove: (text) => (text.trim() === '' ? text : editRepeatedly(parseDocument(text), nextWithout)),
    isEmpty: (text) => /^\s*\{\s*\}\s*$/.test(text),
  };
}

/** Whether a settings text has an entry for which this is true. @throws Refused */
export function hasHook(text: string, isMeant: (entry: unknown) => boolean): boolean {
  return entriesOf(parseDocument(text).root).some(({ node }) => isMeant(jsonOf(node)));
}

/** The text after all the edits, each made in what the one before has left, until none is needed any more. */
function editRepeatedly(document: Document, edit: (document: Document) => string | undefined): string {
  let current = document;
  for (let step = 0; step < STEPS_MAX; step++) {
    const next = edit(current);
    if (next === undefined) return current.text;
    current = reparse(next);
  }
  throw new Error(`Cannot edit the settings: more than ${STEPS_MAX} edits`);
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
 * every client knows there has to be a hook of ours: a client that does not know it would ignore the whole file.
 * @throws Refused
 */
export function registerApplied(
  text: string,
  hook: AppliedRegistration,
  owner: Owner & Pick<Invocation, 'binary'>,
): string {
  const parsed = parseDocument(text);
  checkHolders(parsed, [hook]);
  const ours = ownEntries(parsed.root, owner).filter(({ kind }) => kind === 'ours');
  const model =
    ours.find(({ event }) => event === hook.event) ?? (isKnownToAll(hook.event) ? ours[0] : undefined);
  if (model === undefined && enabledPlugin(text) === undefined)
    throw new Refused(`no hook of ours stands under "${hook.event}"`);
  const form = model !== undefined && asRecord(jsonOf(model.node)).args === undefined ? 'shell' : 'exec';
  const wanted = appliedEntry(hook.id, hook.timeoutSeconds, { ...owner, form });
  const standing = entriesOf(parsed.root).filter(({ node }) => isApplied(jsonOf(node), hook.id, owner));
  if (standing.length === 0) return appendGroup(parsed, hook, wanted);
  if (standing.every(({ event, group }) => event === hook.event && matcherFits(group, hook))) return text;
  throw new Refused('it is registered already, for something else');
}

/** Whether an entry is that of this suggestion. */
export function isApplied(entry: unknown, id: string, owner: Owner): boolean {
  const found = recogniseEntry(entry, owner);
  return found?.kind === 'applied' && found.id === id;
}

/** What stands in the settings of ours and of the predecessor's, and whether they switch all hooks off. @throws Refused */
export function inspectHooks(text: string, owner: Owner) {
  const { root } = parseDocument(text);
  const entries = ownEntries(root, owner).map(({ event, kind, name }): FoundEntry => ({ event, kind, name }));
  return { entries, isDisabled: jsonOf(propertyValue(root, 'disableAllHooks')) === true };
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

/** What of an entry is ours to say; other keys are the user's. */
const OWN_KEYS = ['type', 'command', 'args', 'timeout', 'async', 'asyncRewake'];

function isCurrent(entry: OwnEntry, hook: Spot, wanted: Json): boolean {
  const value = asRecord(jsonOf(entry.node));
  return (
    matcherFits(entry.group, hook) && OWN_KEYS.every((key) => isDeepStrictEqual(value[key], wanted[key]))
  );
}

/** An absent matcher, an empty one and `*` mean the same. */
function matcherFits(group: Node, hook: Spot): boolean {
  const matcher = jsonOf(propertyValue(group, 'matcher'));
  if (hook.matcher !== undefined) return matcher === hook.matcher;
  return matcher === undefined || matcher === '' || matcher === '*';
}

function rewrite(document: Document, entry: OwnEntry, hook: Spot, wanted: Json): string {
  const without = (node: Node, keys: readonly string[]) =>
    Object.entries(asRecord(jsonOf(node))).filter(([key]) => !keys.includes(key));
  const renewed = { ...wanted, ...Object.fromEntries(without(entry.node, OWN_KEYS)) };
  if (matcherFits(entry.group, hook)) return replaceNode(document, entry.node, renewed);
  const others = Object.fromEntries(without(entry.group, ['matcher', 'hooks']));
  return replaceNode(document, entry.group, { ...groupOf(hook, renewed), ...others });
}

function appendGroup(document: Document, hook: Spot, wanted: Json): string {
  const group = groupOf(hook, wanted);
  const groups = propertyValue(document.root, 'hooks', hook.event);
  if (groups === undefined) return insertAt(document, ['hooks', hook.event], [group]);
  return appendTo(document, groups, { value: group });
}

function groupOf(hook: Spot, entry: Json): Json {
  return { ...(hook.matcher === undefined ? {} : { matcher: hook.matcher }), hooks: [entry] };
}

function checkHolders({ text, root }: Document, hooks: readonly Spot[]): void {
  const holder = holderIn(text, root, 'hooks', 'object');
  if (holder !== undefined) for (const { event } of hooks) holderIn(text, holder, event, 'array');
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

/** From an entry to its group, to the property of its event, and to that of `hooks`. */
const LEVELS_UP = [3, 2, 2];

/** The outermost of entry, group, event and `hooks` that would be empty without the entry. */
function withEmptyHolders(entry: Node): Node {
  let node = entry;
  for (const levels of LEVELS_UP) {
    if (!isAlone(node)) break;
    for (let level = 0; level < levels; level++) node = node.parent ?? node;
  }
  return node;
}
