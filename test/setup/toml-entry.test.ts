import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ServerEntry } from '../../src/clients/server-entry.ts';
import { Refused } from '../../src/setup/file-plan.ts';
import {
  readTomlEntry,
  readTomlTable,
  removeTomlEntry,
  removeTomlTable,
  setTomlEntry,
  setTomlTable,
} from '../../src/setup/toml-entry.ts';

const WANTED = { command: '/home/u/"q" \\ 한/self-generation', args: ['mcp'], env: { A: 'x\ty\x7f' } };
const TABLE: ServerEntry = {
  holder: 'mcp_servers',
  name: 'self-generation',
  wanted: WANTED,
  isOurs: (value) => (value as typeof WANTED).command === WANTED.command,
};

type Value = Record<string, unknown>;
const parse = (text: string) => Bun.TOML.parse(text) as Value;
const servers = (value: Value) => (value.mcp_servers ?? {}) as Value;

const word = fc.stringMatching(/^[a-z]{1,6}$/);
const scalar = fc.oneof(
  fc.integer({ min: -1000, max: 1000 }).map(String),
  fc.boolean().map(String),
  fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text.toWellFormed()).replaceAll('\x7f', '')),
  fc.constantFrom(
    '1979-05-27T07:32:00Z',
    "'''\n[mcp_servers.self-generation]\n'''",
    '"""\n# >>> self-generation: written by "install --mcp", removed by "uninstall" >>>\n"""',
    '[\n  "[x]", # comment\n  "y",\n]',
    '{ a = 1, b = "c" }',
  ),
);
const line = fc.oneof(
  fc.constantFrom('', '# a comment', '  # another'),
  fc.tuple(word, scalar).map(([key, value]) => `${key} = ${value}`),
);
const section = fc
  .tuple(
    fc.oneof(
      word.map((name) => `[${name}]`),
      word.map((name) => `[[${name}]]`),
      word.map((name) => `[mcp_servers.${name}]`),
      word.map((name) => `[mcp_servers."${name}".env] # of ${name}`),
    ),
    fc.array(line, { maxLength: 4 }),
  )
  .map(([header, lines]) => [header, ...lines]);
/** Whatever is valid of what these pieces make. */
const document = fc
  .tuple(
    fc.array(line, { maxLength: 4 }),
    fc.array(section, { maxLength: 4 }),
    fc.boolean(),
    fc.constantFrom('\n', '\r\n'),
  )
  .map(([top, sections, hasLineEnd, eol]) => {
    const text = [...top, ...sections.flat()].join('\n').replaceAll('\n', eol);
    return hasLineEnd && text !== '' ? text + eol : text;
  })
  .filter((text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  });

describe('setTomlTable() and removeTomlTable()', () => {
  const STATE = { trusted_hash: 'sha256:1' };
  const pathTo = (key: string) => ['hooks', 'state', key];
  const key = fc
    .string({ minLength: 1, maxLength: 20 })
    .map((text) => text.toWellFormed().replaceAll(/\p{Cc}/gu, ' '));

  test('add and take away tables with any key, each its own, and leave every other byte', () => {
    fc.assert(
      fc.property(document, key, key, (text, one, other) => {
        fc.pre(!('hooks' in parse(text)));
        const first = setTomlTable(text, pathTo(one), STATE);
        const both = setTomlTable(first, pathTo(other), { ...STATE, enabled: false });
        expect(parse(both).hooks).toEqual({
          state: { [one]: STATE, [other]: { ...STATE, enabled: false } },
        });
        expect(readTomlTable(first, pathTo(one))).toEqual(STATE);
        expect(setTomlTable(first, pathTo(one), STATE)).toBe(first);
        const eol = text.includes('\r\n') ? '\r\n' : '\n';
        const removed = removeTomlTable(removeTomlTable(both, pathTo(other)), pathTo(one));
        expect(removed).toBe(text === '' || text.endsWith('\n') ? text : text + eol);
      }),
      { numRuns: 200 },
    );
  });

  test('stand beside what the same holder has of other kinds', () => {
    const text = '[[hooks.Stop]]\nmatcher = "x"\n\n[hooks.state."/a:stop:0:0"]\nenabled = false\n';
    const set = setTomlTable(text, pathTo('/b:stop:0:0'), STATE);
    expect(set).toBe(`${text}\n[hooks.state."/b:stop:0:0"]\ntrusted_hash = "sha256:1"\n`);
    expect(removeTomlTable(set, pathTo('/b:stop:0:0'))).toBe(text);
    expect(removeTomlTable(text, pathTo('/c'))).toBe(text);
  });

  test('refuse to put it into what is no table', () => {
    expect(() => setTomlTable('hooks = 1\n', pathTo('/a'), STATE)).toThrow(Refused);
  });
});

