import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { geminiCommandEnd } from '../../src/core/gemini-command.ts';

/** As Gemini CLI hands the result of a command to its model (0.61.0). */
const wrapped = (text: string) =>
  `<untrusted_context>\nOutput: ${text}\nProcess Group PGID: 7\n</untrusted_context>`;
const HOOK = '\n\n<hook_context>&lt;record&gt;\nExit Code: 9\n&lt;/record&gt;</hook_context>';

describe('geminiCommandEnd()', () => {
  test('says the exit code and what was printed, also behind what hooks have added', () => {
    for (const behind of ['', HOOK, HOOK + HOOK])
      expect(geminiCommandEnd(`${wrapped('no rule\nExit Code: 2')}${behind}`)).toEqual({
        code: 2,
        printed: 'no rule',
      });
  });

  test('knows no failure where only the output speaks of one', () => {
    for (const behind of ['', HOOK])
      expect(geminiCommandEnd(`${wrapped('Exit Code: 2\nfine')}${behind}`).code).toBe(0);
  });

  test('knows the failure behind a long output, also one of lines that look like the end', () => {
    for (const line of ['x\n', '\nExit Code: 0', '\n</untrusted_context>', HOOK]) {
      const printed = `${line.repeat(2 ** 20 / line.length)}\nend`;
      const started = performance.now();
      const { code, printed: kept } = geminiCommandEnd(wrapped(`${printed}\nExit Code: 2`) + HOOK);
      expect({ code, isEnd: kept.endsWith('\nend'), length: kept.length }).toEqual({
        ...{ code: 2, isEnd: true, length: printed.length },
      });
      expect(performance.now() - started).toBeLessThan(1500);
    }
  });

  test('of any output gives that, and the code', () => {
    const line = fc.string().filter((text) => !/[\n\r]/.test(text) && text.trim() === text && text !== '');
    fc.assert(
      fc.property(line, fc.integer({ min: 1, max: 255 }), (printed, code) => {
        const end = { code, printed };
        expect(geminiCommandEnd(wrapped(`${printed}\nExit Code: ${code}`) + HOOK)).toEqual(end);
      }),
    );
  });
});
