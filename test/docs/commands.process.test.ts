import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hooksIn } from '../../src/hooks/hooks.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';
import { BINARY, ROOT } from '../support/program.ts';
import { isOurs, readPage, shellLines, table, USER_PAGES } from './pages.ts';

/** What the pages tell their readers to type is there, with its flags. */

const PACKAGE = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };

/** Scripts of npm's own names, and what needs none. */
function npmScript([, subcommand = '', name = '']: readonly string[]): string | undefined {
  if (subcommand === 'ci') return undefined;
  return subcommand === 'run' ? name : subcommand;
}

/** The commands that the program does not have, or npm, or that are neither. */
async function wrongCommands(markdown: string): Promise<string[]> {
  const wrong: string[] = [];
  using home = temporaryHome();
  for (const line of shellLines(markdown)) {
    const words = line.split(/\s+/);
    const script = words[0] === 'npm' ? npmScript(words) : undefined;
    if (words[0] === 'npm' && (script === undefined || PACKAGE.scripts[script] !== undefined)) continue;
    if (isOurs(line) && (await hasHelp(home, words.slice(1)))) continue;
    if (words[0] === 'sh' && isExplained(words.slice(1))) continue;
    wrong.push(line);
  }
  return wrong;
}

/** Whether there is such a script, and its first lines show these flags. */
function isExplained([name = '', ...words]: readonly string[]): boolean {
  const path = join(ROOT, 'scripts', name);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const flags = words.filter((word) => word.startsWith('-'));
  return flags.every((flag) => text.includes(`#   sh ${name} ${flag} `)) && text !== '';
}

async function hasHelp(home: Home, words: readonly string[]): Promise<boolean> {
  const { exitCode, stdout } = await runProgram([BINARY, ...words, '--help'], { home: home.path });
  const flags = words.filter((word) => word.startsWith('-'));
  // For a word that it does not know the program shows its own help.
  const isItsOwn = stdout.startsWith(['Usage: self-generation', ...words.slice(0, 1)].join(' '));
  return exitCode === 0 && isItsOwn && flags.every((flag) => stdout.includes(` ${flag} `));
}

describe('the shell blocks', () => {
  for (const file of USER_PAGES) {
    test(`of ${file} name scripts and commands that there are`, async () =>
      expect(await wrongCommands(readPage(file))).toEqual([]));
  }

  test('are found, in most pages', () => {
    const withCommands = USER_PAGES.filter((file) => shellLines(readPage(file)).length > 0);
    expect(withCommands.length).toBeGreaterThan(8);
    expect(shellLines(readPage('README.md')).length).toBeGreaterThan(6);
  });

  test('of both READMEs are the same commands', () =>
    expect(shellLines(readPage('README.ko.md'))).toEqual(shellLines(readPage('README.md'))));

  test('would be found out: scripts, commands and flags that there are not', async () => {
    const markdown = [
      '```sh\nnpm ci && npm run one # now\nnpm run build\n\ndist/self-generation frobnicate\n```',
      '```sh\nself-generation doctor --fast\nself-generation uninstall --purge   # x\nmake all\nnpm start\n```',
      '```sh\nsh install.sh --from .\nsh install.sh --sudo\nsh other.sh\nnpm test | self-generation rum x\n```',
    ].join('\n');
    expect(await wrongCommands(markdown)).toEqual([
      'npm run one',
      'dist/self-generation frobnicate',
      'self-generation doctor --fast',
      'make all',
      'npm start',
      'sh install.sh --sudo',
      'sh other.sh',
      'self-generation rum x',
    ]);
  });
});

describe('the table of hooks', () => {
  test('has those of the program, with their events', () =>
    expect(table(readPage('docs/learning.md'), 'hook')).toEqual(
      hooksIn('session').map(({ name, event }): [string, string] => [name, event]),
    ));

  test('would be found out: one that is not there', () => {
    const markdown = 'x\n\n| hook | when |\n|---|---|\n| `a` | b |\n\n| z |';
    expect(table(markdown, 'hook')).toEqual([['a', 'b']]);
    expect(table(markdown, 'event')).toEqual([['', '']]);
  });
});
