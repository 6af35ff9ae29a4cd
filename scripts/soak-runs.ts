/**
 * Background runs while their processes are killed with -9, as a whole: the built program, a stand-in for the client that
 * ends at once, a requester that takes announcements and is killed too.
 *
 *   bun scripts/soak-runs.ts                     1,000 runs, 8 at a time
 *   bun scripts/soak-runs.ts --runs 100
 *   bun scripts/soak-runs.ts --program FILE      this program instead of one that is compiled now
 *   bun scripts/soak-runs.ts --seed 7            the same choices of whom to kill
 *
 * Exits with 1 unless every accepted run is in one terminal state, every one was announced, none was taken twice without
 * a word, and no process is left.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { isTerminal, type Outcome } from '../src/core/runs/turn.ts';
import { type StatePaths, statePaths } from '../src/core/state-paths.ts';
import { listRuns } from '../src/store/runs/runs.ts';
import { readRuns, withRuns } from '../src/store/runs/runs-db.ts';
import { compile } from './build.ts';

const CONCURRENT = 8;
const WAITING_MAX = 40;
const KILL_EACH_MS = 100;
const KICK_EACH_MS = 1000;
const SETTLE_MS = 180_000;
const TAKE_EACH_MS = 150;
const TAKER = join(import.meta.dir, 'soak-requester.ts');

/** Claude's own words for a session, a message and a result; every seventh forks, every fifth fails. */
const CLIENT = `#!/bin/sh
case "$*" in --version) echo "2.1.328 (Claude Code)"; exit 0;; esac
id=$(printf '%s\\n' "$@" | sed -nE 's/^--(session-id|resume)=//p')
cat >/dev/null
n=$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')
[ $((n % 7)) = 0 ] && (sleep 30 &)
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"m","tools":[],"mcp_servers":[]}'
sleep 0.$((n % 10))
echo '{"type":"assistant","session_id":"'$id'","message":{"id":"m'$n'","model":"m","role":"assistant","content":[{"type":"text","text":"Result: done '$n'"}],"usage":{"input_tokens":10,"output_tokens":2}}}'
if [ $((n % 5)) = 0 ]; then
  echo '{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"'$id'","errors":["it broke"]}'; exit 1
fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"Result: done '$n'","session_id":"'$id'","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":2}}'
`;

type Place = {
  readonly root: string;
  readonly project: string;
  readonly taken: string;
  readonly paths: StatePaths;
};
type Counts = { killedSupervisors: number; killedClients: number; killedRequesters: number };

function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), 'self-generation-soak-'));
  const paths = statePaths({ HOME: root }, process.platform);
  if (paths === undefined) throw new Error(`Cannot use "${root}": not absolute`);
  for (const directory of ['bin', 'project', '.self-generation'])
    mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, 'bin', 'claude'), CLIENT);
  chmodSync(join(root, 'bin', 'claude'), 0o755);
  const subagents = {
    maxConcurrent: CONCURRENT,
    maxQueued: 10_000,
    archiveAfterMinutes: 0,
  };
  writeFileSync(
    paths.config,
    JSON.stringify({ agents: { defaults: { subagents } }, announce: { mode: 'turn' } }),
  );
  return { root, project: join(root, 'project'), taken: join(root, 'taken'), paths };
}

function environment({ root }: Place): Record<string, string> {
  return { HOME: root, PATH: `${join(root, 'bin')}:${process.env.PATH}` };
}

/** One call of the program; its output, or what it said when it failed. */
async function call(program: string, words: readonly string[], place: Place): Promise<string> {
  const child = Bun.spawn([program, ...words], {
    cwd: place.project,
    env: environment(place),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, said, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`"${words.join(' ')}" ended with ${code}: ${said}${output}`);
  return output;
}

/** Processes of this place whose command line or environment says so. */
function processesOf({ root }: Place): { pid: number; command: string; isMarked: boolean }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const variables = readOrEmpty(`/proc/${name}/environ`).split('\0');
      if (!variables.includes(`HOME=${root}`)) return [];
      const command = readOrEmpty(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim();
      const isMarked = variables.some((variable) => variable.startsWith('SELF_GENERATION_RUN='));
      return command === '' ? [] : [{ pid: Number(name), command, isMarked }];
    });
}

/** Empty for a process that has just gone. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function kill(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false; // It was faster.
  }
}

/** The requester: a process of its own, so that it can be killed between taking and acknowledging. */
function startRequester(place: Place): ChildProcess {
  return spawn(process.execPath, [TAKER, place.paths.home, place.taken, String(TAKE_EACH_MS)], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH ?? '' },
  });
}

async function killSome(
  place: Place,
  counts: Counts,
  random: () => number,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await wait(KILL_EACH_MS * (0.5 + random()));
    const all = processesOf(place);
    const supervisors = all.filter(({ command, isMarked }) => !isMarked && command.includes(' supervise '));
    const clients = all.filter(({ isMarked }) => isMarked);
    const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)];
    const choice = random();
    if (choice < 0.7) {
      const victim = pick(supervisors);
      if (victim && kill(victim.pid)) counts.killedSupervisors++;
    }
    if (choice > 0.4) {
      const victim = pick(clients);
      if (victim && kill(victim.pid)) counts.killedClients++;
    }
  }
}

type State = { readonly active: number; readonly waiting: number; readonly outcomes: Record<string, number> };

