import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { SentRequest } from '../../src/prune/batch.ts';
import type { Message } from '../../src/prune/call.ts';
import { decide } from '../../src/prune/decide.ts';
import { type Decision, prunedCall } from '../../src/prune/decision.ts';
import { jsonChars } from '../../src/prune/input.ts';
import { loadPruneSettings, type PruneSettings } from '../../src/settings/prune-settings.ts';
import { temporaryHome } from '../support/home.ts';

/** What each request would have been, by sending them one after the other. */

using home = temporaryHome();
const DEFAULTS = loadPruneSettings(home.paths);

/** What a request consists of, piece by piece: what it says, and how many characters that are. */
type Piece = readonly [text: string, chars: number];

function piecesOf(messages: readonly Message[], decisions: readonly Decision[]): Piece[] {
  const made = new Map(decisions.map((one) => [one.callId, one]));
  return messages.flatMap(({ chars, calls }, at): Piece[] => [
    [`message ${at}`, chars],
    ...calls.flatMap((call): Piece[] => {
      const decision = made.get(call.id);
      const { input, output } = decision === undefined ? call : prunedCall(call, decision);
      return [
        [JSON.stringify(input), jsonChars(input)],
        [output, output.length],
      ];
    }),
  ]);
}

const charsOf = (pieces: readonly Piece[]) => pieces.reduce((sum, [, chars]) => sum + chars, 0);

function sentOneByOne(messages: readonly Message[], settings: PruneSettings): SentRequest[] {
  const requests: SentRequest[] = [];
  let before: { pieces: Piece[]; count: number; atMs: number } | undefined;
  for (const [count, { by, atMs = 0 }] of messages.entries()) {
    if (by === 'user') continue;
    const shown = messages.slice(0, count);
    const { decisions } = decide(shown, { settings, earlier: [], project: '/p', nowMs: atMs });
    const pieces = piecesOf(shown, decisions);
    const isWarm = before !== undefined && atMs - before.atMs <= settings.cacheMinutes * 60_000;
    const first = isWarm ? pieces.findIndex(([text], at) => text !== before?.pieces[at]?.[0]) : 0;
    const cached = pieces.slice(0, first < 0 ? pieces.length : first);
    // Of what was sent before, as it is sent now.
    const again = isWarm ? piecesOf(messages.slice(0, before?.count), decisions).slice(cached.length) : [];
    requests.push({
      sentChars: charsOf(pieces),
      cachedChars: charsOf(cached),
      againChars: charsOf(again),
    });
    before = { pieces, count, atMs };
  }
  return requests;
}

const numbered = (size: number) =>
  Array.from({ length: size }, (_, at) => `${String(at + 1).padStart(6)}→${'x'.repeat(40)}`).join('\n');
const file = fc.constantFrom('/p/a.ts', '/p/b.ts');
const size = fc.constantFrom(10, 60);
const made = fc.oneof(
  fc.record({ tool: fc.constant('Read'), file, size, isBad: fc.constant(false) }),
  fc.record({ tool: fc.constant('Write'), file, size, isBad: fc.boolean() }),
);
const said = fc.array(fc.record({ call: fc.option(made), waitMinutes: fc.constantFrom(0, 0, 0, 0, 1, 30) }), {
  minLength: 10,
  maxLength: 40,
});

function messagesOf(entries: typeof said extends fc.Arbitrary<infer T> ? T : never): Message[] {
  let atMs = 0;
  return entries.map(({ call, waitMinutes }, at): Message => {
    atMs += waitMinutes * 60_000;
    if (call === null) return { by: 'user', atMs, chars: 30, calls: [] };
    const { tool, file, size, isBad } = call;
    const content = tool === 'Write' ? { content: numbered(size) } : {};
    const output = tool === 'Read' ? numbered(size) : isBad ? 'No such directory' : 'File written';
    const state = isBad ? 'failed' : 'done';
    const input = { file_path: file, ...content };
    return { by: 'model', atMs, chars: 20, calls: [{ id: `c${at}`, tool, input, state, output }] };
  });
}

describe('the requests of a session that is pruned as it runs', () => {
  test('are told as they would have been sent one after the other', () => {
    let again = 0;
    fc.assert(
      fc.property(said, fc.constantFrom(0.1, 0.5, 1), (entries, cachedPriceRatio) => {
        const settings = { ...DEFAULTS, cachedPriceRatio };
        const messages = messagesOf(entries);
        const told: SentRequest[] = [];
        const onRequest = (request: SentRequest) => void told.push(request);
        decide(messages, { settings, earlier: [], project: '/p', nowMs: 0, onRequest });
        expect(told).toEqual(sentOneByOne(messages, settings));
        again += told.reduce((sum, { againChars }) => sum + againChars, 0);
      }),
      { numRuns: 150 },
    );
    expect(again).toBeGreaterThan(0);
  });

  test('begin anew with a summary, of which nothing was cached', () => {
    const messages = messagesOf(Array.from({ length: 4 }, () => ({ call: null, waitMinutes: 0 })));
    const answer = { by: 'model', chars: 20, calls: [] } as const;
    const all: Message[] = [
      ...messages,
      answer,
      { by: 'user', isCompaction: true, chars: 7, calls: [] },
      answer,
    ];
    const told: SentRequest[] = [];
    const onRequest = (request: SentRequest) => void told.push(request);
    decide(all, { settings: DEFAULTS, earlier: [], project: '/p', nowMs: 0, onRequest });
    expect(told).toEqual([
      { sentChars: 120, cachedChars: 0, againChars: 0 },
      { sentChars: 7, cachedChars: 0, againChars: 0 },
    ]);
  });
});
