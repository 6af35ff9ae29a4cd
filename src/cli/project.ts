import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type AnalysisScope, isAnythingRecorded } from '../analysis/data.ts';
import { isRepository, projectPathSpellings } from '../core/project.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { readDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import { projectOfDirectory } from '../runs/workspace/first-prompt.ts';
import { isRecorded, type KnownProject, listProjects } from '../setup/inspect-store.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import { type CliContext, EXIT, fail } from './context.ts';

/** A project as the hooks know it. */
export type CliProject = ReturnType<typeof projectOfDirectory>;

const PROJECTS_NAMED_MAX = 8;

/**
 * The project that the user is in: where something is recorded of no directory here, of the one above it, up to the
 * repository's own. The client is mostly started at its root, and commands are typed anywhere.
 */
export function projectHere(paths: StatePaths, { cwd }: Pick<CliContext, 'cwd'>): CliProject {
  const inside = withinRepository(cwd).map(projectOfDirectory);
  const recorded = readDatabase(paths, (db) =>
    inside.find(({ spellings }) => spellings.some((path) => isRecorded(path, db))),
  );
  return recorded ?? projectOfDirectory(cwd);
}

/** The directory and those above it, up to the root of the repository; only itself outside of one. */
function withinRepository(directory: string): string[] {
  const chain: string[] = [];
  for (let at = directory; ; at = dirname(at)) {
    chain.push(at);
    if (isRepository(at, { pathExists, readTextFile })) return chain;
    if (dirname(at) === at) return [directory];
  }
}

/**
 * What `--project` means: nothing is where the user is, `all` is everything, a path is that directory, and a name is a
 * project of which something is recorded. Undefined after saying why it is none of these.
 */
export function findScope(
  wanted: string | undefined,
  paths: StatePaths,
  context: CliContext,
): AnalysisScope | undefined {
  if (wanted === 'all') return { kind: 'all' };
  const isPath = wanted !== undefined && (/[\\/]/.test(wanted) || existsSync(resolve(context.cwd, wanted)));
  if (wanted === undefined || isPath) {
    const { name, path } =
      wanted === undefined ? projectHere(paths, context) : projectOfDirectory(resolve(context.cwd, wanted));
    return { kind: 'project', name, path };
  }
  const known = readDatabase(paths, listProjects) ?? [];
  const found = known.filter(({ name }) => name === wanted);
  const [only] = found;
  if (only !== undefined && found.length === 1) return { kind: 'project', name: only.name, path: only.path };
  if (found.length > 1)
    failToFind(wanted, { reason: 'more than one has this name', candidates: found }, context);
  else failToFind(wanted, { reason: NOTHING_RECORDED, candidates: known }, context);
  return undefined;
}

/** As findScope(), for those who read the log: of a path that was named, something has to be recorded. */
export function findRecordedScope(
  wanted: string | undefined,
  paths: StatePaths,
  context: CliContext,
): AnalysisScope | undefined {
  const scope = findScope(wanted, paths, context);
  if (wanted === undefined || scope?.kind !== 'project') return scope;
  const spellings = projectPathSpellings(scope.path, resolve(context.cwd, wanted));
  const isKnown =
    isAnythingRecorded(paths) &&
    writeDatabase(paths, (db) => spellings.some((spelling) => isRecorded(spelling, db)));
  if (isKnown) return scope;
  const candidates = readDatabase(paths, listProjects) ?? [];
  failToFind(wanted, { reason: NOTHING_RECORDED, candidates }, context);
  return undefined;
}

const NOTHING_RECORDED = 'nothing is recorded of it';

type NotFound = { readonly reason: string; readonly candidates: readonly KnownProject[] };

function failToFind(wanted: string, { reason, candidates }: NotFound, context: CliContext): void {
  const named = candidates.slice(0, PROJECTS_NAMED_MAX).map(({ path }) => path);
  const hint = named.length > 0 ? `. Give a path: ${named.join(', ')}` : '';
  fail(context, EXIT.notFound, `find the project "${wanted}": ${reason}${hint}`);
}
