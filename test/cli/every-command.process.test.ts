import { afterAll, describe, expect, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { type CliContext, newCommand } from '../../src/cli/context.ts';
import { program } from '../../src/cli/run.ts';
import { wrapped } from '../../src/cli/terminal/width.ts';
import { inParallel, type ProcessResult, runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';
import { seedErrors, seedFixes } from '../support/seed.ts';
import { RULE, SKILL, seedSuggestion } from '../support/suggestions.ts';
import { startOnTerminal } from '../support/terminal.ts';
import { callHere } from './call.ts';
import { newShelf } from './subagents/shelf.ts';

/**
 * What holds for every command: its help, wrong calls, errors as JSON, a narrow terminal, a pipe, NO_COLOR. The commands are
 * those of the program's own tree. Each check is a function that names what is wrong, and is shown to find a fault.
 */

/** How a command is called so that it starts nothing and asks nobody; where there is no row, without a word behind it. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  install: ['--dry-run'],
  update: ['--check', '--from', '/nowhere'],
  uninstall: ['--dry-run'],
  analyze: ['--answer', '/nowhere'],
  apply: ['99'],
  completions: ['bash'],
  import: ['--dry-run'],
  orchestrate: ['--explain', 'Rename the function'],
  worklog: ['--list'],
  hook: ['nosuch'],
  mcp: ['nosuch'],
  'suggestions show': ['1'],
  'config get': ['language'],
  'errors search': ['port'],
  'errors show': ['1'],
  'subagents info': ['1'],
  'subagents log': ['1'],
  'subagents wait': ['all'],
};

/** They have no result as JSON: a client is their only reader. */
const WITHOUT_JSON = ['hook', 'mcp'];
const COLUMNS = 40;
const LANES = 4;

/** All but the one that shells ask for words, which is hidden and never fails. */
function pathsBelow(command: Command, path: readonly string[] = []): string[] {
  return command.commands
    .filter((one) => one.name() !== 'complete')
    .flatMap((one) => {
      const own = [...path, one.name()];
      return [own.join(' '), ...pathsBelow(one, own)];
    });
}

let tree: Command | undefined;
await callHere(
  (context) => {
    tree = program(context);
    return tree;
  },
  ['--version'],
);
const PATHS = tree === undefined ? [] : pathsBelow(tree);

test('every command of the tree is called', () => {
  expect(PATHS.length).toBeGreaterThan(70);
  expect(PATHS).toContain('subagents attach');
  expect(PATHS).toContain('mcp');
  for (const path of Object.keys(HARMLESS)) expect(PATHS).toContain(path);
});

const wordsOf = (path: string) => path.split(' ');
const called = (path: string) => [...wordsOf(path), ...(HARMLESS[path] ?? [])];

type Problems = readonly string[];

/** Runs a check on each command; the problems behind the name of each that has some. */
async function problemsOfAll(check: (path: string) => Promise<Problems>): Promise<string[]> {
  const found = await inParallel(PATHS, LANES, check);
  return found.flatMap((problems, index) => problems.map((problem) => `${PATHS[index]}: ${problem}`));
}

function inHelp(text: string, path: string): Problems {
  return [
    ...(text.includes('\nExamples:\n  $ self-generation ') ? [] : ['no examples']),
    ...(/^Exit codes: 0 |\bExit codes: 0 /m.test(text) ? [] : ['no exit codes']),
    ...(text.startsWith(`Usage: self-generation ${path}`) ? [] : ['is not called by its name']),
  ];
}

/** Exactly one document on standard output, nothing beside it; `error` in it where the code is not 0 and nothing else was said. */
function inJson({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }): Problems {
  let document: unknown;
  try {
    document = JSON.parse(stdout);
  } catch {
    return [`no JSON document: ${JSON.stringify(stdout.slice(0, 200))}`];
  }
  const { error, type } = document as { error?: Record<string, unknown>; type?: string };
  const isError = typeof error?.code === 'string' && typeof error.message === 'string';
  return [
    ...(code !== 0 && !isError ? [`no error beside the exit code ${code}`] : []),
    ...(code === 0 && type === 'error' ? ['an error without an exit code'] : []),
    ...(isError && stderr !== '' ? [`the error is repeated: ${stderr}`] : []),
  ];
}

function inWrongCall(
  { code, stdout, stderr }: { code: number; stdout: string; stderr: string },
  path: string,
): Problems {
  const expected = path === 'hook' ? 1 : 2;
  return [
    ...(code === expected ? [] : [`ends with ${code}`]),
    ...(stdout === '' ? [] : ['speaks on standard output']),
    ...(/\nSee "self-generation .*--help"\.\n$|^⚙️ Usage: /.test(stderr) ? [] : [`no hint: ${stderr}`]),
  ];
}

/** A word is never broken: it may be a path that somebody copies; and a patch stays as it is. */
function inWidth(text: string, columns: number): Problems {
  const shown = text.replaceAll(PROGRESS, '\n').replaceAll('\r', '');
  const isOurs = (line: string) => /\S +\S/.test(line) && !/^(?:\+\+\+|---) /.test(line);
  const lines = stripVTControlCharacters(shown).split('\n').filter(isOurs);
  const tooWide = lines.filter((line) => Bun.stringWidth(line) > columns);
  return tooWide.map((line) => `${Bun.stringWidth(line)} columns: ${line}`);
}

/** What replaces the line of progress. */
const PROGRESS = '\r\x1b[K';

const inColours = (text: string): Problems => (text.includes('\x1b') ? ['colours or control sequences'] : []);

/** Of a pipe whose reader leaves after a line: what else is said than without it. */
function inPipe(piped: ProcessResult, whole: ProcessResult): Problems {
  const first = whole.stdout.slice(0, whole.stdout.indexOf('\n') + 1);
  return [
    ...(piped.stderr === whole.stderr ? [] : [`noise: ${piped.stderr}`]),
    ...(piped.stdout === first ? [] : [`another line: ${piped.stdout}`]),
    ...(piped.exitCode === 0 ? [] : [`ends with ${piped.exitCode}`]),
  ];
}

const shelf = newShelf({ language: 'en' });
afterAll(() => shelf[Symbol.dispose]());
const own = { project: 'project', projectPath: shelf.project };
seedSuggestion(shelf.home, RULE, own);
seedSuggestion(shelf.home, SKILL, own);
const long = 'Cannot listen on port 3000, because another program has it already: 포트가 이미 사용 중입니다';
seedErrors(shelf.home.paths, [{ error: `Error: ${long}`, projectPath: shelf.project }]);
seedFixes(shelf.home.paths, [
  {
    error: `Error: ${long}`,
    resolution: 'set PORT in .env.local, then "npm test"',
    projectPath: shelf.project,
  },
]);
shelf.end(shelf.start({ label: '긴 이름의 작업, and a rather long name in two scripts' }));

const environment = { TZ: 'UTC', LANG: 'C.UTF-8', PATH: '/usr/bin:/bin', HOME: shelf.home.path };
const run = (command: readonly string[]) =>
  runProgram(command, { home: shelf.home.path, cwd: shelf.project, env: environment });

async function onTerminal(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const options = { cwd: shelf.project, env: { ...environment, ...env }, columns: COLUMNS };
  await using terminal = startOnTerminal([BINARY, ...words], options);
  await terminal.exited;
  await Bun.sleep(0); // The last of what was written comes in behind the end.
  return terminal.bytes();
}

describe('every command', () => {
  test('has a help with examples and exit codes', async () => {
    const check = async (path: string) => {
      const { stdout, stderr, code } = await callHere(program, [...wordsOf(path), '--help']);
      return [...inHelp(stdout, path), ...(code === 0 && stderr === '' ? [] : ['fails'])];
    };
    expect(await problemsOfAll(check)).toEqual([]);
  });

  test('ends a wrong call with 2 and a hint, and as JSON with one error', async () => {
    const check = async (path: string) => {
      const words = [...wordsOf(path), '--no-such-flag'];
      const asJson = await callHere(program, [...words, '--json']);
      return [...inWrongCall(await callHere(program, words), path), ...inJson(asJson)];
    };
    expect(await problemsOfAll(check)).toEqual([]);
  });

  test('answers --json with one document, of a failure too', async () => {
    const check = async (path: string) => {
      const { exitCode, stdout, stderr } = await run([BINARY, ...called(path), '--json']);
      if (path === 'doctor') return inJson({ code: 0, stdout, stderr }); // Its checks say what failed.
      const isWrong = WITHOUT_JSON.includes(path) && exitCode === 0;
      return [...inJson({ code: exitCode, stdout, stderr }), ...(isWrong ? ['takes --json'] : [])];
    };
    expect(await problemsOfAll(check)).toEqual([]);
  });

  test('fits a terminal of 40 columns, and has no colours there with NO_COLOR', async () => {
    const check = async (path: string) => {
      const text = await onTerminal(called(path), { NO_COLOR: '1' });
      const silent = text === '' ? ['says nothing'] : [];
      return [...silent, ...inWidth(text, COLUMNS), ...inColours(text.replaceAll(PROGRESS, ''))];
    };
    expect(await problemsOfAll(check)).toEqual([]);
  });

  test('has a help that fits 40 columns', async () => {
    const narrow = { screen: () => ({ columns: COLUMNS, rows: 24 }) };
    const check = async (path: string) => {
      const { stdout } = await callHere(program, [...wordsOf(path), '--help'], narrow);
      return inWidth(wrapped(stdout, COLUMNS), COLUMNS);
    };
    expect(await problemsOfAll(check)).toEqual([]);
    for (const words of [['--help'], ['install', '--help'], ['subagents', 'spawn', '--help']])
      expect(inWidth(await onTerminal(words), COLUMNS)).toEqual([]);
  });

  test('has no colours in a pipe, and ends without noise where its reader leaves', async () => {
    const check = async (path: string) => {
      const whole = await run([BINARY, ...called(path)]);
      if (path === 'doctor') return [whole.stdout, whole.stderr].flatMap(inColours); // What it finds changes.
      const piped = await run(['sh', '-c', '"$0" "$@" | head -1', BINARY, ...called(path)]);
      return [...[whole.stdout, whole.stderr].flatMap(inColours), ...inPipe(piped, whole)];
    };
    expect(await problemsOfAll(check)).toEqual([]);
  });

  test('that throws says so in the same way', async () => {
    using broken = newShelf();
    broken.home.put('.self-generation/data/runs.db', 'no database '.repeat(100));
    const call = (words: readonly string[]) =>
      runProgram([BINARY, 'subagents', 'list', ...words], { home: broken.home.path, cwd: broken.project });
    const { exitCode: code, stdout, stderr } = await call(['--json']);
    expect([code, ...inJson({ code, stdout, stderr })]).toEqual([1]);
    expect((await call([])).stderr).toBe(`error: ${JSON.parse(stdout).error.message}\n`);
  });
});

describe('each check finds', () => {
  test('a command without examples or exit codes, wherever it is in the tree', async () => {
    const planted = (context: CliContext) => {
      const root = program(context);
      root.commands[0]?.addCommand(newCommand('install planted', context));
      tree = root;
      return root;
    };
    const { stdout } = await callHere(planted, ['install', 'planted', '--help']);
    expect(tree === undefined ? [] : pathsBelow(tree)).toContain('install planted');
    expect(inHelp(stdout, 'install planted')).toEqual(['no examples', 'no exit codes']);
    expect(inHelp('Usage: x\n', 'install')).toContain('is not called by its name');
  });

  test('an error that is none, two documents, and one that is repeated', () => {
    const error = '{"error":{"code":"usage","message":"x"}}\n';
    expect(inJson({ code: 2, stdout: error, stderr: '' })).toEqual([]);
    for (const stdout of ['', 'error: x\n', error + error, '{"kind":"failed"}', '{"error":"x"}'])
      expect(inJson({ code: 1, stdout, stderr: '' })).toHaveLength(1);
    expect(inJson({ code: 2, stdout: error, stderr: 'error: x\n' })).toHaveLength(1);
    expect(inJson({ code: 0, stdout: '{"type":"error"}', stderr: '' })).toHaveLength(1);
  });

  test('a wrong call that ends well, speaks or gives no hint', () => {
    const stderr = 'error: x\nSee "self-generation --help".\n';
    expect(inWrongCall({ code: 2, stdout: '', stderr }, 'status')).toEqual([]);
    expect(inWrongCall({ code: 0, stdout: 'x', stderr: 'error: x\n' }, 'status')).toHaveLength(3);
    expect(inWrongCall({ code: 2, stdout: '', stderr }, 'hook')).toHaveLength(1);
  });

  test('a line that is too wide, colours, and noise in a pipe', async () => {
    expect(inColours((await onTerminal(['status'])).replaceAll(PROGRESS, ''))).toHaveLength(1);
    expect(inWidth('a line\r\n\x1b[1mthat has forty-two columns, which is a lot\x1b[22m', 40)).toHaveLength(
      1,
    );
    expect(inWidth('한글이 넓은 글자라는 것을 아는지 본다 정말로', 40)).toHaveLength(1);
    expect(inWidth(`${'x'.repeat(50)}\n  ${'x'.repeat(50)}`, 40)).toEqual([]);
    expect(inColours('\x1b[1mx')).toHaveLength(1);
    const whole = { exitCode: 0, stdout: 'a\nb\n', stderr: '', stdoutBytes: new Uint8Array() };
    expect(inPipe({ ...whole, stdout: 'a\n' }, whole)).toEqual([]);
    expect(inPipe({ ...whole, exitCode: 1, stderr: 'EPIPE' }, whole)).toHaveLength(3);
  });
});
