import { readdirSync, readFileSync } from 'node:fs';
import { ROOT } from '../support/program.ts';

/** What people read, and the parts of it that tests look at. */

/** The pages that tell a user what to type, as paths from the repository's root. */
export const USER_PAGES: readonly string[] = [
  'README.md',
  'README.ko.md',
  'CONTRIBUTING.md',
  ...readdirSync(`${ROOT}/docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The text of a page. @throws Error when there is none. */
export function readPage(file: string): string {
  return readFileSync(`${ROOT}/${file}`, 'utf8');
}

/** The contents of all fenced blocks of a language. */
export function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    (match) => match[1] ?? '',
  );
}

/** The commands of all `sh` blocks as they are typed, without comments. */
export function shellLines(markdown: string): string[] {
  return blocks(markdown, 'sh')
    .flatMap((block) => block.split('\n'))
    .flatMap((line) => line.replace(/(?:^|\s)#.*$/, '').split(/&&| \| /))
    .map((command) => command.trim())
    .filter((command) => command !== '');
}

/** Whether a line calls this program. */
export function isOurs(line: string): boolean {
  return /^(?:dist\/)?self-generation(?: |$)/.test(line);
}

/** The first two cells of each row of the table whose head begins with this cell, without backticks. */
export function table(markdown: string, firstCell: string): [first: string, second: string][] {
  const [, rows = ''] = markdown.split(new RegExp(`^\\| ${firstCell} \\|.*\\n\\|[-|]+\\|\\n`, 'm'));
  return rows
    .slice(0, rows.search(/^(?!\|)/m))
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')))
    .map(([, first = '', second = '']) => [first, second]);
}
