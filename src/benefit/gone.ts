import { parseShell, programOf, unquoted } from '../lessons/shell.ts';
import type { Advice } from './settle.ts';

/** What a lesson names that its project does not have any more. */

/** How a project is looked at; paths are absolute. */
export type Files = {
  readonly exists: (path: string) => boolean;
  readonly read: (path: string) => string | undefined;
};

const RUNS_FILES = /^(?:node|bun|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|sh|bash|zsh)$/;
const RUNS_SCRIPTS = /^(?:npm|pnpm|yarn|bun)$/;
/** What comes and goes with every build and installation. */
const IS_BUILT = /^(?:\.\/)?(?:dist|build|out|target|bin|coverage|node_modules|\.venv|venv)\//;
/** Words that stand for themselves, as a path below where the command runs. */
const IS_RELATIVE = /^(?:\.{1,2}\/)?[\w@+-][\w.@+-]*(?:\/[\w.@+-]+)*$/;

/**
 * The script or file that an advised command runs and that is not there, as `npm script "lint:all"`; undefined where all of
 * it is, where nobody can say, and where the project itself is not there.
 */
export function goneIn({ use, places }: Advice, root: string, files: Files): string | undefined {
  if (!files.exists(root)) return undefined;
  const directories = ['', ...places.filter((place) => !/^[/~.]|\0|^[A-Za-z]:/.test(place))];
  for (const { words, directory } of use.flatMap((command) => parseShell(command))) {
    const inside = directory === null || directory === '' ? directories : [directory];
    const at = (path: string) =>
      inside.map((place) => [root, place, path].filter((part) => part !== '').join('/'));
    const typed = words.map(unquoted);
    const called = typed.indexOf(typed.find((word) => word.endsWith(programOf({ words }))) ?? '');
    const [program = '', next = '', name = ''] = typed.slice(called);
    if (
      directory !== null &&
      directory !== '' &&
      IS_RELATIVE.test(directory) &&
      !files.exists(`${root}/${directory}`)
    )
      return `directory "${directory}"`;
    if (RUNS_SCRIPTS.test(program) && /^run(?:-script)?$/.test(next) && /^[\w:.-]+$/.test(name)) {
      const manifests = at('package.json').flatMap((path) => files.read(path) ?? []);
      const isNamed = manifests.some((text) => text.includes(JSON.stringify(name)));
      const isFile = program === 'bun' && at(name).some(files.exists);
      if (manifests.length > 0 && !isNamed && !isFile) return `script "${name}" of package.json`;
    }
    const file = RUNS_FILES.test(program) ? next : program;
    const isPath = IS_RELATIVE.test(file) && /^\.{1,2}\/|\/.*\.\w{1,4}$/.test(file);
    if (isPath && !IS_BUILT.test(file) && !at(file).some(files.exists)) return `file "${file}"`;
  }
  return undefined;
}
