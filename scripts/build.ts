/**
 * Builds `dist/self-generation`, the one binary, `dist/node/<hook>.mjs`, the hooks for Node,
 * `dist/opencode-plugin.js`, the plugin of OpenCode, and `dist/self-generation.1`, the man page.
 *
 *   bun scripts/build.ts             all of them, for this machine
 *
 * The two no-autoload switches are a security matter: by default a compiled program runs the `preload` of a
 * bunfig.toml and reads the .env of the directory it is started in, and a hook is started in other people's
 * repositories. `bytecode` with `splitting` is what makes a hook start in milliseconds.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { BunPlugin } from 'bun';
import { HOOKS } from '../src/hooks/hooks.ts';
import type { PageAssets } from '../src/report/page.ts';
import { manPage } from './reference/man-page.ts';
import { programReference } from './reference/program.ts';
import { platformOf, runtimeOf, type Target } from './release/targets.ts';

export const COMPILE_FLAGS = {
  minify: true,
  bytecode: true,
  format: 'esm',
  splitting: true,
  sourcemap: 'none',
  target: 'bun',
} as const;

export type Building = {
  /** What the program says it is; by default the version in package.json. */
  readonly version?: string | undefined;
  /** Whose program; by default this machine's. Another's runtime has to be there: `npm ci --prefix scripts/release`. */
  readonly target?: Target | undefined;
};

/**
 * Compiles one entry point into a self-contained executable. The file's name is part of the bytes, its folder is not.
 * Throws with the bundler's messages.
 */
export async function compile(
  entrypoint: string,
  outfile: string,
  { version = ownVersion(), target }: Building = {},
): Promise<void> {
  const os = target === undefined ? process.platform : platformOf(target).os;
  const result = await Bun.build({
    entrypoints: [entrypoint],
    ...COMPILE_FLAGS,
    plugins: [fewChunks(entrypoint)],
    compile: {
      outfile,
      ...(target !== undefined && { target: `bun-${target}`, executablePath: runtimeOf(target) }),
      autoloadBunfig: false,
      autoloadDotenv: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
      // A hook ends before compiled machine code could pay: the compiler's threads only take time from it.
      jitPolicy: 20,
      // Bun ends before our code runs where the working directory has been removed, as a worktree is under a session, unless
      // it was told to change to another one. This one is where it stands; without /proc a compiled program does not run.
      execArgv: os === 'linux' ? ['--cwd=/proc/self/cwd'] : [],
    },
    define: {
      SELF_GENERATION_VERSION: JSON.stringify(version),
      SELF_GENERATION_TARGET: JSON.stringify(target ?? HOST),
      SELF_GENERATION_RELEASES: JSON.stringify(releasesOf(ownPackage()) ?? ''),
      SELF_GENERATION_OPENCODE_PLUGIN: JSON.stringify(await bundlePlugin(version)),
      SELF_GENERATION_REPORT_PAGE: JSON.stringify(await bundlePage()),
    },
  });
  if (!result.success) throw new AggregateError(result.logs, `Cannot compile "${entrypoint}"`);
}

/**
 * Keeps what a hook loads in few chunks. The bundler cuts the program into as many as there are ways in which the files
 * that are loaded later share its parts, and each chunk takes 0.1 ms of a hook's start. So each of those files imports
 * all that the entry point loads at once, which is loaded by then; and those that are no hook's, all that hooks load: what
 * stands in the entry point's table as `name: () => import('…')`.
 */
function fewChunks(entrypoint: string): BunPlugin {
  const text = readFileSync(entrypoint, 'utf8');
  const filesIn = (pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, specifier = '']) => resolve(dirname(entrypoint), specifier));
  const atOnce = filesIn(/^import [^;]* from '(\.[^']+)';$/gm);
  const later = filesIn(/\bimport\('(\.[^']+)'\)/g);
  const hooks = filesIn(/^ +\w+: \(\) => import\('(\.[^']+)'\)/gm);
  return {
    name: 'few-chunks',
    setup: (build) => {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!later.includes(path)) return undefined;
        const shared = hooks.includes(path) ? atOnce : [...atOnce, ...hooks];
        const imports = shared.map((file) => `import ${JSON.stringify(file)};\n`).join('');
        return { contents: `${readFileSync(path, 'utf8')}\n${imports}`, loader: 'ts' };
      });
    },
  };
}

