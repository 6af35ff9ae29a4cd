import { isDeepStrictEqual } from 'node:util';
import { parse, parseDocument, patch, stringify, TomlFormat } from '@decimalturn/toml-patch';
import { mergeEntry, type ServerEntry, takenReason } from '../clients/server-entry.ts';
import { asRecord, isRecord, type Json, reasonOf } from '../core/guards.ts';
import { orRefused, Refused } from './file-plan.ts';

/**
 * One table in a TOML file: `[mcp_servers.self-generation]`. Its own lines alone are changed wherever it has some, so
 * that all others keep their bytes; only what stands inline among others is left to the package that patches the whole.
 * What comes out is taken only if another parser reads the same from it as before but for that table.
 */

/** The text with the table as it has to be, where it stands or at the end; what else is in it stays. @throws Refused */
export function setTomlEntry(text: string | undefined, entry: ServerEntry): string {
  const before = text ?? '';
  const current = tableIn(before, entry);
  if (current !== undefined && !entry.isOurs(current)) throw new Refused(takenReason(entry.name));
  const table = isRecord(current) ? mergeEntry(current, entry.wanted) : entry.wanted;
  if (isDeepStrictEqual(current, table)) return before;
  const after = withTable(before, entry, table);
  if (after !== undefined) return after;
  const lines = newTable(entry, table).trim().replaceAll('\n', '; ');
  throw new Refused(`the table cannot be put there; write it by hand: ${lines}`);
}

/** The text without the table, if it is ours. @throws Refused */
export function removeTomlEntry(text: string, entry: ServerEntry): string {
  const current = text.includes(entry.name) ? tableIn(text, entry) : undefined;
  if (current === undefined || !entry.isOurs(current)) return text;
  const rest = withTable(text, entry, undefined);
  if (rest !== undefined) return rest;
  const header = `[${entry.holder}.${entry.name}]`;
  throw new Refused(`${header} cannot be told from the other lines; remove it by hand`);
}

type EntryName = Pick<ServerEntry, 'holder' | 'name'>;

/** The text with the table as `change` makes it of what stands there, or without it where that is nothing. @throws Refused */
export function changeTomlTable(text: string, entry: EntryName, change: (table: Json) => Json): string {
  const current = asRecord(tableIn(text, entry));
  const table = change(current);
  if (isDeepStrictEqual(current, table)) return text;
  const after = withTable(text, entry, Object.keys(table).length === 0 ? undefined : table);
  if (after !== undefined) return after;
  throw new Refused(`[${entry.holder}.${entry.name}] cannot be told from the other lines; edit it by hand`);
}

/** What the table holds; undefined when it is not there, or the text cannot be read. */
export function readTomlEntry(text: string, entry: EntryName): unknown {
  const table = orRefused(() => ({ value: tableIn(text, entry) }));
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

function tableIn(text: string, { holder, name }: EntryName): unknown {
  const servers = readValue(text)[holder];
  return isRecord(servers) && Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** The text with this table in that place, or without one; undefined where neither way does just that. */
function withTable(text: string, entry: EntryName, table: Json | undefined): string | undefined {
  const wanted = valueWith(readValue(text), entry, table);
  for (const edit of [inItsLines, inWholeText]) {
    try {
      const after = edit(text, entry, table);
      // A holder that is empty says nothing: it may have stood there as a table of its own.
      if (isDeepStrictEqual(valueWith(readValue(after), entry, tableIn(after, entry)), wanted)) return after;
    } catch {
      // What cannot be read or written that way is left to the next, or to the user.
    }
  }
  return undefined;
}

/** The value with another table in that place, or without it; a holder that holds nothing else goes with it. */
function valueWith(value: Json, { holder, name }: EntryName, table: unknown): Json {
  const { [holder]: held, ...others } = value;
  const { [name]: _, ...servers } = asRecord(held);
  const kept = table === undefined ? servers : { ...servers, [name]: table };
  return Object.keys(kept).length === 0 ? others : { ...others, [holder]: kept };
}

function inWholeText(text: string, entry: EntryName, table: Json | undefined): string {
  return patch(text, valueWith(parse(text), entry, table));
}

/** An empty line is put before a new table, and goes with it. */
function inItsLines(text: string, entry: EntryName, table: Json | undefined): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const inEol = (lines: string) => lines.replace(/\r?\n/g, eol);
  const [first, ...others] = blocksOf(text, entry);
  if (first === undefined) {
    if (table === undefined) return text;
    const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
    return text + gap + inEol(newTable(entry, table));
  }
  const lines = text.split(/(?<=\n)/);
  const own = [first, ...others].map(({ from, to }) => lines.slice(from, to).join('')).join('');
  const renewed = table === undefined ? '' : patch(inEol(own), valueWith({}, entry, table));
  for (const { from, to } of others.reverse()) lines.splice(from, to - from);
  const gap = table === undefined && lines[first.from - 1]?.trim() === '' ? 1 : 0;
  lines.splice(first.from - gap, first.to - first.from + gap, renewed);
  return lines.join('');
}

/** The lines of the table and of those below it, without comments behind the last key: they may be about what follows. */
function blocksOf(text: string, { holder, name }: EntryName): { from: number; to: number }[] {
  return parseDocument(text).cst.flatMap((block) => {
    if (!('items' in block)) return [];
    const [first, second] = block.key.item.value;
    if (first !== holder || second !== name) return [];
    const last = block.items.findLast((item) => 'equals' in item) ?? block.key;
    return [{ from: block.key.loc.start.line - 1, to: last.loc.end.line }];
  });
}

function newTable({ holder, name }: EntryName, table: Json): string {
  const format = TomlFormat.default();
  format.inlineTableStart = 0;
  format.bracketSpacing = false;
  return `[${holder}.${name}]\n${stringify(table, format)}`;
}
