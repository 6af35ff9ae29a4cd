import { describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandsPage } from '../../../scripts/reference/commands-page.ts';
import { manPage } from '../../../scripts/reference/man-page.ts';
import { programReference } from '../../../scripts/reference/program.ts';
import { settingsPage } from '../../../scripts/reference/settings-page.ts';
import { referencePages } from '../../../scripts/reference/write-pages.ts';
import { withSubcommands } from '../../../src/cli/completion/reference.ts';
import { CONFIG_FIELDS } from '../../../src/settings/all-settings.ts';
import { call } from '../../cli/call.ts';
import { temporaryHome } from '../../support/home.ts';
import { canRun, DIST, notTested, ROOT } from '../../support/program.ts';

const PROGRAM = programReference();
const COMMANDS = withSubcommands(PROGRAM).filter(({ path }) => path.length > 0);
const HOW = 'Write it anew: npm run docs';

/** Headings of commands that are missing, and those of none. */
function wrongHeadings(page: string): string[] {
  const found = [...page.matchAll(/^##+ (self-generation .+)$/gm)].map(([, name = '']) => name);
  const wanted = COMMANDS.map(({ path }) => ['self-generation', ...path].join(' '));
  return [...new Set(wanted).symmetricDifference(new Set(found))];
}

describe('the pages that `npm run docs` writes', () => {
  for (const [path, text] of Object.entries(referencePages()))
    test(`${path} is up to date`, () => expect(readFileSync(join(ROOT, path), 'utf8'), HOW).toBe(text));

  test('have each command that --help names, and no other', async () => {
    const page = commandsPage(PROGRAM);
    expect(wrongHeadings(page)).toEqual([]);
    expect(COMMANDS.length).toBeGreaterThan(50);
    using home = temporaryHome();
    const { stdout } = await call(home, ['--help']);
    const [, listed = ''] = stdout.split('\nCommands:\n');
    const names = [...listed.matchAll(/^ {2}([a-z]\S*)/gm)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'help');
    expect(names).toEqual(PROGRAM.commands.map(({ path }) => path.join(' ')));
    expect(wrongHeadings(page.replace('### self-generation errors show\n', ''))).toEqual([
      'self-generation errors show',
    ]);
    expect(wrongHeadings(`${page}\n## self-generation gone\n`)).toEqual(['self-generation gone']);
  });

  test('have what the help says: arguments, options, choices, examples, exit codes', () => {
    const page = commandsPage(PROGRAM);
    const [, section = ''] = page.split('## self-generation apply\n');
    for (const part of [
      '| `ID\\|N` | the beginning of its id',
      '| `--client <NAME>` | a rule or a skill: for this client alone; one of claude, codex, gemini, opencode |',
      '\n$ self-generation apply ',
      '\nExit codes: 0 ',
    ])
      expect(section.split('\n## ')[0]).toContain(part);
    expect(page).not.toContain('Usage:');
    expect(page).not.toContain('self-generation complete ');
  });

  test('have each setting once, in the table of its section', () => {
    const page = settingsPage(CONFIG_FIELDS);
    const keys = [...page.matchAll(/^\| `([\w.]+)` \| `(.*?)` \|/gm)].map(([, key, standard]) => [
      key,
      standard,
    ]);
    const expected = CONFIG_FIELDS.map((field) => [field.key, JSON.stringify(field.default)]);
    expect(keys.toSorted()).toEqual(expected.toSorted() as typeof keys);
    expect(page).toContain('\n## `proof`\n');
    const others = settingsPage(CONFIG_FIELDS.filter(({ key }) => key !== 'retentionDays'));
    expect(others).not.toContain('retentionDays');
  });

  test('have rows of as many cells as their heads', () => {
    const cellsOf = (line: string) => line.replaceAll('\\|', '').split('|').length;
    const uneven = (page: string) => {
      const lines = page.split('\n');
      return lines.filter((line, at) => {
        const before = lines[at - 1];
        return line.startsWith('|') && before?.startsWith('|') && cellsOf(line) !== cellsOf(before);
      });
    };
    for (const page of Object.values(referencePages())) expect(uneven(page)).toEqual([]);
    expect(uneven('| a | b |\n|---|---|\n| x|y | z |')).toEqual(['| x|y | z |']);
  });
});

describe('the man page', () => {
  const page = manPage(PROGRAM, '1.2.3');
  /** What a program says of a page; its exit code first where it fails. */
  function saidOf(text: string, ...command: string[]): string {
    const folder = mkdtempSync(join(tmpdir(), 'self-generation-man-'));
    const file = join(folder, 'self-generation.1');
    writeFileSync(file, text);
    const env = { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8', MANROFFSEQ: '' };
    const { exitCode, stdout, stderr } = Bun.spawnSync([...command, file], { env });
    rmSync(folder, { recursive: true });
    return `${exitCode === 0 ? '' : `${exitCode} `}${stderr}${stdout}`;
  }
  const isMissing = (...command: string[]) =>
    !canRun(command) && notTested('the man page', `there is no ${command[0]}`);

  test('is what groff reads without a warning', () => {
    if (isMissing('groff', '--version')) return;
    expect(saidOf(page, 'groff', '-man', '-ww', '-Tutf8', '-z')).toBe('');
    expect(saidOf(`${page}.frobnicate\n`, 'groff', '-man', '-ww', '-Tutf8', '-z')).toContain('frobnicate');
  });

  test('is found by its name and its line', () => {
    if (isMissing('lexgrog', '--version')) return;
    expect(saidOf(page, 'lexgrog')).toContain('"self-generation - gives sub-agents');
    expect(saidOf(page.replace('.SH NAME', '.SH TITLE'), 'lexgrog')).toContain('parse failed');
  });

  test('shows each command, and texts as they are', () => {
    if (isMissing('man', '--version')) return;
    const shown = saidOf(page, 'man', '--warnings', '-l').replace(/.\u0008|\u001b\[[\d;]*m/g, '');
    expect(shown).toStartWith('SELF-GENERATION(1)');
    const headings = [...shown.matchAll(/^ {3}(self-generation .+)$/gm)].map(([, name = '']) => name);
    expect(headings).toEqual(COMMANDS.map(({ path }) => ['self-generation', ...path].join(' ')));
    expect(shown).toContain('$ self-generation errors search 모듈 --open');
    expect(shown).toContain(`'["general-purpose", "reviewer"]'`);
    expect(shown).toMatch(/self-generation 1\.2\.3/);
  });

  test('takes nothing for a request that begins a line, and no character for an escape', () => {
    const details = { notes: ['.so /etc/passwd', "'br \\fBx"], examples: '  .x\n  \n  \\n', exitCodes: '' };
    const odd = manPage({ ...PROGRAM, details, commands: [] }, '1');
    expect(odd).toContain('\n\\&.so /etc/passwd\n');
    expect(odd).toContain('\n\\(aqbr \\efBx\n');
    expect(odd).toContain('\n\\&.x\n\\&\n\\en\n');
  });

  test('is the same each time, and that of the build', () => {
    expect(manPage(programReference(), '1.2.3')).toBe(page);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(readFileSync(join(DIST, 'self-generation.1'), 'utf8')).toBe(manPage(PROGRAM, version));
  });
});