/** Bundles the hooks for Node: one file of the same content for each hook, which goes by its own name. */
export async function buildNodeHooks(folder: string): Promise<void> {
  const result = await Bun.build({
    entrypoints: ['src/node.ts'],
    target: 'node',
    format: 'esm',
    minify: true,
    external: ['better-sqlite3'],
    conditions: ['node'],
  });
  const [bundle] = result.outputs;
  if (!result.success || bundle === undefined)
    throw new AggregateError(result.logs, 'Cannot bundle the Node hooks');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const text = await bundle.text();
  for (const { name } of HOOKS) await Bun.write(`${folder}/${name}.mjs`, text);
}

/** The plugin of OpenCode, whose Bun runs it: one text that needs no other. Throws with the bundler's messages. */
export async function bundlePlugin(version: string): Promise<string> {
  const result = await Bun.build({
    entrypoints: [`${import.meta.dir}/../src/opencode-plugin.ts`],
    target: 'bun',
    format: 'esm',
    minify: true,
    define: { SELF_GENERATION_VERSION: JSON.stringify(version) },
  });
  const [bundle] = result.outputs;
  if (!result.success || bundle === undefined)
    throw new AggregateError(result.logs, 'Cannot bundle the plugin of OpenCode');
  return bundle.text();
}

/** The code and the styles of the page that `report` writes. Throws with the bundler's messages. */
export async function bundlePage(): Promise<PageAssets> {
  const folder = `${import.meta.dir}/../src/report/browser`;
  const result = await Bun.build({
    entrypoints: [`${folder}/page.ts`, `${folder}/page.css`],
    target: 'browser',
    format: 'esm',
    minify: true,
  });
  if (!result.success) throw new AggregateError(result.logs, 'Cannot bundle the page of the report');
  const textOf = (end: string) => result.outputs.find(({ path }) => path.endsWith(end))?.text() ?? '';
  const [script, style] = [await textOf('.js'), await textOf('.css')];
  // Where these stand in a string, the browser would take the element for ended.
  if (script === '' || style === '' || /<\/(?:script|style)|<!--/i.test(script + style))
    throw new Error('Cannot put the code of the page into a page');
  // With ASCII alone the text takes half the room in the program.
  return { script: script.replace(/[^\x00-\x7f]/g, escaped), style };
}

/** A character as strings of JavaScript may have it: outside of them the code has none of these. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** This machine's, by which an update finds its archive. */
const HOST = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

type OwnPackage = { readonly version: string; readonly repository?: string | { readonly url: string } };

/** package.json. */
export function ownPackage(): OwnPackage {
  return JSON.parse(readFileSync(`${import.meta.dir}/../package.json`, 'utf8'));
}

/** The version in package.json. */
export function ownVersion(): string {
  return ownPackage().version;
}

/** Where releases of a repository are published, by package.json; undefined where it names none. */
export function releasesOf({ repository }: Pick<OwnPackage, 'repository'>): string | undefined {
  const url = typeof repository === 'string' ? repository : repository?.url;
  return url && `${url.replace(/^git\+/, '').replace(/\.git$/, '')}/releases`;
}

if (import.meta.main) {
  process.chdir(`${import.meta.dir}/..`);
  const startedMs = performance.now();
  await compile('src/main.ts', 'dist/self-generation');
  await buildNodeHooks('dist/node');
  await Bun.write('dist/opencode-plugin.js', await bundlePlugin(ownVersion()));
  await Bun.write('dist/self-generation.1', manPage(programReference(), ownVersion()));
  console.log(`Built dist in ${Math.round(performance.now() - startedMs)} ms`);
}
