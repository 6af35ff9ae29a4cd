import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import {
  builtinsIn,
  costlyLoads,
  cycles,
  deadFiles,
  type Edge,
  filesLoaded,
  forbiddenDynamicImports,
  forbiddenImports,
  hotPathViolations,
  IMPORT_TABLE,
  importsOf,
  type Metafile,
  readmeViolations,
  withoutDocstring,
} from './architecture.ts';

const ROOT = resolve(import.meta.dir, '..');
const SOURCE = join(ROOT, 'src');
const HOT_PATH_BYTES_MAX = 48 * 1024;
const ENTRIES = [
  'main.ts',
  'node.ts',
  'opencode-plugin.ts',
  'report/browser/page.ts',
  'report/browser/page.css',
];

const FILES = [...new Bun.Glob('**/*').scanSync({ cwd: SOURCE, onlyFiles: true })].sort();
const TEXTS = new Map(FILES.map((file) => [file, readFileSync(join(SOURCE, file), 'utf8')]));
const MODULES = FILES.filter((file) => file.endsWith('.ts'));
const ALIASES: Record<string, Record<string, string>> = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
).imports;

/** A path from src/ when the specifier is relative; a package's name, or alias, as it is. */
function locate(directory: string, specifier: string): string {
  return specifier.startsWith('.') ? relative(SOURCE, resolve(directory, specifier)) : specifier;
}

/** Both files behind `#sqlite` and `#runtime` instead of the alias. */
function behindAlias(target: string): string[] {
  const files = ALIASES[target];
  return files === undefined ? [target] : Object.values(files).map((file) => file.replace('./src/', ''));
}

function edgesOf(path: string, from: string, resolveAlias: (target: string) => string[]): Edge[] {
  const text = readFileSync(path, 'utf8');
  return importsOf(from, text, (specifier) => resolveAlias(locate(join(path, '..'), specifier)));
}

const EDGES = MODULES.flatMap((file) => edgesOf(join(SOURCE, file), file, (target) => [target]));
const RESOLVED = MODULES.flatMap((file) => edgesOf(join(SOURCE, file), file, behindAlias));

function check(violations: readonly string[]): void {
  expect(violations).toEqual([]);
}

