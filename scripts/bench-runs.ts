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
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { type StatePaths, statePaths } from '../src/core/state-paths.ts';
import { ASKS_NEVER } from '../src/runs/model/permissions.ts';
import type { Turn } from '../src/runs/model/turn.ts';
import { claimTurns } from '../src/runs/store/queue.ts';
import { withRuns } from '../src/runs/store/rows.ts';
import { insertRun } from '../src/runs/store/runs.ts';
import { getTurn } from '../src/runs/store/turns.ts';
import { compile } from './build.ts';

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

type Place = { readonly root: string; readonly paths: StatePaths; readonly env: Record<string, string> };

function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), 'self-generation-bench-'));
  const paths = statePaths({ HOME: root }, process.platform);
  if (paths === undefined) throw new Error(`Cannot measure in "${root}": it is no absolute path`);
  mkdirSync(join(root, 'bin'));
  writeFileSync(join(root, 'bin/claude'), CLIENT);
  chmodSync(join(root, 'bin/claude'), 0o755);
  mkdirSync(paths.home);
  writeFileSync(paths.config, JSON.stringify({ announce: { mode: 'raw' } }));
  return { root, paths, env: { HOME: root, PATH: `${join(root, 'bin')}:/usr/bin:/bin` } };
}

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
  const result = (content: string) =>
    say({
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call', content }] },
    });
  const message = (text: string) => {
    messages += 1;
    const usage = {
      input_tokens: 10,
      output_tokens: 1,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    const content = [{ type: 'text', text }];
    say({
      type: 'assistant',
      message: { id: `m${messages}`, model: 'bench', role: 'assistant', content, usage },
    });
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
  say({
    type: 'result',
    subtype: 'success',
    is_error: false,
    num_turns: 1,
    result: 'the end of it\u2028 끝',
    usage,
  });
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
        agentId: 'main',
        client: 'claude',
        label: null,
        task: 'measure',
        model: { requested: null, resolved: null },
        thinking: null,
        cleanup: 'keep',
        runTimeoutMs: 600_000,
        cwd: root,
        worktreeMode: 'never',
        policy: { deny: [], allow: null },
        permissions: ASKS_NEVER,
        gaps: [],
        agentDir: null,
        warning: null,
        terminal: null,
        archiveAfterMs: 0,
        createdAtMs: nowMs,
      },
      uuid,
      {
        ...{
          maxQueued: 10,
          undeliveredMax: 10,
          dedupeMs: 0,
          dedupesFailed: false,
        },
        budget: { run: none, requester: none, day: none },
      },
      db,
    );
    const [turn] = claimTurns({ maxConcurrent: 8 }, nowMs, db);
    if (turn === undefined) throw new Error('Cannot measure: there is no slot');
    return turn;
  });
}

type Watched = {
  readonly turn: Turn;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMib: number;
};

/** A supervisor's whole life. `during`: what is done with it meanwhile. */
async function supervise(
  program: string,
  place: Place,
  during: (pid: number) => Promise<void> = async () => {},
): Promise<Watched> {
  const { runId, number } = accept(place);
  const startedMs = performance.now();
  const child = Bun.spawn([program, 'supervise', runId, String(number)], {
    env: place.env,
    stdout: 'inherit',
    stderr: 'inherit',
  });
  const running = during(child.pid);
  let peakKib = 0;
  let cpuMs = 0;
  while (child.exitCode === null && child.signalCode === null) {
    peakKib = Math.max(peakKib, highWaterMark(child.pid));
    cpuMs = cpuTimeMs(child.pid) ?? cpuMs;
    await Promise.race([child.exited, Bun.sleep(10)]);
  }
  await running;
  const wallMs = performance.now() - startedMs;
  const turn = withRuns(place.paths, (db) => getTurn(runId, number, db));
  if (turn === undefined) throw new Error('Cannot measure: the turn is gone');
  return { turn, wallMs, cpuMs, peakMib: peakKib / 1024 };
}

function highWaterMark(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // It has just ended.
  }
}

/** What all its threads have taken. */
function cpuTimeMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
  } catch {
    return undefined; // It has just ended.
  }
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
  const place = makePlace();
  try {
    const program = values.program ?? join(place.root, 'self-generation');
    if (values.program === undefined) await compile(join(import.meta.dir, '../src/main.ts'), program);
    const stream = join(place.root, 'stream.jsonl');
    const { bytes, messages } = writeStream(stream, Number(values.size) * MB);
    const read = await supervise(program, place);
    // From the client's start to the end that is written down: what is before and behind it has nothing to do with size.
    const readMs = (read.turn.endedAtMs ?? Number.NaN) - (read.turn.startedAtMs ?? Number.NaN);
    const speed = bytes / MB / (readMs / 1000);
    rmSync(stream);
    const idlePercent = await measureIdle(program, place);
    const table = new Table({ head: ['what', 'measured', 'limit'], style: { head: [] } });
    table.push(
      [`reading ${(bytes / MB).toFixed(0)} MB`, `${speed.toFixed(0)} MB/s`, `≥ ${SPEED_MB_MIN / slack} MB/s`],
      ['its processor time', `${(read.cpuMs / 1000).toFixed(2)} s`, ''],
      ['memory at the most', `${read.peakMib.toFixed(0)} MiB`, `≤ ${MEMORY_MIB_MAX * slack} MiB`],
      ['of a core while nothing is said', `${idlePercent.toFixed(2)} %`, `≤ ${IDLE_PERCENT_MAX * slack} %`],
    );
    console.log(table.toString());
    const { state, result, usage } = read.turn;
    const broken = [
      ...(state === 'success' ? [] : [`the turn ended in ${state}: ${read.turn.error}`]),
      ...(result === 'the end of it\u2028 끝' ? [] : ['its result is another']),
      ...(usage.inputTokens === messages * 10
        ? []
        : [`${usage.inputTokens} tokens, ${messages * 10} were said`]),
      ...(speed >= SPEED_MB_MIN / slack ? [] : ['too slow']),
      ...(read.peakMib <= MEMORY_MIB_MAX * slack ? [] : ['too much memory']),
      ...(idlePercent <= IDLE_PERCENT_MAX * slack ? [] : ['not idle']),
    ];
    for (const line of broken) console.error(line);
    return broken.length > 0 ? 1 : 0;
  } finally {
    rmSync(place.root, { recursive: true, force: true });
  }
}

if (import.meta.main) process.exitCode = await main();
