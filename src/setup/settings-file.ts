import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { isRecord, type Json } from '../core/guards.ts';
import { HOOKS, type HookName, type HookRegistration } from '../core/hook-names.ts';

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

export type Registration = Owner & {
  readonly binary: string;
  /** `exec`: command and args, run directly. `shell`: one quoted command line, for clients before 2.1.139. */
  readonly form: 'exec' | 'shell';
  readonly hooks: readonly HookRegistration[];
};

export type SettingsNote =
  | { readonly kind: 'hooks-disabled' }
  | { readonly kind: 'predecessor-replaced'; readonly commands: readonly string[] };

export type RegisterResult =
  | { readonly kind: 'edited'; readonly text: string; readonly notes: readonly SettingsNote[] }
  | { readonly kind: 'unchanged'; readonly notes: readonly SettingsNote[] }
  | { readonly kind: 'refused'; readonly reason: string };

/** `emptied`: nothing but our hooks was in it; whoever made the file may delete it. */
export type UnregisterResult =
  | { readonly kind: 'edited' | 'emptied'; readonly text: string }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly reason: string };

/** Whose entry this is, or undefined when it is somebody else's. */
export type Recognised = { readonly kind: 'ours' | 'predecessor'; readonly name: HookName };

type Document = { readonly text: string; readonly root: Node };
type Parsed =
  | ({ readonly kind: 'parsed' } & Document)
  | { readonly kind: 'refused'; readonly reason: string };
type Entry = { readonly event: string; readonly group: Node; readonly node: Node };
type OwnEntry = Entry & Recognised;

const BOM = '\uFEFF';
/** Each step adds, rewrites or removes one entry, so a real file needs a few dozen. */
const STEPS_MAX = 10_000;

/**
 * The settings text with each hook registered exactly once, in today's form. Everything else keeps its bytes. A file
 * that cannot be understood without doubt is refused, with the place and what to do. Never throws on bad text.
 */
export function registerHooks(text: string | undefined, registration: Registration): RegisterResult {
  const bom = text?.startsWith(BOM) ? BOM : '';
  const bare = text?.slice(bom.length) ?? '';
  const blank = bare.trim() === '';
  const parsed = parseSettings(blank ? '{}\n' : bare);
  if (parsed.kind === 'refused') return parsed;
  const objection = objectionTo(parsed, registration.hooks);
  if (objection !== undefined) return { kind: 'refused', reason: objection };
  const notes = notesOn(parsed, registration);
  let current: Document = parsed;
  for (let step = 0; step < STEPS_MAX; step++) {
    const next = nextText(current, registration);
    if (next === undefined) {
      return current.text === bare
        ? { kind: 'unchanged', notes }
        : { kind: 'edited', text: bom + current.text, notes };
    }
    current = reparse(next);
  }
  throw new Error(`Cannot register hooks: more than ${STEPS_MAX} edits`);
}

/**
 * The settings text without the entries for which `isOurs` is true, in whatever event they stand, and without the
 * groups, events and `hooks` objects that held nothing else. Never throws on bad text.
 */
export function unregisterHooks(text: string, isOurs: (entry: unknown) => boolean): UnregisterResult {
  const bom = text.startsWith(BOM) ? BOM : '';
  const bare = text.slice(bom.length);
  if (bare.trim() === '') return { kind: 'unchanged' };
  const parsed = parseSettings(bare);
  if (parsed.kind === 'refused') return parsed;
  let current: Document = parsed;
  for (let step = 0; step < STEPS_MAX; step++) {
    const entry = entriesOf(current.root).find(({ node }) => isOurs(jsonOf(node)));
    if (entry === undefined) {
      if (current.text === bare) return { kind: 'unchanged' };
      const kind = /^\s*\{\s*\}\s*$/.test(current.text) ? 'emptied' : 'edited';
      return { kind, text: bom + current.text };
    }
    current = reparse(removeNode(current.text, withEmptyHolders(entry.node)));
  }
  throw new Error(`Cannot unregister hooks: more than ${STEPS_MAX} edits`);
}

