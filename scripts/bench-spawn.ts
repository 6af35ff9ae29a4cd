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
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isTerminal } from '../src/runs/model/turn.ts';
import { readRuns, withRuns } from '../src/runs/store/rows.ts';
import { listRuns } from '../src/runs/store/runs.ts';
import { comparePairs, inTemporary, makePlace, type Place, timed } from './measure.ts';

const SPAWN_RATIO_MAX = 2;
const LIST_RATIO_MAX = 3;
const RUNS = 10_000;
const SETTLE_MS = 10_000;

/** Ends at once, as the client does when it has nothing to do. */
const CLIENT = `#!/bin/sh
cat >/dev/null
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'
`;

const CONFIG = {
  agents: { defaults: { subagents: { maxQueued: 100_000, archiveAfterMinutes: 0 } } },
  announce: { mode: 'raw' },
};

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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string' }, slack: { type: 'string' } },
});
const program = resolve(positionals[0] ?? 'dist/self-generation');
process.exitCode = await inTemporary(async (root) => {
  const place = makePlace(root, CLIENT, CONFIG);
  const at = { home: root, cwd: place.project, env: place.env };
  const run = (words: readonly string[]) => timed([program, ...words], at);
  const options = { what: 'subagents', wanted: values.rounds, slack: Number(values.slack ?? 1) };
  const spawning = {
    name: 'spawn',
    most: SPAWN_RATIO_MAX,
    words: (round: number) => ['subagents', 'spawn', '--cli', 'claude', `task ${round}`],
    after: () => settle(place),
  };
  const spawned = await comparePairs([spawning], options, run);
  fill(place);
  const lists = [['list'], ['list', '--all', '--json']].map((words) => ({
    name: `${words.join(' ')}, ${RUNS} runs`,
    most: LIST_RATIO_MAX,
    words: () => ['subagents', ...words],
  }));
  return Math.max(spawned, await comparePairs(lists, options, run));
});
