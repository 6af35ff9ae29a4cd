/**
 * What `self-generation errors search` costs on 100,000 errors, as a whole process, in pairs with `--version` of the
 * same program: a search may take eight times as long: the index ranks every text that has a word.
 *
 *   bun scripts/bench-errors.ts                       dist/self-generation
 *   bun scripts/bench-errors.ts PROGRAM --rounds 40   another program
 *
 * Fills a database in a home directory of its own, prints a table, exits with 1 when a search takes longer.
 */

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { StatePaths } from '../src/core/state-paths.ts';
import type { Db } from '../src/database/connection.ts';
import { getDb } from '../src/database/db.ts';
import { normalizeError } from '../src/lessons/errors/normalize-error.ts';
import { recordPersonsFix } from '../src/lessons/store/error-entries.ts';
import { recordSeen } from '../src/lessons/store/seen-errors.ts';
import { comparePairs, inTemporary, pathsIn, random, timed } from './measure.ts';

const RATIO_MAX = 8;
const ERRORS = 100_000;
const PROJECTS = 500;
/** A third of the errors, half a percent, and some dozen. */
const LARGE = '/home/dev/app';
const MIDDLE = '/home/dev/project-10';
const SMALL = `/home/dev/project-${PROJECTS - 1}`;
const SYLLABLES = 'ka lo mi ren tos vu der pin sal qua ber nix for gam hel jun'.split(' ');

const { below, oneOf } = random(20_261);

/** A word that nobody has written. */
function word(): string {
  return Array.from({ length: 2 + below(2) }, () => oneOf(SYLLABLES)).join('');
}

function name(): string {
  const first = word();
  return below(2) === 0 ? first : `${first}${word().replace(/^./, (letter) => letter.toUpperCase())}`;
}

/** What programs print when they fail; `error` is in nearly all of it. */
const KINDS: readonly ((file: string) => string)[] = [
  (file) =>
    `TypeError: Cannot read properties of undefined (reading ${name()})\n    at ${name()} (${file}:${below(300)}:${below(80)})\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)`,
  (file) =>
    `${file}(${below(300)},${below(80)}): error TS2345: Argument of type ${name()} is not assignable to parameter of type ${name()}.`,
  () =>
    `npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error While resolving: ${word()}@${below(9)}.${below(20)}.0\nnpm error Found: ${word()}`,
  () =>
    `Traceback (most recent call last):\n  File "app/${word()}.py", line ${below(400)}, in ${name()}\nKeyError: ${name()}\nerror: ${word()} failed`,
  () =>
    `error[E0308]: mismatched types in ${name()}\n  --> src/${word()}.rs:${below(300)}:${below(60)}\n expected ${name()}, found ${name()}`,
  () =>
    `Error: connect ECONNREFUSED while ${name()} opened ${word()}\n    at TCPConnectWrap.afterConnect (node:net:1611:16)`,
  () => `error 오류: ${word()} 모듈을 찾을 수 없습니다 (${name()})`,
  () =>
    `FAIL test/${word()}.test.ts > ${name()} > ${name()}\nAssertionError: expected ${name()} to equal ${name()}\n error while comparing`,
  () => `fatal: could not read from remote repository ${word()}-${word()}, ${name()} denied access`,
];

/** As the hooks would have left them: a third in one project, the rest in many of very different sizes. */
function seed(paths: StatePaths): void {
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  db.sqlite.exec('PRAGMA synchronous = OFF');
  const startMs = Date.now() - ERRORS * 60_000;
  db.sqlite.transaction(() => {
    for (let index = 0; index < ERRORS; index++) {
      const place = Math.floor(PROJECTS * (below(10_000) / 10_000) ** 2);
      const projectPath = index % 3 === 0 ? LARGE : `/home/dev/project-${place}`;
      seedError({ projectPath, ts: new Date(startMs + index * 60_000).toISOString() }, db);
    }
  });
  db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const { errors } = db.sqlite.get('SELECT COUNT(*) AS errors FROM error_kb') ?? {};
  if (Number(errors) < ERRORS * 0.95) throw new Error(`Cannot seed: only ${errors} errors are different`);
  db.sqlite.close();
}

/** Every second one is solved. */
function seedError(at: { readonly projectPath: string; readonly ts: string }, db: Db): void {
  const file = `src/${word()}/${word()}.ts`;
  const errorRaw = `Exit code 1\n${oneOf(KINDS)(file)}`;
  const error = normalizeError(errorRaw);
  recordSeen(error, { ...at, said: error, errorRaw }, db);
  if (below(2) === 0) return;
  recordPersonsFix(error, { ...at, summary: `edited ${file}, then ran npm test ${word()}` }, db);
}

const SEARCHES: readonly (readonly string[])[] = [
  ...[LARGE, MIDDLE, SMALL].flatMap((project) =>
    [['error'], ['err'], ['cannot', 'read', 'properties'], ['ka'], ['err', 'exi', 'cod', 'zzz']].map(
      (words) => [...words, '--project', project],
    ),
  ),
  ['error', '--all-projects'],
  ['err', '--all-projects'],
  ['error', 'kalomi', '--all-projects'],
  ['src/kalo/mirentos.ts', '--all-projects'],
  ['kalo.ts', '--all-projects'],
  ['모듈', '--all-projects'],
  ['error', '--open', '--all-projects'],
  ['"" OR NOT (', '--all-projects'],
];

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: 'string' } },
  });
  process.exitCode = await inTemporary((home) => {
    // A copy, as install makes one: a file that the bundler has just written is slower to start from.
    const program = join(home, 'program');
    copyFileSync(positionals[0] ?? 'dist/self-generation', program);
    console.error(`Filling a database with ${ERRORS} errors …`);
    seed(pathsIn(home));
    console.error(`Measuring ${SEARCHES.length} searches …`);
    const subjects = SEARCHES.map((words) => ({
      name: words.join(' '),
      most: RATIO_MAX,
      words: () => ['errors', 'search', ...words],
    }));
    const options = { what: 'errors search', wanted: values.rounds };
    return comparePairs(subjects, options, (words) => timed([program, ...words], { home }));
  });
}