function stateOf({ paths }: Place): State {
  const rows = readRuns(paths, (db) => listRuns({ includeArchived: true, limit: 1_000_000 }, db)) ?? [];
  const outcomes: Record<string, number> = {};
  let [active, waiting] = [0, 0];
  for (const { turn } of rows) {
    if (isTerminal(turn.state)) outcomes[turn.state] = (outcomes[turn.state] ?? 0) + 1;
    else active++;
    if (turn.state === 'queued') waiting++;
  }
  return { active, waiting, outcomes };
}

async function soak(program: string, runs: number, random: () => number): Promise<boolean> {
  const place = makePlace();
  const counts: Counts = { killedSupervisors: 0, killedClients: 0, killedRequesters: 0 };
  const startedMs = performance.now();
  let isOver = false;
  let requester = startRequester(place);
  const killing = killSome(place, counts, random, () => isOver);
  const kicking = (async () => {
    while (!isOver) {
      await wait(KICK_EACH_MS);
      await call(program, ['subagents', 'list', '--json'], place);
      if (random() < 0.2) {
        requester.kill('SIGKILL');
        counts.killedRequesters++;
        requester = startRequester(place);
      }
    }
  })();
  const accepted: string[] = [];
  while (accepted.length < runs) {
    const answer = JSON.parse(await spawnOne(program, accepted.length, place)) as {
      runId: string;
      status: string;
    };
    if (answer.status !== 'accepted') throw new Error(`Cannot spawn: ${JSON.stringify(answer)}`);
    accepted.push(answer.runId);
    while (stateOf(place).waiting > WAITING_MAX) await wait(100);
  }
  isOver = true;
  await Promise.all([killing, kicking]);
  const settled = await settle(program, place, accepted.length);
  requester.kill('SIGTERM');
  return report({ place, accepted, counts, settled, tookMs: performance.now() - startedMs });
}

/** Refused for too much that nobody has taken yet: the requester was just killed, and is asked again. */
async function spawnOne(program: string, index: number, place: Place): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call(program, ['subagents', 'spawn', '--json', '--cli', 'claude', `task ${index}`], place);
    } catch (error) {
      if (attempt > 100 || !String(error).includes('undelivered')) throw error;
      await wait(200);
    }
  }
}

async function settle(program: string, place: Place, runs: number): Promise<boolean> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    await call(program, ['subagents', 'list', '--json'], place);
    const { active } = stateOf(place);
    const isAllTaken = new Set(takenIn(place).map(({ runId }) => runId)).size >= runs;
    if (active === 0 && isAllTaken && processesOf(place).every(({ isMarked }) => !isMarked)) return true;
    if (Date.now() > deadline) return false;
    await wait(500);
  }
}

type Taken = { readonly id: string; readonly runId: string; readonly isRedelivery: boolean };

function takenIn({ taken }: Place): Taken[] {
  return readOrEmpty(taken)
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Taken);
}

type Report = {
  readonly place: Place;
  readonly accepted: readonly string[];
  readonly counts: Counts;
  readonly settled: boolean;
  readonly tookMs: number;
};

function report({ place, accepted, counts, settled, tookMs }: Report): boolean {
  const taken = takenIn(place);
  const firsts = taken.filter(({ isRedelivery }) => !isRedelivery).map(({ id }) => id);
  const { active, outcomes } = stateOf(place);
  const states = withRuns(place.paths, (db) =>
    db
      .all('SELECT state, COUNT(*) AS count FROM outbox GROUP BY state')
      .map((row) => `${row.count} ${row.state}`),
  );
  const missing = accepted.filter((id) => !taken.some(({ runId }) => runId === id));
  const ended = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const left = processesOf(place);
  const faults = [
    ...(settled ? [] : [`it did not come to rest within ${SETTLE_MS / 1000} s`]),
    ...(active === 0 ? [] : [`${active} runs have not ended`]),
    ...(ended === accepted.length ? [] : [`${ended} ended of ${accepted.length} accepted`]),
    ...(missing.length === 0
      ? []
      : [`${missing.length} announcements were lost: ${missing.slice(0, 5).join(' ')}`]),
    ...(new Set(firsts).size === firsts.length ? [] : ['an announcement was given twice without a word']),
    ...left.map(({ command }) => `left over: ${command}`),
  ];
  const table = new Table();
  table.push(
    { runs: accepted.length },
    { seconds: (tookMs / 1000).toFixed(1) },
    { 'killed supervisors': counts.killedSupervisors },
    { 'killed clients': counts.killedClients },
    { 'killed requesters': counts.killedRequesters },
    { outcomes: outcomeWords(outcomes) },
    { announcements: states.join(', ') },
    { 'given again, and said so': taken.length - firsts.length },
  );
  console.log(table.toString());
  for (const fault of faults) console.error(`FAULT: ${fault}`);
  if (faults.length === 0) rmSync(place.root, { recursive: true, force: true });
  else console.error(`kept: ${place.root}`);
  return faults.length === 0;
}

function outcomeWords(outcomes: Record<string, number>): string {
  const known: readonly Outcome[] = ['success', 'error', 'timeout', 'stopped', 'lost'];
  return known
    .filter((name) => outcomes[name])
    .map((name) => `${outcomes[name]} ${name}`)
    .join(', ');
}

/** The same seed gives the same numbers. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

const { values } = parseArgs({
  options: { runs: { type: 'string' }, program: { type: 'string' }, seed: { type: 'string' } },
});
const program = values.program ?? 'dist/soak/self-generation';
if (values.program === undefined) await compile('src/main.ts', program);
const isSound = await soak(
  join(process.cwd(), program),
  Number(values.runs ?? 1000),
  randomFrom(Number(values.seed ?? 1)),
);
process.exitCode = isSound ? 0 : 1;
