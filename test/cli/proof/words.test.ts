import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Proof, proofOf, type Situation } from '../../../src/benefit/report.ts';
import { howLong, proofLine, proofParagraphs, wrap } from '../../../src/cli/proof/words.ts';

const situation = (changes: Partial<Situation> = {}): Situation => ({
  ...{ holdOut: 'trial', answered: new Set() },
  rate: { startPerWeek: 4, failurePerWeek: 4, weeksSeen: 4 },
  ...changes,
});
const screen = (proof: Proof) => proofParagraphs(proof, {}).flat().join('\n');
const NOTHING = proofOf([], situation());

/** A proof in which this came out at starts. */
function found(
  failures: number,
  changes: Partial<Proof['start']['found']>,
  verdict: Proof['start']['verdict'],
): Proof {
  const start = { ...NOTHING.start, told: 10, held: 10, verdict };
  const result = {
    failures,
    held: 6,
    told: failures - 6,
    evidence: 1,
    harm: 1,
    best: 0.5,
    low: 0.1,
    high: 3,
    ...changes,
  };
  return { ...NOTHING, since: '2026-09-01T00:00:00.000Z', start: { ...start, found: result } };
}

describe('proofParagraphs()', () => {
  test('says what to do where nothing is held out, and what that costs', () => {
    const rate = { startPerWeek: 0, failurePerWeek: 0, weeksSeen: 0 };
    const text = screen(proofOf([], situation({ holdOut: 'off', rate }))).replace(/\s+/g, ' ');
    expect(text).toContain('It cannot be known: nothing is held out.');
    expect(text).toContain('self-generation config set proof.holdOut trial');
    expect(text).toContain('at a typical rate of 4 repeated failures a week, about 1.2 a week until then');
    expect(text).toContain('about 13 weeks');
  });

  test('says that nothing has been told yet', () => {
    expect(screen(NOTHING)).toContain('no coin has been thrown');
    expect(screen(NOTHING)).toContain('An answer takes about 13 weeks');
    expect(screen(proofOf([], situation({ holdOut: 'low' })))).not.toContain('An answer');
  });

  test('says what is known, with a range that is valid whenever one looks', () => {
    const text = screen(found(40, { evidence: 50.2, low: 0.1, high: 0.6 }, 'helps')).replace(/\s+/g, ' ');
    expect(text).toContain('does a failure come back less often? IT HELPS');
    expect(text).toContain(
      'for 100 failures held out, 10 to 60 told (95 %, whenever you look), most likely 50.',
    );
    expect(text).toContain('Evidence that it helps 50');
    expect(text).not.toContain('how much is not yet');
    expect(text.slice(0, text.indexOf('Told at a failing'))).not.toContain('an answer still takes');
  });

  test('says that a direction is known before a size', () => {
    const text = screen(found(40, { evidence: 21, low: 0.1, high: 1.1 }, 'helps')).replace(/\s+/g, ' ');
    expect(text).toContain('That it helps is known, how much is not yet');
  });

  test('asks which lesson helps only where it is not known of all together, and names a habit', () => {
    const some = { verdict: 'open', evidence: 7, lessons: 3, most: 30 } as const;
    const [open, known] = (['open', 'helps'] as const).map((verdict) =>
      screen({ ...found(40, {}, verdict), some }).replace(/\s+/g, ' '),
    );
    expect(open).toContain(
      '30 of the 40 failures that came back are of one lesson, of 3. Does at least one of them help?',
    );
    expect(known).toContain('of one lesson, of 3.');
    expect(known).not.toContain('Does at least one');
  });

  test('says that it was known before, where evidence has fallen', () => {
    const fallen = found(40, { evidence: 2 }, 'open');
    const text = screen({ ...fallen, start: { ...fallen.start, peak: 42.3 } });
    expect(text).toContain('It was 42 before, which counted as known');
    expect(screen(fallen)).not.toContain('before, which');
  });

  test('says what to do about harm', () => {
    const text = screen(found(40, { harm: 30, low: 1.2, high: 9 }, 'harms'));
    expect(text).toContain('IT DOES HARM');
    expect(text).toContain('errors withdraw ID');
  });

  test('gives no hope of an effect that is ruled out', () => {
    const text = screen(found(200, { evidence: 0.1, harm: 0.1, low: 0.7, high: 1.5 }, 'open')).replace(
      /\s+/g,
      ' ',
    );
    expect(text).toContain('telling prevents at most 30 of 100');
    expect(text).toContain('do not wait for it');
  });

  test('does not announce an answer for ever where an effect would have shown', () => {
    const failure = { ...NOTHING.failure, told: 100, held: 100, verdict: 'open' } as const;
    const hints = (evidence: number) => {
      const found = { episodes: 200, held: 100, told: 100, medianHeld: 3, medianTold: 3, evidence, harm: 0 };
      return screen({ ...NOTHING, failure: { ...failure, found } }).replace(/\s+/g, ' ');
    };
    expect(hints(0.001)).toContain('would have shown');
    expect(hints(0.001)).not.toContain('hints spare 6 of 10');
    expect(hints(0.05)).toContain('hints spare 6 of 10');
  });

  test('says of a forecast what it is made for, and when it does not look like that', () => {
    const open = found(8, { evidence: 0.05 }, 'open');
    const start = { ...open.start, outlook: { kind: 'weeks', median: 9, most: 20 } as const };
    const words = (proof: Proof) => screen(proof).replace(/\s+/g, ' ');
    expect(words({ ...open, start })).toContain(
      'about 9 weeks (in 4 of 5 cases within 20), if lessons prevent 6 of 10, which it does not look like so far.',
    );
    expect(words({ ...open, start: { ...start, found: { ...start.found, evidence: 2 } } })).not.toContain(
      'look like',
    );
    expect(words({ ...open, start })).toContain('if hints spare 6 of 10 calls.');
  });

  test('says that an answer takes years, or cannot be expected', () => {
    const rate = { startPerWeek: 0.2, failurePerWeek: 0, weeksSeen: 4 };
    const rare = { ...found(8, {}, 'open'), rate };
    const text = screen({ ...rare, start: { ...rare.start, outlook: { kind: 'never' } } }).replace(
      /\s+/g,
      ' ',
    );
    expect(text).toContain('At your rate (0.2 failures a week) there is no answer within two years');
    expect(text).toContain('Nothing that is told failed in the last weeks');
  });

  test('compares nothing before with after, promises no saving, and fits into 80 columns', () => {
    const all = [
      NOTHING,
      proofOf([], situation({ holdOut: 'off' })),
      found(40, { low: 0, high: 1e9 }, 'open'),
      found(1e6, {}, 'helps'),
    ];
    for (const proof of all) {
      const lines = proofParagraphs(proof, {
        trial: 12,
        'too-rare': 400,
        withdrawn: 3,
        quiet: 44,
        proven: 1,
        pinned: 2,
      }).flat();
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      expect(lines.join(' ')).not.toMatch(/NaN|Infinity|undefined|null|sav(?:es|ed) [\d~]/);
      expect(lines.join(' ')).toContain('Not measured');
    }
  });
});

test('proofLine() says in a line what is known', () => {
  expect(proofLine(proofOf([], situation({ holdOut: 'off' })))).toContain('nothing is held out');
  expect(proofLine(NOTHING)).toBe('on trial, nothing to compare yet');
  expect(proofLine(found(40, {}, 'helps'))).toBe(
    'telling lessons at a start helps, at a failing call nothing to compare yet',
  );
});

test('howLong() names weeks, months, or neither', () => {
  expect(howLong({ kind: 'weeks', median: 1, most: 3 })).toBe('about 1 week (in 4 of 5 cases within 3)');
  expect(howLong({ kind: 'months', median: 5, most: 9 })).toBe('about 5 months (in 4 of 5 cases within 9)');
  expect(howLong({ kind: 'never' })).toBe('more than two years');
});

test('wrap() keeps every word in its order', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1 }), (words) => {
      const lines = wrap(words.join(' '), '  ');
      expect(lines.flatMap((line) => line.trim().split(' '))).toEqual(words);
      expect(lines.every((line) => line.length <= 80)).toBe(true);
    }),
  );
});
