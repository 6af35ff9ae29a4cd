/**
 * What `subagents spawn` and `subagents list` cost, as whole processes, in pairs with `--version` of the same program: a
 * spawn, with its row on disk and its supervisor started, may take twice as long, a list of 10,000 runs three times.
 *
 *   bun scripts/bench-spawn.ts                       dist/self-generation
 *   bun scripts/bench-spawn.ts PROGRAM --rounds 40   another program
 *   bun scripts/bench-spawn.ts --slack 1.5           multiplies the limits, for machines with other work
 *
 * Exits with 1 when a limit is broken.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { type StatePaths, statePaths } from '../src/core/state-paths.ts';
import { isTerminal } from '../src/runs/model/turn.ts';
import { readRuns, withRuns } from '../src/runs/store/rows.ts';
import { listRuns } from '../src/runs/store/runs.ts';

const SPAWN_RATIO_MAX = 2;
const LIST_RATIO_MAX = 3;
const RUNS = 10_000;
const ROUNDS_MIN = 20;
const WARM_UP_ROUNDS = 3;
const SETTLE_MS = 10_000;

/** Ends at once, as the client does when it has nothing to do. */
const CLIENT = `#!/bin/sh
cat >/dev/null
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'
`;

type Place = { readonly root: string; readonly project: string; readonly paths: StatePaths };

function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), 'self-generation-bench-'));
  const paths = statePaths({ HOME: root }, process.platform);
  if (paths === undefined) throw new Error(`Cannot use "${root}": not absolute`);
  for (const name of ['bin', 'project', '.self-generation']) mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, 'bin', 'claude'), CLIENT);
  chmodSync(join(root, 'bin', 'claude'), 0o755);
  const subagents = { maxQueued: 100_000, archiveAfterMinutes: 0 };
  writeFileSync(
    paths.config,
    JSON.stringify({ agents: { defaults: { subagents } }, announce: { mode: 'raw' } }),
  );
  return { root, project: join(root, 'project'), paths };
}

function timed(program: string, words: readonly string[], { root, project }: Place): number {
  const startedMs = performance.now();
  const { exitCode, stderr, stdout } = Bun.spawnSync([program, ...words], {
    env: { HOME: root, PATH: `${join(root, 'bin')}:${process.env.PATH}` },
    cwd: project,
    stdin: 'ignore',
  });
  const elapsedMs = performance.now() - startedMs;
  if (exitCode !== 0) throw new Error(`Cannot measure "${words.join(' ')}": ${stderr}${stdout}`);
  return elapsedMs;
}

/** Nothing of the run before is still at work; and its result is taken in, so that spawning goes on. */
async function settle({ paths }: Place): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const [newest] = readRuns(paths, (db) => listRuns({ limit: 1 }, db)) ?? [];
    if (newest === undefined || isTerminal(newest.turn.state)) break;
    if (Date.now() > deadline) throw new Error(`Cannot measure: run ${newest.run.id} does not end`);
    await Bun.sleep(20);
  }
  withRuns(paths, (db) => db.run("UPDATE outbox SET state = 'acked', settled_at = 0"));
  await Bun.sleep(50); // Its supervisor is on its way out.
}

type Measured = {
  readonly name: string;
  readonly ms: number;
  readonly versionMs: number;
  readonly most: number;
};

type Subject = {
  readonly name: string;
  readonly most: number;
  readonly words: (round: number) => readonly string[];
  readonly after: () => Promise<void>;
};

/** Pairs, each time in another order, so that a drift of the machine's speed meets both alike. */
async function measure(
  subject: Subject,
  rounds: number,
  run: (words: readonly string[]) => number,
): Promise<Measured> {
  const own: number[] = [];
  const version: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    const isFirst = round % 2 === 0;
    const before = isFirst ? run(['--version']) : undefined;
    const ms = run(subject.words(round));
    if (!isFirst) await subject.after();
    const versionMs = before ?? run(['--version']);
    if (isFirst) await subject.after();
    if (round < 0) continue;
    own.push(ms);
    version.push(versionMs);
  }
  return { name: subject.name, most: subject.most, ms: median(own), versionMs: median(version) };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Copies of a run that there is, ended and announced. */
function fill({ paths }: Place): void {
  withRuns(paths, (db) =>
    db.transaction(() => {
      const [model] = db.all('SELECT * FROM runs ORDER BY number LIMIT 1');
      const [turn] = db.all('SELECT * FROM turns WHERE run_id = ? AND number = 1', String(model?.id));
      if (model === undefined || turn === undefined) throw new Error('Cannot fill: there is no run');
      for (let index = 0; index < RUNS; index++) {
        const id = crypto.randomUUID().replaceAll('-', '');
        const number = 1_000_000 + index;
        insert('runs', { ...model, id, number, child_key: `agent:main:subagent:${id}`, spawn_key: id }, db);
        const { position: _position, ...columns } = turn;
        insert('turns', { ...columns, run_id: id }, db);
      }
    }),
  );
}

function insert(
  table: string,
  row: Record<string, unknown>,
  db: Parameters<Parameters<typeof withRuns>[1]>[0],
): void {
  const names = Object.keys(row);
  const marks = names.map(() => '?').join(', ');
  db.run(
    `INSERT INTO ${table}(${names.join(', ')}) VALUES (${marks})`,
    ...(Object.values(row) as (string | number | null)[]),
  );
}

function report(rows: readonly Measured[], slack: number): number {
  const table = new Table({
    head: ['subagents', 'ms', '--version ms', 'ratio', 'at most', ''],
    style: { head: [], border: [] },
  });
  let exceeded = 0;
  for (const { name, ms, versionMs, most } of rows) {
    const ratio = ms / versionMs;
    const isKept = ratio <= most * slack;
    if (!isKept) exceeded++;
    const words = isKept ? 'kept' : 'EXCEEDED';
    table.push([
      name,
      ms.toFixed(1),
      versionMs.toFixed(1),
      ratio.toFixed(2),
      (most * slack).toFixed(2),
      words,
    ]);
  }
  console.log(table.toString());
  return exceeded === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: 'string' }, slack: { type: 'string' } },
  });
  const program = resolve(positionals[0] ?? 'dist/self-generation');
  const rounds = Math.max(ROUNDS_MIN, Number(values.rounds ?? ROUNDS_MIN));
  const place = makePlace();
  try {
    const run = (words: readonly string[]) => timed(program, words, place);
    const spawning: Subject = {
      name: 'spawn',
      most: SPAWN_RATIO_MAX,
      words: (round) => ['subagents', 'spawn', '--cli', 'claude', `task ${round}`],
      after: () => settle(place),
    };
    const spawned = await measure(spawning, rounds, run);
    fill(place);
    const listing: Subject = {
      name: `list, ${RUNS} runs`,
      most: LIST_RATIO_MAX,
      words: () => ['subagents', 'list'],
      after: async () => {},
    };
    const all = {
      ...listing,
      name: `list --all --json, ${RUNS} runs`,
      words: () => ['subagents', 'list', '--all', '--json'],
    };
    return report(
      [spawned, await measure(listing, rounds, run), await measure(all, rounds, run)],
      Number(values.slack ?? 1),
    );
  } finally {
    rmSync(place.root, { recursive: true, force: true });
  }
}

process.exitCode = await main();
