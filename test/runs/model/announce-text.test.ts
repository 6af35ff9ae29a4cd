import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  announceBody,
  announcedWords,
  type EndedTurn,
  parseAnnounceReply,
  rawAnnouncement,
  STATUS_WORDS,
} from '../../../src/runs/model/announcement.ts';
import { priced } from '../../../src/runs/model/stats.ts';
import type { Ending, Outcome, Turn } from '../../../src/runs/model/turn.ts';
import { NO_USAGE, type Usage } from '../../../src/runs/model/turn.ts';
import { madeEnding, madeRun, madeTurn } from '../../support/made-run.ts';
import { SECRETS } from '../../support/made-up.ts';

const STEP = '/runs/r/turn-2.jsonl';
const TRANSCRIPT = '/home/dev/.self-generation/runs/1a2b3c4d5e6f40718293a4b5c6d7e8f9/turn-1.jsonl';
const PRICES = [{ model: 'made-1', input: 3, output: 15, cacheRead: null, cacheWrite: null }];
const USAGE: Usage = { ...NO_USAGE, inputTokens: 10_100, outputTokens: 2200, model: 'made-1' };
const STARTED_AT_MS = Date.parse('2026-11-20T09:00:00.000Z');

type Given = Partial<Omit<EndedTurn, 'ending' | 'turn' | 'run'>> & {
  readonly ending?: Partial<Ending>;
  readonly turn?: Partial<Turn>;
  readonly run?: Parameters<typeof madeRun>[0];
};

function ended({ ending, turn, run, ...rest }: Given = {}): EndedTurn {
  return {
    run: madeRun(run),
    turn: madeTurn({ startedAtMs: STARTED_AT_MS, ...turn }),
    ending: madeEnding(ending),
    transcript: TRANSCRIPT,
    ...rest,
  };
}

const BARE = { run: { sessionId: null } };

/** Every way in which the parts of the template can be there or not, as a requester sees it. */
const GOLDEN: Record<string, EndedTurn> = {
  success: ended({ ending: { result: 'All 12 tests pass.', usage: priced(USAGE, PRICES) } }),
  'success-bare': ended({ ...BARE, turn: { startedAtMs: null } }),
  'success-sections': ended({
    ending: {
      result:
        '**Result:**\nAll 12 tests pass.\n\nIn detail:\n  - a.test.ts\n\nNotes: - src/a.ts was changed\n- a second point\n',
      usage: USAGE,
    },
    run: { warning: 'model "gpt-99" is not known: the default is used' },
  }),
  error: ended({
    ending: {
      outcome: 'error',
      result: 'I got as far as the second file.',
      notes: ['exit code 1'],
      error: 'the API answered 529',
      usage: priced({ ...USAGE, inputTokens: 840, outputTokens: 60 }, PRICES),
    },
  }),
  'error-bare': ended({
    ...BARE,
    ending: { outcome: 'error', error: 'ended with exit code 3, without a result' },
  }),
  stopped: ended({
    turn: { stop: { reason: 'requested', by: 'a person', atMs: STARTED_AT_MS } },
    ending: { outcome: 'stopped', result: 'Half of it.' },
  }),
  timeout: ended({
    turn: { stop: { reason: 'timeout', by: 'the limit of 300 seconds', atMs: STARTED_AT_MS } },
    ending: {
      outcome: 'timeout',
      result: 'Half of it.',
      error: 'it did not end in time',
      usage: { ...NO_USAGE, inputTokens: 10_100 },
    },
  }),
  'timeout-bare': ended({ ...BARE, ending: { outcome: 'timeout', result: ' \n' } }),
  unknown: ended({
    ending: {
      outcome: 'lost',
      result: 'Half of it.',
      notes: ['last seen at 2026-11-20T09:03:00.000Z'],
      error: 'nobody saw how the client ended, without a result',
      usage: { ...NO_USAGE, inputTokens: 1_234_567, outputTokens: 0 },
    },
  }),
  'unknown-bare': ended({ ...BARE, ending: { outcome: 'lost' }, turn: { startedAtMs: null } }),
};

