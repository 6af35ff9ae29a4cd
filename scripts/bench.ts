/**
 * What one hook invocation costs, as a whole process, compared in one run with an empty program that was built with
 * the same flags and with `node` doing nothing.
 *
 *   npm run bench                    1 thousand and 2 million events, 100 rounds
 *   npm run bench -- --quick         20 thousand events, 30 rounds
 *   npm run bench -- --slack 1.5     multiplies every limit, for machines with other work
 *
 * Prints a table, writes dist/bench.json, exits with 1 when a limit is exceeded.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { getDb } from '../src/database/db.ts';
import {
  compileEmpty,
  exitCodeFor,
  inTemporary,
  median,
  pathsIn,
  peakMibOf,
  printTable,
  timed,
} from './measure.ts';

const PROJECT = '/home/dev/app';
const BINARY = 'dist/self-generation';
const EMPTY_NAME = 'empty program';
const SMALL_EVENTS = 1_000;

type Size = { readonly events: number; readonly fixes: number };
type Case = {
  readonly name: string;
  readonly command: readonly string[];
  readonly home: string;
  readonly payload: string;
};
type Limit = { readonly name: string; readonly against: string; readonly most: number };
type Measured = {
  readonly name: string;
  readonly medianMs: number;
  readonly minMs: number;
  readonly p90Ms: number;
};

function event(name: string, fields: Record<string, unknown>): string {
  const common = { session_id: 'bench', transcript_path: `${PROJECT}/t.jsonl`, cwd: PROJECT, prompt_id: 'p' };
  return `${JSON.stringify({ ...common, hook_event_name: name, ...fields })}\n`;
}

const BASH = { tool_name: 'Bash', tool_input: { command: 'npm run lint', description: 'Lint' } };
const PAYLOADS = {
  SubagentStart: event('SubagentStart', { agent_id: 'a1', agent_type: 'executor' }),
  'SubagentStart, no code agent': event('SubagentStart', { agent_id: 'a1', agent_type: 'researcher' }),
  PreToolUse: event('PreToolUse', {
    tool_name: 'Agent',
    tool_input: { prompt: 'Make the linter pass, please.', subagent_type: 'executor' },
  }),
  PostToolUse: event('PostToolUse', {
    ...BASH,
    tool_response: { stdout: 'ok', stderr: '' },
    tool_use_id: 'u1',
  }),
  PostToolUseFailure: event('PostToolUseFailure', {
    ...BASH,
    error: 'Exit code 2\nLintError: rule broken in module',
    tool_use_id: '',
  }),
  UserPromptSubmit: event('UserPromptSubmit', { prompt: 'Make the linter pass, please.' }),
};

const LIMITS: readonly Limit[] = [
  { name: 'SubagentStart, small', against: 'empty program', most: 1.6 },
  { name: 'SubagentStart, large', against: 'empty program', most: 1.6 },
  { name: 'SubagentStart, large', against: 'SubagentStart, small', most: 1.15 },
  { name: 'PostToolUse, small', against: 'empty program', most: 2.5 },
  { name: 'PostToolUse, large', against: 'empty program', most: 2.5 },
  { name: 'PostToolUseFailure, small', against: 'empty program', most: 2.5 },
  { name: 'PostToolUseFailure, large', against: 'empty program', most: 2.5 },
  { name: 'SubagentStart, large', against: 'node -e 0', most: 1 },
  { name: 'PostToolUse, large', against: 'node -e 0', most: 1 },
];
const MEMORY_MIB_MAX = 40;
const MEMORY_RUNS = 15;

/** Fills a home with the events of many sessions in many projects, as the hooks would have left them. */
function seed(home: string, { events, fixes }: Size): void {
  const paths = pathsIn(home);
  const { sqlite } = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  sqlite.exec('PRAGMA synchronous = OFF');
  const startMs = Date.now() - events * 100;
  sqlite.transaction(() => {
    for (let index = 0; index < events; index++) {
      const isError = index % 10 === 0;
      const toolUseId = `toolu_${index}`;
      const said = `TypeError: value ${word(index)} of module is not a function`;
      const data = isError
        ? { ...SHELL, toolUseId, error: keyOf(index), said, errorRaw: `Exit code 1\n${said}` }
        : {
            tool: 'Edit',
            toolUseId,
            file: `src/module-${index % 100}.ts`,
            meta: { file: `${PROJECT}/src/module-${index % 100}.ts` },
            success: true,
          };
      sqlite.run(
        'INSERT INTO events(type, ts, session_id, project, project_path, data) VALUES (?, ?, ?, ?, ?, ?)',
        isError ? 'tool_error' : 'tool_use',
        new Date(startMs + index * 100).toISOString(),
        `session-${index >> 9}`,
        'app',
        index % 3 === 0 ? PROJECT : `/home/dev/project-${index % 50}`,
        JSON.stringify(data),
      );
    }
    for (let index = 0; index < fixes; index++) {
      const key = keyOf(events - 1 - index);
      const use = `npm run fix:module-${index % 100}`;
      sqlite.run(
        `INSERT INTO error_kb(ts, error_normalized, said, resolution, resolved_by, sessions, use_count, last_used,
           project_path)
         VALUES (?, ?, ?, ?, 'lesson', ?, 1, ?, ?)`,
        new Date(startMs).toISOString(),
        key,
        key,
        JSON.stringify({ kind: 'fixer', failing: 'npm test', use }),
        1 + (index % 3),
        new Date(startMs + index).toISOString(),
        PROJECT,
      );
    }
  });
  sqlite.close();
  // As install leaves it.
  writeFileSync(paths.config, JSON.stringify({ subagentContext: { agents: ['general-purpose'] } }));
  for (const directory of [paths.heartbeats, paths.tasks]) mkdirSync(directory, { recursive: true });
}

