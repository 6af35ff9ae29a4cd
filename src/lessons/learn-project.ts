import { asRecord, lookOr, readRecord, readTexts } from '../core/guards.ts';
import { isRepository } from '../core/project.ts';
import type { Db } from '../database/connection.ts';
import { recordIn } from '../database/sqlite.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import { manifestName } from './fetches.ts';
import { type IsNamed, learn } from './learn.ts';
import { parseShell, programOf } from './shell.ts';
import { newestEvent, noteLearnt, readLog, saveLearnt } from './store/lesson-log.ts';

/** So much of a session's end is looked at while somebody waits. */
const SESSION_ROWS_MAX = 400;

/**
 * Learns from the newest calls of one session: what an agent has just found out, the next one is told. Here as below the
 * database is held for nothing but writing.
 */
export function learnSession(projectPath: string, sessionId: string, db: Db): void {
  const log = readLog({ projectPath, sessionId, rowsMax: SESSION_ROWS_MAX }, db);
  const groups = learn(log, projectPath, namedByManifests(projectPath));
  if (groups.length === 0) return;
  db.sqlite.transaction(() => saveLearnt(groups, { projectPath, scope: 'session' }, db));
}

/** Learns from all that is known of a project, and withdraws what has turned out wrong. */
export function learnProject(projectPath: string, db: Db): void {
  const newest = newestEvent(db); // Before the log is read: what comes in meanwhile is still to be learnt from.
  const groups = learn(readLog({ projectPath }, db), projectPath, namedByManifests(projectPath));
  db.sqlite.transaction(() => {
    saveLearnt(groups, { projectPath, scope: 'project' }, db);
    noteLearnt(projectPath, newest, db);
  });
}

/** What a project's own manifests and lock files name: what of elsewhere it runs by its own word. */

/** From the place of a command up to the root of its repository. */
const LEVELS_MAX = 16;
const BYTES_MAX = 8 * 1024 * 1024;

/** Which names stand in a manifest's text. */
type Names = (text: string) => Iterable<string>;