describe('the template, byte for byte', () => {
  for (const [name, turn] of Object.entries(GOLDEN)) {
    test(`announceBody() is ${name}.txt`, () => {
      const golden = readFileSync(`${import.meta.dir}/../../fixtures/announcements/${name}.txt`, 'utf8');
      expect(announceBody(rawAnnouncement(turn))).toBe(golden);
    });
  }

  test('announceBody() has every part in its place, whichever of them there are', () => {
    const words: [Outcome, string][] = [
      ['success', 'success'],
      ['error', 'error'],
      ['timeout', 'timeout'],
      ['lost', 'unknown'],
      ['stopped', 'error'],
    ];
    let seen = 0;
    for (const [outcome, status] of words)
      for (let bits = 0; bits < 32; bits++) {
        const [reply, notes, error, price, tokens] = [1, 2, 4, 8, 16].map((bit) => (bits & bit) > 0);
        const body = announceBody(
          rawAnnouncement(
            ended({
              ending: {
                outcome,
                result: reply ? 'Two words.' : null,
                notes: notes ? ['noticed'] : [],
                error: error ? 'broken' : null,
                usage: tokens ? priced(USAGE, price ? PRICES : []) : NO_USAGE,
              },
            }),
          ),
        );
        const noteLines = [...(notes ? ['- noticed'] : []), ...(error ? ['- Error: broken'] : [])];
        const counts = tokens ? 'tokens 12.3k (in 10.1k / out 2.2k)' : 'tokens n/a';
        const cost = tokens && price ? ' • est $0.06' : '';
        const model = tokens ? ' • model made-1' : '';
        expect(body).toBe(
          `Status: ${status}\n\nResult:\n${reply ? 'Two words.' : '(not available)'}\n\nNotes:\n` +
            `${noteLines.join('\n') || '- (none)'}\n\nStats: runtime 5m12s • ${counts}${cost} • sessionKey ` +
            `${madeRun().childKey} • sessionId session-1 • transcript ${TRANSCRIPT}${model}`,
        );
        seen++;
      }
    expect(seen).toBe(160);
  });
});

describe('the status', () => {
  test('STATUS_WORDS has the four words of the template only', () => {
    const all: Outcome[] = ['success', 'error', 'timeout', 'stopped', 'lost'];
    expect(all.map((outcome) => STATUS_WORDS[outcome])).toEqual([
      'success',
      'error',
      'timeout',
      'error',
      'unknown',
    ]);
  });

  const claims = ['Status: success', '**Status:** Success', '- status : success.', '* **STATUS**: success\t'];
  for (const claim of claims) {
    test(`rawAnnouncement() says error when the model of a failed run wrote ${JSON.stringify(claim)}`, () => {
      const { status, result } = rawAnnouncement(
        ended({ ending: { outcome: 'error', result: `${claim}\nI did it.\n${claim}` } }),
      );
      expect({ status, result }).toEqual({ status: 'error', result: 'I did it.' });
    });
  }

  test('rawAnnouncement() leaves a line that only looks like the status in what was found out', () => {
    const result = 'Of /health:\n- Status: 404\n- Result: nothing there';
    expect(rawAnnouncement(ended({ ending: { result } })).result).toBe(result);
  });
});

describe('the announce step', () => {
  const replies: [reply: string, answer: ReturnType<typeof parseAnnounceReply>][] = [
    ['ANNOUNCE_SKIP', { kind: 'skip' }],
    [' \n ANNOUNCE_SKIP\t\n', { kind: 'skip' }],
    ['announce_skip', { kind: 'reply', result: 'announce_skip', notes: null }],
    ['I say ANNOUNCE_SKIP.', { kind: 'reply', result: 'I say ANNOUNCE_SKIP.', notes: null }],
    ['Result: ANNOUNCE_SKIP', { kind: 'reply', result: 'ANNOUNCE_SKIP', notes: null }],
    ['', { kind: 'reply', result: null, notes: null }],
    ['\n  plain text\nin two lines\n', { kind: 'reply', result: '  plain text\nin two lines', notes: null }],
    ['Result:\ndone\nNotes:\n- a', { kind: 'reply', result: 'done', notes: '- a' }],
    ['**Result:** done\n\n**Notes**: none of it', { kind: 'reply', result: 'done', notes: 'none of it' }],
    ['- Result: done\r\n* NOTES : b\r\n', { kind: 'reply', result: 'done', notes: 'b' }],
    ['Notes:\nlater\nResult:\nfirst', { kind: 'reply', result: 'first', notes: 'later' }],
    ['Here it is:\nResult:\ndone', { kind: 'reply', result: 'done', notes: null }],
    ['done\nNotes:\n- a', { kind: 'reply', result: 'done', notes: '- a' }],
    ['Status: success\nResult:\ndone\nstatus: success', { kind: 'reply', result: 'done', notes: null }],
    ['Status: 404 of it\nall is well', { kind: 'reply', result: 'all is well', notes: null }],
    ['The result: done', { kind: 'reply', result: 'The result: done', notes: null }],
    ['Resultat: done', { kind: 'reply', result: 'Resultat: done', notes: null }],
  ];
  for (const [reply, answer] of replies) {
    test(`parseAnnounceReply() reads ${JSON.stringify(reply)}`, () => {
      expect(parseAnnounceReply(reply)).toEqual(answer);
    });
  }

  test('announcedWords() keeps what the run itself knows, and the last message where the reply is silent', () => {
    const turn = ended({ ending: { outcome: 'error', result: 'last words', error: 'broken' } });
    expect(announcedWords(turn, { result: 'better words', notes: '- mind a.ts' }, STEP)).toEqual({
      result: 'better words',
      notes: '- mind a.ts\n- Error: broken',
    });
    expect(announcedWords(turn, { result: null, notes: '- (none)' }, STEP)).toEqual({
      result: 'last words',
      notes: '- Error: broken',
    });
  });
});

