import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

/**
 * The settings of clients: one JSON object in a file, which people write by hand, with comments and trailing commas, read
 * and edited as text. jsonc-parser's own `modify` reformats the lines it touches and loses characters after a trailing
 * comma, so only its parser is used here.
 */

/** A text and its tree, whose offsets count in that text. */
export type Document = { readonly text: string; readonly root: Node };

export type ParsedDocument =
  | ({ readonly kind: 'parsed' } & Document)
  | { readonly kind: 'refused'; readonly reason: string };

const BOM = '\uFEFF';

/** The text as a tree, a blank one as `fresh`, or where and why it cannot be one. Never throws. */
export function parseDocument(source: string, fresh = '{}\n'): ParsedDocument {
  const mark = source.startsWith(BOM) ? BOM : '';
  const text = source.trim() === '' ? mark + fresh : source;
  const errors: ParseError[] = [];
  // The parser takes no byte order mark; a blank in its place keeps the offsets right.
  const root = parseTree(mark ? ` ${text.slice(1)}` : text, errors, { allowTrailingComma: true });
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

/** After our own edit, which has to leave a document that can be read. */
export function reparse(text: string): Document {
  const parsed = parseDocument(text);
  if (parsed.kind === 'refused')
    throw new Error(`Cannot edit the settings: the result would be wrong at ${parsed.reason}`);
  return parsed;
}

/** `CommaExpected` as `comma expected`. */
function wordsFor(error: ParseError | undefined): string {
  const name = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
  return name.replace(/(?<=[a-z])[A-Z]/g, ' $&').toLowerCase();
}

/** The text with a value added at the end of a list, or of an object under a key that it does not have. */
export function appendTo(
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
export function replaceNode({ text, root }: Document, node: Node, value: unknown): string {
  const style = styleOf(text, root);
  const isCompact = style.isCompact || !sourceOf(text, node).includes('\n');
  const rendered = render(value, indentAt(text, node.offset), { ...style, isCompact });
  return text.slice(0, node.offset) + rendered + text.slice(endOf(node));
}

/** The text without this item or property, its comma and the line that it leaves blank. Comments around it stay. */
export function removeNode(text: string, node: Node): string {
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

/** The value that a reader takes: with a key that stands there twice, the last. */
export function propertyValue(object: Node, key: string): Node | undefined {
  return properties(object).findLast((property) => keyOf(property) === key)?.children?.[1];
}

/** The value that a node stands for. */
export function jsonOf(node: Node | undefined): unknown {
  return node === undefined ? undefined : getNodeValue(node);
}

/** `line 3, column 5`, for a person. */
export function place(text: string, offset: number): string {
  const before = text
    .slice(0, offset)
    .replace(BOM, '')
    .split(/\r\n|\r|\n/);
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
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
  while (end > 0 && ' \t\n\r'.includes(text.charAt(end - 1))) end--;
  return end;
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
