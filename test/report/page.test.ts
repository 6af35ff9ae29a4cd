import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { PAGE_START, pageHtml } from '../../src/report/page.ts';

const ASSETS = { script: 'start()', style: 'p{color:red}' };
const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

describe('pageHtml()', () => {
  test('allows its own code and styles by their hashes, and nothing else', () => {
    const html = pageHtml('{}', 'en', ASSETS);
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    expect(policy).toBe(
      `default-src 'none'; script-src ${hash(ASSETS.script)}; style-src ${hash(ASSETS.style)}; base-uri 'none'; form-action 'none'`,
    );
    // Behind the policy, or it would not hold for them.
    expect(html.indexOf('Content-Security-Policy')).toBeLessThan(html.indexOf('<style>'));
  });

  test('begins as a page of ours, in its language', () => {
    expect(pageHtml('{}', 'ko', ASSETS)).toStartWith(`${PAGE_START}<html lang="ko">`);
  });

  for (const json of ['{"a":"<b>"}', '"\u2028"', '"\u2029"', '"</script>"']) {
    test(`refuses ${JSON.stringify(json)}, which is not escaped`, () => {
      expect(() => pageHtml(json, 'en', ASSETS)).toThrow('it is not escaped');
    });
  }
});
