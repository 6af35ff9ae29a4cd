import { isDeepStrictEqual } from 'node:util';
import { isRecord, type Json } from '../core/guards.ts';
import type { TextEdit } from './edit-file.ts';
import type { TextRemoval } from './json-entry.ts';
import { mergeEntry } from './merge-entry.ts';

/**
 * One table in a TOML file: `[mcp_servers.self-generation]`, between two comments. The text is cut and pasted by lines,
 * and what comes out is taken only if it means the same as before but for that table.
 */

export type TomlTable = {
  readonly holder: string;
  readonly name: string;
  readonly wanted: Json;
  readonly isOurs: (value: unknown) => boolean;
};

const BEGIN = '# >>> self-generation: written by "install --mcp", removed by "uninstall" >>>';
const END = '# <<< self-generation <<<';

/**
 * The text with the table as it has to be: where it stands, or else at the end. What else the user or the client has put
 * into it stays. Never throws on bad text.
 */
export function setTomlTable(text: string | undefined, table: TomlTable): TextEdit {
  const before = text ?? '';
  const parsed = parseToml(before);
  if (parsed.kind === 'refused') return parsed;
  const current = tableIn(parsed.value, table);
  if (current !== undefined && !table.isOurs(current)) {
    return {
      kind: 'refused',
      reason: `a server of another program is called "${table.name}"; rename or remove it`,
    };
  }
  const merged = isRecord(current) ? mergeEntry(current, table.wanted) : table.wanted;
  if (isDeepStrictEqual(current, merged)) return { kind: 'unchanged' };
  const meant = withTable(parsed.value, table, merged);
  const rest = current === undefined ? before : withoutTable(before, parsed.value, table);
  const appended = rest === undefined ? undefined : rest + blockAfter(rest, { ...table, wanted: merged });
  const edited = isRecord(current) ? withKeys(before, table, { current, merged }) : undefined;
  const after = [edited, appended].find((one) => one !== undefined && meansSame(one, meant));
  return after === undefined ? byHand(table) : { kind: 'edited', text: after };
}

/** The text without the table, if it is ours. Never throws on bad text. */
export function removeTomlTable(text: string, table: TomlTable): TextRemoval {
  const parsed = parseToml(text);
  if (parsed.kind === 'refused') return text.includes(table.name) ? parsed : { kind: 'unchanged' };
  const current = tableIn(parsed.value, table);
  if (current === undefined || !table.isOurs(current)) return { kind: 'unchanged' };
  const rest = withoutTable(text, parsed.value, table);
  if (rest !== undefined) return { kind: rest.trim() === '' ? 'emptied' : 'edited', text: rest };
  const header = `[${table.holder}.${table.name}]`;
  return {
    kind: 'refused',
    reason: `the lines of ${header} cannot be told from the others; remove them by hand`,
  };
}

/** What the table holds; undefined when it is not there, or the text cannot be read. */
export function readTomlTable(text: string, table: Pick<TomlTable, 'holder' | 'name'>): unknown {
  const parsed = parseToml(text);
  return parsed.kind === 'refused' ? undefined : tableIn(parsed.value, table);
}

type ParsedToml =
  | { readonly kind: 'parsed'; readonly value: Json }
  | { readonly kind: 'refused'; readonly reason: string };

function parseToml(text: string): ParsedToml {
  try {
    const value: unknown = Bun.TOML.parse(text);
    return { kind: 'parsed', value: isRecord(value) ? value : {} };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'refused', reason: `not valid TOML (${reason}); correct it there` };
  }
}

function tableIn(value: Json, { holder, name }: Pick<TomlTable, 'holder' | 'name'>): unknown {
  const servers = value[holder];
  return isRecord(servers) && Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** The value with another table in that place, or without it; a holder that holds nothing else goes with it. */
function withTable(value: Json, { holder, name }: TomlTable, table: Json | undefined): Json {
  const { [holder]: held, ...others } = value;
  const { [name]: _, ...servers } = isRecord(held) ? held : {};
  const kept = table === undefined ? servers : { ...servers, [name]: table };
  return Object.keys(kept).length === 0 ? others : { ...others, [holder]: kept };
}

/** A holder that is empty says nothing: it may have stood there as a table of its own. */
function meansSame(text: string, wanted: Json): boolean {
  const parsed = parseToml(text);
  if (parsed.kind === 'refused') return false;
  return isDeepStrictEqual(withoutEmptyTables(parsed.value), withoutEmptyTables(wanted));
}

function withoutEmptyTables(value: Json): Json {
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => !isRecord(one) || Object.keys(one).length > 0),
  );
}

function byHand({ holder, name, wanted }: TomlTable): TextEdit {
  const lines = tableText({ holder, name, wanted }, '\n').trim().replaceAll('\n', '; ');
  return { kind: 'refused', reason: `the table cannot be added there; write it by hand: ${lines}` };
}

/** An empty line before it, unless it is the first thing in the file. */
function blockAfter(text: string, table: TomlTable): string {
  const eol = eolOf(text);
  const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
  return `${gap}${BEGIN}${eol}${tableText(table, eol)}${END}${eol}`;
}

/** All but tables is written the same in TOML and in JSON. */
function tableText(
  { holder, name, wanted }: Pick<TomlTable, 'holder' | 'name' | 'wanted'>,
  eol: string,
): string {
  const lines = Object.entries(wanted).map(([key, value]) => `${key} = ${valueText(value)}`);
  return [`[${holder}.${name}]`, ...lines, ''].join(eol);
}

