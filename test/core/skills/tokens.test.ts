import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { readTokens } from '../../../src/core/skills/tokens.ts';

function show(text: string): string {
  return readTokens(text)
    .map(({ is, text, isGlued }) => `${isGlued ? '+' : ''}${is[0]}:${text}`)
    .join(' ');
}

const ROWS: [what: string, text: string, expected: string][] = [
  ['words', 'Deploy it', 'e:deploy e:it'],
  ['Korean behind English', 'release를 해줘', 'e:release +k:를 k:해줘'],
  ['breaks', 'fix it, now.', 'e:fix e:it +b:, e:now +b:.'],
  ['parts of a word with hyphens', 'a pre-prod box', 'e:a e:pre e:prod e:box'],
  ['two known words with a slash', 'request/response', 'e:request e:response'],
  ['paths and files', 'in src/core/a.ts and deploy.yml', 'e:in n:src/core/a.ts e:and n:deploy.yml'],
  [
    'identifiers',
    'call formatPrice, last_login and --dry-run',
    'e:call n:formatprice +b:, n:last_login e:and e:dry e:run',
  ],
  ['known names in any case', 'OpenAPI TypeScript k8s', 'e:openapi e:typescript e:k8s'],
  ['numbers and versions', '22 v2.3.1', 'n:22 n:v2.3.1'],
  ['methods of HTTP', 'POST /orders', 'e:http_method n:/orders'],
  ['possessives', "the team's rules", 'e:the e:team e:rules'],
];
for (const [what, text, expected] of ROWS) {
  test(`readTokens() reads ${what}`, () => {
    expect(show(text)).toBe(expected);
  });
}

test('readTokens() never throws and is bounded', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      expect(readTokens(text).length).toBeLessThanOrEqual(3000);
    }),
  );
  expect(readTokens('a '.repeat(10_000)).length).toBeLessThanOrEqual(3000);
});
