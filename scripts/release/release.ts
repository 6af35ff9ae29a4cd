/**
 * Builds everything that is published, into `dist/release/`, with no network: archives with the program for each platform,
 * the hooks for Node, the plugins, what installs them, the bill of materials, checksums, and the packages for npm.
 *
 *   npm ci --prefix scripts/release               once: the runtimes
 *   npm run release                               all
 *   npm run release -- --targets linux-x64,windows-x64 --fast
 *
 * --targets NAMES  programs for these platforms alone; --fast: compress little; --out DIR: a new folder instead.
 *
 * The same commit gives the same bytes, wherever it lies: every file bears the time of the commit, or SOURCE_DATE_EPOCH.
 * docs/releases.md says what each file is.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SHELLS } from '../../src/cli/completion/shells.ts';
import { buildNodeHooks, bundlePlugin, compile } from '../build.ts';
import { manPage } from '../reference/man-page.ts';
import { programReference } from '../reference/program.ts';
import {
  type Described,
  isForNpm,
  MANUAL,
  mainPackage,
  type NpmPackage,
  platformPackage,
} from './npm-packages.ts';
import { type Content, pack } from './pack.ts';
import { releaseSbom, type Sbom } from './sbom.ts';
import { archiveName, platformOf, programName, runtimeOf, TARGETS, type Target } from './targets.ts';

export type Options = {
  /** An empty or new folder. */
  readonly out: string;
  readonly targets: readonly Target[];
  readonly isFast: boolean;
  /** In seconds since 1970. */
  readonly atSeconds: number;
};

const file = (path: string): Content => ({ path, from: { file: path } });
const LICENSE = file('LICENSE');
const TEXTS = [LICENSE, file('README.md'), file('CHANGELOG.md')];
const COMPLETIONS = SHELLS.map(({ file, script }) => ({
  path: `completions/${file}`,
  from: { text: script },
}));

/** Builds a release; the working directory is the repository. Says which file is done. @throws Error */
export async function release({ out, targets, ...how }: Options): Promise<void> {
  const described = JSON.parse(readFileSync('package.json', 'utf8')) as Described & PackageJson;
  const { version } = described;
  const name = `self-generation-${version}`;
  const work = join(out, '.work');
  mkdirSync(join(out, 'npm'), { recursive: true });
  const put = (path: string, folder: string, contents: readonly Content[]) => {
    pack(join(out, path), contents, { folder, ...how });
    console.log(path);
  };
  const putNpm = (made: NpmPackage) => put(`npm/${made.file}`, 'package', made.contents);
  const write = (path: string, text: string) => {
    writeFileSync(join(out, path), text);
    console.log(path);
  };

  const manual = { text: manPage(programReference(), version) };
  for (const target of targets) {
    const program = join(work, target, programName(target));
    await compile('src/main.ts', program, { version, target });
    const executable = { path: programName(target), from: { file: program }, isExecutable: true };
    const forUnix = [{ path: 'share/man/man1/self-generation.1', from: manual }];
    const more = [...(platformOf(target).os === 'win32' ? [] : forUnix), ...COMPLETIONS, ...TEXTS];
    put(archiveName(version, target), `${name}-${target}`, [executable, ...more]);
    if (isForNpm(target)) putNpm(platformPackage(described, { target, program, license: LICENSE }));
    rmSync(join(work, target), { recursive: true });
  }
  const launcher = await bundleLauncher();
  const texts = [{ path: MANUAL, from: manual }, ...TEXTS];
  putNpm(mainPackage(described, { launcher, targets: TARGETS.filter(isForNpm), texts }));

  await buildNodeHooks(join(work, 'node'));
  const hooks = filesIn(join(work, 'node')).map(({ path, from }) => ({ path: `hooks/${path}`, from }));
  put(`${name}-node.tar.xz`, `${name}-node`, [...hooks, ...TEXTS]);
  rmSync(work, { recursive: true });

  const plugin = ['plugin', '.claude-plugin'].flatMap((folder) =>
    filesIn(folder).map(({ path, from }) => ({ path: `${folder}/${path}`, from })),
  );
  put(`${name}-claude-plugin.zip`, `${name}-claude-plugin`, [...plugin, LICENSE]);
  write('opencode-plugin.js', await bundlePlugin(version));
  for (const script of ['install.sh', 'install.ps1'])
    write(script, readFileSync(`scripts/${script}`, 'utf8'));
  const bill = {
    name: described.name,
    version,
    atSeconds: how.atSeconds,
    bun: described.devDependencies.bun,
  };
  write(`${name}.cdx.json`, `${JSON.stringify(releaseSbom(listDependencies(), bill), null, 2)}\n`);
  write('checksums.txt', checksums(out));
}

