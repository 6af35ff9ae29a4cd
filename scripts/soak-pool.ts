/**
 * Runs over a pool of machines while its workers and its server are killed with -9: the built program, a real PostgreSQL, a
 * remote, four homes with a worker each, and a fifth that asks. The client is a stand-in that writes down each start and end.
 *
 *   bun scripts/soak-pool.ts                     1,000 runs over four workers
 *   bun scripts/soak-pool.ts --runs 100
 *   bun scripts/soak-pool.ts --program FILE      this program instead of one that is compiled now
 *   bun scripts/soak-pool.ts --seed 7            the same choices of whom to kill
 *
 * First, without kills, what a run costs: one after the other, over the pool and here, where its changes come into a branch as
 * well, in turns; and many at once. Exits with 1 unless every run has one end and was announced once, none was done twice, what
 * was reported as done was done, no process is left, and a run over the pool takes at most 100 ms longer than one here.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { connectServer } from '../src/database/postgres.ts';
import { readServerAddress } from '../src/database/server-address.ts';
import type { Sqlite } from '../src/database/sqlite.ts';
import type { PoolPlace } from '../src/runs/model/pool-role.ts';
import { isTerminal } from '../src/runs/model/turn.ts';
import { reconcile } from '../src/runs/reconcile.ts';
import { requesterHere } from '../src/runs/requester.ts';
import { seenByGit, spawnRun } from '../src/runs/spawn.ts';
import { takeAnnouncements } from '../src/runs/store/outbox.ts';
import { openRunsDb, readRuns, withRuns } from '../src/runs/store/rows.ts';
import { getRun } from '../src/runs/store/runs.ts';
import { turnsOf } from '../src/runs/store/turns.ts';
import type { RunsWorld } from '../src/runs/world.ts';
import { writeMembership } from '../src/team/membership.ts';
import { migrateTeam } from '../src/team/store/migrate.ts';
import { ADMIN, startPostgres, type TestServer } from '../test/support/postgres-server.ts';
import { inTemporary, makePlace, median, type Place, programOr, random, textOf } from './measure.ts';

const TEAM = 'soak';
const KEY = 'a'.repeat(64);
const WORKERS = 4;
const SLOTS = 4;
const LOST_AFTER_SECONDS = 10;
const OVERHEAD_MAX_MS = 100;
const ALONE = 20;
/** Of the first runs, each machine fetches the repository. */
const WARMING = 8;
const AT_ONCE = 200;
const WORK_MS = 500;
const KILL_WORKER_EACH_MS = 4000;
const KILL_SERVER_EACH_MS = 25_000;
const AWAY_MAX_MS = 4000;
const SETTLE_MS = 600_000;

/** As Claude Code, with a line in a file at each start and end, and a file as its work. The task says how long it takes. */
const clientWith = (notes: string) => `#!/bin/sh
case "$*" in --version) echo "2.1.328 (Claude Code)"; exit 0;; esac
id=$(printf '%s\\n' "$@" | sed -nE 's/^--(session-id|resume)=//p')
set -- $(sed -nE 's/.*soak-task ([0-9]+) ([0-9.]+).*/\\1 \\2/p' | tail -1)
echo "start $1" >> '${notes}'
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"m","tools":[],"mcp_servers":[]}'
sleep $2
echo "work of $1" > "work-$1.txt"
echo '{"type":"assistant","session_id":"'$id'","message":{"id":"m'$1'","model":"m","role":"assistant","content":[{"type":"text","text":"done '$1'"}],"usage":{"input_tokens":10,"output_tokens":2}}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done '$1'","session_id":"'$id'","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":2}}'
echo "end $1" >> '${notes}'
`;

const CONFIG = {
  agents: { defaults: { subagents: { maxConcurrent: 64, maxQueued: 10_000, archiveAfterMinutes: 0 } } },
  announce: { mode: 'raw' },
};

/** `away`: over the pool, `here`: in a working tree of its own, `plain`: in the project itself. */
type Where = 'away' | 'here' | 'plain';

type Soak = {
  readonly program: string;
  readonly server: TestServer;
  readonly notes: string;
  readonly asking: RunsWorld;
  readonly place: PoolPlace;
  readonly workers: readonly Place[];
};

type Machine = { child: Bun.Subprocess; readonly place: Place };

