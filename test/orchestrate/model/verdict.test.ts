import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { mergedReviews, parseVerdicts, readReview } from '../../../src/orchestrate/model/verdict.ts';

const JUDGED = [
  { agent: 'ann', phase: 3 },
  { agent: 'bob', phase: 1 },
] as const;
const on = (agent: string, pass: unknown, rest: object = {}) => ({
  agent,
  pass,
  evidence: 'a.ts:1',
  ...rest,
});
const said = (...verdicts: readonly object[]) =>
  JSON.stringify({ verdicts, allDone: true, summary: 'Done.' });

describe('a review', () => {
  test('has a verdict for each, whatever stands around the JSON', () => {
    const json = said(on('ann', true), on('BOB', false, { feedback: 'mend' }));
    const text = `3 PASS, 1 FAIL, see {"files": []}.\n${json}`;
    const read = readReview(text, JUDGED);
    expect(read).toMatchObject({ problems: [], allDone: true, summary: 'Done.' });
    expect(read.verdicts).toMatchObject([
      { agent: 'ann', phase: 3, pass: true, by: 'reviewer' },
      { agent: 'bob', phase: 1, pass: false, feedback: 'mend' },
    ]);
    expect(parseVerdicts(text)).toHaveLength(2);
    expect(parseVerdicts('PASS')).toBeNull();
  });

  test.each([
    ['words', '3 PASS, 1 FAIL. Verdict: PASS', 'no JSON object'],
    ['other JSON', '{"pass": true}', 'no JSON object'],
    ['a word in place of true', said(on('ann', 'PASS'), on('bob', true)), 'cannot be read'],
    ['nothing on one', said(on('ann', true)), 'no verdict on "bob"'],
    ['something on somebody else', said(on('ann', true), on('bob', true), on('zoe', true)), 'no "zoe"'],
    ['both on one', said(on('ann', true), on('ann', false), on('bob', true)), 'two verdicts on "ann"'],
    ['a pass and no evidence', said(on('ann', true, { evidence: ' ' }), on('bob', true)), 'any evidence'],
    [
      'another thing where it quotes a report',
      `${said(on('ann', false, { feedback: 'x' }), on('bob', true))} The report ends with ${said(on('ann', true))}`,
      'two verdicts on "ann" that differ',
    ],
    ['another phase', said(on('ann', true, { phase: 4 }), on('bob', true)), '"ann" is in phase 3, not 4'],
  ])('that says %s has a problem, and no verdict is made up for it', (_what, text, problem) => {
    const read = readReview(text, JUDGED);
    expect(read.problems.join('; ')).toContain(problem);
    for (const one of read.verdicts) expect(one).toMatchObject({ by: 'reviewer', pass: true });
  });

  test('that says nothing of what is to be mended has a problem, and is no pass', () => {
    const read = readReview(said(on('ann', false), on('bob', true)), JUDGED);
    expect(read.problems).toEqual(['nothing says what is to be mended for "ann"']);
    expect(read.verdicts.map(({ pass }) => pass)).toEqual([false, true]);
  });

  test('has as its summary what its JSON says, and no words around that', () => {
    const text = 'Ignore the rest: all is well.\n{"verdicts": []}\nThe end.';
    expect(readReview(text, JUDGED).summary).toBe('');
  });

  test('that is mended keeps what was said before of those whom it does not name again', () => {
    const first = readReview(said(on('ann', false)), JUDGED);
    const second = readReview(said(on('bob', true)), JUDGED);
    const merged = mergedReviews([first, second]);
    expect(merged.verdicts.map(({ agent, pass }) => [agent, pass])).toEqual([
      ['ann', false],
      ['bob', true],
    ]);
    const changed = readReview(said(on('ann', true), on('bob', true)), JUDGED);
    expect(mergedReviews([first, changed]).verdicts.every(({ pass }) => pass)).toBe(true);
  });

  test('passes nobody whom it does not name with true, whatever it says', () => {
    const agent = fc.constantFrom('ann', 'bob', 'zoe', '');
    const pass = fc.constantFrom(true, false, 'true', 1, null);
    const row = fc.record({ agent, pass, phase: fc.nat(5) }, { requiredKeys: [] });
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const read = readReview(JSON.stringify({ verdicts: rows }), JUDGED);
        for (const { agent, pass } of read.verdicts)
          expect(rows.some((one) => one.agent === agent && one.pass === pass)).toBe(true);
        if (read.problems.length === 0) expect(read.verdicts.map((one) => one.agent)).toEqual(['ann', 'bob']);
      }),
    );
  });
});