const SHELL = { tool: 'Bash', command: 'npm test', line: 'npm test', directory: '' };

/** By what the error of this number is recognised. */
function keyOf(index: number): string {
  return `TypeError: value ${word(index)} of module is not a function · npm test`;
}

/** A word of letters for a number, so that masking would keep errors apart. */
function word(index: number): string {
  return index.toString(26).replace(/\d/g, (digit) => String.fromCharCode(0x71 + Number(digit)));
}

/**
 * Runs the cases in turn, so that a drift of the machine's speed meets all of them alike, and each round in another
 * order, so that none always follows the same one and pays for what that left in the caches.
 */
function measure(cases: readonly Case[], rounds: number): Measured[] {
  const samples = cases.map(() => [] as number[]);
  for (let round = -3; round < rounds; round++) {
    for (const [index, one] of shuffled([...cases.entries()])) {
      const elapsedMs = timed(one.command, one, one.payload);
      if (round >= 0) samples[index]?.push(elapsedMs);
    }
  }
  return cases.map(({ name }, index) => {
    const own = samples[index] ?? [];
    return { name, medianMs: median(own), minMs: median(own, 0), p90Ms: median(own, 0.9) };
  });
}

function shuffled<T>(items: T[]): T[] {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [items[last], items[other]] = [items[other] as T, items[last] as T];
  }
  return items;
}

/** The largest size of a hook's process, which is looked at until it is gone. */
async function largestMib({ command, home, payload }: Case): Promise<number> {
  let peakMib = 0;
  for (let round = 0; round < MEMORY_RUNS; round++) {
    const child = Bun.spawn([...command], {
      stdin: 'pipe',
      stdout: 'ignore',
      env: { HOME: home, PATH: process.env.PATH },
      cwd: home,
    });
    child.stdin.write(payload);
    await child.stdin.end();
    for (let now: number | undefined = 0; now !== undefined; now = peakMibOf(child.pid))
      peakMib = Math.max(peakMib, now);
    await child.exited;
  }
  return peakMib;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      slack: { type: 'string', default: '1' },
      rounds: { type: 'string' },
    },
  });
  const size: Size = values.quick ? { events: 20_000, fixes: 1_000 } : { events: 2_000_000, fixes: 100_000 };
  const rounds = Number(values.rounds ?? (values.quick ? 30 : 100));
  return inTemporary(async (root) => {
    const empty = await compileEmpty();
    const homes = { small: join(root, 'small'), large: join(root, 'large') };
    console.error(`Filling databases with ${SMALL_EVENTS} and ${size.events} events …`);
    seed(homes.small, { events: SMALL_EVENTS, fixes: 100 });
    seed(homes.large, size);
    console.error(`Measuring ${rounds} rounds …`);
    return report(homes, empty, { size, rounds, slack: Number(values.slack) });
  });
}

