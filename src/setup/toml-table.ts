import { isDeepStrictEqual } from 'node:util';
import { isRecord, type Json } from '../core/guards.ts';
import type { TextEdit } from './edit-file.ts';
import type { TextRemoval } from './json-entry.ts';

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

/** The text with the table as it has to be, at its end. Never throws on bad text. */
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
  if (isRecord(current) && holds(current, table.wanted)) return { kind: 'unchanged' };
  const rest = current === undefined ? before : withoutTable(before, parsed.value, table);
  if (rest === undefined) return byHand(table);
  const after = rest + blockAfter(rest, table);
  const wanted = withTable(parsed.value, table, table.wanted);
  return meansSame(after, wanted) ? { kind: 'edited', text: after } : byHand(table);
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

function holds(current: Json, wanted: Json): boolean {
  return Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(current[key], value));
}

function byHand({ holder, name, wanted }: TomlTable): TextEdit {
  const lines = tableText({ holder, name, wanted }, '\n').trim().replaceAll('\n', '; ');
  return { kind: 'refused', reason: `the table cannot be added there; write it by hand: ${lines}` };
}

/** An empty line before it, unless it is the first thing in the file. */
function blockAfter(text: string, table: TomlTable): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
  return `${gap}${BEGIN}${eol}${tableText(table, eol)}${END}${eol}`;
}

/** Strings, lists of strings and tables of strings are written the same in TOML and in JSON, but for tables. */
function tableText(
  { holder, name, wanted }: Pick<TomlTable, 'holder' | 'name' | 'wanted'>,
  eol: string,
): string {
  const lines = Object.entries(wanted).map(([key, value]) => `${key} = ${valueText(value)}`);
  return [`[${holder}.${name}]`, ...lines, ''].join(eol);
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (!isRecord(value)) return stringText(String(value));
  const pairs = Object.entries(value).map(([key, one]) => `${stringText(key)} = ${valueText(one)}`);
  return `{ ${pairs.join(', ')} }`;
}

/** As in JSON; of the control characters TOML forbids one more. */
function stringText(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
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
  const lines = text.split(/(?<=\n)/);
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
  const lines = text.split(/(?<=\n)/);
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
