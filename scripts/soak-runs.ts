/**
 * Background runs while their processes are killed with -9, as a whole: the built program, a stand-in for the client that
 * ends soon or never, a requester that takes announcements, a hook that waits for them, an MCP server that nobody
 * calls. Whatever is killed is missed only by those who look after runs by themselves: no command is called but `spawn`.
 *
 *   bun scripts/soak-runs.ts                     1,000 runs, 8 at a time
 *   bun scripts/soak-runs.ts --runs 100
 *   bun scripts/soak-runs.ts --program FILE      this program instead of one that is compiled now
 *   bun scripts/soak-runs.ts --seed 7            the same choices of whom to kill
 *   bun scripts/soak-runs.ts --slack 1.5         for machines with other work: a killed process may cost half as much time again
 *
 * Exits with 1 unless every accepted run is in one terminal state, every one was announced, none was taken twice without
 * a word, no time limit was passed by more than five seconds, no slot stood empty for longer, and no process is left.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { isTerminal, type Outcome } from '../src/runs/model/turn.ts';
import { readRuns, withRuns } from '../src/runs/store/rows.ts';
import { listRuns } from '../src/runs/store/runs.ts';
import { activeTurns } from '../src/runs/store/turns.ts';
import { type Place as Home, makePlace, programOr, random, textOf } from './measure.ts';

const CONCURRENT = 8;
const WAITING_MAX = 40;
const KILL_EACH_MS = 100;
const LOOK_EACH_MS = 250;
const SETTLE_MS = 180_000;
const LIMIT_SECONDS = 3;
const LATE_MS = 5000;
const TAKE_EACH_MS = 1500;
const START_AGAIN_MS = 300;
const SESSION = 'soak';
const TAKER = join(import.meta.dir, 'soak-requester.ts');

/** Claude's own words for a session, a message and a result; some leave a process, never end, or fail. */
const CLIENT = `#!/bin/sh
case "$*" in --version) echo "2.1.328 (Claude Code)"; exit 0;; esac
id=$(printf '%s\\n' "$@" | sed -nE 's/^--(session-id|resume)=//p')
cat >/dev/null
n=$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')
[ $((n % 7)) = 0 ] && (sleep 30 &)
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"m","tools":[],"mcp_servers":[]}'
[ $((n % 9)) = 0 ] && exec sleep 60
sleep 0.$((n % 10))
echo '{"type":"assistant","session_id":"'$id'","message":{"id":"m'$n'","model":"m","role":"assistant","content":[{"type":"text","text":"Result: done '$n'"}],"usage":{"input_tokens":10,"output_tokens":2}}}'
if [ $((n % 5)) = 0 ]; then
  echo '{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"'$id'","errors":["it broke"]}'; exit 1
fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"Result: done '$n'","session_id":"'$id'","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":2}}'
`;

type Place = Home & { readonly taken: string };
type Found = { readonly pid: number; readonly command: string; readonly isMarked: boolean };

/** Who is killed, found by the arguments, and how many times in ten looks. */
const VICTIMS: readonly { name: string; times: number; isOne: (process: Found) => boolean }[] = [
  {
    name: 'supervisors',
    times: 4,
    isOne: ({ isMarked, command }) => !isMarked && / supervise \w/.test(command),
  },
  { name: 'clients', times: 3, isOne: ({ isMarked }) => isMarked },
  { name: 'requesters', times: 0.3, isOne: ({ command }) => command.includes(TAKER) },
  { name: 'waiting hooks', times: 0.6, isOne: ({ command }) => command.endsWith(' hook result-waiter') },
  { name: 'MCP servers', times: 0.3, isOne: ({ isMarked, command }) => !isMarked && / mcp$/.test(command) },
];
type Kill = { readonly name: string; readonly command: string; readonly atMs: number };

const CONFIG = {
  agents: {
    defaults: { subagents: { maxConcurrent: CONCURRENT, maxQueued: 10_000, archiveAfterMinutes: 0 } },
  },
  announce: { mode: 'turn', timeoutSeconds: LIMIT_SECONDS, wakesMax: 1000 },
};

/** As of a session of Claude Code on a terminal. */
function makeHome(root: string): Place {
  const place = makePlace(root, CLIENT, CONFIG);
  const session = { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: SESSION, CLAUDE_CODE_ENTRYPOINT: 'cli' };
  const env = { ...place.env, ...session, CLAUDE_PID: String(process.pid) };
  return { ...place, env, taken: join(root, 'taken') };
}

