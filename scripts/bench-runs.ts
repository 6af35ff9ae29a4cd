/**
 * What a supervisor costs: how fast it reads what a client says, how much memory that takes, and what it takes while
 * nothing is said. The built program, real processes, a stand-in for the client that writes a file to its output.
 *
 *   bun scripts/bench-runs.ts                  200 MB, and 20 s of silence
 *   bun scripts/bench-runs.ts --size 50        50 MB
 *   bun scripts/bench-runs.ts --slack 2        for machines with other work: half the speed, twice the rest
 *   bun scripts/bench-runs.ts --program FILE   this program instead of one that is compiled now
 *
 * Prints what it measured, exits with 1 when a limit is broken or something of the output was not read.
 */
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ASKS_NEVER } from '../src/runs/model/permissions.ts';
import type { Turn } from '../src/runs/model/turn.ts';
import { claimTurns } from '../src/runs/store/queue.ts';
import { withRuns } from '../src/runs/store/rows.ts';
import { insertRun } from '../src/runs/store/runs.ts';
import { getTurn } from '../src/runs/store/turns.ts';
import {
  exitCodeFor,
  inTemporary,
  makePlace,
  type Place,
  printTable,
  programOr,
  textOf,
  watched,
} from './measure.ts';

const MB = 1_000_000;
const SPEED_MB_MIN = 80;
const MEMORY_MIB_MAX = 96;
const IDLE_PERCENT_MAX = 0.5;
const IDLE_MS = 20_000;
/** Before silence is measured: the supervisor has started and stored what it knows. */
const SETTLE_MS = 2000;
const TICKS_PER_SECOND = 100;
const LONG_LINE_BYTES = 10 * MB;

/** Writes the file in its working directory, in writes that cut characters, or is silent for as long as that says. */
const CLIENT = `#!/bin/sh
cat >/dev/null
test -f silence && exec sleep "$(cat silence)"
exec cat stream.jsonl
`;

/** What a client says that reads and writes much: results of tools, some of them huge, messages, and what is no JSON. */
function writeStream(path: string, bytesMax: number): { bytes: number; messages: number } {
  const file = openSync(path, 'w');
  const session = { session_id: 'bench', parent_tool_use_id: null };
  let bytes = 0;
  let messages = 0;
  const line = (text: string | Uint8Array) => {
    const all = typeof text === 'string' ? Buffer.from(`${text}\n`) : text;
    for (let at = 0; at < all.length; ) at += writeSync(file, all, at);
    bytes += all.length;
  };
  const say = (value: Record<string, unknown>) => line(JSON.stringify({ ...value, ...session }));
  const result = (text: string) => {
    const content = [{ type: 'tool_result', tool_use_id: 'call', content: text }];
    say({ type: 'user', message: { role: 'user', content } });
  };
  const message = (text: string) => {
    messages += 1;
    const cache = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const usage = { input_tokens: 10, output_tokens: 1, ...cache };
    const said = { id: `m${messages}`, model: 'bench', role: 'assistant', content: [{ type: 'text', text }] };
    say({ type: 'assistant', message: { ...said, usage } });
  };
  const source = 'const value = read("파일", { line: 12 });\t// \\d+ 오류를 고쳤습니다 \u2028\n';
  say({ type: 'system', subtype: 'init', model: 'bench', tools: [] });
  while (bytes < bytesMax) {
    // As much in huge lines as in those of usual length.
    result(source.repeat(Math.floor(LONG_LINE_BYTES / Buffer.byteLength(JSON.stringify(source)))));
    for (const until = bytes + LONG_LINE_BYTES; bytes < until; ) {
      message('다음을 합니다: '.repeat(60));
      result(source.repeat(400));
    }
    line(Uint8Array.of(0xff, 0xfe, 0x7b, 0x0a));
    line('{"type":"assistant", no json');
  }
  message('the end of it\u2028 끝');
  const usage = { input_tokens: messages * 10, output_tokens: messages };
  const success = { type: 'result', subtype: 'success', is_error: false, num_turns: 1 };
  say({ ...success, result: 'the end of it\u2028 끝', usage });
  closeSync(file);
  return { bytes, messages };
}

