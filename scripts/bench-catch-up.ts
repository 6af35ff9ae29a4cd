/**
 * What reading the session's transcript costs a hook, as a whole process, and the process that reads what is too much
 * for one. Transcripts are made up: calls of a shell whose results of some kilobytes stand in their lines twice.
 *
 *   bun scripts/bench-catch-up.ts                 40 rounds, 200 MiB
 *   bun scripts/bench-catch-up.ts --rounds 10 --size 20
 *   bun scripts/bench-catch-up.ts --program FILE  this program instead of dist/self-generation
 *   bun scripts/bench-catch-up.ts --slack 1.5     multiplies every limit, for machines with other work
 *
 * Prints a table, exits with 1 when a limit is exceeded.
 */
import { Database } from 'bun:sqlite';
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  compileEmpty,
  exitCodeFor,
  inTemporary,
  MIB,
  median,
  pathsIn,
  printTable,
  timed,
  watched,
} from './measure.ts';

const PROJECT = '/home/dev/app';
const OUTPUT_LENGTH = 4000;
const EMPTY_NAME = 'empty program';
const WITHOUT = 'SubagentStart, no transcript';
const IDLE = 'SubagentStart, nothing new';
const CALLED = 'SubagentStart, the call of the sub-agent is new';
const SOME = 'SubagentStart, 1 MiB new';
const MUCH = 'SubagentStart, 5 MiB new';
/** Of a look at the transcript that finds nothing, against none. */
const LOOK_RATIO_MAX = 1.1;
const CATCH_UP_MS_MAX = 150;
const READER_MIB_PER_S_MIN = 20;
const READER_MIB_MAX = 200;

type World = { readonly home: string; readonly folder: string; readonly program: string };

function entry(session: string, atMs: number, fields: Record<string, unknown>): string {
  const common = { cwd: PROJECT, sessionId: session, isSidechain: false, version: '2.1.328' };
  return `${JSON.stringify({ ...common, timestamp: new Date(atMs).toISOString(), ...fields })}\n`;
}

function call(session: string, index: number, atMs: number): string {
  const id = `toolu_${session}_${index}`;
  const command = `npm run part-${index % 50} -- --shard ${index}`;
  const use = { type: 'tool_use', id, name: 'Bash', input: { command, description: 'Run it' } };
  const isError = index % 10 === 0;
  const words = isError ? `Exit code 1\nError: part ${index % 50} has no port\n` : `part ${index} is done\n`;
  const content = words + 'const value = 1; '.repeat((OUTPUT_LENGTH - words.length) / 17);
  const result = { type: 'tool_result', tool_use_id: id, content, is_error: isError };
  const response = isError ? `Error: ${content}` : { stdout: content, stderr: '', interrupted: false };
  return (
    entry(session, atMs, { type: 'assistant', message: { role: 'assistant', content: [use] } }) +
    entry(session, atMs + 500, {
      type: 'user',
      message: { role: 'user', content: [result] },
      toolUseResult: response,
    })
  );
}

function agentCall(session: string, atMs: number): string {
  const use = { type: 'tool_use', id: `toolu_${session}_agent`, name: 'Agent', input: { prompt: 'Do it.' } };
  return entry(session, atMs, { type: 'assistant', message: { role: 'assistant', content: [use] } });
}

/** Writes a transcript of at least so many bytes; gives its path and how many calls it has. */
function writeTranscript(folder: string, session: string, bytes: number): { path: string; calls: number } {
  const path = join(folder, `${session}.jsonl`);
  const file = openSync(path, 'w');
  const startMs = Date.now() - 3_600_000;
  const prompt = { type: 'user', message: { role: 'user', content: `Work on ${session}.` } };
  let written = writeSync(file, entry(session, startMs, prompt));
  let calls = 0;
  for (; written < bytes; calls++) written += writeSync(file, call(session, calls, startMs + calls * 20));
  closeSync(file);
  return { path, calls };
}

function payload(event: string, session: string, path: string, fields: Record<string, unknown>): string {
  const common = { session_id: session, transcript_path: path, cwd: PROJECT, hook_event_name: event };
  return `${JSON.stringify({ ...common, ...fields })}\n`;
}

const START = { agent_id: 'abc123', agent_type: 'executor' };
const AGENT = { tool_name: 'Agent', tool_input: { prompt: 'Do it.' }, tool_use_id: 'toolu_agent' };

function recordedCalls({ home }: World, session: string): number {
  const database = new Database(pathsIn(home).database, { readonly: true });
  try {
    database.run('PRAGMA busy_timeout = 5000');
    const row = database
      .query(
        "SELECT COUNT(*) AS count FROM events WHERE session_id = ? AND type IN ('tool_use', 'tool_error')",
      )
      .get(session) as { count: number };
    return row.count;
  } finally {
    database.close();
  }
}

/** Reads what hooks have left, so that the reader they started is not at work while others are measured. */
async function settle(world: World, { path, calls }: { path: string; calls: number }, session: string) {
  for (let round = 0; recordedCalls(world, session) < calls; round++) {
    if (round > 200) throw new Error(`Cannot measure: nobody reads "${path}" to its end`);
    timed([world.program, 'catch-up', path], world);
    await Bun.sleep(20);
  }
}

