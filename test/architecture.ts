/** The rules of the house as functions: edges or texts in, violations out. test/architecture.test.ts applies them. */

/** One import. Files are named from src/, packages as they are imported. */
export type Edge = { readonly from: string; readonly to: string; readonly isDynamic?: boolean };

/** What stands under all that learns. */
const BASE = ['settings', 'database', 'system', 'core'];
const LEARNING = ['hooks', 'lessons', 'benefit', ...BASE, 'node:'];
/** What is made of background runs. */
const WITH_RUNS = ['runs', 'clients', ...BASE, 'node:', '#runtime', 'zod'];

/** What each folder, or file, may import: folders and files of src/, `node:`, packages. The longest key counts. */
export const IMPORT_TABLE: Readonly<Record<string, readonly string[]>> = {
  core: ['core'],
  'core/client-folders.ts': ['node:'],
  system: ['system', 'core', 'node:', '#runtime'],
  'system/runtime-bun.ts': ['system/runtime.ts'],
  database: ['database', 'benefit/model', 'core', 'system/runtime.ts', '#runtime', '#sqlite'],
  'database/sqlite-bun.ts': ['database/sqlite.ts', 'bun:sqlite'],
  'database/sqlite-node.ts': ['database/sqlite.ts', 'node:module', 'better-sqlite3'],
  'database/postgres.ts': ['database/server-address.ts', 'node:', 'pg'],
  settings: ['settings', 'core', 'runs/model', '#runtime'],
  lessons: ['lessons', 'benefit/model', 'database', 'system', 'core', 'node:'],
  benefit: ['benefit', 'lessons', ...BASE, 'node:', '#runtime'],
  'benefit/model': ['benefit/model', 'core', '#runtime'],
  hooks: [
    'hooks',
    'benefit/model',
    'lessons',
    'suggestions/model',
    'runs/model',
    ...BASE,
    '#runtime',
    '#sqlite',
  ],
  clients: ['clients', 'hooks', 'runs/model', 'system', 'core', 'node:'],
  'clients/opencode/session-store.ts': ['clients', 'database/sqlite.ts', 'core', '#sqlite'],
  prune: ['prune', 'runs/model', 'clients', 'settings', 'system', 'core', 'node:', '#runtime'],
  transcripts: ['transcripts', 'team', 'prune', 'clients', 'suggestions/model', ...LEARNING, '#runtime'],
  suggestions: ['suggestions', 'setup', ...LEARNING, 'zod'],
  'suggestions/model': ['suggestions/model', 'lessons', 'database', 'core'],
  analysis: ['analysis', 'suggestions', 'clients', 'runs/model', ...LEARNING, 'zod'],
  runs: ['runs', 'prune', 'clients', 'hooks', 'team', ...BASE, 'node:', 'zod'],
  'runs/pool/queue.ts': ['database/postgres.ts', 'pg-boss'],
  'runs/model': ['runs/model', 'settings', 'system/process-identity.ts', 'core'],
  setup: [
    ...['setup', 'analysis', 'transcripts', 'clients', 'runs', ...LEARNING],
    ...['@decimalturn/toml-patch', 'diff', 'jsonc-parser', 'zod'],
  ],
  team: ['team', ...LEARNING, 'zod'],
  conversation: ['conversation', 'suggestions/model', ...WITH_RUNS],
  orchestrate: ['orchestrate', 'conversation', ...WITH_RUNS],
  report: ['report', 'analysis', 'suggestions', 'runs', ...LEARNING],
  'report/browser': ['report/browser', 'report/report.ts', '@observablehq/plot'],
  mcp: [
    ...['mcp', 'orchestrate', 'conversation', 'runs', 'clients', 'hooks', 'lessons', ...BASE, 'node:'],
    ...['@modelcontextprotocol/sdk', 'zod'],
  ],
  cli: [
    ...[
      'cli',
      'report',
      'orchestrate',
      'conversation',
      'setup',
      'analysis',
      'suggestions',
      'team',
      'transcripts',
      'runs',
      'prune',
    ],
    ...['clients', ...LEARNING, 'commander', 'picocolors'],
  ],
  'main.ts': ['hooks'],
  'faces.ts': ['team/membership.ts'],
  'node.ts': ['hooks', 'lessons/store/error-search.ts'],
  'opencode-plugin.ts': ['prune'],
};
const DYNAMIC_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  'main.ts': [
    ...['cli/run.ts', 'faces.ts', 'hooks/write-path.ts', 'hooks/callers/callers.ts'],
    ...['lessons/store/error-search.ts', 'transcripts/catch-up.ts', 'runs/delivery/hook-delivery.ts'],
  ],
  'faces.ts': [
    ...['cli/run.ts', 'mcp/serve.ts', 'suggestions/applied-hook.ts', 'transcripts/catch-up-process.ts'],
    ...['runs/supervisor/supervise.ts', 'conversation/told-history.ts'],
    ...['database/postgres.ts', 'runs/pool/away-turn.ts', 'runs/pool/worker.ts'],
    'runs/pool/worker-guard.ts',
  ],
};
const TYPES_ONLY = /\.d\.ts$/;