function accept({ root, paths }: Place): Turn {
  const uuid = crypto.randomUUID();
  const nowMs = Date.now();
  const none = { tokens: null, usd: null };
  return withRuns(paths, (db) => {
    insertRun(
      {
        id: uuid.replaceAll('-', ''),
        requester: { key: 'agent:main:bench-0123456789abcdef', session: null, client: null, cwd: root },
        childKey: `agent:main:subagent:${uuid}`,
        ...{ agentId: 'main', client: 'claude', label: null, task: 'measure', thinking: null },
        ...{ model: { requested: null, resolved: null }, cleanup: 'keep', runTimeoutMs: 600_000 },
        ...{ cwd: root, worktreeMode: 'never', policy: { deny: [], allow: null }, permissions: ASKS_NEVER },
        ...{ gaps: [], agentDir: null, profile: null, handover: null, warning: null, terminal: null },
        ...{ archiveAfterMs: 0, createdAtMs: nowMs, part: null, instructions: null, pool: null },
      },
      uuid,
      {
        ...{ maxQueued: 10, undeliveredMax: 10, dedupeMs: 0, dedupesFailed: false },
        budget: { run: none, requester: none, day: none },
      },
      db,
    );
    const [turn] = claimTurns({ maxConcurrent: 8 }, nowMs, db);
    if (turn === undefined) throw new Error('Cannot measure: there is no slot');
    return turn;
  });
}

type Watched = { readonly turn: Turn; readonly cpuMs: number; readonly peakMib: number };

/** A supervisor's whole life. `during`: what is done with it meanwhile. */
async function supervise(
  program: string,
  place: Place,
  during: (pid: number) => Promise<void> = async () => {},
): Promise<Watched> {
  const { runId, number } = accept(place);
  const child = Bun.spawn([program, 'supervise', runId, String(number)], {
    env: place.env,
    stdout: 'inherit',
    stderr: 'inherit',
  });
  const running = during(child.pid);
  let cpuMs = 0;
  const { peakMib } = await watched(child, () => {
    cpuMs = cpuTimeMs(child.pid) ?? cpuMs;
  });
  await running;
  const turn = withRuns(place.paths, (db) => getTurn(runId, number, db));
  if (turn === undefined) throw new Error('Cannot measure: the turn is gone');
  return { turn, cpuMs, peakMib };
}

/** What all its threads have taken; undefined when it has just ended. */
function cpuTimeMs(pid: number): number | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' ? undefined : ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

async function measureIdle(program: string, place: Place): Promise<number> {
  writeFileSync(join(place.root, 'silence'), String((SETTLE_MS + IDLE_MS) / 1000 + 2));
  let percent = Number.NaN;
  await supervise(program, place, async (pid) => {
    await Bun.sleep(SETTLE_MS);
    const [beforeMs, startMs] = [cpuTimeMs(pid), performance.now()];
    await Bun.sleep(IDLE_MS);
    const afterMs = cpuTimeMs(pid);
    if (beforeMs === undefined || afterMs === undefined) return;
    percent = ((afterMs - beforeMs) * 100) / (performance.now() - startMs);
  });
  return percent;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      size: { type: 'string', default: '200' },
      slack: { type: 'string', default: '1' },
      program: { type: 'string' },
    },
  });
  const slack = Number(values.slack);
  return inTemporary(async (root) => {
    const place = makePlace(root, CLIENT, { announce: { mode: 'raw' } });
    const program = await programOr(values.program, root);
    const stream = join(place.root, 'stream.jsonl');
    const { bytes, messages } = writeStream(stream, Number(values.size) * MB);
    const read = await supervise(program, place);
    // From the client's start to the end that is written down: what is before and behind it has nothing to do with size.
    const readMs = (read.turn.endedAtMs ?? Number.NaN) - (read.turn.startedAtMs ?? Number.NaN);
    const speed = bytes / MB / (readMs / 1000);
    rmSync(stream);
    const idlePercent = await measureIdle(program, place);
    printTable(
      ['what', 'measured', 'limit'],
      [
        [
          `reading ${(bytes / MB).toFixed(0)} MB`,
          `${speed.toFixed(0)} MB/s`,
          `≥ ${SPEED_MB_MIN / slack} MB/s`,
        ],
        ['its processor time', `${(read.cpuMs / 1000).toFixed(2)} s`, ''],
        ['memory at the most', `${read.peakMib.toFixed(0)} MiB`, `≤ ${MEMORY_MIB_MAX * slack} MiB`],
        ['of a core while nothing is said', `${idlePercent.toFixed(2)} %`, `≤ ${IDLE_PERCENT_MAX * slack} %`],
      ],
    );
    const { state, result, usage } = read.turn;
    return exitCodeFor([
      ...(state === 'success' ? [] : [`the turn ended in ${state}: ${read.turn.error}`]),
      ...(result === 'the end of it\u2028 끝' ? [] : ['its result is another']),
      ...(usage.inputTokens === messages * 10
        ? []
        : [`${usage.inputTokens} tokens, ${messages * 10} were said`]),
      ...(speed >= SPEED_MB_MIN / slack ? [] : ['too slow']),
      ...(read.peakMib <= MEMORY_MIB_MAX * slack ? [] : ['too much memory']),
      ...(idlePercent <= IDLE_PERCENT_MAX * slack ? [] : ['not idle']),
    ]);
  });
}

if (import.meta.main) process.exitCode = await main();