function git(cwd: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync('git', [...args], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
}

async function prepare(root: string, program: string, server: TestServer): Promise<Soak> {
  const read = readServerAddress(server.url(ADMIN), {});
  if (read.kind === 'wrong') throw new Error(read.reason);
  const admin = await connectServer(read.address);
  await migrateTeam(admin);
  await admin.script('CREATE ROLE soaker LOGIN; GRANT self_generation_owner TO soaker');
  await admin.close();
  const own = readServerAddress(server.url('soaker'), {});
  if (own.kind === 'wrong') throw new Error(own.reason);
  const owner = await connectServer(own.address);
  await owner.all('INSERT INTO self_generation.teams (name, key_check) VALUES ($1, $2)', [TEAM, KEY]);
  await owner.close();

  const remote = join(root, 'remote');
  mkdirSync(remote);
  git(remote, 'init', '--quiet', '--bare', '--initial-branch=main', '.');
  const notes = join(root, 'notes');
  writeFileSync(notes, '');
  const homeOf = (name: string): Place => {
    const place = makePlace(join(root, name), clientWith(notes), CONFIG);
    writeMembership(
      { url: server.url('soaker'), team: TEAM, key: KEY, login: 'soaker', shared: [] },
      place.paths,
    );
    return place;
  };
  const workers = Array.from({ length: WORKERS }, (_none, index) => homeOf(`worker-${index + 1}`));
  const asker = homeOf('asker');
  git(asker.root, 'clone', '--quiet', remote, asker.project);
  for (let file = 0; file < 50; file++)
    writeFileSync(join(asker.project, `file-${file}.txt`), `${file}\n`.repeat(200));
  git(asker.project, 'add', '--all');
  git(asker.project, '-c', 'user.name=s', '-c', 'user.email=s@s', 'commit', '--quiet', '-m', 'first');
  git(asker.project, 'push', '--quiet', 'origin', 'HEAD:main');
  git(asker.project, 'fetch', '--quiet', 'origin');
  const asking: RunsWorld = {
    ...{ paths: asker.paths, env: asker.env, platform: process.platform, cwd: asker.project },
    ...{ executablePath: program, isCompiled: true, now: () => new Date() },
  };
  const seen = await seenByGit({ task: 'x', on: 'soak' }, requesterHere(asking), asking);
  if (seen.place === undefined) throw new Error(seen.worktreeProblem);
  return { program, server, notes, asking, place: seen.place, workers };
}

function startWorker({ program }: Soak, place: Place, name: string): Bun.Subprocess {
  const words = [
    'worker',
    '--pool',
    'soak',
    '--slots',
    String(SLOTS),
    '--name',
    name,
    '--permissions',
    'all',
  ];
  return Bun.spawn([program, ...words, '--lost-after', String(LOST_AFTER_SECONDS), '--allow-local-remotes'], {
    env: place.env,
    cwd: place.root,
    stdin: 'ignore',
    stdout: Bun.file(join(place.root, 'worker.log')),
    stderr: Bun.file(join(place.root, 'worker.err')),
  });
}

let lastTask = 0;

/** Asks for a run that works for so long, over the pool or here. */
function ask(soak: Soak, workMs: number, where: Where) {
  const { asking, place } = soak;
  const task = ++lastTask;
  const request = {
    task: `soak-task ${task} ${workMs / 1000}`,
    idempotencyKey: `task ${task}`,
    permissions: ['all'],
    client: 'claude',
  } as const;
  const tree = where === 'here' ? 'always' : 'never';
  const how = where === 'away' ? { on: 'soak', place } : ({ worktree: tree } as const);
  const answer = spawnRun({ ...request, ...how }, requesterHere(asking), asking);
  if (answer.status !== 'accepted') throw new Error(answer.error);
  return { task, runId: answer.runId };
}

const announced = new Map<string, number>();
const TAKER = { owner: 'soak', isPerson: true, session: null } as const;

/** Takes what is announced, as a requester does. */
function takeAll({ asking }: Soak): void {
  const { key: requester } = requesterHere(asking);
  const options = { nowMs: Date.now(), leaseMs: 60_000, limit: 1000 };
  for (const { runId } of withRuns(asking.paths, (db) =>
    takeAnnouncements({ ...TAKER, requester }, options, db),
  ))
    announced.set(runId, (announced.get(runId) ?? 0) + 1);
}

let opened: Sqlite | undefined;

/** By one connection, since this looks often. */
function stateOf({ asking }: Soak, runId: string) {
  opened ??= openRunsDb(asking.paths);
  return turnsOf(runId, opened)[0];
}

async function untilEnded(soak: Soak, runId: string): Promise<void> {
  for (;;) {
    const turn = stateOf(soak, runId);
    if (turn !== undefined && isTerminal(turn.state)) return;
    await wait(10);
  }
}

/** What one run takes from being asked for to its end, in ms. */
async function timed(soak: Soak, where: Where): Promise<number> {
  const startMs = performance.now();
  const { runId } = ask(soak, WORK_MS, where);
  await untilEnded(soak, runId);
  const tookMs = performance.now() - startMs;
  takeAll(soak);
  await wait(300); // Until its supervisor is gone.
  return tookMs;
}

/** One after the other, in turns. */
async function alone(soak: Soak): Promise<Record<Where, number[]>> {
  for (let one = 0; one < WARMING; one++) await timed(soak, 'away');
  const times: Record<Where, number[]> = { away: [], here: [], plain: [] };
  for (let round = 0; round < ALONE; round++)
    for (const where of ['away', 'here', 'plain'] as const) times[where].push(await timed(soak, where));
  return times;
}

/** Where the time of those goes, by the server's clock. */
async function tellStages({ server }: Soak): Promise<void> {
  const read = readServerAddress(server.url(ADMIN), {});
  if (read.kind === 'wrong') throw new Error(read.reason);
  const admin = await connectServer(read.address);
  const rows = await admin.all(
    `SELECT extract(epoch FROM taken_at - created_at) * 1000 AS waited, extract(epoch FROM ended_at - taken_at) * 1000 AS worked
     FROM self_generation.pool_runs WHERE ended_at IS NOT NULL`,
  );
  await admin.close();
  const of = (name: string) => median(rows.map((row) => Number(row[name]))).toFixed(0);
  console.log(`on the server, medians: taken after ${of('waited')} ms, ended ${of('worked')} ms later`);
}

/** Many at once: how long all of them take. */
async function many(soak: Soak, runs: number, look: () => Promise<void> | void, limitMs = SETTLE_MS) {
  const startMs = performance.now();
  const asked: { task: number; runId: string }[] = [];
  const open = new Set<string>();
  const WAITING_MAX = 40;
  let lookedMs = 0;
  while (asked.length < runs || open.size > 0) {
    while (asked.length < runs && open.size < WAITING_MAX) {
      const one = ask(soak, WORK_MS, 'away');
      asked.push(one);
      open.add(one.runId);
    }
    if (performance.now() - lookedMs > 500) {
      lookedMs = performance.now();
      reconcile(soak.asking);
      takeAll(soak);
    }
    for (const runId of open) {
      const turn = stateOf(soak, runId);
      if (turn !== undefined && isTerminal(turn.state)) open.delete(runId);
    }
    await look();
    if (performance.now() - startMs > limitMs) break;
    await wait(50);
  }
  return { asked, open, tookMs: performance.now() - startMs };
}

function processesIn(root: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const home = textOf(`/proc/${name}/environ`)
        .split('\0')
        .find((one) => one.startsWith(`HOME=${root}/`));
      const command = textOf(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim();
      return home === undefined || command === '' ? [] : [`${name} ${command}`];
    });
}

