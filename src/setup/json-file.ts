import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { mergeEntry, type ServerEntry, takenReason } from '../clients/server-entry.ts';
import { isRecord, type Json } from '../core/guards.ts';
import { orRefused, Refused, type Removal } from './file-plan.ts';

/**
 * The settings of clients: one JSON object in a file, which people write by hand, with comments and trailing commas, read
 * and edited as text; one entry of one object, such as `mcpServers.self-generation`, is set and removed. jsonc-parser's own
 * `modify` reformats the lines it touches and loses characters after a trailing comma, so only its parser is used here.
 */

/** A text and its tree, whose offsets count in that text. */
export type Document = { readonly text: string; readonly root: Node };

const BOM = '\uFEFF';

/** The text as a tree, a blank one as `fresh`. @throws Refused where and why it cannot be one */
export function parseDocument(source: string, fresh = '{}\n'): Document {
  const mark = source.startsWith(BOM) ? BOM : '';
  const text = source.trim() === '' ? mark + fresh : source;
  const errors: ParseError[] = [];
  // The parser takes no byte order mark; a blank in its place keeps the offsets right.
  const root = parseTree(mark ? ` ${text.slice(1)}` : text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined || root === undefined) {
    const name = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
    const words = name.replace(/(?<=[a-z])[A-Z]/g, ' $&').toLowerCase(); // `comma expected`
    throw new Refused(`${positionIn(text, error?.offset ?? 0)}: not valid JSON (${words}); correct it there`);
  }
  if (root.type === 'object') return { text, root };
  throw new Refused(`${positionIn(text, root.offset)}: not a JSON object; settings have to be {…}`);
}

/** Parses the result of our own edit. @throws Error when it is not valid, which would be a fault of ours. */
export function reparse(text: string): Document {
  const parsed = orRefused(() => parseDocument(text));
  if ('root' in parsed) return parsed;
  throw new Error(`Cannot edit the settings: the result would be wrong at ${parsed.reason}`);
}