describe('setTomlEntry() and removeTomlEntry()', () => {
  test('add and take away that one table of any document, and leave every other byte', () => {
    fc.assert(
      fc.property(document, (text) => {
        const set = setTomlEntry(text, TABLE);
        expect(set).toStartWith(text);
        const value = parse(set);
        expect(servers(value)['self-generation']).toEqual(WANTED);
        expect({ ...value, mcp_servers: undefined }).toEqual({ ...parse(text), mcp_servers: undefined });
        expect(servers(value)).toEqual({ ...servers(parse(text)), 'self-generation': WANTED });
        expect(setTomlEntry(set, TABLE)).toBe(set);
        expect(readTomlEntry(set, TABLE)).toEqual(WANTED);

        const removed = removeTomlEntry(set, TABLE);
        const isWhole = text === '' || text.endsWith('\n');
        const eol = text.includes('\r\n') ? '\r\n' : '\n';
        expect(removed).toBe(isWhole ? text : text + eol);
      }),
      { numRuns: 500 },
    );
  });

  test('take the table away from between what was written before and after it since', () => {
    fc.assert(
      fc.property(document, word, (text, name) => {
        const set = setTomlEntry(text, TABLE);
        const changed = `# first\n${set}[z${name}z]\nk = 1\n`;
        const removed = removeTomlEntry(changed, TABLE);
        expect(parse(removed)).toEqual({ ...parse(text), [`z${name}z`]: { k: 1 } });
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['a table in other quotes', '[ mcp_servers . "self-generation" ]\ncommand = "x"\n'],
    ['dotted keys', 'mcp_servers.self-generation.command = "x"\n'],
    ['an inline table', 'mcp_servers = { self-generation = { command = "x" } }\n'],
    ['a table of the holder', "[mcp_servers]\n'self-generation'.command = 'x'\n"],
  ])('leave %s of another program alone', (_, text) => {
    expect(() => setTomlEntry(text, TABLE)).toThrow(Refused);
    expect(removeTomlEntry(text, TABLE)).toBe(text);
  });

  test('renew a table that is ours and not as wanted', () => {
    const old = setTomlEntry('a = 1\n', { ...TABLE, wanted: { ...WANTED, args: ['old'] } });
    const renewed = setTomlEntry(`${old}[b]\nc = 2\n`, TABLE);
    expect(parse(renewed)).toEqual({ a: 1, b: { c: 2 }, mcp_servers: { 'self-generation': WANTED } });
  });

  test.each([
    ['in a table of their own', '[mcp_servers.self-generation.env]\nMINE = "1" # mine\n'],
    ['inline', 'env = { MINE = "1" }\n'],
    ['with dots', 'env.MINE = "1"\n'],
  ])('keep variables of the user that stand %s', (_, env) => {
    const head = `[mcp_servers.self-generation]\r\ntimeout = 1.5\ncommand = ${JSON.stringify(WANTED.command)}\n`;
    const renewed = setTomlEntry(`${head}${env}[z]\nlast = true\n`, TABLE);
    const table = { ...WANTED, timeout: 1.5, env: { ...WANTED.env, MINE: '1' } };
    expect(parse(renewed)).toEqual({ z: { last: true }, mcp_servers: { 'self-generation': table } });
    expect(setTomlEntry(renewed, TABLE)).toBe(renewed);
  });

  test('leave lines that only look like the table', () => {
    const note = "note = '''\n[mcp_servers.self-generation]\nmine\n[z]\n'''\n";
    const table = `[mcp_servers.self-generation]\ncommand = ${JSON.stringify(WANTED.command)}\n`;
    expect(removeTomlEntry(note + table, TABLE)).toBe(note);
    expect(setTomlEntry(note + table, TABLE)).toStartWith(note);
  });

  test.each([
    ['an inline table', 'mcp_servers = { other = { command = "x" } }\n'],
    ['dotted keys', '# mine\nmcp_servers.other.command = "x"\n'],
  ])('add to %s of the holder what they take away again', (_, text) => {
    const set = setTomlEntry(text, TABLE);
    expect(servers(parse(set))).toEqual({ other: { command: 'x' }, 'self-generation': WANTED });
    expect(removeTomlEntry(set, TABLE)).toBe(text);
  });

  test('say what is wrong with a text that is no TOML, and change nothing', () => {
    expect(() => setTomlEntry('a = ', TABLE)).toThrow('not valid TOML');
    expect(removeTomlEntry('a = ', TABLE)).toBe('a = ');
    expect(() => removeTomlEntry('self-generation = ', TABLE)).toThrow(Refused);
  });
});
