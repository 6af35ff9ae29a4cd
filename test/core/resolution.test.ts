import { expect, test } from 'bun:test';
import { resolutionSummary, resolutionText } from '../../src/core/resolution.ts';

const texts: [resolution: string, text: string, summary: string | undefined][] = [
  ['{"summary":"edited a.ts"}', 'edited a.ts', 'edited a.ts'],
  ['{"summary":"","resolvedBy":"user"}', 'user', undefined],
  ['{"summary":5,"resolvedBy":"user"}', 'user', undefined],
  ['{"resolvedBy":"x","toolSequence":["Bash","Edit"]}', 'x: Bash → Edit', undefined],
  ['{"toolSequence":["Bash","Edit"]}', 'Bash → Edit', undefined],
  ['{"resolvedBy":"x","toolSequence":[]}', 'x', undefined],
  ['{"other":1}', '{"other":1}', undefined],
  ['reinstall the package', 'reinstall the package', undefined],
  ['["a"]', '["a"]', undefined],
  ['null', 'null', undefined],
  ['', '', undefined],
  ['{"__proto__":{"summary":"x"}}', '{"__proto__":{"summary":"x"}}', undefined],
];
for (const [resolution, text, summary] of texts) {
  test(`resolutionText() gives ${text} when the column has ${resolution}`, () => {
    expect(resolutionText(resolution)).toBe(text);
  });
  test(`resolutionSummary() gives ${summary} when the column has ${resolution}`, () => {
    expect(resolutionSummary(resolution)).toBe(summary);
  });
}
