import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SearchedText } from '../../src/core/redact-named.ts';
import { CERTAIN_INVOCATION, LIKELY_INVOCATION } from '../../src/lessons/failure-wordings.ts';

for (const [near, wording] of [...CERTAIN_INVOCATION, ...LIKELY_INVOCATION]) {
  test(`each line of the wording ${wording.slice(0, 60)} has one of its words`, () => {
    // The generator knows no boundaries of words; without them there are only more lines.
    const line = fc.stringMatching(new RegExp(wording.replaceAll('\\b', '')));
    const hasWord = (text: string) => new SearchedText(text.toLowerCase()).hasOne(near);
    fc.assert(
      fc.property(line, (text) => expect(hasWord(text), text).toBe(true)),
      { numRuns: 3000 },
    );
  });
}
