import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { withInput } from '../../src/conversation/say.ts';

test('what was piped in stands behind the prompt, in a fence that nothing in it ends', () => {
  const piped = fc
    .array(fc.constantFrom('a', '`', '```', '````', '\n', ' '), { maxLength: 40 })
    .map((all) => all.join(''));
  fc.assert(
    fc.property(piped, (text) => {
      const prompt = withInput('look', text);
      if (text.trim() === '') return expect(prompt).toBe('look');
      const [, fence = '', inside] = /^look\n\nStandard input:\n(`{3,})\n([\s\S]*)\n\1$/.exec(prompt) ?? [];
      expect(inside).toBe(text.trim());
      expect(text).not.toContain(fence);
    }),
  );
});
