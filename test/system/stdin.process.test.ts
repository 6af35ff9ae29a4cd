import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { HookInput } from '../../src/system/stdin.ts';

const MAIN = `${import.meta.dir}/read-stdin.main.ts`;
const BYTES_MAX = 1000;
/** Only what waits for its end in vain may meet it, so it tells the two apart. */
const NEVER_MS = 30_000;
const SOON_MS = 100;
const HANG_MS = 20_000;

const folder = mkdtempSync(`${tmpdir()}/stdin-node-`);
beforeAll(async () => {
  const result = await Bun.build({
    entrypoints: [MAIN],
    outdir: folder,
    naming: 'read-stdin.mjs',
    target: 'node',
    format: 'esm',
    conditions: ['node'],
  });
  if (!result.success) throw new AggregateError(result.logs, 'Cannot bundle the program');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Reading = {
  readonly chunks: readonly (string | Uint8Array)[];
  readonly closes: boolean;
  readonly timeoutMs: number;
};

/** Runs the program on these chunks; each is on its way before the next is written. */
async function read(program: readonly string[], { chunks, closes, timeoutMs }: Reading): Promise<HookInput> {
  const child = Bun.spawn([...program, String(BYTES_MAX), String(timeoutMs)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
  for (const chunk of chunks) {
    child.stdin.write(chunk);
    await child.stdin.flush();
    await Bun.sleep(1);
  }
  if (closes) await child.stdin.end();
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (!closes) await Promise.resolve(child.stdin.end()).catch(() => {}); // Nobody reads it any more.
  expect([code, stderr], stdout).toEqual([0, '']);
  return JSON.parse(stdout) as HookInput;
}

const json = (value: unknown): HookInput => ({ kind: 'json', value });
const encode = (text: string) => new TextEncoder().encode(text);
/** Each byte for itself, so that every character is split. */
const bytewise = (text: string) => Array.from(encode(text), (byte) => new Uint8Array([byte]));
const splitIn = (text: string, at: number) => [encode(text).slice(0, at), encode(text).slice(at)];
const FULL = 'x'.repeat(BYTES_MAX - 8);
const LONG = JSON.stringify({ name: 'first', text: '한'.repeat(BYTES_MAX), after: 'lost' });

const CUT: HookInput = {
  kind: 'cut',
  value: { name: 'first', text: expect.stringMatching(/^한{300,}$/) },
};
const unreadable = (bytes: number): HookInput => ({ kind: 'unreadable', bytes });

type Row = [what: string, chunks: Reading['chunks'], closes: boolean, expected: HookInput];

/** Complete, so that nobody waits for the end of the input. */
const complete: Row[] = [
  ['a document', ['{"a":"한"}'], true, json({ a: '한' })],
  ['a document in an input that is never closed', ['{"a":1}'], false, json({ a: 1 })],
  ['a document and a line end in an input that is never closed', ['{"a":1}\r\n'], false, json({ a: 1 })],
  ['a document whose line end comes later', ['{"a":1}', '\n'], true, json({ a: 1 })],
  ['a byte order mark before it', ['\ufeff{"a":1}'], false, json({ a: 1 })],
  ['a chunk that ends in the middle of a character', splitIn('{"a":"한글"}', 7), false, json({ a: '한글' })],
  ['single bytes', bytewise('{"한":"🎉"}'), false, json({ 한: '🎉' })],
  ['a chunk that ends with an inner brace', ['{"a":{}', ',"b":"}', '"}'], false, json({ a: {}, b: '}' })],
  ['as much as is allowed', [JSON.stringify({ a: FULL })], false, json({ a: FULL })],
  ['a document that is no object', ['"text"'], true, json('text')],
  ['half a document', ['{"a":"한'], true, unreadable(9)],
  ['two documents', ['{"a":1}{"b":2}'], true, unreadable(14)],
  ['no JSON', ['hello'], true, unreadable(5)],
  ['blanks', [' \n'], true, unreadable(2)],
  ['nothing', [], true, { kind: 'empty' }],
  ['too much', [LONG], true, CUT],
  ['too much, in pieces', splitIn(LONG, 500), true, CUT],
  ['too much without a beginning of JSON', ['x'.repeat(3 * BYTES_MAX)], true, unreadable(3 * BYTES_MAX)],
];

/** Of an input that is never closed and never complete. */
const waiting: Row[] = [
  ['nothing', [], false, { kind: 'empty' }],
  ['half a document', ['{"a":'], false, unreadable(5)],
  ['a document that is no object', ['7'], false, json(7)],
  ['too much', [LONG], false, CUT],
];

const PROGRAMS: Readonly<Record<string, () => readonly string[]>> = {
  Bun: () => [process.execPath, MAIN],
  Node: () => ['node', `${folder}/read-stdin.mjs`],
};

for (const [name, program] of Object.entries(PROGRAMS)) {
  const scenario = name === 'Node' && Bun.which('node') === null ? test.skip : test;
  describe(`readHookInput() under ${name}`, () => {
    for (const [what, chunks, closes, expected] of complete) {
      scenario(`gives ${expected.kind} for ${what}`, async () => {
        expect(await read(program(), { chunks, closes, timeoutMs: NEVER_MS })).toEqual(expected);
      });
    }

    for (const [what, chunks, closes, expected] of waiting) {
      scenario(`gives ${expected.kind} after its time for ${what} and no end`, async () => {
        // Long enough for a busy machine to have handed over what was written.
        const timeoutMs = chunks.length === 0 ? SOON_MS : 5 * SOON_MS;
        expect(await read(program(), { chunks, closes, timeoutMs })).toEqual(expected);
      });
    }
  });
}
