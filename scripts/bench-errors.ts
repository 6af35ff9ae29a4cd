/**
 * What `self-generation errors search` costs on 100,000 errors, as a whole process, in pairs with `--version` of the
 * same program: a search may take eight times as long: the index ranks every text that has a word.
 *
 *   bun scripts/bench-errors.ts                       dist/self-generation
 *   bun scripts/bench-errors.ts PROGRAM --rounds 40   another program
 *
 * Fills a database in a home directory of its own, prints a table, exits with 1 when a search takes longer.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { type StatePaths, statePaths } from '../src/core/state-paths.ts';
import type { Db } from '../src/database/connection.ts';
import { getDb } from '../src/database/db.ts';
import { normalizeError } from '../src/lessons/errors/normalize-error.ts';
import { recordPersonsFix, recordSeen } from '../src/lessons/store/error-entries.ts';

const RATIO_MAX = 8;
const ERRORS = 100_000;
const ROUNDS_MIN = 20;
const WARM_UP_ROUNDS = 3;
const PROJECTS = 500;
/** A third of the errors, half a percent, and some dozen. */
const LARGE = '/home/dev/app';
const MIDDLE = '/home/dev/project-10';
const SMALL = `/home/dev/project-${PROJECTS - 1}`;
const SYLLABLES = 'ka lo mi ren tos vu der pin sal qua ber nix for gam hel jun'.split(' ');

/** The same sequence each time: Lehmer's generator. */
class Draw {
  #state = 20_261;

  below(limit: number): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return this.#state % limit;
  }

  from<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  word(): string {
    return Array.from({ length: 2 + this.below(2) }, () => this.from(SYLLABLES)).join('');
  }

  name(): string {
    const word = this.word();
    return this.below(2) === 0 ? word : `${word}${this.word().replace(/^./, (first) => first.toUpperCase())}`;
  }

  file(): string {
    return `src/${this.word()}/${this.word()}.ts`;
  }
}

/** What programs print when they fail; `error` is in nearly all of it. */
const KINDS: readonly ((draw: Draw, file: string) => string)[] = [
  (draw, file) =>
    `TypeError: Cannot read properties of undefined (reading ${draw.name()})\n    at ${draw.name()} (${file}:${draw.below(300)}:${draw.below(80)})\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)`,
  (draw, file) =>
    `${file}(${draw.below(300)},${draw.below(80)}): error TS2345: Argument of type ${draw.name()} is not assignable to parameter of type ${draw.name()}.`,
  (draw) =>
    `npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error While resolving: ${draw.word()}@${draw.below(9)}.${draw.below(20)}.0\nnpm error Found: ${draw.word()}`,
  (draw) =>
    `Traceback (most recent call last):\n  File "app/${draw.word()}.py", line ${draw.below(400)}, in ${draw.name()}\nKeyError: ${draw.name()}\nerror: ${draw.word()} failed`,
  (draw) =>
    `error[E0308]: mismatched types in ${draw.name()}\n  --> src/${draw.word()}.rs:${draw.below(300)}:${draw.below(60)}\n expected ${draw.name()}, found ${draw.name()}`,
  (draw) =>
    `Error: connect ECONNREFUSED while ${draw.name()} opened ${draw.word()}\n    at TCPConnectWrap.afterConnect (node:net:1611:16)`,
  (draw) => `error 오류: ${draw.word()} 모듈을 찾을 수 없습니다 (${draw.name()})`,
  (draw) =>
    `FAIL test/${draw.word()}.test.ts > ${draw.name()} > ${draw.name()}\nAssertionError: expected ${draw.name()} to equal ${draw.name()}\n error while comparing`,
  (draw) =>
    `fatal: could not read from remote repository ${draw.word()}-${draw.word()}, ${draw.name()} denied access`,
];