/** One call of the program; its output, or what it said when it failed. */
async function call(program: string, words: readonly string[], place: Place): Promise<string> {
  const { project: cwd, env } = place;
  const child = Bun.spawn([program, ...words], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, said, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`"${words.join(' ')}" ended with ${code}: ${said}${output}`);
  return output;
}

/** Processes of this place whose command line or environment says so. */
function processesOf({ root }: Place): Found[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const variables = textOf(`/proc/${name}/environ`).split('\0');
      if (!variables.includes(`HOME=${root}`)) return [];
      const command = textOf(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim();
      const isMarked = variables.some((variable) => variable.startsWith('SELF_GENERATION_RUN='));
      return command === '' ? [] : [{ pid: Number(name), command, isMarked }];
    });
}

function kill(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false; // It was faster.
  }
}

/** Keeps processes alive, each started again whenever it was killed, until they are told to end. */
function keepAlive(starts: readonly (() => ChildProcess)[]): () => Promise<void> {
  let isOver = false;
  const living = new Map<number, ChildProcess>();
  const start = async (index: number): Promise<void> => {
    while (!isOver) {
      const child = starts[index]?.();
      if (child === undefined) return;
      living.set(index, child);
      await new Promise((resolve) => child.once('close', resolve));
      await wait(START_AGAIN_MS);
    }
  };
  const all = starts.map((_start, index) => start(index));
  return async () => {
    isOver = true;
    for (const child of living.values()) child.kill('SIGTERM');
    await Promise.all(all);
  };
}

/** What lives beside the runs: a requester, to be killed between taking and acknowledging, a hook, a server. */
function companions(program: string, place: Place): (() => ChildProcess)[] {
  const taking = [TAKER, place.paths.home, place.taken, String(TAKE_EACH_MS)];
  const options = { cwd: place.project, env: place.env };
  return [
    () => spawn(process.execPath, taking, { ...options, stdio: ['ignore', 'ignore', 'inherit'] }),
    () => spawn(program, ['mcp'], { ...options, stdio: ['pipe', 'ignore', 'inherit'] }),
    () => startHook(program, place),
  ];
}