const show = ({ from, to, isDynamic }: Edge) => `${from} → ${isDynamic ? 'import() of ' : ''}${to}`;

function isUnder(path: string, place: string): boolean {
  return path === place || path.startsWith(place.endsWith(':') ? place : `${place}/`);
}

/** Rule 1: every static import is in the table. */
export function forbiddenImports(edges: readonly Edge[], table = IMPORT_TABLE): string[] {
  return edges
    .filter(({ from, to, isDynamic }) => {
      const [key] = Object.keys(table)
        .filter((place) => isUnder(from, place))
        .sort((left, right) => right.length - left.length);
      const allowed = key === undefined ? [] : (table[key] ?? []);
      return !isDynamic && !allowed.some((place) => isUnder(to, place));
    })
    .map(show);
}

/** Rule 2: only main.ts loads something at run time: the commands, and the hooks that are not on the hottest path. */
export function forbiddenDynamicImports(edges: readonly Edge[]): string[] {
  return edges
    .filter(
      ({ from, to, isDynamic }) =>
        isDynamic && !(DYNAMIC_IMPORTS[from] ?? []).some((place) => isUnder(to, place)),
    )
    .map(show);
}

/** The metafile of a bundler, as far as it is looked at here. */
export type Metafile = { readonly outputs: Readonly<Record<string, Output>> };
type Output = {
  readonly bytes: number;
  readonly entryPoint?: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
};

/** The outputs that are loaded together with one: all that it imports, but for what it loads at run time. */
function loadedWith({ outputs }: Metafile, first: string): string[] {
  const loaded = new Set([first]);
  for (const path of loaded) {
    for (const { path: to, kind } of outputs[path]?.imports ?? [])
      if (kind !== 'dynamic-import' && outputs[to] !== undefined) loaded.add(to);
  }
  return [...loaded];
}

/** The source files that are loaded together with the entry whose path ends so; undefined where there is none. */
export function filesLoaded(metafile: Metafile, entry: string): string[] | undefined {
  const { outputs } = metafile;
  const first = Object.keys(outputs).find((path) => outputs[path]?.entryPoint?.endsWith(entry));
  if (first === undefined) return undefined;
  return loadedWith(metafile, first).flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
}

/** Rule 3: what starts with a hook is small, and has neither a package nor node:fs in it. */
export function hotPathViolations(metafile: Metafile, entry: string, bytesMax: number): string[] {
  const { outputs } = metafile;
  const first = Object.keys(outputs).find((path) => outputs[path]?.entryPoint === entry);
  if (first === undefined) return [`there is no output for ${entry}`];
  const loaded = loadedWith(metafile, first);
  const violations = loaded.flatMap((path) => [
    ...(outputs[path]?.imports ?? [])
      .filter(({ path: to, kind }) => kind !== 'dynamic-import' && outputs[to] === undefined)
      .filter(({ path: to }) => !['bun:sqlite', 'bun'].includes(to))
      .map(({ path: to }) => `imports ${to}`),
    ...Object.keys(outputs[path]?.inputs ?? {})
      .filter((input) => input.includes('node_modules/'))
      .map((input) => `contains ${input}`),
  ]);
  const bytes = loaded.reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0);
  if (bytes > bytesMax) violations.push(`has ${bytes} bytes, ${bytes - bytesMax} more than ${bytesMax}`);
  return violations;
}