/** The text with a value added at the end of a list, or of an object under a key that it does not have. */
export function appendTo({ text, root }: Document, container: Node, added: { key?: string; value: unknown }) {
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

/** The text with this value at a path of keys: in place of what stands there, or added with what is missing above it. */
export function insertAt(document: Document, path: readonly string[], value: unknown): string {
  let node = document.root;
  for (const [depth, key] of path.entries()) {
    const next = propertyValue(node, key);
    if (next === undefined) {
      const rest = path.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
      return appendTo(document, node, { key, value: rest });
    }
    node = next;
  }
  return replaceNode(document, node, value);
}

/** The text with another value in place of this one; one that stood on one line stays on one line. */
export function replaceNode({ text, root }: Document, node: Node, value: unknown): string {
  const style = styleOf(text, root);
  const isCompact = style.isCompact || !sourceOf(text, node).includes('\n');
  const rendered = render(value, indentAt(text, node.offset), { ...style, isCompact });
  return text.slice(0, node.offset) + rendered + text.slice(endOf(node));
}

/** The text without this item or property, its comma and the line that it leaves blank. Comments around it stay. */
export function removeNode(text: string, node: Node): string {
  const holder = node.parent;
  const siblings = holder?.children ?? [];
  const previous = siblings[siblings.indexOf(node) - 1];
  const comma = commaAfter(text, node) ?? (previous && commaAfter(text, previous));
  const cuts = [[node.offset, endOf(node)] as const];
  if (comma !== undefined) cuts.push([comma, comma + 1]);
  const [last, first] = cuts.sort(([left], [right]) => right - left);
  const isOne = last && first && text.slice(first[1], last[0]).trim() === '';
  const left = (isOne ? [[first[0], last[1]] as const] : cuts).reduce(
    (rest, [from, to]) => cutOut(rest, from, to),
    text,
  );
  if (holder === undefined || siblings.length > 1) return left;
  const close = holder.offset + holder.length - 1 - (text.length - left.length);
  const isBlank = left.slice(holder.offset + 1, close).trim() === '';
  return isBlank ? left.slice(0, holder.offset + 1) + left.slice(close) : left;
}

/** Whether nothing stands beside it in its list or object. */
export function isAlone(node: Node): boolean {
  return node.parent?.children?.length === 1;
}

/** The properties of an object; none of anything else. */
export function properties(node: Node | undefined): readonly Node[] {
  return node?.type === 'object' ? (node.children ?? []) : [];
}

/** The items of a list; none of anything else. */
export function items(node: Node | undefined): readonly Node[] {
  return node?.type === 'array' ? (node.children ?? []) : [];
}

/** A property's key. */
export function keyOf(property: Node): string {
  return String(property.children?.[0]?.value);
}

/** The value at a path of keys as a reader takes it: with a key that stands there twice, the last. */
export function propertyValue(object: Node | undefined, ...path: readonly string[]): Node | undefined {
  return path.reduce<Node | undefined>(
    (node, key) => properties(node).findLast((property) => keyOf(property) === key)?.children?.[1],
    object,
  );
}

/** The value that a node stands for. */
export function jsonOf(node: Node | undefined): unknown {
  return node === undefined ? undefined : getNodeValue(node);
}

/** `line 3, column 5`, counted from 1. */
export function positionIn(text: string, offset: number): string {
  const before = text
    .slice(0, offset)
    .replace(BOM, '')
    .split(/\r\n|\r|\n/);
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** Takes the whole line when nothing else stands on it; with an item and its comma also the blanks that follow. */
function cutOut(text: string, from: number, to: number): string {
  const lineStart = text.lastIndexOf('\n', from - 1) + 1;
  const [, blanks = '', lineEnd = ''] = /^([ \t]*)(\r?\n)?/.exec(text.slice(to)) ?? [];
  const startsItsLine = text.slice(lineStart, from).trim() === '' && lineStart > 0;
  if (startsItsLine && lineEnd !== '')
    return text.slice(0, lineStart) + text.slice(to + blanks.length + lineEnd.length);
  const isItemAndComma = to - from > 1 && text[to - 1] === ',' && lineEnd === '';
  return text.slice(0, from) + text.slice(isItemAndComma ? to + blanks.length : to);
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
  return text.slice(0, close).replace(/[ \t\n\r]+$/, '').length;
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

/** OpenCode puts its schema into every file. */
const ONLY_SCHEMA = /^\s*\{\s*(?:"\$schema"\s*:\s*"[^"\\]*"\s*,?\s*)?\}\s*$/;

/** One entry of one object: how it is set, taken out and read. `fresh`: what a new file begins with. */
export function jsonEntry(entry: ServerEntry, fresh: Json) {
  const edits: Required<Removal> & { set: (text?: string) => string; read: (text: string) => unknown } = {
    /** The text with the entry as it has to be. @throws Refused */
    set: (text) => {
      const parsed = parseDocument(text ?? '', `${JSON.stringify(fresh, null, 2)}\n`);
      checkHolder(parsed, entry);
      return reparse(withEntry(parsed, entry)).text;
    },
    /** Takes it out, if it is ours, and its holder if that was not there before and has not even a comment left. */
    remove: (text, original) => withoutEntry(text, entry, original),
    isEmpty: (text) => ONLY_SCHEMA.test(text),
    /** What stands there; undefined when nothing does, or when the text cannot be read. */
    read: (text) => {
      const parsed = orRefused(() => parseDocument(text));
      return 'root' in parsed ? jsonOf(propertyValue(parsed.root, entry.holder, entry.name)) : undefined;
    },
  };
  return edits;
}

function withoutEntry(text: string, entry: ServerEntry, original = ''): string {
  const value = propertyValue(parseDocument(text).root, entry.holder, entry.name);
  if (value?.parent === undefined || !entry.isOurs(jsonOf(value))) return text;
  return withoutBlank(removeNode(text, value.parent), entry.holder, original);
}

/** The text without this object or list, if nothing but white space stands in it and it was not in the original. */
export function withoutBlank(text: string, key: string, original: string): string {
  const document = reparse(text);
  const before = orRefused(() => parseDocument(original));
  const hadHolder = 'root' in before && propertyValue(before.root, key) !== undefined;
  const holder = hadHolder ? undefined : blankProperty(document, key);
  return holder === undefined ? text : reparse(removeNode(text, holder)).text;
}

/** The property, when nothing but white space stands in its object or list. */
function blankProperty({ text, root }: Document, key: string): Node | undefined {
  const holder = propertyValue(root, key);
  if (holder?.type !== 'object' && holder?.type !== 'array') return undefined;
  const inside = text.slice(holder.offset + 1, holder.offset + holder.length - 1);
  return inside.trim() === '' ? holder.parent : undefined;
}

function withEntry(document: Document, { holder, name, wanted }: ServerEntry): string {
  const current = jsonOf(propertyValue(document.root, holder, name));
  if (!isRecord(current)) return insertAt(document, [holder, name], wanted);
  return withValues(document, [holder, name], mergeEntry(current, wanted)).text;
}

/** Value by value: comments in the object stay, and so does what is as it has to be. */
function withValues(document: Document, path: readonly string[], values: Json): Document {
  let result = document;
  for (const [key, value] of Object.entries(values)) {
    const standing = propertyValue(result.root, ...path, key);
    if (standing?.type === 'object' && isRecord(value)) result = withValues(result, [...path, key], value);
    else if (!isDeepStrictEqual(jsonOf(standing), value))
      result = reparse(insertAt(result, [...path, key], value));
  }
  return result;
}

/** The object or list under a key; undefined without one. @throws Refused when its author may mean something else */
export function holderIn(text: string, object: Node, key: string, type: 'object' | 'array') {
  refuseSecond(text, object, key, 'merge the two');
  const holder = propertyValue(object, key);
  if (holder === undefined || holder.type === type) return holder;
  const wanted = type === 'object' ? 'not an object; make it {}' : 'not a list; make it []';
  throw new Refused(`${positionIn(text, holder.offset)}: "${key}" is ${wanted} or remove it`);
}

/** Refuses a property that stands there although there is one of the same key before it. */
function refuseSecond(text: string, object: Node, key: string, advice: string): void {
  const [, second] = properties(object).filter((property) => keyOf(property) === key);
  if (second === undefined) return;
  throw new Refused(`${positionIn(text, second.offset)}: "${key}" stands there a second time; ${advice}`);
}

function checkHolder({ text, root }: Document, { holder, name, isOurs }: ServerEntry): void {
  const object = holderIn(text, root, holder, 'object');
  if (object === undefined) return;
  const foreign = properties(object).find(
    (property) => keyOf(property) === name && !isOurs(jsonOf(property.children?.[1])),
  );
  if (foreign !== undefined) throw new Refused(`${positionIn(text, foreign.offset)}: ${takenReason(name)}`);
  refuseSecond(text, object, name, 'remove one');
}