/** Files that are written in one form, and which names stand in it. */
const MANIFESTS: readonly (readonly [files: string, names: Names])[] = [
  ['package.json', namesOfPackage],
  ['package-lock.json', namesOfPackageLock],
  ['deno.json', (text) => text.match(/(?:https?|npm|jsr):[^"\s]+/g) ?? []],
  ['composer.json', (text) => keysOf(recordIn(text), ['require', 'require-dev'])],
  ['pnpm-lock.yaml', all(/^ {2}'?\/?(@?[\w./-]+?)@\d/gm)],
  ['yarn.lock', all(/^"?(@?[\w./-]+?)@/gm)],
  ['bun.lock', all(/^ {4}"(@?[\w./-]+)": \[/gm)],
  ['pyproject.toml Pipfile Cargo.toml mise.toml', namesOfToml],
  ['.tool-versions', all(/^([\w.-]+)\s/gm)],
  ['requirements.txt requirements-dev.txt', all(/^([\w.-]+)(?:\[[\w,-]*\])?\s*(?:[=~!<>;#]|$)/gm)],
  ['poetry.lock uv.lock Cargo.lock', all(/^name = "([\w.-]+)"/gm)],
  ['go.mod', all(/^(?:[ \t]*|require[ \t]+|tool[ \t]+)([\w-]+(?:\.[\w-]+)+\/\S+)/gm)],
  ['Gemfile', all(/^\s*gem ['"]([\w.-]+)['"]/gm)],
  ['docker-compose.yml docker-compose.yaml compose.yml compose.yaml', all(/^\s*image:\s*["']?([^\s"'#]+)/gm)],
  ['Dockerfile', all(/^FROM (?:--\S+ )*(\S+)/gim)],
];

/** Looks into the manifests when it is asked first. Never throws: what cannot be read names nothing. */
export function namedByManifests(projectPath: string): IsNamed {
  const known = new Map<string, ReadonlySet<string>>();
  return (fetched, place) => {
    const name = manifestName(fetched);
    return directoriesFrom(projectPath, place).some((directory) => {
      const names = known.get(directory) ?? namesIn(directory);
      known.set(directory, names);
      return names.has(name) || names.has(fetched) || isInModule(name, names);
    });
  };
}

/** A package of Go is named by its module. */
function isInModule(name: string, names: ReadonlySet<string>): boolean {
  const segments = name.split('/');
  const isModule = (_: string, at: number) => at > 1 && names.has(segments.slice(0, at).join('/'));
  return /^[\w-]+(?:\.[\w-]+)+\//.test(name) && segments.some(isModule);
}

function directoriesFrom(projectPath: string, place: string): string[] {
  const inside = /^(?:[/~]|[A-Za-z]:|\.\.)/.test(place) || place.includes('\0') ? '' : place;
  const chain: string[] = [];
  let directory = inside === '' ? projectPath : `${projectPath}/${inside}`;
  while (chain.length < LEVELS_MAX && directory !== '') {
    chain.push(directory);
    if (isRepository(directory, { pathExists, readTextFile })) return chain;
    directory = directory.slice(0, Math.max(0, directory.search(/[\\/][^\\/]*$/)));
  }
  // Outside of a repository nothing above the project is its own.
  return chain.filter((one) => one.length >= projectPath.length);
}

function namesIn(directory: string): ReadonlySet<string> {
  const named = MANIFESTS.flatMap(([files, read]) =>
    files.split(' ').flatMap((file) => [...read(readFile(`${directory}/${file}`))]),
  );
  return new Set(named.map(manifestName));
}

/** Lock files are large. A pipe that nobody writes to is never opened. What cannot be read names nothing. */
function readFile(path: string): string {
  const { readFileSync, statSync } = process.getBuiltinModule('node:fs');
  return lookOr(() => {
    const file = statSync(path, { throwIfNoEntry: false });
    return file?.isFile() && file.size <= BYTES_MAX ? readFileSync(path, 'utf8') : '';
  }, '');
}

function all(expression: RegExp): Names {
  return (text) => Array.from(text.matchAll(expression), ([, name = '']) => name);
}

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

/** Packages with their sources, its own programs, and those that its scripts run. */
function namesOfPackage(text: string): string[] {
  const manifest = recordIn(text);
  const scripts = readTexts(Object.values(readRecord(manifest, 'scripts')));
  const sources = DEPENDENCIES.flatMap((key) => Object.values(readRecord(manifest, key)));
  return [
    ...keysOf(manifest, [...DEPENDENCIES, 'bin']),
    ...readTexts(sources).filter((one) => one.includes(':')),
    ...scripts.flatMap((script) => parseShell(script).flatMap(programsOf)),
  ];
}

/** `tsc` of `npx tsc` as well. */
function programsOf({ words }: { readonly words: readonly string[] }): string[] {
  const program = programOf({ words });
  const next = words[words.findIndex((word) => word.endsWith(program)) + 1];
  return /^(?:npx|bunx|pnpx)$/.test(program) && next !== undefined ? [program, next] : [program];
}

/** What lies in node_modules, and the programs of it. */
function namesOfPackageLock(text: string): string[] {
  const packages = readRecord(recordIn(text), 'packages');
  return Object.entries(packages).flatMap(([path, entry]) => [
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    ...keysOf(entry, ['bin']),
  ]);
}

const OF_DEPENDENCIES = /^[^\]\n]*(?:depend|packages|tools|project|uv|groups)/;
const KEYS = all(/^"?([\w@./-]+)"?\s*=/gm);
const LISTED = all(/["']([\w.-]+)(?:\[[\w,-]*\])?\s*(?:[=~!<>;][^"']*)?["']/g);

/** Keys of tables and names in lists: `ruff = "^1"`, `"ruff>=1"`. */
function namesOfToml(text: string): string[] {
  const tables = text.split(/^\[/m).filter((one) => OF_DEPENDENCIES.test(one));
  return tables.flatMap((table) => [...KEYS(table), ...LISTED(table)]);
}

function keysOf(value: unknown, tables: readonly string[]): string[] {
  return tables.flatMap((table) => Object.keys(readRecord(asRecord(value), table)));
}