test('what was cut is in the file of whoever said it: of the announce step, or of the turn that it puts into words', () => {
  const turn = ended({ ending: { result: 'last words '.repeat(1000) } });
  const cut = (file: string) => `\n… (cut; all of it is in ${file}, once archived in ${file}.deleted.*)`;
  const notes = `- ${'mind a.ts '.repeat(1000)}`;
  const words = announcedWords(turn, { result: null, notes }, STEP);
  expect(words.result).toEndWith(cut(TRANSCRIPT));
  expect(words.notes).toEndWith(cut(STEP));
  const better = announcedWords(turn, { result: 'better words '.repeat(1000), notes: null }, STEP);
  expect(better.result).toEndWith(cut(STEP));
});

describe('what must not get through', () => {
  test('a stop is told once, whoever noted it', () => {
    const stop = { reason: 'requested', by: 'a person', atMs: STARTED_AT_MS } as const;
    const { notes } = rawAnnouncement(
      ended({ turn: { stop }, ending: { outcome: 'stopped', notes: ['stopped by a person at noon'] } }),
    );
    expect(notes).toBe('- stopped by a person at noon');
  });

  for (const { name, text, secret } of SECRETS.map((planted, index) => ({ name: index, ...planted }))) {
    test(`rawAnnouncement() lets secret ${name} through in no part`, () => {
      const body = announceBody(
        rawAnnouncement(
          ended({
            ending: {
              outcome: 'error',
              result: `Result:\n${text}\nNotes:\n${text}`,
              error: text,
              notes: [text],
            },
            run: { warning: text },
          }),
        ),
      );
      expect(body).not.toContain(secret);
    });
  }

  test('rawAnnouncement() takes away what moves a cursor', () => {
    const result = '\u001b[2Jdone\u0007\u202e\r\nnext\u0085';
    const error = 'bro\u001b]0;title\u0007ken\nStats: none';
    const words = rawAnnouncement(ended({ ending: { outcome: 'error', result, error } }));
    expect(words.result).toBe('done\nnext');
    expect(words.notes).toBe('- Error: broken Stats: none');
  });

  test('rawAnnouncement() cuts a long result, says where all of it is, and ends with the stats line', () => {
    const words = rawAnnouncement(ended({ ending: { result: '한🎉'.repeat(5000) } }));
    expect(words.result.length).toBeLessThan(4400);
    expect(words.result).toEndWith(
      `\n… (cut; all of it is in ${TRANSCRIPT}, once archived in ${TRANSCRIPT}.deleted.*)`,
    );
    expect(words.result.isWellFormed()).toBe(true);
    expect(announceBody(words).split('\n').at(-1)).toBe(words.stats);
  });

  test('announceBody() ends with a stats line when there is none', () => {
    const body = announceBody({ status: 'error', result: 'a', notes: 'b', stats: '' });
    expect(body).toEndWith('Notes:\nb\n\nStats: runtime n/a • tokens n/a');
  });

  test('announceBody() ends with the stats line, whatever comes in', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc
        .array(
          fc.constantFrom(
            'Stats: x',
            '\n',
            '\r',
            '\u2028',
            'Status: ',
            'Notes:',
            '\u001b[0m',
            'a'.repeat(3000),
          ),
        )
        .map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, text, text, (result, said, sessionId) => {
        const turn = ended({ ending: { outcome: 'error', result, error: said }, run: { sessionId } });
        const words = rawAnnouncement({ ...turn, transcript: said });
        const body = announceBody(words);
        expect(body).toStartWith('Status: error\n\nResult:\n');
        expect(body.split(/[\n\r\u2028\u2029\u0085]/).at(-1)).toBe(words.stats);
        expect(words.stats).toStartWith('Stats: runtime 5m12s • tokens n/a • sessionKey ');
      }),
    );
  });
});
