import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Forecast, forecast, type Outlook } from '../../../src/benefit/evidence/forecast.ts';

const outlook = (changes: Partial<Outlook>): Outlook => ({
  question: 'prevention',
  eventsPerWeek: 4,
  p: 0.5,
  ...changes,
});
const order = ({ kind }: Forecast) => ['weeks', 'months', 'never'].indexOf(kind);

describe('forecast()', () => {
  test.each<[Partial<Outlook>, Forecast]>([
    // At r = 0.4 and p = 0.5 a would-be failure adds 0.0665 to log L: log 20 / 0.0665 = 45, 50 with the grid's price.
    [{}, { kind: 'weeks', median: 13, most: 25 }],
    [{ eventsPerWeek: 15 }, { kind: 'weeks', median: 4, most: 7 }],
    [{ eventsPerWeek: 1 }, { kind: 'months', median: 12, most: 23 }],
    [{ eventsPerWeek: 0.3 }, { kind: 'never' }],
    [{ p: 0.1 }, { kind: 'months', median: 7, most: 14 }],
    [{ question: 'cure' }, { kind: 'weeks', median: 7, most: 12 }],
    [
      { question: 'cure', eventsPerWeek: 15 },
      { kind: 'weeks', median: 2, most: 4 },
    ],
    // Half of the way in logarithms.
    [{ evidence: Math.sqrt(20) }, { kind: 'weeks', median: 7, most: 13 }],
    [{ evidence: 54 }, { kind: 'weeks', median: 0, most: 0 }],
  ])('%j', (changes, expected) => expect(forecast(outlook(changes))).toEqual(expected));

  test.each([{ p: 0 }, { p: 1 }, { eventsPerWeek: 0 }, { eventsPerWeek: Number.NaN }, { evidence: 0 }])(
    'never: %j',
    (changes) => expect(forecast(outlook(changes))).toEqual({ kind: 'never' }),
  );

  test('more failures a week, and more evidence, never make it later', () => {
    const rate = fc.double({ min: 0.1, max: 60, noNaN: true });
    const evidence = fc.double({ min: 0.1, max: 20, noNaN: true });
    const question = fc.constantFrom<Outlook['question']>('prevention', 'cure');
    fc.assert(
      fc.property(
        question,
        rate,
        evidence,
        fc.double({ min: 1, max: 9, noNaN: true }),
        (asked, some, had, more) => {
          const of = (changes: Partial<Outlook>) =>
            forecast(outlook({ question: asked, eventsPerWeek: some, evidence: had, ...changes }));
          const weeks = (one: Forecast) => (one.kind === 'weeks' ? one.median : Number.POSITIVE_INFINITY);
          for (const sooner of [of({ eventsPerWeek: some * more }), of({ evidence: had * more })]) {
            expect(order(sooner)).toBeLessThanOrEqual(order(of({})));
            expect(weeks(sooner)).toBeLessThanOrEqual(weeks(of({})));
          }
        },
      ),
    );
  });
});