/** How often each task was begun, and which were done. */
function notesOf({ notes }: Soak) {
  const begun = new Map<number, number>();
  const done = new Set<number>();
  for (const line of readFileSync(notes, 'utf8').split('\n')) {
    const [word, number] = line.split(' ');
    if (word === 'start') begun.set(Number(number), (begun.get(Number(number)) ?? 0) + 1);
    if (word === 'end') done.add(Number(number));
  }
  return { begun, done };
}

async function run(root: string): Promise<number> {
  const { values } = parseArgs({
    options: {
      ...{ runs: { type: 'string' }, program: { type: 'string' }, seed: { type: 'string' } },
      ...{ 'at-once': { type: 'string' } },
    },
  });
  const runs = Number(values.runs ?? 1000);
  const several = Number(values['at-once'] ?? AT_ONCE);
  const chance = random(Number(values.seed ?? 1));
  const program = await programOr(values.program, root);
  const server = await startPostgres();
  const machines: Machine[] = [];
  try {
    const soak = await prepare(root, program, server);
    machines.push(
      ...soak.workers.map((place, index) => ({ place, child: startWorker(soak, place, `m${index + 1}`) })),
    );
    await wait(2000);
    const times = await alone(soak);
    for (const [where, all] of Object.entries(times))
      console.log(`${where}: ${all.map((ms) => ms.toFixed(0)).join(' ')}`);
    const [away, here, plain] = [median(times.away), median(times.here), median(times.plain)];
    const overheadMs = away - here;
    await tellStages(soak);
    const atOnce = await many(soak, several, () => {});
    const idealMs = (several * WORK_MS) / (WORKERS * SLOTS);
    const eachMs = (atOnce.tookMs - idealMs) / several;
    const figures = new Table({ head: ['without kills', 'ms'] });
    figures.push(
      ['the stand-in itself', WORK_MS],
      ['a run alone over the pool, median', away.toFixed(0)],
      ['a run alone here, in a working tree of its own', here.toFixed(0)],
      ['a run alone here, in the project itself', plain.toFixed(0)],
      [`more over the pool than here (at most ${OVERHEAD_MAX_MS})`, overheadMs.toFixed(0)],
      [`${several} at once over ${WORKERS} × ${SLOTS} slots`, atOnce.tookMs.toFixed(0)],
      ['what the stand-ins alone would take', idealMs.toFixed(0)],
      ['more than that for each, of all machines on this one', eachMs.toFixed(0)],
    );
    console.log(figures.toString());

    const kills = { workers: 0, server: 0 };
    let nextWorkerMs = performance.now() + KILL_WORKER_EACH_MS;
    let nextServerMs = performance.now() + KILL_SERVER_EACH_MS / 2;
    let isServerBusy = false;
    const killSome = () => {
      const nowMs = performance.now();
      if (nowMs > nextWorkerMs) {
        nextWorkerMs = nowMs + KILL_WORKER_EACH_MS * (0.5 + chance.next());
        const index = chance.below(machines.length);
        const machine = machines[index];
        if (machine !== undefined && machine.child.exitCode === null && machine.child.signalCode === null) {
          machine.child.kill('SIGKILL');
          kills.workers++;
          setTimeout(
            () => {
              machine.child = startWorker(soak, machine.place, `m${index + 1}`);
            },
            300 + AWAY_MAX_MS * chance.next(),
          );
        }
      }
      if (nowMs > nextServerMs && !isServerBusy) {
        isServerBusy = true;
        kills.server++;
        void server
          .kill()
          .then(() => wait(AWAY_MAX_MS * chance.next()))
          .then(() => server.start())
          .then(() => {
            isServerBusy = false;
            nextServerMs = performance.now() + KILL_SERVER_EACH_MS * (0.5 + chance.next());
          });
      }
    };
    const killed = await many(soak, runs, killSome, SETTLE_MS + runs * 1000);
    while (isServerBusy) await wait(50);
    await wait(AWAY_MAX_MS + 1000);
    takeAll(soak);
    takeAll(soak);
    for (const { child } of machines) child.kill('SIGTERM');
    await Promise.race([Promise.all(machines.map(({ child }) => child.exited)), wait(60_000)]);
    await wait(6000);
    return judge(soak, killed, { kills, overheadMs, root });
  } finally {
    for (const { child } of machines) child.kill('SIGKILL');
    for (const one of processesIn(root)) spawnSync('kill', ['-9', one.split(' ')[0] ?? '']);
    await server.remove();
  }
}