function valueText(value: unknown): string {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (!isRecord(value)) return stringText(String(value));
  const pairs = Object.entries(value).map(([key, one]) => `${stringText(key)} = ${valueText(one)}`);
  return `{ ${pairs.join(', ')} }`;
}

/** As in JSON; of the control characters TOML forbids one more. */
function stringText(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

type Entries = { readonly current: Json; readonly merged: Json };

/** The text with other values of the table's keys where they stand; undefined where its lines are not found. */
function withKeys(text: string, table: TomlTable, { current, merged }: Entries): string | undefined {
  const path = [table.holder, table.name];
  let result: string | undefined = text;
  for (const [key, value] of Object.entries(merged)) {
    const before = current[key];
    if (result === undefined || isDeepStrictEqual(before, value)) continue;
    const below = [...path, key];
    if (!isRecord(value) || !isRecord(before) || sectionOf(splitLines(result), below) === undefined) {
      result = withKey(result, path, { key, value });
      continue;
    }
    for (const [name, one] of Object.entries(value)) {
      if (result !== undefined && !isDeepStrictEqual(before[name], one))
        result = withKey(result, below, { key: name, value: one });
    }
  }
  return result;
}

/** The text with one key set in the table with this header, in its place or as the first. */
function withKey(
  text: string,
  path: readonly string[],
  { key, value }: { readonly key: string; readonly value: unknown },
): string | undefined {
  const lines = splitLines(text);
  const section = sectionOf(lines, path);
  if (section === undefined) return undefined;
  const line = `${/^[\w-]+$/.test(key) ? key : stringText(key)} = ${valueText(value)}${eolOf(text)}`;
  for (let from = section.from, to = from + 1; from < section.to; to++) {
    if (to > section.to) return undefined;
    const parsed = parseToml(lines.slice(from, to).join(''));
    if (parsed.kind === 'refused') continue; // A value on several lines.
    if (Object.hasOwn(parsed.value, key)) return [...lines.slice(0, from), line, ...lines.slice(to)].join('');
    from = to;
  }
  const header = lines[section.from - 1] ?? '';
  const end = header.endsWith('\n') ? '' : eolOf(text);
  return [...lines.slice(0, section.from), end, line, ...lines.slice(section.from)].join('');
}

/** The lines below a header, up to the next one. */
function sectionOf(lines: readonly string[], path: readonly string[]) {
  const paths = lines.map((line) => headerPath(line.trim()));
  const from = paths.findIndex((one) => isDeepStrictEqual(one, path)) + 1;
  if (from === 0) return undefined;
  const next = paths.findIndex((one, index) => index >= from && one !== undefined);
  return { from, to: next < 0 ? lines.length : next };
}

function splitLines(text: string): string[] {
  return text.split(/(?<=\n)/);
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

/** The text without the table, by the first way that leaves everything else as it means now. */
function withoutTable(text: string, value: Json, table: TomlTable): string | undefined {
  const wanted = withTable(value, table, undefined);
  return [cutBetweenMarks(text), cutTable(text, table)].find(
    (rest) => rest !== undefined && meansSame(rest, wanted),
  );
}

/** The text without the last block between our comments. */
function cutBetweenMarks(text: string): string | undefined {
  const lines = splitLines(text);
  const begin = lines.findLastIndex((line) => line.trim() === BEGIN);
  const end = lines.findIndex((line, index) => index > begin && line.trim() === END);
  if (begin < 0 || end < 0) return undefined;
  const first = isBlank(lines[begin - 1]) ? begin - 1 : begin;
  return [...lines.slice(0, first), ...lines.slice(end + 1)].join('');
}

/**
 * The text without the lines of the table and of those below it, and without our comments. The client itself takes
 * comments away when it writes the file, so the headers count. Undefined when there is nothing to cut.
 */
function cutTable(text: string, table: TomlTable): string | undefined {
  const lines = splitLines(text);
  const kept: string[] = [];
  let isInside = false;
  let pending: string[] = []; // Comments and empty lines in the table: they may belong to what follows.
  for (const line of lines) {
    const bare = line.trim();
    if (bare === BEGIN || bare === END) {
      if (bare === END) isInside = false;
      if (bare === BEGIN && isBlank(kept.at(-1))) kept.pop();
      pending = [];
      continue;
    }
    const path = headerPath(bare);
    if (path !== undefined) {
      isInside = path[0] === table.holder && path[1] === table.name;
      if (!isInside) kept.push(...pending);
      pending = [];
    }
    if (!isInside) kept.push(line);
    else if (bare === '' || bare.startsWith('#')) pending.push(line);
    else pending = [];
  }
  const rest = [...kept, ...pending].join('');
  return rest === text ? undefined : rest;
}

function isBlank(line: string | undefined): boolean {
  return line !== undefined && line.trim() === '';
}

/** The keys of a table's header; undefined for every other line. */
function headerPath(line: string): string[] | undefined {
  if (!line.startsWith('[')) return undefined;
  const parsed = parseToml(line);
  if (parsed.kind === 'refused') return undefined;
  const path: string[] = [];
  for (let at: unknown = parsed.value; ; ) {
    if (Array.isArray(at)) at = at[0];
    const [entry] = isRecord(at) ? Object.entries(at) : [];
    if (entry === undefined) return path.length === 0 ? undefined : path;
    path.push(entry[0]);
    at = entry[1];
  }
}