/** The hook behind a turn. Its session hears what it wrote when it ends with the code that wakes, and not otherwise. */
function startHook(program: string, place: Place): ChildProcess {
  const hook = spawn(program, ['hook', 'result-waiter'], {
    cwd: place.project,
    env: place.env,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let said = '';
  hook.stderr.setEncoding('utf8').on('data', (piece: string) => {
    said += piece;
  });
  const noteAll = (text: string) => {
    for (const [, id, again] of text.matchAll(/^#\d+ .*announceId (\S+)(.* redelivery: true)?/gm))
      noteTaken(id ?? '', again !== undefined, place);
  };
  hook.once('close', (code) => {
    if (code !== 2) return;
    noteAll(said);
    // As Claude Code does: what wakes the session is its next prompt.
    const prompted = spawn(program, ['hook', 'prompt-logger'], {
      cwd: place.project,
      env: place.env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let answer = '';
    prompted.stdout.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece;
    });
    // It may bring more of them along.
    prompted.once('close', () => noteAll(answer.replaceAll('\\n', '\n')));
    const prompt = `<task-notification>\n</task-notification>\n${said}`;
    const event = { hook_event_name: 'UserPromptSubmit', session_id: SESSION, cwd: place.project, prompt };
    prompted.stdin.end(JSON.stringify(event));
  });
  hook.stdin.on('error', () => {}); // It was killed before it read.
  hook.stdin.end(
    JSON.stringify({ hook_event_name: 'Stop', session_id: SESSION, cwd: place.project, transcript_path: '' }),
  );
  return hook;
}

function noteTaken(id: string, isRedelivery: boolean, { paths, taken }: Place): void {
  const row = readRuns(paths, (db) => db.get('SELECT run_id FROM outbox WHERE id = ?', id));
  appendFileSync(taken, `${JSON.stringify({ id, runId: row?.run_id, isRedelivery, isByHook: true })}\n`);
}

async function killSome(place: Place, random: () => number, isOver: () => boolean): Promise<Kill[]> {
  const kills: Kill[] = [];
  while (!isOver()) {
    await wait(KILL_EACH_MS * (0.5 + random()));
    const all = processesOf(place);
    for (const { name, times, isOne } of VICTIMS) {
      if (random() * 10 >= times) continue;
      const found = all.filter(isOne);
      const victim = found[Math.floor(random() * found.length)];
      if (victim === undefined) continue;
      const atMs = Date.now();
      if (kill(victim.pid)) kills.push({ name, command: victim.command, atMs });
    }
  }
  return kills;
}

/** All at once: nobody lives that could look after the runs but the server. */
function killSupervisors(place: Place): Kill[] {
  const { name, isOne } = VICTIMS[0] ?? { name: '', isOne: () => false };
  const victims = processesOf(place).filter(isOne);
  return victims.flatMap(({ pid, command }) => (kill(pid) ? [{ name, command, atMs: Date.now() }] : []));
}

/** For how long at the most a slot stood empty while a turn waited for one. */
async function watchSlots(place: Place, isOver: () => boolean): Promise<number> {
  let sinceMs: number | undefined;
  let longestMs = 0;
  while (!isOver()) {
    await wait(LOOK_EACH_MS);
    const states = readRuns(place.paths, (db) => activeTurns(db).map(({ state }) => state)) ?? [];
    const waiting = states.filter((state) => state === 'queued').length;
    const nowMs = performance.now();
    sinceMs = waiting > 0 && states.length - waiting < CONCURRENT ? (sinceMs ?? nowMs) : undefined;
    if (sinceMs !== undefined) longestMs = Math.max(longestMs, nowMs - sinceMs);
  }
  return longestMs;
}

/** By how much turns passed their time limits; a kill of its supervisor behind that begins a turn's delay anew. */
function delaysMs({ paths }: Place, kills: readonly Kill[]): number[] {
  const rows = withRuns(paths, (db) =>
    db.all(
      'SELECT run_id, number, ended_at, COALESCE(deadline_at, launched_at + ?) AS due FROM turns WHERE launched_at > 0',
      LIMIT_SECONDS * 1000,
    ),
  );
  return rows.flatMap(({ run_id, number, ended_at, due }) => {
    const words = ` supervise ${run_id} ${number}`;
    const killed = kills.filter(({ command }) => command.endsWith(words)).map(({ atMs }) => atMs);
    return [Number(ended_at ?? Date.now()) - Math.max(Number(due), ...killed)];
  });
}

type Soak = {
  readonly runs: number;
  readonly random: () => number;
  /** How long the death of a process may keep others waiting. */
  readonly lateMs: number;
};

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

async function soak(program: string, { runs, random, lateMs }: Soak): Promise<boolean> {
  const place = makeHome(mkdtempSync(join(tmpdir(), 'self-generation-soak-')));
  const startedMs = performance.now();
  let isSettled = false;
  let isSpawned = false;
  const endCompanions = keepAlive(companions(program, place));
  try {
    const killing = killSome(place, random, () => isSpawned);
    const watching = watchSlots(place, () => isSettled);
    const accepted = await spawnAll(program, runs, place);
    isSpawned = true;
    const kills = [...(await killing), ...killSupervisors(place)];
    const settled = await settle(place, accepted.length);
    isSettled = true;
    const emptyMs = await watching;
    await endCompanions();
    const tookMs = performance.now() - startedMs;
    return report({ place, accepted, kills, settled, emptyMs, tookMs, lateMs });
  } finally {
    await endCompanions();
  }
}

/** Gives the ids. Now and then nothing is called until all that waited has begun. */
async function spawnAll(program: string, runs: number, place: Place): Promise<string[]> {
  const accepted: string[] = [];
  while (accepted.length < runs) {
    const answer = JSON.parse(await spawnOne(program, accepted.length, place)) as {
      runId: string;
      status: string;
    };
    if (answer.status !== 'accepted') throw new Error(`Cannot spawn: ${JSON.stringify(answer)}`);
    accepted.push(answer.runId);
    const isEnough = accepted.length === runs || stateOf(place).waiting > WAITING_MAX;
    while (isEnough && stateOf(place).waiting > 0) await wait(100);
  }
  return accepted;
}

/** Refused for too much that nobody has taken yet: the requester was just killed, and is asked again. */
async function spawnOne(program: string, index: number, place: Place): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    try {
      const flags = ['--json', '--cli', 'claude', '--timeout', String(LIMIT_SECONDS)];
      return await call(program, ['subagents', 'spawn', ...flags, `task ${index}`], place);
    } catch (error) {
      if (attempt > 100 || !String(error).includes('not been taken in')) throw error;
      await wait(200);
    }
  }
}

async function settle(place: Place, runs: number): Promise<boolean> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const { active } = stateOf(place);
    const isAllTaken = new Set(takenIn(place).map(({ runId }) => runId)).size >= runs;
    if (active === 0 && isAllTaken && processesOf(place).every(({ isMarked }) => !isMarked)) return true;
    if (Date.now() > deadline) return false;
    await wait(500);
  }
}