function judge(
  soak: Soak,
  { asked, tookMs }: Awaited<ReturnType<typeof many>>,
  {
    kills,
    overheadMs,
    root,
  }: { kills: { workers: number; server: number }; overheadMs: number; root: string },
): number {
  const { begun, done } = notesOf(soak);
  const ends = asked.map((one) => ({ ...one, turn: stateOf(soak, one.runId) }));
  const states = Map.groupBy(ends, ({ turn }) => turn?.state ?? 'gone');
  const open = ends.filter(({ turn }) => turn === undefined || !isTerminal(turn.state));
  const untold = asked.filter(({ runId }) => announced.get(runId) !== 1);
  const twice = asked.filter(({ task }) => (begun.get(task) ?? 0) > 1);
  const wrong = ends.filter(({ task, turn }) => turn?.state === 'success' && !done.has(task));
  const unmade = ends.filter(
    ({ task, runId, turn }) => turn?.state === 'success' && !hasWork(soak, runId, task),
  );
  const left = processesIn(root);
  const table = new Table({ head: [`${asked.length} runs with kills`, ''] });
  table.push(
    ['seconds', (tookMs / 1000).toFixed(0)],
    ['workers killed', kills.workers],
    ['server killed', kills.server],
    ...[...states].map(([state, of]) => [`ended as ${state}`, of.length] as [string, number]),
    ['lost: without an end', open.length],
    ['not announced, or not once', untold.length],
    ['done twice', twice.length],
    ['a success that was none', wrong.length],
    ['a success without its changes', unmade.length],
    ['processes left', left.length],
    ['overhead for each run, ms', overheadMs.toFixed(1)],
  );
  console.log(table.toString());
  const others = ends
    .filter(({ turn }) => turn?.state !== 'success')
    .map(({ turn }) => turn?.error ?? 'nothing said');
  for (const [words, of] of Map.groupBy(others, (error) => error.slice(0, 120)))
    console.log(`${of.length} × ${words}`);
  for (const one of left) console.log(`left: ${one}`);
  const isBad = [open, untold, twice, wrong, unmade, left].some(({ length }) => length > 0);
  return isBad || overheadMs > OVERHEAD_MAX_MS ? 1 : 0;
}

function hasWork({ asking }: Soak, runId: string, task: number): boolean {
  const { worktree } = readRuns(asking.paths, (db) => getRun(runId, db)?.run) ?? {};
  if (worktree == null) return false;
  const shown = spawnSync('git', ['show', `${worktree.branch}:work-${task}.txt`], {
    cwd: asking.cwd,
    encoding: 'utf8',
  });
  return shown.stdout === `work of ${task}\n`;
}

process.exit(await inTemporary(run));