/** Whose entry of a group's `hooks` this is. Whole commands are compared, never parts of them. */
export function recogniseEntry(entry: unknown, owner: Owner): Recognised | undefined {
  if (!isRecord(entry) || typeof entry.command !== 'string') return undefined;
  if (entry.type !== undefined && entry.type !== 'command') return undefined;
  const words = wordsOf(entry.command, entry.args, owner);
  const samePath = (left: string, right: string) => spelling(left, owner) === spelling(right, owner);
  const known = (name: string | undefined) => HOOKS.find((hook) => hook.name === name)?.name;
  const [program = '', first = '', second] = words;
  const ownName = first === 'hook' && words.length === 3 ? known(second) : undefined;
  if (ownName !== undefined && owner.binaries.some((binary) => samePath(binary, program))) {
    return { kind: 'ours', name: ownName };
  }
  const [, directory, script] = /^(.*)[\\/]([a-z-]+)\.mjs$/.exec(words.slice(1).join(' ')) ?? [];
  const scriptName = program === 'node' && directory !== undefined ? known(script) : undefined;
  if (scriptName === undefined || directory === undefined) return undefined;
  return owner.predecessorDirectories.some((scripts) => samePath(scripts, directory))
    ? { kind: 'predecessor', name: scriptName }
    : undefined;
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
function wantedEntry(hook: HookRegistration, registration: Registration): Json {
  const { binary, form, platform } = registration;
  const exec = { type: 'command', command: binary, args: ['hook', hook.name], timeout: hook.timeoutSeconds };
  if (form === 'exec') return exec;
  // On Windows the line is read by a POSIX shell or by cmd.exe: both take forward slashes inside double quotes.
  const quoted =
    platform === 'win32' ? `"${binary.replaceAll('\\', '/')}"` : `'${binary.replaceAll("'", `'\\''`)}'`;
  return { type: 'command', command: `${quoted} hook ${hook.name}`, timeout: hook.timeoutSeconds };
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

function isCurrent(entry: OwnEntry, hook: HookRegistration, wanted: Json): boolean {
  const value = jsonOf(entry.node);
  const same = (key: string) => isRecord(value) && JSON.stringify(value[key]) === JSON.stringify(wanted[key]);
  return matcherFits(entry.group, hook) && ['type', 'command', 'args', 'timeout'].every(same);
}

/** An absent matcher, an empty one and `*` mean the same. */
function matcherFits(group: Node, hook: HookRegistration): boolean {
  const matcher = jsonOf(propertyValue(group, 'matcher'));
  if (hook.matcher !== undefined) return matcher === hook.matcher;
  return matcher === undefined || matcher === '' || matcher === '*';
}

function rewrite(document: Document, entry: OwnEntry, hook: HookRegistration, wanted: Json): string {
  const {
    type: _type,
    command: _command,
    args: _args,
    timeout: _timeout,
    ...others
  } = asRecord(jsonOf(entry.node));
  const renewed = { ...wanted, ...others };
  if (matcherFits(entry.group, hook)) return replaceNode(document, entry.node, renewed);
  const { matcher: _matcher, hooks: _hooks, ...rest } = asRecord(jsonOf(entry.group));
  return replaceNode(document, entry.group, { ...groupOf(hook, renewed), ...rest });
}

function appendGroup(document: Document, hook: HookRegistration, wanted: Json): string {
  const group = groupOf(hook, wanted);
  const hooks = propertyValue(document.root, 'hooks');
  if (hooks === undefined)
    return appendTo(document, document.root, { key: 'hooks', value: { [hook.event]: [group] } });
  const event = propertyValue(hooks, hook.event);
  return event === undefined
    ? appendTo(document, hooks, { key: hook.event, value: [group] })
    : appendTo(document, event, { value: group });
}

function groupOf(hook: HookRegistration, entry: Json): Json {
  return { ...(hook.matcher === undefined ? {} : { matcher: hook.matcher }), hooks: [entry] };
}

function notesOn(document: Document, registration: Registration): SettingsNote[] {
  const commands = ownEntries(document.root, registration)
    .filter((entry) => entry.kind === 'predecessor')
    .map((entry) => String(asRecord(jsonOf(entry.node)).command));
  const disabled = jsonOf(propertyValue(document.root, 'disableAllHooks')) === true;
  return [
    ...(disabled ? [{ kind: 'hooks-disabled' } as const] : []),
    ...(commands.length > 0 ? [{ kind: 'predecessor-replaced', commands } as const] : []),
  ];
}

/** Why hooks cannot be added to this document without guessing what its author means, or undefined. */
function objectionTo({ root, text }: Document, hooks: readonly HookRegistration[]): string | undefined {
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

function parseSettings(text: string): Parsed {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined || root === undefined) {
    const at = place(text, error?.offset ?? 0);
    return { kind: 'refused', reason: `${at}: not valid JSON (${wordsFor(error)}); correct it there` };
  }
  if (root.type === 'object') return { kind: 'parsed', text, root };
  return {
    kind: 'refused',
    reason: `${place(text, root.offset)}: not a JSON object; settings have to be {…}`,
  };
}

/** `CommaExpected` as `comma expected`. */
function wordsFor(error: ParseError | undefined): string {
  const name = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
  return name.replace(/(?<=[a-z])[A-Z]/g, ' $&').toLowerCase();
}

/** After our own edit, which has to leave a document that can be read. */
function reparse(text: string): Document {
  const parsed = parseSettings(text);
  if (parsed.kind === 'refused')
    throw new Error(`Cannot edit the settings: the result would be wrong at ${parsed.reason}`);
  return parsed;
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

function ownEntries(root: Node, owner: Owner): OwnEntry[] {
  return entriesOf(root).flatMap((entry) => {
    const recognised = recogniseEntry(jsonOf(entry.node), owner);
    return recognised === undefined ? [] : [{ ...entry, ...recognised }];
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

function isAlone(node: Node): boolean {
  return node.parent?.children?.length === 1;
}

function properties(node: Node | undefined): readonly Node[] {
  return node?.type === 'object' ? (node.children ?? []) : [];
}

function items(node: Node | undefined): readonly Node[] {
  return node?.type === 'array' ? (node.children ?? []) : [];
}

function keyOf(property: Node): string {
  return String(property.children?.[0]?.value);
}

/** The value that a reader takes: with a key that stands there twice, the last. */
function propertyValue(object: Node, key: string): Node | undefined {
  return properties(object).findLast((property) => keyOf(property) === key)?.children?.[1];
}

function jsonOf(node: Node | undefined): unknown {
  return node === undefined ? undefined : getNodeValue(node);
}

function asRecord(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function place(text: string, offset: number): string {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

// Editing the text. jsonc-parser's own `modify` reformats the lines it touches and loses characters after a trailing
// comma, so only its parser is used here.

/** The text with a value added at the end of a list, or of an object under a key that it does not have. */
function appendTo(
  { text, root }: Document,
  container: Node,
  added: { key?: string; value: unknown },
): string {
  const close = container.offset + container.length - 1;
  const contentEnd = endOfContent(text, close);
  const last = container.children?.at(-1);
  const lastEnd = last === undefined ? contentEnd : endOf(last);
  const hasComma = last !== undefined && commaAfter(text, last) !== undefined;
  const style = styleOf(text, root);
  const closesOnNewLine = text.slice(contentEnd, close).includes('\n');
  const onOwnLine = !style.isCompact && (last === undefined || closesOnNewLine || startsLine(text, last));
  const outerIndent = indentAt(text, container.offset);
  const indent = last === undefined ? outerIndent + style.unit : indentAt(text, last.offset);
  const key = added.key === undefined ? '' : `${JSON.stringify(added.key)}: `;
  return [
    text.slice(0, lastEnd),
    last === undefined || hasComma ? '' : ',',
    text.slice(lastEnd, contentEnd),
    onOwnLine ? style.eol + indent : last === undefined ? '' : ' ',
    key + render(added.value, indent, style),
    hasComma ? ',' : '',
    onOwnLine && !closesOnNewLine ? style.eol + outerIndent + text.slice(close) : text.slice(contentEnd),
  ].join('');
}

/** The text with another value in place of this one; one that stood on one line stays on one line. */
function replaceNode({ text, root }: Document, node: Node, value: unknown): string {
  const style = styleOf(text, root);
  const isCompact = style.isCompact || !sourceOf(text, node).includes('\n');
  const rendered = render(value, indentAt(text, node.offset), { ...style, isCompact });
  return text.slice(0, node.offset) + rendered + text.slice(endOf(node));
}

/** The text without this item or property, its comma and the line that it leaves blank. Comments around it stay. */
function removeNode(text: string, node: Node): string {
  const siblings = node.parent?.children ?? [];
  const previous = siblings[siblings.indexOf(node) - 1];
  const comma = commaAfter(text, node);
  const otherComma = comma === undefined && previous ? commaAfter(text, previous) : comma;
  const cuts: Span[] = [{ from: node.offset, to: endOf(node) }];
  if (otherComma !== undefined) cuts.push({ from: otherComma, to: otherComma + 1 });
  cuts.sort((left, right) => left.from - right.from);
  const [first, second] = cuts;
  if (first && second && text.slice(first.to, second.from).trim() === '') {
    cuts.splice(0, 2, { from: first.from, to: second.to });
  }
  const holder = node.parent;
  const left = cuts.reduceRight((rest, cut) => cutOut(rest, cut), text);
  if (holder === undefined || siblings.length > 1) return left;
  const close = holder.offset + holder.length - 1 - (text.length - left.length);
  const isBlank = left.slice(holder.offset + 1, close).trim() === '';
  return isBlank ? left.slice(0, holder.offset + 1) + left.slice(close) : left;
}

type Span = { readonly from: number; readonly to: number };

/** Takes the whole line when nothing else stands on it; with an item and its comma also the blanks that follow. */
function cutOut(text: string, { from, to }: Span): string {
  const lineStart = text.lastIndexOf('\n', from - 1) + 1;
  const blanks = /^[ \t]*/.exec(text.slice(to))?.[0].length ?? 0;
  const lineEnd = /^\r?\n/.exec(text.slice(to + blanks, to + blanks + 2))?.[0].length;
  const startsItsLine = text.slice(lineStart, from).trim() === '' && lineStart > 0;
  if (startsItsLine && lineEnd !== undefined)
    return text.slice(0, lineStart) + text.slice(to + blanks + lineEnd);
  const itemAndComma = to - from > 1 && text[to - 1] === ',' && lineEnd === undefined;
  return text.slice(0, from) + text.slice(itemAndComma ? to + blanks : to);
}

type Style = { readonly eol: string; readonly unit: string; readonly isCompact: boolean };

/** How the author writes: line ends, one step of indentation, and whether all stands on one line. */
function styleOf(text: string, root: Node): Style {
  const source = sourceOf(text, root);
  const first = properties(root).find((property) => startsLine(text, property));
  const unit = first === undefined ? '' : indentAt(text, first.offset);
  return {
    eol: /\r?\n/.exec(text)?.[0] ?? '\n',
    unit: unit === '' ? '  ' : unit,
    isCompact: properties(root).length > 0 && !source.includes('\n'),
  };
}

function render(value: unknown, indent: string, { eol, unit, isCompact }: Style): string {
  return isCompact ? JSON.stringify(value) : JSON.stringify(value, null, unit).replaceAll('\n', eol + indent);
}

function sourceOf(text: string, node: Node): string {
  return text.slice(node.offset, endOf(node));
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

/** Where the last character before the closing bracket that is not white space ends. */
function endOfContent(text: string, close: number): number {
  let end = close;
  while (isWhiteSpace(text[end - 1])) end--;
  return end;
}

function isWhiteSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\n' || character === '\r';
}

function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function startsLine(text: string, node: Node): boolean {
  const lineBreak = text.lastIndexOf('\n', node.offset - 1);
  return lineBreak >= 0 && text.slice(lineBreak, node.offset).trim() === '';
}

/** The offset of the comma that follows this item or property, white space and comments between, or undefined. */
function commaAfter(text: string, node: Node): number | undefined {
  const trivia = /(?:[ \t\r\n]|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)*/y;
  trivia.lastIndex = endOf(node);
  trivia.exec(text);
  return text[trivia.lastIndex] === ',' ? trivia.lastIndex : undefined;
}
