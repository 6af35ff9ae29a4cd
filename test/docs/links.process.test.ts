import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ROOT } from '../support/program.ts';
import { readPage } from './pages.ts';

/** Every relative link and anchor of the committed documents leads somewhere. */

const FILES = Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
})
  .stdout.toString()
  .split('\n')
  .filter((file) => file !== '' && !file.startsWith('test/fixtures/') && existsSync(join(ROOT, file)));

const withoutCode = (markdown: string) => markdown.replace(/^```[\s\S]*?^```/gm, '');

/** The anchors of its headings, as GitHub makes them. */
function anchorsOf(markdown: string): string[] {
  const counts = new Map<string, number>();
  return [...withoutCode(markdown).matchAll(/^#{1,6} +(.*)$/gm)].map(([, heading = '']) => {
    const plain = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const before = counts.get(anchor) ?? 0;
    counts.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}

/** The links of a document that lead nowhere. `textOf` gives undefined for a file that there is not. */
function brokenLinks(file: string, textOf: (path: string) => string | undefined): string[] {
  const text = withoutCode(textOf(file) ?? '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''));
  const links = [...text.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)];
  return links
    .map(([, first, second]) => first ?? second ?? '')
    .filter((link) => !/^[a-z]+:/i.test(link))
    .filter((link) => {
      const [path = '', anchor] = decodeURI(link).split('#');
      const target = path === '' ? file : normalize(join(dirname(file), path));
      const there = textOf(target.replace(/\/$/, ''));
      if (there === undefined) return true;
      return anchor !== undefined && !anchorsOf(there).includes(anchor);
    })
    .map((link) => `${file}: ${link}`);
}

function textInRepository(path: string): string | undefined {
  if (path.endsWith('.md') && existsSync(join(ROOT, path))) return readPage(path);
  return existsSync(join(ROOT, path)) ? '' : undefined;
}

test('every relative link and anchor of the documents leads somewhere', () => {
  expect(FILES.length).toBeGreaterThan(20);
  expect(FILES).toEqual(expect.arrayContaining(['README.md', 'docs/README.md', 'docs/design/runs.md']));
  expect(FILES.flatMap((file) => brokenLinks(file, textInRepository))).toEqual([]);
});

test('would be found out: a file, an anchor and a picture that there are not', () => {
  const texts: Record<string, string> = {
    'a.md': [
      '# One: `two`, three',
      '[x](docs/b.md) [x](docs/b.md#다른-것) [x](#one-two-three) [x](https://example.com/no) `[x](code.md)`',
      '```\n[x](block.md)\n# Not a heading\n```',
      '[gone](gone.md) [x](docs/b.md#gone) [x](#not-a-heading) ![x](docs/x.png) <img src="docs/y.svg">',
    ].join('\n'),
    'docs/b.md': '## 다른 것\n[up](../a.md) [x](a.md)',
  };
  const found = Object.keys(texts).flatMap((file) => brokenLinks(file, (path) => texts[path]));
  expect(found).toEqual([
    'a.md: gone.md',
    'a.md: docs/b.md#gone',
    'a.md: #not-a-heading',
    'a.md: docs/x.png',
    'a.md: docs/y.svg',
    'docs/b.md: a.md',
  ]);
});
