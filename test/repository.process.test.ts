import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readPage, USER_PAGES } from './docs/pages.ts';
import { BINARY } from './support/program.ts';

const ROOT = resolve(import.meta.dir, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const PACKAGE = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
const DEPENDENCIES = { ...PACKAGE.dependencies, ...PACKAGE.devDependencies, ...PACKAGE.optionalDependencies };

/** What is, or will be, in a commit. */
const FILES = run('git', 'ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate')
  .split('\n')
  .filter((file) => file !== '' && Bun.file(join(ROOT, file)).size > 0);

function run(...command: string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(command, { cwd: ROOT });
  if (exitCode !== 0) throw new Error(`Cannot run ${command.join(' ')}: ${stderr}`);
  return stdout.toString();
}

/** What is written as code: fenced blocks line by line, and the spans of the rest. */
function codeIn(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap((match) =>
    (match[1] ?? '').split('\n'),
  );
  const rest = markdown.replace(/^```\w*\n[\s\S]*?^```/gm, '');
  return [...blocks, ...[...rest.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '')];
}

/** The scripts of package.json that a text tells its reader to run. */
function scriptsIn(markdown: string): string[] {
  const code = codeIn(markdown).join('\n');
  const named = [...code.matchAll(/\b(?:npm|bun) run ([\w:-]+)/g)].map((match) => match[1] ?? '');
  return [...new Set(/\bnpm test\b/.test(code) ? [...named, 'test'] : named)];
}

type Call = { readonly words: readonly string[]; readonly flags: readonly string[] };

/** Commands whose commands have flags of their own. */
const GROUPS = ['team', 'subagents'];

/** The program's commands, with their flags, that a text tells its reader to run. */
function callsIn(markdown: string): Call[] {
  return codeIn(markdown).flatMap((code) => {
    const [, line] = /^(?:\$ )?(?:dist\/)?self-generation ([^#]+)/.exec(code.trim()) ?? [];
    if (line === undefined || !/^[a-z-]/.test(line)) return [];
    const words = line.split(/[\s[\]|\\]+/).filter((word) => word !== '');
    return [
      {
        words: words.slice(0, GROUPS.includes(words[0] ?? '') ? 2 : 1).filter((word) => /^[a-z]/.test(word)),
        flags: words.filter((word) => /^--?[a-z]/.test(word)),
      },
    ];
  });
}

/** Commands and flags that the program does not have. `helpOf` gives undefined for a command that there is not. */
function unknownCalls(
  calls: readonly Call[],
  helpOf: (words: readonly string[]) => string | undefined,
): string[] {
  return calls.flatMap(({ words, flags }) => {
    const help = helpOf(words);
    if (help === undefined) return [words.join(' ')];
    const isKnown = (flag: string) => new RegExp(`(?<![\\w-])${flag}(?![\\w-])`).test(help);
    return flags.filter((flag) => !isKnown(flag)).map((flag) => [...words, flag].join(' '));
  });
}

const helps = new Map<string, string | undefined>();

/** Each command is asked once, however often the pages name it. */
function helpOf(words: readonly string[]): string | undefined {
  const name = words.join(' ');
  if (!helps.has(name)) helps.set(name, askForHelp(words));
  return helps.get(name);
}

function askForHelp(words: readonly string[]): string | undefined {
  const { stdout, exitCode } = Bun.spawnSync([BINARY, ...words, '--help'], { env: {} });
  const help = stdout.toString();
  // For a word that it does not know the program shows its own help.
  return exitCode === 0 && help.startsWith(['Usage: self-generation', ...words].join(' ')) ? help : undefined;
}

function notPinned(versions: Readonly<Record<string, string>>): string[] {
  return Object.entries(versions).flatMap(([name, version]) =>
    /^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version) ? [] : [`${name}: ${version}`],
  );
}

/** Tests that are switched off, or that switch others off. */
function switchedOff(text: string): string[] {
  // What a machine cannot run may be skipped on a condition.
  const unconditional = text.replace(/\? (test|describe)\.skip : \1\b/g, '');
  return (
    unconditional.match(
      /\b(?:test|it|describe)\.(?:only|skip|todo|failing)\b|\b(?:xtest|xit|xdescribe)\(/g,
    ) ?? []
  );
}

/** Dependencies that are not the first cell of a row of any table. */
function undescribed(markdown: string, names: readonly string[]): string[] {
  const cells = [...markdown.matchAll(/^\|([^|]+)\|[^|]*\w[^|]*\|/gm)].map((match) => match[1] ?? '');
  const described = cells.flatMap((cell) => cell.split(',')).map((cell) => cell.replace(/[`\s]/g, ''));
  return names.filter((name) => !described.includes(name));
}

const MACHINE_PATH = /(?<![\w.~$}/-])\/(?:root|work)\/[\w.-]*/g;
const REGISTRY = /https?:\/\/[\w.-]*(?:registry|artifactory|nexus|verdaccio|jfrog|mirror)[\w.-]*/gi;

/** Paths and hosts that only one machine or workplace knows. */
function tracesOfAPlace(text: string): string[] {
  return [...(text.match(MACHINE_PATH) ?? []), ...(text.match(REGISTRY) ?? [])];
}

const perFile = (find: (text: string) => string[], files = FILES) =>
  files.flatMap((file) => find(read(file)).map((found) => `${file}: ${found}`));

test('the files of the repository are found', () => {
  expect(FILES).toEqual(expect.arrayContaining(['package.json', 'src/main.ts', 'biome.json']));
  expect(FILES.filter((file) => /node_modules|^dist\//.test(file))).toEqual([]);
});

describe('the pages for users', () => {
  // docs/commands.md is written by the program itself, of which test/scripts/reference/ makes sure.
  const written = USER_PAGES.filter((file) => file !== 'docs/commands.md');
  const pages = written.map(readPage).join('\n');

  test('name scripts that package.json has', () => {
    const scripts = scriptsIn(pages);
    expect(scripts).toEqual(expect.arrayContaining(['build', 'test']));
    expect(scripts.filter((script) => PACKAGE.scripts?.[script] === undefined)).toEqual([]);
  });

  test('name commands and flags that the program has', () => {
    const calls = callsIn(pages);
    const named = new Set(calls.flatMap(({ words }) => words));
    for (const command of ['install', 'uninstall', 'doctor', 'status', 'config'])
      expect(named).toContain(command);
    expect(unknownCalls(calls, helpOf)).toEqual([]);
  });

  test('would be found out: a script, a command and a flag that there are not', () => {
    const markdown = [
      'Prose about `npm run one` and npm run two, `npm test`.',
      '```sh\nnpm ci && npm run three:x\ndist/self-generation frobnicate\n$ self-generation doctor --fast # now\n```',
      '| `self-generation config [get KEY \\| set KEY] [--jsn]` |',
      '`~/.self-generation/x`, `self-generation --version`',
    ].join('\n');
    expect(scriptsIn(markdown).sort()).toEqual(['one', 'test', 'three:x']);
    expect(unknownCalls(callsIn(markdown), helpOf)).toEqual(['frobnicate', 'doctor --fast', 'config --jsn']);
  });
});

describe('package.json', () => {
  test('pins every version exactly', () => {
    expect(Object.keys(DEPENDENCIES).length).toBeGreaterThan(5);
    expect(notPinned(DEPENDENCIES)).toEqual([]);
  });

  test('would be found out: a range', () => {
    const ranges = { a: '^1.2.3', b: '1.2', c: '*', d: 'latest', e: '1.2.3 || 2.0.0', f: 'file:../x' };
    expect(notPinned({ ...ranges, ok: '1.2.3', pre: '1.2.3-beta.1' })).toHaveLength(6);
  });

  test('has no dependency that ARCHITECTURE.md does not account for', () => {
    expect(undescribed(read('ARCHITECTURE.md'), Object.keys(DEPENDENCIES))).toEqual([]);
  });

  test('would be found out: a dependency without a line, or with an empty one', () => {
    const markdown = '| package | why |\n|---|---|\n| `a` | good |\n| b, `@x/c` | good |\n| d | |\ne is good';
    expect(undescribed(markdown, ['a', 'b', '@x/c', 'd', 'e', 'x/c'])).toEqual(['d', 'e', 'x/c']);
  });
});

describe('tests', () => {
  test('are all switched on', () => {
    const files = FILES.filter((file) => /^test\/.*\.ts$/.test(file));
    expect(files.length).toBeGreaterThan(20);
    expect(perFile(switchedOff, files)).toEqual([]);
  });

  test('would be found out: one that is not', () => {
    const off = ['only', 'skip', 'todo'].map((how) => `test.${how}('x', () => {})`);
    for (const text of [...off, `describe.${'skip'}('x')`, `x${'it'}('x')`])
      expect(switchedOff(text)).toHaveLength(1);
    expect(switchedOff('latest.only; test("only")')).toEqual([]);
    expect(switchedOff(`const scenario = isHere ? test.${'skip'} : test;`)).toEqual([]);
  });
});

describe('no file', () => {
  test('names a path or a registry that only one machine knows', () => {
    expect(perFile(tracesOfAPlace)).toEqual([]);
  });

  test('would be found out: one that does', () => {
    const [root, work] = ['root', 'work'];
    for (const text of [
      `/${root}/.npmrc`,
      `"/${work}/main/src"`,
      `cd /${work}/shared`,
      `https://npm-${'registry'}.corp.example/x`,
    ]) {
      expect(tracesOfAPlace(text)).toHaveLength(1);
    }
    for (const text of [`~/${work}/x`, `/home/me/${work}/x`, `$HOME/${root}/`]) {
      expect(tracesOfAPlace(text)).toEqual([]);
    }
  });
});