type Taken = {
  readonly id: string;
  readonly runId: string;
  readonly isRedelivery: boolean;
  readonly isByHook?: true;
};

function takenIn({ taken }: Place): Taken[] {
  return textOf(taken)
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Taken);
}

type Report = {
  readonly place: Place;
  readonly accepted: readonly string[];
  readonly kills: readonly Kill[];
  readonly settled: boolean;
  readonly emptyMs: number;
  readonly tookMs: number;
  readonly lateMs: number;
};

function report({ place, accepted, kills, settled, emptyMs, tookMs, lateMs }: Report): boolean {
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
  const late = delaysMs(place, kills).filter((ms) => ms > lateMs);
  const faults = [
    ...(settled ? [] : [`it did not come to rest within ${SETTLE_MS / 1000} s`]),
    ...(active === 0 ? [] : [`${active} runs have not ended`]),
    ...(ended === accepted.length ? [] : [`${ended} ended of ${accepted.length} accepted`]),
    ...(missing.length === 0
      ? []
      : [`${missing.length} announcements were lost: ${missing.slice(0, 5).join(' ')}`]),
    ...(new Set(firsts).size === firsts.length ? [] : ['an announcement was given twice without a word']),
    ...late.map((ms) => `a time limit was passed by ${seconds(ms)} s`),
    ...(emptyMs > lateMs ? [`a slot stood empty for ${seconds(emptyMs)} s while a turn waited`] : []),
    ...left.map(({ command }) => `left over: ${command}`),
  ];
  const table = new Table();
  table.push(
    { runs: accepted.length },
    { seconds: seconds(tookMs) },
    ...VICTIMS.map(({ name }) => ({
      [`killed ${name}`]: kills.filter((one) => one.name === name).length,
    })),
    { 'longest past a time limit, s': seconds(Math.max(0, ...delaysMs(place, kills))) },
    { '… not counted from a kill, s': seconds(Math.max(0, ...delaysMs(place, []))) },
    { 'longest empty slot, s': seconds(emptyMs) },
    { outcomes: outcomeWords(outcomes) },
    { announcements: states.join(', ') },
    { 'told by the waiting hook': taken.filter(({ isByHook }) => isByHook).length },
    { 'given again, and said so': taken.length - firsts.length },
  );
  console.log(table.toString());
  for (const fault of faults) console.error(`FAULT: ${fault}`);
  if (faults.length === 0) rmSync(place.root, { recursive: true, force: true });
  else console.error(`kept: ${place.root}`);
  return faults.length === 0;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function outcomeWords(outcomes: Record<string, number>): string {
  const known: readonly Outcome[] = ['success', 'error', 'timeout', 'stopped', 'lost'];
  return known
    .filter((name) => outcomes[name])
    .map((name) => `${outcomes[name]} ${name}`)
    .join(', ');
}

const { values } = parseArgs({
  options: {
    ...{
      runs: { type: 'string', default: '1000' },
      program: { type: 'string' },
      seed: { type: 'string', default: '1' },
    },
    ...{ slack: { type: 'string', default: '1' }, help: { type: 'boolean' } },
  },
});
if (values.help) {
  console.log('bun scripts/soak-runs.ts [--runs 1000] [--program FILE] [--seed 1] [--slack 1]');
  process.exit();
}
const program = resolve(await programOr(values.program, 'dist/soak'));
const { next } = random(Number(values.seed));
const isSound = await soak(program, {
  runs: Number(values.runs),
  random: next,
  lateMs: LATE_MS * Number(values.slack),
});
process.exitCode = isSound ? 0 : 1;
