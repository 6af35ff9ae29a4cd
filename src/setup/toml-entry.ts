import { isDeepStrictEqual } from 'node:util';
import { parse, parseDocument, patch, stringify, TomlFormat } from '@decimalturn/toml-patch';
import { mergeEntry, type ServerEntry, takenReason } from '../clients/server-entry.ts';
import { asRecord, isRecord, type Json, reasonOf } from '../core/guards.ts';
import { orRefused, Refused } from './file-plan.ts';

/**
 * One table in a TOML file, such as `[mcp_servers.self-generation]`. Its own lines alone are changed wherever it has some, so
 * that all others keep their bytes; only what stands inline among others is left to the package that patches the whole.
 * What comes out is taken only if another parser reads the same from it as before but for that table.
 */

/** The text with the table as it has to be, where it stands or at the end; what else is in it stays. @throws Refused */
export function setTomlEntry(text: string | undefined, entry: ServerEntry): string {
  const before = text ?? '';
  const path = pathOf(entry);
  const current = tableIn(before, path);
  if (current !== undefined && !entry.isOurs(current)) throw new Refused(takenReason(entry.name));
  return setTomlTable(before, path, isRecord(current) ? mergeEntry(current, entry.wanted) : entry.wanted);
}

/** The text without the table, if it is ours. @throws Refused */
export function removeTomlEntry(text: string, entry: ServerEntry): string {
  const path = pathOf(entry);
  const current = text.includes(entry.name) ? tableIn(text, path) : undefined;
  return current === undefined || !entry.isOurs(current) ? text : removeTomlTable(text, path);
}

/** What the table holds; undefined when it is not there, or the text cannot be read. */
export function readTomlEntry(text: string, entry: Pick<ServerEntry, 'holder' | 'name'>): unknown {
  return readTomlTable(text, pathOf(entry));
}

function pathOf({ holder, name }: Pick<ServerEntry, 'holder' | 'name'>): TomlPath {
  return [holder, name];
}

/** The keys that lead to a table. */
export type TomlPath = readonly string[];

/** The text with this table in that place, whatever stood there. @throws Refused */
export function setTomlTable(text: string, path: TomlPath, table: Json): string {
  if (isDeepStrictEqual(tableIn(text, path), table)) return text;
  const after = withTable(text, path, table);
  if (after !== undefined) return after;
  throw new Refused(`${headerOf(path)} cannot be put there; write it by hand: ${inOneLine(path, table)}`);
}

/** The text without that table. @throws Refused */
export function removeTomlTable(text: string, path: TomlPath): string {
  if (tableIn(text, path) === undefined) return text;
  const rest = withTable(text, path, undefined);
  if (rest !== undefined) return rest;
  throw new Refused(`${headerOf(path)} cannot be told from the other lines; remove it by hand`);
}

/** What the table holds; undefined when it is not there, or the text cannot be read. */
export function readTomlTable(text: string, path: TomlPath): unknown {
  const table = orRefused(() => ({ value: tableIn(text, path) }));
  return 'value' in table ? table.value : undefined;
}

function readValue(text: string): Json {
  try {
    const value: unknown = Bun.TOML.parse(text);
    return asRecord(value);
  } catch (error) {
    throw new Refused(`not valid TOML (${reasonOf(error)}); correct it there`);
  }
}

function tableIn(text: string, path: TomlPath): unknown {
  let value: unknown = readValue(text);
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/** The text with this table in that place, or without one; undefined where neither way does just that. */
function withTable(text: string, path: TomlPath, table: Json | undefined): string | undefined {
  const wanted = valueWith(readValue(text), path, table);
  for (const edit of [inItsLines, inWholeText]) {
    try {
      const after = edit(text, path, table);
      // A holder that is empty says nothing: it may have stood there as a table of its own.
      if (isDeepStrictEqual(valueWith(readValue(after), path, tableIn(after, path)), wanted)) return after;
    } catch {
      // What cannot be read or written that way is left to the next, or to the user.
    }
  }
  return undefined;
}

/** The value with another table in that place, or without it; a holder that holds nothing else goes with it. @throws Refused */
function valueWith(value: Json, [key = '', ...path]: TomlPath, table: unknown): Json {
  const { [key]: held, ...others } = value;
  if (path.length === 0) return table === undefined ? others : { ...others, [key]: table };
  if (held !== undefined && !isRecord(held)) throw new Refused(`"${key}" is no table; correct it there`);
  const kept = valueWith(asRecord(held), path, table);
  return Object.keys(kept).length === 0 ? others : { ...others, [key]: kept };
}

function inWholeText(text: string, path: TomlPath, table: Json | undefined): string {
  return patch(text, valueWith(parse(text), path, table));
}

/** An empty line is put before a new table, and goes with it. */
function inItsLines(text: string, path: TomlPath, table: Json | undefined): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const inEol = (lines: string) => lines.replace(/\r?\n/g, eol);
  const [first, ...others] = blocksOf(text, path);
  if (first === undefined) {
    if (table === undefined) return text;
    const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
    return text + gap + inEol(newTable(path, table));
  }
  const lines = text.split(/(?<=\n)/);
  const own = [first, ...others].map(({ from, to }) => lines.slice(from, to).join('')).join('');
  const renewed = table === undefined ? '' : patch(inEol(own), valueWith({}, path, table));
  for (const { from, to } of others.reverse()) lines.splice(from, to - from);
  const gap = table === undefined && lines[first.from - 1]?.trim() === '' ? 1 : 0;
  lines.splice(first.from - gap, first.to - first.from + gap, renewed);
  return lines.join('');
}

/** The lines of the table and of those below it, without comments behind the last key: they may be about what follows. */
function blocksOf(text: string, path: TomlPath): { from: number; to: number }[] {
  return parseDocument(text).cst.flatMap((block) => {
    if (!('items' in block)) return [];
    const keys = block.key.item.value;
    if (!path.every((key, at) => keys[at] === key)) return [];
    const last = block.items.findLast((item) => 'equals' in item) ?? block.key;
    return [{ from: block.key.loc.start.line - 1, to: last.loc.end.line }];
  });
}

function newTable(path: TomlPath, table: Json): string {
  const format = TomlFormat.default();
  format.inlineTableStart = 0;
  format.bracketSpacing = false;
  return `${headerOf(path)}\n${stringify(table, format)}`;
}

function inOneLine(path: TomlPath, table: Json): string {
  return newTable(path, table).trim().replaceAll('\n', '; ');
}

/** `[mcp_servers.self-generation]`; keys that are no plain words stand in quotation marks. */
function headerOf(path: TomlPath): string {
  return `[${path.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join('.')}]`;
}