async function report(
  homes: Record<'small' | 'large', string>,
  emptyProgram: string,
  { size, rounds, slack }: { size: Size; rounds: number; slack: number },
): Promise<number> {
  // Copies, as install makes one: a file that the bundler has just written piecemeal is slower to start from.
  const binary = copyProgram(BINARY, homes.small);
  const hooks = Object.entries(PAYLOADS).flatMap(([name, payload]) =>
    (['small', 'large'] as const).map((which) => ({
      name: `${name}, ${which}`,
      command: [binary, 'hook'],
      home: homes[which],
      payload,
    })),
  );
  const home = homes.small;
  const payload = PAYLOADS.SubagentStart;
  const empty = { name: EMPTY_NAME, command: [copyProgram(emptyProgram, homes.small)], home, payload };
  const node = { name: 'node -e 0', command: ['node', '-e', '0'], home, payload };
  // Apart, because a reader after a writer would pay for what the writer leaves to the disk; each with its own floor.
  const isReader = (one: Case) => /^(?:SubagentStart|PreToolUse)/.test(one.name);
  const reading = measure([empty, ...hooks.filter(isReader)], rounds);
  const writing = measure([empty, ...hooks.filter((one) => !isReader(one))], rounds);
  const runtime = measure([empty, node], Math.ceil(rounds / 4));
  const memory = new Map<string, number>();
  if (process.platform === 'linux') for (const one of hooks) memory.set(one.name, await largestMib(one));
  const rows = [reading, writing, runtime].flatMap((group) => {
    const empty = group.find((one) => one.name === EMPTY_NAME)?.medianMs ?? Number.NaN;
    return group.map((one) => ({
      ...one,
      ratio: one.medianMs / empty,
      peakMib: memory.get(one.name) ?? null,
    }));
  });
  const limits = LIMITS.map((limit) => {
    const of = (name: string) => rows.find((row) => row.name === name)?.ratio ?? Number.NaN;
    return { ...limit, most: limit.most * slack, ratio: of(limit.name) / of(limit.against) };
  });
  const tooLarge = rows.filter((row) => row.peakMib !== null && row.peakMib > MEMORY_MIB_MAX * slack);
  print(rows, limits, size);
  writeFileSync('dist/bench.json', `${JSON.stringify({ rounds, size, slack, rows, limits }, null, 2)}\n`);
  const broken = limits.filter((limit) => !(limit.ratio <= limit.most));
  return exitCodeFor([
    ...broken.map(
      ({ name, against, ratio, most }) =>
        `Too slow: ${name} is ${ratio.toFixed(2)} × ${against}, at most ${most.toFixed(2)}`,
    ),
    ...tooLarge.map(
      ({ name, peakMib }) =>
        `Too large: ${name} takes ${peakMib?.toFixed(1)} MiB, at most ${MEMORY_MIB_MAX * slack}`,
    ),
  ]);
}

function copyProgram(path: string, folder: string): string {
  const copy = join(folder, basename(path));
  copyFileSync(path, copy);
  return copy;
}

type Row = Measured & { readonly ratio: number; readonly peakMib: number | null };

function print(
  rows: readonly Row[],
  limits: readonly (Limit & { readonly ratio: number })[],
  size: Size,
): void {
  console.log(`small = ${SMALL_EVENTS} events, large = ${size.events} events and ${size.fixes} known fixes`);
  printTable(
    ['whole process', 'median ms', 'min', 'p90', '× empty', 'peak MiB'],
    rows.map(({ name, medianMs, minMs, p90Ms, ratio, peakMib }) => [
      name,
      ...[medianMs, minMs, p90Ms, ratio].map((figure) => figure.toFixed(2)),
      peakMib?.toFixed(1) ?? '–',
    ]),
  );
  printTable(
    ['limit', '', 'measured', 'most', ''],
    limits.map(({ name, against, ratio, most }) => {
      const verdict = ratio <= most ? 'kept' : 'EXCEEDED';
      return [name, `÷ ${against}`, ratio.toFixed(2), most.toFixed(2), verdict];
    }),
  );
}

if (import.meta.main) process.exitCode = await main();
