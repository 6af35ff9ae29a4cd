import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withSettings } from '../scripts/readme-tables.ts';
import { HOOKS, hooksIn } from '../src/hooks/hooks.ts';
import { teamOf } from '../src/orchestrate/team.ts';
import { asAbove } from '../src/prune/placeholder.ts';
import { CONFIG_FIELDS, loadRunConfig } from '../src/settings/all-settings.ts';
import { type Home, temporaryHome } from './support/home.ts';
import { contextOf, type ProcessResult, runProgram } from './support/hook-process.ts';
import { agentStart } from './support/payloads.ts';
import { BINARY, DIST, ROOT } from './support/program.ts';
import { seedErrors } from './support/seed.ts';

/** What the READMEs tell their readers to type, typed; what they list, compared with what is. */

const README = read('README.md');
const BOTH = { 'README.md': README, 'README.ko.md': read('README.ko.md') };
const PACKAGE = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

function read(file: string): string {
  return readFileSync(`${ROOT}/${file}`, 'utf8');
}

function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    (match) => match[1] ?? '',
  );
}

/** The commands of all `sh` blocks, each as its words. */
function shellCommands(markdown: string): string[][] {
  return blocks(markdown, 'sh')
    .flatMap((block) => block.split('\n'))
    .flatMap((line) => line.replace(/(?:^|\s)#.*$/, '').split('&&'))
    .map((command) => command.trim().split(/\s+/))
    .filter(([program]) => program !== '');
}

const isOurs = ([program = '']: readonly string[]) => /^(?:dist\/)?self-generation$/.test(program);

/** Scripts of npm's own names, and what needs none. */
function npmScript([, subcommand = '', name = '']: readonly string[]): string | undefined {
  if (subcommand === 'ci') return undefined;
  return subcommand === 'run' ? name : subcommand;
}

/** The commands that the program does not have, or npm, or that are neither. */
async function wrongCommands(markdown: string): Promise<string[]> {
  const wrong: string[] = [];
  using home = temporaryHome();
  for (const words of shellCommands(markdown)) {
    const script = words[0] === 'npm' ? npmScript(words) : undefined;
    if (words[0] === 'npm' && (script === undefined || PACKAGE.scripts[script] !== undefined)) continue;
    if (isOurs(words) && (await hasHelp(home, words.slice(1)))) continue;
    if (words[0] === 'sh' && isExplained(words.slice(1))) continue;
    wrong.push(words.join(' '));
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

/** Keys and second cells of the table under this heading. */
function table(markdown: string, firstCell: string): [first: string, second: string][] {
  return rowsOf(markdown, firstCell).map(([first = '', second = '']) => [first, second]);
}

/** The cells of each row, without the backticks around one. */
function rowsOf(markdown: string, firstCell: string): string[][] {
  const [, rows = ''] = markdown.split(new RegExp(`^\\| ${firstCell} \\|.*\\n\\|[-|]+\\|\\n`, 'm'));
  return rows
    .slice(0, rows.search(/^(?!\|)/m))
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')))
    .map(([, ...cells]) => cells);
}

describe('the shell blocks', () => {
  for (const [file, markdown] of Object.entries(BOTH)) {
    test(`of ${file} name scripts and commands that there are`, async () => {
      expect(shellCommands(markdown).length).toBeGreaterThan(6);
      expect(await wrongCommands(markdown)).toEqual([]);
    });
  }

  test('of both are the same commands', () => {
    expect(shellCommands(BOTH['README.ko.md'])).toEqual(shellCommands(README));
  });

  test('would be found out: scripts, commands and flags that there are not', async () => {
    const markdown = [
      '```sh\nnpm ci && npm run one # now\nnpm run build\n\ndist/self-generation frobnicate\n```',
      '```sh\nself-generation doctor --fast\nself-generation uninstall --purge   # x\nmake all\nnpm start\n```',
      '```sh\nsh install.sh --from .\nsh install.sh --sudo\nsh other.sh\n```',
    ].join('\n');
    expect(await wrongCommands(markdown)).toEqual([
      'npm run one',
      'dist/self-generation frobnicate',
      'self-generation doctor --fast',
      'make all',
      'npm start',
      'sh install.sh --sudo',
      'sh other.sh',
    ]);
  });
});

/** Runs the program in this home, with a client that only knows its version. */
function runIn(home: Home, ...words: string[]): Promise<ProcessResult> {
  chmodSync(home.put('bin/claude', '#!/bin/sh\necho "2.1.328 (Claude Code)"\n'), 0o755);
  return runProgram([BINARY, ...words], { home: home.path, env: { PATH: `${home.path}/bin` } });
}

test('the harmless commands of the READMEs end with 0 in the order of a first day', async () => {
  using home = temporaryHome();
  const day = [['install'], ['doctor'], ['status'], ['config'], ['uninstall']];
  day.push(
    ['install', '--no-gemini', '--opencode'],
    ['install', '--opencode'],
    ['stats'],
    ['uninstall', '--purge'],
    ['uninstall', '--purge', '--yes'],
  );
  for (const words of day) {
    expect(README).toMatch(new RegExp(`self-generation ${words[0]}`));
    if (words[1] !== undefined) expect(README).toContain(`self-generation ${words.join(' ')}`);
    const result = await runIn(home, ...words);
    expect([result.exitCode, result.stderr], words.join(' ')).toEqual([0, '']);
  }
  const typed = shellCommands(README).filter(isOurs);
  const ofAgents = [
    'subagents',
    'explore',
    'plan',
    'run',
    'steer',
    'queue',
    'memory',
    'orchestrate',
    'worklog',
  ];
  for (const [, ...words] of typed) if (!ofAgents.includes(words[0] ?? '')) expect(day).toContainEqual(words);
});

test('the placeholder that the READMEs show is what stands in place of a result', () => {
  const call = {
    id: 'c',
    tool: 'read',
    input: { filePath: 'src/fifo.v' },
    state: 'done',
    output: '',
  } as const;
  for (const markdown of [...Object.values(BOTH), read('docs/pruning.md')])
    expect(markdown).toContain(`\n${asAbove(call)}\n`);
});

test('the example of a background sub-agent ends with its result', async () => {
  const [example = '', ...others] = blocks(README, 'sh').filter((block) => block.includes('subagents spawn'));
  expect(others).toEqual([]);
  using home = temporaryHome();
  home.put('project/AGENTS.md', 'Be careful.');
  const result = await runProgram(['sh', '-ec', example], {
    home: home.path,
    cwd: `${home.path}/project`,
    env: { PATH: `${DIST}:${ROOT}/test/fixtures/bin:${ROOT}/node_modules/.bin:${process.env.PATH}` },
  });
  expect(result.exitCode).toBe(0);
  expect(result.stderr).toMatch(/^(?:waiting: #1 \w+ \(lint\)\n)*$/);
  expect(result.stdout).toMatch(/\n1\) success · lint · [^\n]+\n[^\n]+\n$/);
}, 30_000);

test('the example of exploring and planning ends with a plan of three versions', async () => {
  const [example = '', ...others] = blocks(README, 'sh').filter((block) =>
    block.includes('generation explore'),
  );
  expect(others).toEqual([]);
  using home = temporaryHome();
  home.put('project/AGENTS.md', 'Be careful.');
  const result = await runProgram(['sh', '-ec', example], {
    home: home.path,
    cwd: `${home.path}/project`,
    env: { PATH: `${DIST}:${ROOT}/test/fixtures/bin:${ROOT}/node_modules/.bin:${process.env.PATH}` },
  });
  expect(result.exitCode).toBe(0);
  expect(result.stdout).toStartWith('=== EXPLORATION RESULTS ===\nthe work is done\n=====');
  expect(result.stdout.match(/=== IMPLEMENTATION PLAN ===/g)).toHaveLength(2);
  // The draft, what it lacked, and what was said of it.
  expect(result.stdout).toMatch(
    /\n\w{8} +draft +3 +(?:just now|\d+ s ago) +Expire sessions after 30 days\.\n$/,
  );
}, 30_000);

test('the examples of a team in the settings are one', () => {
  for (const markdown of Object.values(BOTH)) {
    const [example = '', ...others] = blocks(markdown, 'json5');
    expect(others).toEqual([]);
    using home = temporaryHome();
    home.put('.self-generation/config.json', example);
    const config = loadRunConfig(home.paths);
    const team = config.kind === 'refused' ? [] : teamOf(config.settings);
    expect(team.map(({ name, role }) => `${name} ${role}`)).toEqual(['server backend', 'manual docs']);
  }
});

test("the entry for one's own settings answers SubagentStart once the program is installed", async () => {
  const [example = '', ...others] = blocks(README, 'json');
  expect(others).toEqual([]);
  const settings = JSON.parse(example) as Settings;
  expect(Object.keys(settings.hooks)).toEqual(['SubagentStart']);
  const [{ hooks = [] } = {}] = settings.hooks.SubagentStart ?? [];
  const [{ type, command, timeout } = { type: '', command: '', timeout: 0 }] = hooks;
  const registered = HOOKS.find((hook) => hook.event === 'SubagentStart');
  expect({ type, timeout }).toEqual({ type: 'command', timeout: registered?.timeoutSeconds ?? 0 });

  using home = temporaryHome();
  expect(await runIn(home, 'install')).toMatchObject({ exitCode: 0 });
  seedErrors(home.paths, [{ error: 'a well-known error' }]);
  const line = command.replaceAll('$HOME', home.path);
  expect(line).not.toContain('$');
  const stdin = JSON.stringify(agentStart('executor'));
  expect(contextOf(await runProgram(['sh', '-c', line], { home: home.path, stdin }))).toContain(
    'a well-known error',
  );
  // As the client runs it: the shell puts in the home directory.
  expect(contextOf(await runProgram(['sh', '-c', command], { home: home.path, stdin }))).toContain(
    'a well-known error',
  );
});

type Settings = {
  readonly hooks: Record<
    string,
    readonly { readonly hooks: readonly { type: string; command: string; timeout: number }[] }[]
  >;
};

describe('the tables', () => {
  const settings = CONFIG_FIELDS.map((field): [string, string] => [field.key, JSON.stringify(field.default)]);

  test('of settings are what `npm run docs` writes', () => {
    expect(README).toBe(withSettings(README));
    expect(table(README, 'setting')).toEqual(settings);
  });

  test('of settings are written anew where a row is missing or says something else', () => {
    const lines = README.split('\n');
    const row = lines.findIndex((line) => line.startsWith('| `retentionDays`'));
    const shorter = lines.toSpliced(row, 1).join('\n');
    const other = lines.with(row, '| `retentionDays` | `9` | x | y |').join('\n');
    for (const changed of [shorter, other]) {
      expect(changed).not.toBe(README);
      expect(withSettings(changed)).toBe(README);
    }
    expect(() => withSettings('no table')).toThrow('one table of settings');
  });

  test('of settings in Korean are some of them', () => {
    const rows = table(BOTH['README.ko.md'], '설정');
    expect(rows.length).toBeGreaterThan(4);
    expect(settings).toEqual(expect.arrayContaining(rows));
  });

  test('of hooks are those of the program, with their events', () => {
    expect(table(README, 'hook')).toEqual(
      hooksIn('session').map(({ name, event }): [string, string] => [name, event]),
    );
  });

  test('of commands are the same in both languages, and there is help for each', async () => {
    const commandsIn = (markdown: string, heading: string) =>
      table(markdown, heading).map(([first]) => first);
    const commands = commandsIn(README, 'command');
    expect(commands).toEqual(commandsIn(BOTH['README.ko.md'], '명령'));
    expect(commands.length).toBeGreaterThan(5);
    using home = temporaryHome();
    for (const command of commands) {
      const name = command.split(' ')[1] ?? '';
      expect(await hasHelp(home, [name]), command).toBe(true);
    }
  });

  test('would be found out: one that lacks a row or says another default', () => {
    const markdown =
      'x\n\n| setting | default | meaning |\n|---|---|---|\n| `a` | `1` | x |\n| `b` | `[]` | y |\n\n| z |';
    expect(table(markdown, 'setting')).toEqual([
      ['a', '1'],
      ['b', '[]'],
    ]);
    expect(table(markdown, 'hook')).toEqual([['', '']]);
  });
});