test('the imports of every file are read', () => {
  expect(MODULES.length).toBeGreaterThan(40);
  expect(EDGES.length).toBeGreaterThan(150);
  expect(EDGES).toContainEqual({ from: 'main.ts', to: 'cli/run.ts', isDynamic: true });
  expect(EDGES).toContainEqual({ from: 'database/connection.ts', to: '#sqlite' });
  expect(EDGES).toContainEqual({ from: 'database/db.ts', to: 'database/schema/knowledge.sql' });
  for (const { from, to } of EDGES) {
    if (!/^(?:node:|bun:|#|@modelcontextprotocol\/|@decimalturn\/|@observablehq\/|[a-z-]+\d?$)/.test(to))
      expect(`${from} → ${to}: ${FILES.includes(to)}`).toEndWith('true');
  }
});

describe('importsOf()', () => {
  const rows: [string, string[]][] = [
    ["import { a } from './a'", ['./a']],
    ["import type { A } from './a'", ['./a']],
    ["import { type A } from './a'", ['./a']],
    ["import { type A as B, c } from './a'", ['./a']],
    ["import type * as a from './a'", ['./a']],
    ["import type { default as A } from './a'", ['./a']],
    ["export type { A } from './a'", ['./a']],
    ["export { a } from './a'", ['./a']],
    ["export type A = { type: 'x' };", []],
    ["const a = await import('./a')", ['./a']],
    ["const a = require('./a')", ['./a']],
  ];
  for (const [text, targets] of rows) {
    test(`finds ${targets.join() || 'nothing'} in ${text}`, () => {
      expect(importsOf('x.ts', text, (specifier) => [specifier]).map(({ to }) => to)).toEqual(targets);
    });
  }
});

describe('rule 1: folders import only what the table says', () => {
  test('in src/', () => check(forbiddenImports(EDGES)));

  test('the table has a line for every folder and entry', () => {
    const places = new Set(
      MODULES.filter((file) => !file.endsWith('.d.ts')).map((file) => file.split('/')[0] ?? ''),
    );
    for (const place of places) expect(Object.keys(IMPORT_TABLE)).toContain(place);
    for (const place of Object.keys(IMPORT_TABLE)) expect(existsSync(join(SOURCE, place))).toBe(true);
  });

  const planted: [string, string][] = [
    ['core/text.ts', 'node:fs'],
    ['core/text.ts', 'database/db.ts'],
    ['core/text.ts', '#runtime'],
    ['system/stdin.ts', 'database/db.ts'],
    ['system/stdin.ts', 'commander'],
    ['system/runtime-bun.ts', 'node:fs'],
    ['system/runtime-bun.ts', 'core/guards.ts'],
    ['database/db.ts', 'node:fs'],
    ['database/db.ts', 'system/atomic-file.ts'],
    ['database/db.ts', 'bun:sqlite'],
    ['database/sqlite-bun.ts', 'better-sqlite3'],
    ['database/sqlite-node.ts', 'node:fs'],
    ['hooks/hook-process.ts', 'zod'],
    ['hooks/hook-process.ts', 'node:path'],
    ['setup/doctor.ts', 'cli/context.ts'],
    ['setup/doctor.ts', 'commander'],
    ['cli/run.ts', 'mcp/serve.ts'],
    ['cli/run.ts', 'jsonc-parser'],
    ['main.ts', 'cli/run.ts'],
    ['node.ts', 'database/db.ts'],
    ['other/new.ts', 'core/text.ts'],
    ['core/text.ts', 'corel/x.ts'],
  ];
  for (const [from, to] of planted) {
    test(`reports ${from} → ${to}`, () => {
      expect(forbiddenImports([...EDGES, { from, to }])).toEqual([`${from} → ${to}`]);
    });
  }
});

describe('rule 2: only main.ts and faces.ts load at run time', () => {
  test('in src/', () => check(forbiddenDynamicImports(EDGES)));

  // A type in this form is an import that the bundler does not see.
  const hidden = (texts: typeof TEXTS) =>
    [...texts]
      .filter(([file, text]) => /\bimport\('/.test(text) && !['main.ts', 'faces.ts'].includes(file))
      .map(([file]) => file);

  test('and no type comes in by import()', () => {
    check(hidden(TEXTS));
    const planted = new Map([
      ...TEXTS,
      ['core/x.ts', "type X = keyof typeof import('../clients/table.ts');"],
    ]);
    expect(hidden(planted as typeof TEXTS)).toEqual(['core/x.ts']);
  });

  for (const [from, to] of [
    ['cli/run.ts', 'cli/status.ts'],
    ['main.ts', 'setup/doctor.ts'],
  ] as const) {
    test(`reports import() of ${to} in ${from}`, () => {
      const edge = { from, to, isDynamic: true };
      expect(forbiddenDynamicImports([...EDGES, edge])).toEqual([`${from} → import() of ${to}`]);
    });
  }
});

describe('rule 3: what starts with a hook is small and has no package and no node:fs', async () => {
  const build = await Bun.build({
    entrypoints: [join(SOURCE, 'main.ts')],
    root: ROOT,
    target: 'bun',
    format: 'esm',
    minify: true,
    splitting: true,
    metafile: true,
  });
  const metafile = build.metafile as unknown as Metafile;
  const [entry = ''] = Object.values(metafile.outputs).flatMap(({ entryPoint }) =>
    entryPoint?.endsWith('src/main.ts') ? [entryPoint] : [],
  );

  test('in the bundle', () => check(hotPathViolations(metafile, entry, HOT_PATH_BYTES_MAX)));

  test('the commands are in the bundle, but not in what starts with a hook', () => {
    const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));
    expect(inputs.some((input) => input.includes('node_modules/commander'))).toBe(true);
    expect(hotPathViolations(metafile, entry, 0)).toHaveLength(1);
  });

  const builtinsOf = (input: string) => {
    const file = input.replace(/^src\//, '');
    return MODULES.includes(file) ? builtinsIn(TEXTS.get(file) ?? '') : [];
  };

  test('no file of it loads what Node has built in', () => {
    const files = filesLoaded(metafile, 'src/main.ts') ?? [];
    expect(files).toContain('src/hooks/hook-process.ts');
    check(files.flatMap((file) => builtinsOf(file).map((name) => `${file} loads ${name}`)));
    expect(builtinsIn("import { a } from 'node:fs';\nimport type { B } from 'node:path';\na();")).toEqual([
      'node:fs',
    ]);
  });

  test('no hook loads a package later, or what starts processes', () => {
    const costlyOf = (...entries: string[]) => costlyLoads(metafile, entries, builtinsOf);
    check(costlyOf('hooks/write-path.ts', 'transcripts/catch-up.ts', 'lessons/store/error-search.ts'));
    expect(costlyOf('cli/run.ts')).toContain('cli/run.ts loads commander');
    expect(costlyOf('runs/supervisor/supervise.ts')).toContain(
      'runs/supervisor/supervise.ts loads node:child_process',
    );
    expect(costlyOf('gone.ts')).toEqual(['there is no output for gone.ts']);
  });

  const sound = (changes: object = {}, chunk: object = {}): Metafile => ({
    outputs: {
      'main.js': { bytes: 10, entryPoint: 'src/main.ts', inputs: {}, imports: [link('a.js')], ...changes },
      'a.js': { bytes: 20, inputs: {}, imports: [link('bun:sqlite')], ...chunk },
      'cli.js': { bytes: 999, inputs: { 'node_modules/x/i.js': {} }, imports: [link('node:fs')] },
    },
  });
  const link = (path: string, kind = 'import-statement') => ({ path, kind });
  const planted: [string, Metafile, string[]][] = [
    ['nothing', sound({ imports: [link('a.js'), link('cli.js', 'dynamic-import')] }), []],
    ['node:fs in a chunk', sound({}, { imports: [link('node:fs')] }), ['imports node:fs']],
    ['a package that is not bundled', sound({ imports: [link('zod')] }), ['imports zod']],
    [
      'a package that is',
      sound({}, { inputs: { 'node_modules/x/i.js': {} } }),
      ['contains node_modules/x/i.js'],
    ],
    ['a chunk that is large', sound({}, { bytes: 21 }), ['has 31 bytes, 1 more than 30']],
    [
      'a static import of the commands',
      sound({ imports: [link('cli.js')] }),
      ['imports node:fs', 'contains node_modules/x/i.js', 'has 1009 bytes, 979 more than 30'],
    ],
    ['no such entry', { outputs: {} }, ['there is no output for src/main.ts']],
  ];
  for (const [name, planting, found] of planted) {
    test(`reports ${name}`, () => {
      expect(hotPathViolations(planting, 'src/main.ts', 30).toSorted()).toEqual(found.toSorted());
    });
  }
});

describe('rule 4: no cycles', () => {
  test('in src/', () => check(cycles(RESOLVED)));

  test('reports a planted one, once, and one of a file with itself', () => {
    const edge = (from: string, to: string) => ({ from, to });
    expect(cycles([...RESOLVED, edge('core/guards.ts', 'hooks/hook-process.ts')])).not.toEqual([]);
    expect(cycles([edge('b', 'c'), edge('c', 'a'), edge('a', 'b'), edge('x', 'b')])).toEqual([
      'a → b → c → a',
    ]);
    expect(cycles([edge('a', 'a')])).toEqual(['a → a']);
    expect(cycles([edge('a', 'b'), edge('a', 'c'), edge('b', 'd'), edge('c', 'd')])).toEqual([]);
  });
});

describe('rule 5: every folder says what lives there', () => {
  const FOLDERS = [
    ...new Set(FILES.filter((file) => file.includes('/')).map((file) => file.split('/')[0] ?? '')),
  ];
  const importsOfFolder = (folder: string) =>
    (IMPORT_TABLE[folder] ?? []).filter((target) => target !== folder && !target.startsWith('#'));

  test('in src/, and there are at most 20', () => {
    expect(FOLDERS.length).toBeLessThanOrEqual(20);
    for (const folder of FOLDERS)
      expect([
        folder,
        ...readmeViolations(TEXTS.get(`${folder}/README.md`), importsOfFolder(folder)),
      ]).toEqual([folder]);
  });

  test('and holds about twenty files at the most', () => {
    const folders = Map.groupBy(MODULES, (file) => join(file, '..'));
    expect([...folders].filter(([, files]) => files.length > 22).map(([folder]) => folder)).toEqual([]);
  });

  test('reports a README.md that is missing, too long, or names other imports', () => {
    expect(readmeViolations(undefined, [])).toEqual(['there is no README.md']);
    expect(readmeViolations('# a\n'.repeat(13), [])).toEqual(['13 lines are more than 12']);
    expect(readmeViolations('# a\n\nImports `core`, `node:`.\n', ['core', 'zod'])).toEqual([
      'does not name zod',
      'may not import node:',
    ]);
  });
});

describe('rule 6: no file is dead', () => {
  test('in src/', () => {
    const tests = [...new Bun.Glob('test/**/*.ts').scanSync({ cwd: ROOT })];
    const fromTests = tests.flatMap((file) => edgesOf(join(ROOT, file), file, behindAlias));
    check(
      deadFiles(
        [...RESOLVED, ...fromTests],
        [...ENTRIES, ...tests],
        FILES.filter((file) => !file.endsWith('.md')),
      ),
    );
  });

  test('reports one that nothing imports, and one that only a dead one imports', () => {
    const edges = [{ from: 'old.ts', to: 'older.ts' }, ...RESOLVED];
    expect(
      deadFiles(edges, ENTRIES, ['old.ts', 'older.ts', 'types.d.ts', 'hooks/hook-process.ts', 'cli/run.ts']),
    ).toEqual(['old.ts', 'older.ts']);
  });
});

describe('rule 7: texts of others leave through core/inert-text.ts', () => {
  const filesWith = (pattern: RegExp, texts: ReadonlyMap<string, string> = TEXTS) =>
    [...texts].flatMap(([file, text]) => (pattern.test(text) ? [file] : []));
  /** A client is answered in two places; two others read what it is answered, and one describes it. */
  const CONTEXT = /\badditionalContext\b/;
  /** A hook has something to say. */
  const REPLY = /\{ event: (?:'\w+'|[\w.]+), context: /;
  /** Cleaned is not inert. What is stored of a person's own words is cleaned, and printed by visible.ts. */
  const CLEANED = /\b(?:oneLine|cleanText)\(/;

  test('in src/', () => {
    expect(filesWith(CONTEXT)).toEqual([
      'hooks/callers/gemini.ts',
      'hooks/callers/translated.ts',
      'hooks/decision.ts',
      'hooks/invocation.ts',
      'prune/opencode/knowledge.ts',
      'setup/check-installation.ts',
      'suggestions/applied-hook.ts',
    ]);
    const replies = filesWith(REPLY);
    expect(replies).toEqual([
      'hooks/error-logger.ts',
      'hooks/session-analyzer.ts',
      'hooks/subagent-context.ts',
      'hooks/write-path.ts',
    ]);
    // One puts a reply before announcements, which are framed by the text of their delivery; a known error is framed in its text.
    const handingOn = ['hooks/write-path.ts', 'hooks/error-logger.ts'];
    const framing = filesWith(/\bframed\(/);
    for (const file of [...replies, 'hooks/told-error.ts', 'mcp/known-errors.ts'])
      if (!handingOn.includes(file)) expect(framing).toContain(file);
    expect(filesWith(/\binertLines\(/)).toEqual(
      expect.arrayContaining([
        'runs/model/announcement.ts',
        'runs/model/prompts.ts',
        'suggestions/applied-hook.ts',
        'mcp/answer.ts',
      ]),
    );
    const cleaning = filesWith(CLEANED).filter((file) => file.startsWith('cli/'));
    expect(cleaning).toEqual([
      'cli/learned/errors.ts',
      'cli/output.ts',
      'cli/suggestions/decide.ts',
      'cli/terminal/json.ts',
    ]);
  });

  test('reports another place', () => {
    const planted = (pattern: RegExp, text: string) => filesWith(pattern, new Map([['x.ts', text]]));
    expect(planted(CONTEXT, 'write({ additionalContext: text })')).toEqual(['x.ts']);
    expect(planted(REPLY, "return { reply: { event: 'Stop', context: text } };")).toEqual(['x.ts']);
    expect(planted(REPLY, 'await answer({ event: run.event.name, context: own });')).toEqual(['x.ts']);
    expect(planted(CLEANED, 'context.stdout(oneLine(summary));')).toEqual(['x.ts']);
  });
});

describe('rule 8: statements of SQL stand in database/, in a folder store/ or in a file …-store.ts', () => {
  const PLACE = /^database\/|(?:^|\/)store(?:\/|\.ts$)|-store\.ts$/;
  const STATEMENT =
    /\b(?:SELECT [\w*(.]+[\s\S]{0,400}? FROM |INSERT (?:OR \w+ )?INTO |UPDATE \w+ SET |DELETE FROM )/;
  const outside = (texts: ReadonlyMap<string, string>) =>
    [...texts].flatMap(([file, text]) => (STATEMENT.test(text) && !PLACE.test(file) ? [file] : []));

  test('in src/', () => check(outside(TEXTS)));

  test('reports another place', () => {
    const text = "db.get('SELECT id FROM events')";
    expect(
      outside(
        new Map([
          ['hooks/hook-process.ts', text],
          ['lessons/store/x.ts', text],
          ['hooks/x-store.ts', text],
        ]),
      ),
    ).toEqual(['hooks/hook-process.ts']);
  });
});

describe('rule 9: a test that starts a process is a .process.test.ts', () => {
  const STARTS = /Bun\.spawn(?:Sync)?\(|\bspawnSync\(|\.main\.ts/;
  const texts = (directory: string) =>
    new Map(
      [...new Bun.Glob('test/**/*.ts').scanSync({ cwd: directory })].map((file) => [
        file,
        readFileSync(join(directory, file), 'utf8'),
      ]),
    );
  /** The tests that start one themselves or by what they import, without the name for it. */
  function misnamed(files: ReadonlyMap<string, string>): string[] {
    const starting = new Set([...files].flatMap(([file, text]) => (STARTS.test(text) ? [file] : [])));
    for (let before = -1; before < starting.size; ) {
      before = starting.size;
      for (const [file, text] of files)
        for (const [, target = ''] of text.matchAll(/from '(\.[^']+)'/g))
          if (starting.has(join(file, '..', target))) starting.add(file);
    }
    return [...starting].filter((file) => file.endsWith('.test.ts') && !file.endsWith('.process.test.ts'));
  }

  test('in test/', () => check(misnamed(texts(ROOT))));

  test('reports one that does, and one that imports what does', () => {
    const files: [string, string][] = [
      ['test/a.test.ts', `Bun.${'spawn'}(['sh'])`],
      ['test/b.test.ts', "import { run } from './support/run.ts';"],
      ['test/c.test.ts', 'expect(1).toBe(1)'],
      ['test/d.process.test.ts', `Bun.${'spawnSync'}(['sh'])`],
      ['test/support/run.ts', `Bun.${'spawnSync'}(['sh'])`],
    ];
    expect(misnamed(new Map(files))).toEqual(['test/a.test.ts', 'test/b.test.ts']);
  });
});

describe('rule 10: ARCHITECTURE.md is a page, and what the documents name exists', () => {
  const missing = (text: string) =>
    [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|sql|md)|(?:src|test|docs|scripts)\/[\w/-]*)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !existsSync(join(SOURCE, path)) && !existsSync(join(ROOT, path)));
  const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const docs = ['*.md', 'docs/**/*.md'].flatMap((names) => [...new Bun.Glob(names).scanSync({ cwd: ROOT })]);

  test('in the repository', () => {
    expect(page.split(/\s+/).length).toBeLessThanOrEqual(1500);
    expect(docs.length).toBeGreaterThan(5);
    for (const file of docs) check(missing(readFileSync(join(ROOT, file), 'utf8')));
  });

  test('in the README.md of each folder', () => {
    for (const [file, text] of TEXTS) {
      if (!file.endsWith('README.md')) continue;
      const folder = join(file, '..');
      const named = [...text.matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts)`/g)].map(([, path = '']) => path);
      check(named.filter((path) => !FILES.includes(join(folder, path)) && !FILES.includes(path)));
    }
  });

  test('reports a path that is not there', () =>
    expect(missing('`core/text.ts`, `core/gone.ts` and `a.ts`')).toEqual(['core/gone.ts']));
});

describe('every exported function says what it is for', () => {
  test('in src/', () => {
    check([...TEXTS].flatMap(([file, text]) => withoutDocstring(text).map((name) => `${file}: ${name}()`)));
  });

  const rows: [string, string[]][] = [
    ['export function a() {}', ['a']],
    ['export async function a() {}', ['a']],
    ['/** Does. */\nexport function a() {}', []],
    ['/**\n * Does.\n */\nexport async function a() {}', []],
    ['/** Does. */\nexport function a(x: 1): 1;\nexport function a(x: 2): 2 {}', []],
    ['/** Does. */\n\nexport function a() {}', ['a']],
    ['// Does.\nexport function a() {}', ['a']],
    ['function a() {}', []],
    ['export function a() {}\n\n({ a }) satisfies Runtime;', []],
  ];
  for (const [text, found] of rows) {
    test(`reports ${found.join() || 'nothing'} for ${JSON.stringify(text)}`, () => {
      expect(withoutDocstring(text)).toEqual(found);
    });
  }
});