/** What of Node's own a source text loads; types are not loaded. A bundler's metafile does not name it. */
export function builtinsIn(text: string): string[] {
  const imports = new Bun.Transpiler({ loader: 'ts' }).scanImports(text.replace(/^#!.*/, ''));
  return imports.flatMap(({ path, kind }) =>
    kind !== 'dynamic-import' && path.startsWith('node:') ? [path] : [],
  );
}

/** Rule 3, of what hooks load later: no package in it and nothing that starts processes; each costs milliseconds. */
export function costlyLoads(
  metafile: Metafile,
  entries: readonly string[],
  builtinsOf: (input: string) => readonly string[],
): string[] {
  const found = entries.flatMap((entry) => {
    const files = filesLoaded(metafile, entry);
    if (files === undefined) return [`there is no output for ${entry}`];
    const names = files.flatMap((input) => {
      const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
      return name === undefined ? builtinsOf(input).filter((one) => one === 'node:child_process') : [name];
    });
    return names.map((name) => `${entry} loads ${name}`);
  });
  return [...new Set(found)];
}

/** Rule 4: no file imports itself by way of others. Each cycle once, from its first file in alphabetical order. */
export function cycles(edges: readonly Edge[]): string[] {
  const targets = Map.groupBy(edges, (edge) => edge.from);
  const found = new Set<string>();
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]) => {
    const at = trail.indexOf(file);
    if (at >= 0) {
      const cycle = trail.slice(at);
      const start = cycle.indexOf(cycle.toSorted()[0] ?? '');
      const turned = [...cycle.slice(start), ...cycle.slice(0, start)];
      found.add([...turned, turned[0]].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const { to } of targets.get(file) ?? []) walk(to, [...trail, file]);
    done.add(file);
  };
  for (const file of [...targets.keys()].sort()) walk(file, []);
  return [...found];
}

/** Rule 5: a folder's README.md says in at most twelve lines what lives there, and names what it may import. */
export function readmeViolations(readme: string | undefined, imports: readonly string[]): string[] {
  if (readme === undefined) return ['there is no README.md'];
  const lines = readme.trimEnd().split('\n');
  const named: readonly string[] = /^Imports (.*)\.$/m.exec(readme)?.[1]?.match(/[^`, ]+(?=`)/g) ?? [];
  return [
    ...(lines.length > 12 ? [`${lines.length} lines are more than 12`] : []),
    ...imports.filter((target) => !named.includes(target)).map((target) => `does not name ${target}`),
    ...named.filter((target) => !imports.includes(target)).map((target) => `may not import ${target}`),
  ];
}

/** Rule 6: every file is reached from an entry. */
export function deadFiles(
  edges: readonly Edge[],
  entries: readonly string[],
  files: readonly string[],
): string[] {
  const reached = new Set(entries);
  for (const file of reached) {
    for (const edge of edges) if (edge.from === file) reached.add(edge.to);
  }
  return files.filter((file) => !reached.has(file) && !TYPES_ONLY.test(file));
}

/** Exported functions that nothing is said about. What implements an interface has its words there. */
export function withoutDocstring(text: string): string[] {
  if (/^\(\{[^)]*\}\) satisfies \w+;$/m.test(text)) return [];
  const lines = text.split('\n');
  const nameIn = (line: string | undefined) => /^export (?:async )?function\*? (\w+)/.exec(line ?? '')?.[1];
  const documented = new Set<string>();
  const missing = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const name = nameIn(line);
    if (name === undefined) continue;
    if (lines[index - 1]?.trim().endsWith('*/')) documented.add(name);
    else if (!documented.has(name)) missing.add(name); // An overload has the words of the first.
  }
  return [...missing];
}

/** The imports of a source text, those of types included. `resolve` gives the targets of one specifier. */
export function importsOf(from: string, text: string, resolve: (specifier: string) => string[]): Edge[] {
  // The scanner passes over types, but a folder that knows another's types knows the folder.
  const asValues = text
    .replace(/^#!.*/, '')
    .replace(/^import type(?= [{*\w])|^export type(?= [{*])/gm, (words) => words.slice(0, -' type'.length))
    .replace(/([{,]\s*)type (?=\w+\s*[,}]|\w+ as )/g, '$1');
  return new Bun.Transpiler({ loader: 'ts' })
    .scanImports(asValues)
    .flatMap(({ path, kind }) =>
      resolve(path).map((to) => (kind === 'dynamic-import' ? { from, to, isDynamic: true } : { from, to })),
    );
}
