import { expect, test } from 'bun:test';
import { inertPart } from '../../../src/orchestrate/prompts/quote.ts';

test('inertPart() cleans before it looks for secrets, and looks before it cuts', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const split = token.split('').join('\u200b');
  expect(inertPart(`key ${split}`, 1000)).not.toContain('a1B2a1B2');
  for (let lengthMax = 10; lengthMax < 120; lengthMax++)
    expect(inertPart(`key ${token} and more`, lengthMax)).not.toContain('a1B2');
});

test('inertPart() has both ends of a text that is too long, and is no longer than asked', () => {
  const shown = inertPart(`begin ${'x'.repeat(500)} end`, 100);
  expect(shown).toStartWith('begin ');
  expect(shown).toEndWith(' end');
  expect(shown).toContain('characters left out');
  expect(shown.length).toBeLessThanOrEqual(100);
});
