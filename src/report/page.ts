import { createHash } from 'node:crypto';
import type { Language } from '../core/told-texts.ts';

/** The HTML file around the value that it shows. */

/** The code of the page and its styles, neither of which has anything of the user's in it. */
export type PageAssets = { readonly script: string; readonly style: string };

declare const SELF_GENERATION_REPORT_PAGE: PageAssets | undefined;

/** Written in by the build; undefined in a program that runs from its source. */
export const PAGE_ASSETS: PageAssets | undefined =
  typeof SELF_GENERATION_REPORT_PAGE === 'object' ? SELF_GENERATION_REPORT_PAGE : undefined;

/** How a page of ours begins: a file that begins so may be written over. */
export const PAGE_START = '<!doctype html>\n<!-- self-generation report -->\n';

const NO_SCRIPT = {
  en: 'This page draws its tables and charts itself: allow JavaScript for this file. It loads nothing from anywhere.',
  ko: '이 페이지는 표와 차트를 스스로 그립니다. 이 파일에 JavaScript를 허용하세요. 외부에서 불러오는 것은 없습니다.',
};

/**
 * One document that loads nothing. `json`: the value that it shows, in which no `<` and no separator of lines stands as itself.
 * Its policy allows the two assets by their hashes, and nothing else that is code, style or loaded.
 */
export function pageHtml(json: string, language: Language, { script, style }: PageAssets): string {
  if (/[<\u2028\u2029]/.test(json)) throw new Error('Cannot put the value into a page: it is not escaped');
  const policy = [
    "default-src 'none'",
    ...[`script-src '${hashOf(script)}'`, `style-src '${hashOf(style)}'`],
    ...["base-uri 'none'", "form-action 'none'"],
  ].join('; ');
  return `${PAGE_START}<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>self-generation</title>
<style>${style}</style>
</head>
<body>
<noscript>${NO_SCRIPT[language]}</noscript>
<script type="application/json" id="report">${json}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
