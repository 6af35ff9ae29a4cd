import { isDeepStrictEqual } from 'node:util';
import type { Node } from 'jsonc-parser';
import { isRecord, type Json } from '../core/guards.ts';
import type { TextEdit, TextRemoval } from './file-plan.ts';
import {
  appendTo,
  type Document,
  jsonOf,
  keyOf,
  parseDocument,
  place,
  properties,
  propertyValue,
  removeNode,
  reparse,
  replaceNode,
} from './json-text.ts';
import { mergeEntry, type ServerEntry, takenReason } from './server-entry.ts';

/** One entry of an object in a client's settings: `mcpServers.self-generation`. All else keeps its bytes. */

/** OpenCode puts its schema into every file. */
const EMPTY = /^\s*\{\s*(?:"\$schema"\s*:\s*"[^"\\]*"\s*,?\s*)?\}\s*$/;

/** The text with the entry as it has to be. `fresh`: what a new file begins with. Never throws on bad text. */
export function setJsonEntry(text: string | undefined, entry: ServerEntry, fresh: Json): TextEdit {
  const parsed = parseDocument(text ?? '', `${JSON.stringify(fresh, null, 2)}\n`);
  if (parsed.kind === 'refused') return parsed;
  const objection = objectionTo(parsed, entry);
  if (objection !== undefined) return { kind: 'refused', reason: objection };
  const after = withEntry(parsed, entry);
  return after === text ? { kind: 'unchanged' } : { kind: 'edited', text: reparse(after).text };
}

/**
 * The text without the entry, if it is ours. An object in which nothing else is left, not even a comment, goes with it,
 * unless it stood in the `original`. Never throws on bad text.
 */
export function removeJsonEntry(text: string, entry: ServerEntry, original?: string): TextRemoval {
  const parsed = parseDocument(text);
  if (parsed.kind === 'refused') return parsed;
  const property = properties(propertyValue(parsed.root, entry.holder)).findLast(
    (one) => keyOf(one) === entry.name,
  );
  if (property === undefined || !entry.isOurs(jsonOf(property.children?.[1]))) return { kind: 'unchanged' };
  const without = reparse(removeNode(text, property));
  const holder = hadHolder(original, entry) ? undefined : blankProperty(without, entry.holder);
  const after = holder === undefined ? without : reparse(removeNode(without.text, holder));
  return { kind: EMPTY.test(after.text) ? 'emptied' : 'edited', text: after.text };
}

function hadHolder(original: string | undefined, { holder }: ServerEntry): boolean {
  const parsed = parseDocument(original ?? '');
  return parsed.kind === 'parsed' && propertyValue(parsed.root, holder) !== undefined;
}

/** The property, when nothing but white space stands in its object. */
function blankProperty({ text, root }: Document, key: string): Node | undefined {
  const object = propertyValue(root, key);
  if (object?.type !== 'object') return undefined;
  const inside = text.slice(object.offset + 1, object.offset + object.length - 1);
  return inside.trim() === '' ? object.parent : undefined;
}

/** What stands there; undefined when nothing does, or when the text cannot be read. */
export function readJsonEntry(text: string, { holder, name }: Pick<ServerEntry, 'holder' | 'name'>): unknown {
  const parsed = parseDocument(text);
  if (parsed.kind === 'refused') return undefined;
  return jsonOf(propertyValue(propertyValue(parsed.root, holder) ?? parsed.root, name));
}

function withEntry(document: Document, { holder, name, wanted }: ServerEntry): string {
  const object = propertyValue(document.root, holder);
  if (object === undefined) {
    return appendTo(document, document.root, { key: holder, value: { [name]: wanted } });
  }
  const standing = propertyValue(object, name);
  if (standing === undefined) return appendTo(document, object, { key: name, value: wanted });
  const current = jsonOf(standing);
  if (!isRecord(current)) return replaceNode(document, standing, wanted);
  return withValues(document, [holder, name], mergeEntry(current, wanted)).text;
}

/** Value by value: comments in the object stay, and so does what is as it has to be. */
function withValues(document: Document, path: readonly string[], values: Json): Document {
  let result = document;
  for (const [key, value] of Object.entries(values)) {
    const object = path.reduce<Node | undefined>(
      (node, one) => node && propertyValue(node, one),
      result.root,
    );
    if (object === undefined) return result;
    const standing = propertyValue(object, key);
    if (standing === undefined) result = reparse(appendTo(result, object, { key, value }));
    else if (standing.type === 'object' && isRecord(value))
      result = withValues(result, [...path, key], value);
    else if (!isDeepStrictEqual(jsonOf(standing), value))
      result = reparse(replaceNode(result, standing, value));
  }
  return result;
}

/** Why the entry cannot be put there without guessing what the file's author means, or undefined. */
function objectionTo({ root, text }: Document, { holder, name, isOurs }: ServerEntry): string | undefined {
  const at = (offset: number) => place(text, offset);
  const [, second] = properties(root).filter((property) => keyOf(property) === holder);
  if (second !== undefined)
    return `${at(second.offset)}: "${holder}" stands there a second time; merge the two`;
  const object = propertyValue(root, holder);
  if (object === undefined) return undefined;
  if (object.type !== 'object')
    return `${at(object.offset)}: "${holder}" is not an object; make it {} or remove it`;
  const named = properties(object).filter((property) => keyOf(property) === name);
  const foreign = named.find((property) => !isOurs(jsonOf(property.children?.[1])));
  if (foreign !== undefined) return `${at(foreign.offset)}: ${takenReason(name)}`;
  if (named[1] !== undefined)
    return `${at(named[1].offset)}: "${name}" stands there a second time; remove one`;
  return undefined;
}