/** As the hooks would have left them: a third in one project, the rest in many of very different sizes. */
function seed(paths: StatePaths): void {
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  db.sqlite.exec('PRAGMA synchronous = OFF');
  const draw = new Draw();
  const startMs = Date.now() - ERRORS * 60_000;
  db.sqlite.transaction(() => {
    for (let index = 0; index < ERRORS; index++) {
      const place = Math.floor(PROJECTS * (draw.below(10_000) / 10_000) ** 2);
      const projectPath = index % 3 === 0 ? LARGE : `/home/dev/project-${place}`;
      seedError({ draw, projectPath, ts: new Date(startMs + index * 60_000).toISOString() }, db);
    }
  });
  db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const { errors } = db.sqlite.get('SELECT COUNT(*) AS errors FROM error_kb') ?? {};
  if (Number(errors) < ERRORS * 0.95) throw new Error(`Cannot seed: only ${errors} errors are different`);
  db.sqlite.close();
}

type Seed = { readonly draw: Draw; readonly projectPath: string; readonly ts: string };

/** Every second one is solved. */
function seedError({ draw, projectPath, ts }: Seed, db: Db): void {
  const file = draw.file();
  const errorRaw = `Exit code 1\n${draw.from(KINDS)(draw, file)}`;
  const error = normalizeError(errorRaw);
  recordSeen(error, { ts, projectPath, said: error, errorRaw }, db);
  if (draw.below(2) === 0) return;
  recordPersonsFix(
    error,
    { ts, projectPath, summary: `edited ${file}, then ran npm test ${draw.word()}` },
    db,
  );
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

type Measured = { readonly name: string; readonly searchMs: number; readonly versionMs: number };

/** Pairs, each time in another order, so that a drift of the machine's speed meets both alike. */
function measure(
  words: readonly string[],
  rounds: number,
  run: (words: readonly string[]) => number,
): Measured {
  const search: number[] = [];
  const version: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    const isFirst = round % 2 === 0;
    const before = isFirst ? run(['--version']) : undefined;
    const searchMs = run(['errors', 'search', ...words]);
    const versionMs = before ?? run(['--version']);
    if (round < 0) continue;
    search.push(searchMs);
    version.push(versionMs);
  }
  return { name: words.join(' '), searchMs: median(search), versionMs: median(version) };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function runProgram(program: string, home: string, words: readonly string[]): number {
  const startedMs = performance.now();
  const { exitCode, stderr } = Bun.spawnSync([program, ...words], {
    env: { HOME: home },
    cwd: home,
    stdin: 'ignore',
  });
  const elapsedMs = performance.now() - startedMs;
  if (exitCode !== 0) throw new Error(`Cannot measure "${words.join(' ')}": ${stderr}`);
  return elapsedMs;
}

function report(rows: readonly Measured[]): number {
  const table = new Table({
    head: ['errors search', 'ms', '--version ms', 'ratio', `at most ${RATIO_MAX}`],
    style: { head: [], border: [] },
  });
  let exceeded = 0;
  for (const { name, searchMs, versionMs } of rows) {
    const ratio = searchMs / versionMs;
    const isKept = ratio <= RATIO_MAX;
    if (!isKept) exceeded++;
    table.push([
      name,
      searchMs.toFixed(1),
      versionMs.toFixed(1),
      ratio.toFixed(2),
      isKept ? 'kept' : 'EXCEEDED',
    ]);
  }
  console.log(table.toString());
  return exceeded === 0 ? 0 : 1;
}

function main(): number {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: 'string' } },
  });
  const built = positionals[0] ?? join(import.meta.dir, '..', 'dist', 'self-generation');
  const rounds = Math.max(ROUNDS_MIN, Number(values.rounds ?? ROUNDS_MIN));
  const home = mkdtempSync(join(tmpdir(), 'self-generation-errors-'));
  try {
    // A copy, as install makes one: a file that the bundler has just written is slower to start from.
    const program = join(home, 'program');
    copyFileSync(built, program);
    const paths = statePaths({ HOME: home }, process.platform);
    if (paths === undefined) throw new Error(`Cannot seed "${home}": not absolute`);
    console.error(`Filling a database with ${ERRORS} errors …`);
    seed(paths);
    console.error(`Measuring ${SEARCHES.length} searches, ${rounds} pairs each …`);
    const run = (words: readonly string[]) => runProgram(program, home, words);
    return report(SEARCHES.map((words) => measure(words, rounds, run)));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

if (import.meta.main) process.exitCode = main();