type PackageJson = { readonly name: string; readonly devDependencies: { readonly bun: string } };

function filesIn(folder: string): Content[] {
  const paths = [...new Bun.Glob('**').scanSync({ cwd: folder, dot: true })].sort();
  return paths.map((path) => {
    const file = join(folder, path);
    return { path, from: { file }, isExecutable: (statSync(file).mode & 0o111) !== 0 };
  });
}

/** As `sha256sum -c` reads it: the files beside it, by name. */
function checksums(out: string): string {
  const names = readdirSync(out, { withFileTypes: true }).filter((entry) => entry.isFile());
  const lines = names
    .map(({ name }) => name)
    .sort()
    .map(
      (name) =>
        `${new Bun.CryptoHasher('sha256').update(readFileSync(join(out, name))).digest('hex')}  ${name}\n`,
    );
  return lines.join('');
}

async function bundleLauncher(): Promise<string> {
  const result = await Bun.build({
    entrypoints: [`${import.meta.dir}/launcher.ts`],
    target: 'node',
    format: 'esm',
  });
  const [bundle] = result.outputs;
  if (!result.success || bundle === undefined)
    throw new AggregateError(result.logs, 'Cannot bundle the launcher');
  return bundle.text();
}

/** What the lockfile says of the dependencies in the program. */
function listDependencies(): Sbom {
  return JSON.parse(
    outputOf(['npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only']),
  ) as Sbom;
}

/** When the commit was made, unless the environment says a time, as reproducible-builds.org specifies it. */
function commitTime({ SOURCE_DATE_EPOCH: given }: NodeJS.ProcessEnv): number {
  const seconds = Number(given ?? outputOf(['git', 'log', '-1', '--format=%ct']));
  if (Number.isSafeInteger(seconds) && seconds > 0) return seconds;
  throw new Error(`Cannot date the release: SOURCE_DATE_EPOCH is "${given}". Give seconds since 1970`);
}

function outputOf(command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command);
  if (exitCode === 0) return stdout.toString();
  throw new Error(`Cannot run "${command.join(' ')}": exit code ${exitCode} ${stderr}`);
}

/** The targets that are named; all where none is. @throws Error for a name that there is not, or a runtime that is missing */
export function targetsFrom(names: string | undefined): readonly Target[] {
  const known = (name: string) => {
    const target = TARGETS.find((one) => one === name);
    if (target === undefined)
      throw new Error(
        `Cannot build for "${name}": there is no such target. There are: ${TARGETS.join(', ')}`,
      );
    return target;
  };
  const targets = names === undefined ? TARGETS : names.split(',').map(known);
  const missing = targets.find((target) => !existsSync(runtimeOf(target)));
  if (missing === undefined) return targets;
  throw new Error(
    `Cannot build for "${missing}": its runtime is missing. Run: npm ci --prefix scripts/release`,
  );
}

/** The folder to write into. What an earlier release left in `dist/release` goes; another folder has to be new. */
function folderFor(out: string | undefined): string {
  if (out === undefined) {
    rmSync('dist/release', { recursive: true, force: true });
    return 'dist/release';
  }
  if (existsSync(out)) throw new Error(`Cannot write into "${out}": it is there already. Name a new folder`);
  return out;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      targets: { type: 'string' },
      fast: { type: 'boolean', default: false },
      out: { type: 'string' },
    },
  });
  const given = values.out === undefined ? undefined : resolve(values.out);
  process.chdir(join(import.meta.dir, '../..'));
  const targets = targetsFrom(values.targets);
  const atSeconds = commitTime(process.env);
  await release({ out: folderFor(given), targets, isFast: values.fast, atSeconds });
}