/** One look at each, in turn, so that a drift of the machine's speed meets all of them alike. */
async function measure(world: World, empty: string, rounds: number): Promise<Map<string, number[]>> {
  const { folder, program } = world;
  const samples = new Map<string, number[]>();
  const note = (name: string, ms: number) => samples.set(name, [...(samples.get(name) ?? []), ms]);
  const hook = [program, 'hook'];
  const quiet = writeTranscript(folder, 'quiet', 100_000);
  timed(hook, world, payload('PreToolUse', 'quiet', quiet.path, AGENT));
  const called = writeTranscript(folder, 'called', 100_000);
  timed(hook, world, payload('PreToolUse', 'called', called.path, AGENT));
  appendFileSync(called.path, agentCall('called', Date.now()));
  for (let round = -3; round < rounds; round++) {
    const keep = round < 0 ? () => {} : note;
    keep(EMPTY_NAME, timed([empty], world));
    keep(WITHOUT, timed(hook, world, payload('SubagentStart', 'quiet', '', START)));
    keep(IDLE, timed(hook, world, payload('SubagentStart', 'quiet', quiet.path, START)));
    keep(CALLED, timed(hook, world, payload('SubagentStart', 'called', called.path, START)));
    for (const [name, bytes] of [
      [SOME, MIB - 64 * 1024],
      [MUCH, 5 * MIB],
    ] as const) {
      const session = `s${bytes}-${round + 3}`;
      const transcript = writeTranscript(folder, session, bytes);
      keep(name, timed(hook, world, payload('SubagentStart', session, transcript.path, START)));
      await settle(world, transcript, session);
      rmSync(transcript.path);
    }
  }
  return samples;
}

type Reading = { readonly seconds: number; readonly peakMib: number; readonly mib: number };

async function measureReader(world: World, mib: number): Promise<Reading> {
  const transcript = writeTranscript(world.folder, 'large', mib * MIB);
  const child = Bun.spawn([world.program, 'catch-up', transcript.path], {
    env: { HOME: world.home, PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { ms, peakMib } = await watched(child);
  const recorded = recordedCalls(world, 'large');
  if (recorded !== transcript.calls)
    throw new Error(`Cannot measure: ${recorded} of ${transcript.calls} calls are recorded`);
  return { seconds: ms / 1000, peakMib, mib: statSync(transcript.path).size / MIB };
}

function makeWorld(root: string, program: string): World {
  const folder = join(root, '.claude', 'projects', '-home-dev-app');
  mkdirSync(folder, { recursive: true });
  const paths = pathsIn(root);
  // As install leaves it.
  for (const path of [paths.hooks, paths.data, paths.heartbeats, paths.given])
    mkdirSync(path, { recursive: true });
  writeFileSync(paths.config, JSON.stringify({ subagentContext: { agents: ['general-purpose'] } }));
  copyFileSync(program, paths.binary);
  return { home: root, folder, program: paths.binary };
}

type Limit = readonly [name: string, measured: number, most: number, unit: string];

function print(samples: ReadonlyMap<string, readonly number[]>, reading: Reading, slack: number): number {
  const at = (name: string, share?: number) => median(samples.get(name) ?? [], share);
  printTable(
    ['whole process', 'median ms', 'p90', '× empty'],
    [...samples.keys()].map((name) => [
      name,
      ...[at(name), at(name, 0.9), at(name) / at(EMPTY_NAME)].map((figure) => figure.toFixed(2)),
    ]),
  );
  const { seconds, peakMib, mib } = reading;
  console.log(
    `catch-up, ${mib.toFixed(0)} MiB: ${seconds.toFixed(1)} s, ${(mib / seconds).toFixed(0)} MiB/s, peak ${peakMib.toFixed(0)} MiB`,
  );
  const limits: Limit[] = [
    [IDLE, at(IDLE) / at(WITHOUT), LOOK_RATIO_MAX * slack, `× ${WITHOUT}`],
    [CALLED, at(CALLED) / at(WITHOUT), LOOK_RATIO_MAX * slack, `× ${WITHOUT}`],
    [SOME, at(SOME), CATCH_UP_MS_MAX * slack, 'ms'],
    [MUCH, at(MUCH), CATCH_UP_MS_MAX * slack, 'ms'],
    ['catch-up', seconds, (mib / READER_MIB_PER_S_MIN) * slack, 's'],
    ['catch-up', peakMib, READER_MIB_MAX * slack, 'MiB'],
  ];
  const broken = limits.filter(([, measured, most]) => !(measured <= most));
  return exitCodeFor(
    broken.map(
      ([name, measured, most, unit]) =>
        `Too much: ${name} takes ${measured.toFixed(2)} ${unit}, at most ${most.toFixed(2)}`,
    ),
  );
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '40' },
      size: { type: 'string', default: '200' },
      slack: { type: 'string', default: '1' },
      program: { type: 'string', default: 'dist/self-generation' },
    },
  });
  return inTemporary(async (root) => {
    const world = makeWorld(root, values.program);
    const empty = join(root, 'empty');
    copyFileSync(await compileEmpty(), empty);
    console.error(`Measuring ${values.rounds} rounds …`);
    const samples = await measure(world, empty, Number(values.rounds));
    console.error(`Reading ${values.size} MiB …`);
    const reading = await measureReader(world, Number(values.size));
    return print(samples, reading, Number(values.slack));
  });
}

if (import.meta.main) process.exitCode = await main();
