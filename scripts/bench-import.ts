/**
 * How fast `import` reads transcripts and how much memory it takes, and whether it survives being killed. Transcripts are
 * made up, with the shape and the proportions of real ones: every result stands in its line twice.
 *
 *   bun scripts/bench-import.ts                  1 GiB
 *   bun scripts/bench-import.ts --size 64        64 MiB
 *   bun scripts/bench-import.ts --slack 2        for machines with other work: half the speed, twice the memory
 *   bun scripts/bench-import.ts --program FILE   this program instead of one that is compiled now
 *
 * Prints what it measured, exits with 1 when a limit is broken or rows differ.
 */
import { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  exitCodeFor,
  inTemporary,
  MIB,
  pathsIn,
  printTable,
  programOr,
  type Random,
  random,
  timed,
  watched,
} from './measure.ts';

const SPEED_MIB_MIN = 50;
const MEMORY_MIB_MAX = 200;
const AGAIN_MS_MAX = 2000;
const KILLS = 4;
const SESSION_BYTES = 3 * MIB;

const WORDS =
  'const return export function import from await value error settings state result type readonly string number => { } ( ) [ ] ; : // if else for of undefined test expect config path file line database session 테스트 오류 수정 설정 파일을 확인했습니다 결과는 다음과 같습니다'.split(
    ' ',
  );
const ASCII = WORDS.slice(0, 44);
const PROMPTS = [
  '로그인 화면에서 오류가 납니다. 고쳐 주세요.',
  'Make the tests pass and explain what was wrong.',
  '설정 파일에 포트를 추가하고 테스트를 돌려 주세요',
  'Refactor the store so that it has one connection.',
  'continue',
];
const COMMANDS = [
  'npm test',
  'npm run lint',
  'git status',
  'cargo build',
  'pytest -q',
  'ls -la src',
  'tsc --noEmit',
];
const ERRORS = [
  "TypeError: Cannot read properties of undefined (reading 'id')",
  'AssertionError: expected 3 to equal 4',
  "error TS2322: Type 'string' is not assignable to type 'number'.",
  '오류: 설정에 포트가 없습니다',
];

function text(length: number, words: readonly string[], { below, oneOf }: Random): string {
  const parts: string[] = [];
  for (let size = 0; size < length; ) {
    const part = oneOf(words) + (below(9) === 0 ? '\n' : ' ');
    parts.push(part);
    size += part.length;
  }
  return parts.join('');
}

/** Writes one transcript; the client puts these fields into every entry. */
class Transcript {
  readonly #file: number;
  readonly #common: Record<string, unknown>;
  readonly #random: Random;
  bytes = 0;
  #calls = 0;
  #atMs: number;

  constructor(path: string, common: Record<string, unknown>, atMs: number, random: Random) {
    this.#file = openSync(path, 'w');
    this.#common = common;
    this.#random = random;
    this.#atMs = atMs;
  }

  get atMs(): number {
    return this.#atMs;
  }

  write(entry: Record<string, unknown>): void {
    this.#atMs += 200 + this.#random.below(20_000);
    const own = { uuid: crypto.randomUUID(), timestamp: new Date(this.#atMs).toISOString() };
    const whole = { parentUuid: crypto.randomUUID(), ...entry, ...own, ...this.#common };
    const bytes = Buffer.from(`${JSON.stringify(whole)}\n`);
    writeSync(this.#file, bytes);
    this.bytes += bytes.length;
  }

  prompt(content: string): void {
    this.write({ type: 'user', message: { role: 'user', content }, promptSource: 'typed' });
  }

  say(words: string, stopReason: string): void {
    const content = [{ type: 'text', text: words }];
    this.write({ type: 'assistant', message: { role: 'assistant', content, stop_reason: stopReason } });
  }

  /** A call and its result. */
  call(
    name: string,
    input: Record<string, unknown>,
    result: { content: unknown; response: unknown; isError?: true },
  ): void {
    const id = `toolu_${this.#common.sessionId}_${this.#common.agentId ?? 'main'}_${this.#calls++}`;
    const content = [{ type: 'tool_use', id, name, input }];
    this.write({ type: 'assistant', message: { role: 'assistant', content, stop_reason: 'tool_use' } });
    const { isError = false } = result;
    const block = { tool_use_id: id, type: 'tool_result', content: result.content, is_error: isError };
    const isAgent = this.#common.agentId !== undefined && !isError;
    const message = { role: 'user', content: [block] };
    this.write({ type: 'user', message, ...(isAgent ? {} : { toolUseResult: result.response }) });
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** One to 40 KB of output, every third time with Korean in it. */
function output(random: Random): string {
  return text(1000 + random.below(39_000), random.below(3) === 0 ? WORDS : ASCII, random);
}

function bash(transcript: Transcript, command: string, random: Random): void {
  const stdout = output(random);
  const response = { stdout, stderr: '', interrupted: false };
  transcript.call('Bash', { command, description: 'Run it' }, { content: stdout, response });
}

function fail(transcript: Transcript, command: string, message: string, random: Random): void {
  const content = `Exit code 1\n${message} ${random.below(50)}\n    at run (src/module-${random.below(40)}.ts:10:5)\n${text(random.below(4000), ASCII, random)}`;
  transcript.call('Bash', { command }, { content, response: `Error: ${content}`, isError: true });
}

function read(transcript: Transcript, file: string, random: Random): void {
  const content = output(random);
  const response = { type: 'text', file: { filePath: file, content, numLines: 300 } };
  transcript.call('Read', { file_path: file }, { content, response });
}

function edit(transcript: Transcript, file: string, random: Random): void {
  const [oldString, newString] = [text(400, ASCII, random), text(500, ASCII, random)];
  const originalFile = output(random);
  const response = { filePath: file, oldString, newString, originalFile, structuredPatch: [] };
  const input = { file_path: file, old_string: oldString, new_string: newString };
  transcript.call('Edit', input, { content: `The file ${file} has been updated successfully.`, response });
}

function editInVain(transcript: Transcript, file: string): void {
  const response = 'Error: String to replace not found in file.';
  const content = '<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>';
  const input = { file_path: file, old_string: 'x', new_string: 'y' };
  transcript.call('Edit', input, { content, response, isError: true });
}

function image(transcript: Transcript, file: string, random: Random): void {
  const data = Buffer.alloc(50_000 + random.below(400_000), random.below(255)).toString('base64');
  const content = [{ type: 'image', source: { type: 'base64', data, media_type: 'image/png' } }];
  const response = { type: 'image', file: { base64: data } };
  transcript.call('Read', { file_path: file }, { content, response });
}

/** What an agent does between two prompts, or a sub-agent in all. */
function work(transcript: Transcript, project: string, random: Random): void {
  const file = `${project}/src/module-${random.below(40)}.ts`;
  const command = random.oneOf(COMMANDS);
  const drawn = random.below(20);
  if (drawn < 3) {
    fail(transcript, command, random.oneOf(ERRORS), random);
    read(transcript, file, random);
    edit(transcript, file, random);
    bash(transcript, command, random);
  } else if (drawn < 4) editInVain(transcript, file);
  else if (drawn < 5) {
    if (random.below(8) === 0) image(transcript, `${project}/screen.png`, random);
  } else if (drawn < 8) edit(transcript, file, random);
  else if (drawn < 13) read(transcript, file, random);
  else bash(transcript, command, random);
}

function writeSession(folder: string, index: number, startMs: number, random: Random): number {
  const project = `/home/dev/project-${index % 12}`;
  const sessionId = crypto.randomUUID();
  const directory = join(folder, project.replaceAll('/', '-'));
  mkdirSync(directory, { recursive: true });
  const common = { userType: 'external', cwd: project, sessionId, version: '2.1.328', gitBranch: 'main' };
  const path = join(directory, `${sessionId}.jsonl`);
  const main = new Transcript(path, { isSidechain: false, ...common }, startMs, random);
  const attachment = { type: 'prompt_snapshot', systemPrompt: [text(30_000, ASCII, random)] };
  main.write({ type: 'attachment', attachment });
  let bytes = 0;
  for (let turn = 0; main.bytes + bytes < SESSION_BYTES; turn++) {
    main.prompt(random.oneOf(PROMPTS));
    for (let step = random.below(8); step >= 0; step--) work(main, project, random);
    const trackedFileBackups = { [`${project}/a.ts`]: text(2000, ASCII, random) };
    main.write({ type: 'file-history-snapshot', snapshot: { trackedFileBackups } });
    if (random.below(6) === 0) {
      const agentId = `a${index.toString(16).padStart(8, '0')}${turn.toString(16).padStart(8, '0')}`;
      const folder = join(directory, sessionId, 'subagents');
      bytes += writeAgent(folder, { ...common, isSidechain: true, agentId }, main, random);
    }
    main.say('Done.', 'end_turn');
  }
  main.close();
  return main.bytes + bytes;
}

function writeAgent(
  folder: string,
  common: Record<string, unknown>,
  main: Transcript,
  random: Random,
): number {
  mkdirSync(folder, { recursive: true });
  const agent = new Transcript(join(folder, `agent-${common.agentId}.jsonl`), common, main.atMs, random);
  const meta = JSON.stringify({ agentType: random.oneOf(['executor', 'Explore']) });
  writeFileSync(join(folder, `agent-${common.agentId}.meta.json`), meta);
  agent.prompt('Do the job and report.');
  for (let step = 3 + random.below(12); step >= 0; step--) work(agent, String(common.cwd), random);
  agent.say('The job is done.', 'end_turn');
  agent.close();
  const result = { content: 'The job is done.', response: { status: 'completed', agentId: common.agentId } };
  main.call('Agent', { subagent_type: 'executor', prompt: 'Do the job and report.' }, result);
  return agent.bytes;
}

/** Sessions of the last 60 days, one after the other. */
function generate(folder: string, bytes: number): { sessions: number; bytes: number } {
  const generator = random(20_261_120);
  let written = 0;
  let sessions = 0;
  const startMs = Date.now() - 60 * 86_400_000;
  while (written < bytes) {
    const atMs = startMs + (sessions / (bytes / SESSION_BYTES)) * 58 * 86_400_000;
    written += writeSession(folder, sessions++, atMs, generator);
  }
  return { sessions, bytes: written };
}

/** The program and what it is to read. */
type Subject = { readonly program: string; readonly transcripts: string };

function startImport({ program, transcripts }: Subject, home: string) {
  return Bun.spawn([program, 'import', '--from', transcripts, '--json'], {
    env: { HOME: home, PATH: process.env.PATH ?? '' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
}

async function runImport(subject: Subject, home: string): Promise<{ ms: number; peakMib: number }> {
  const child = startImport(subject, home);
  const measured = await watched(child);
  if (child.exitCode === 0) return measured;
  throw new Error(`Cannot measure: import ended with exit code ${child.exitCode}`);
}

/** False when it had ended before it could be killed. */
async function killImport(subject: Subject, home: string, afterMs: number): Promise<boolean> {
  const child = startImport(subject, home);
  await Promise.race([child.exited, Bun.sleep(afterMs)]);
  child.kill('SIGKILL');
  await child.exited;
  return child.signalCode === 'SIGKILL';
}

const ROWS = {
  events:
    'SELECT type, ts, session_id, project, project_path, data FROM events ORDER BY ts, session_id, type, data',
  error_kb: `SELECT ts, error_normalized, error_raw, said, resolution, resolved_by, state, sessions, use_count, last_used,
    project_path, seen_count, shown_count, evidence FROM error_kb ORDER BY error_normalized, project_path`,
  imports: 'SELECT path, bytes_done, bytes_seen FROM imports ORDER BY path',
};

type Rows = ReadonlyMap<string, readonly string[]>;

/** Each table's rows as JSON, without the ids that depend on the order of writing. */
function readRows(home: string): Rows {
  const database = new Database(pathsIn(home).database, { readonly: true });
  try {
    return new Map(
      Object.entries(ROWS).map(([table, sql]) => [
        table,
        Array.from(database.query(sql).iterate(), (row) => JSON.stringify(row)),
      ]),
    );
  } finally {
    database.close();
  }
}

function digest(rows: readonly string[]): string {
  const hash = createHash('sha256');
  for (const row of rows) hash.update(row);
  return `${rows.length} rows ${hash.digest('hex').slice(0, 16)}`;
}

const SHOWN_ROWS = 3;
const SHOWN_LENGTH = 60;

/** What the second rows of a table have otherwise than the first: the digests, and of the first few rows which columns. */
function differences(name: string, first: readonly string[], second: readonly string[]): string[] {
  const digests = [digest(first), digest(second)];
  if (digests[0] === digests[1]) return [];
  const [missing, added] = [without(first, second), without(second, first)];
  const count = Math.max(missing.length, added.length);
  const rows = Array.from({ length: Math.min(count, SHOWN_ROWS) }, (_, index) =>
    difference(missing[index], added[index]),
  );
  const heading = `${name}: ${digests[1]} instead of ${digests[0]}, ${count} differ`;
  return [heading, ...rows.map((row) => `  ${row}`)];
}

type Row = Record<string, unknown>;

function without(rows: readonly string[], others: readonly string[]): Row[] {
  const known = new Set(others);
  return rows.filter((row) => !known.has(row)).map((row) => JSON.parse(row) as Row);
}

function difference(before: Row | undefined, after: Row | undefined): string {
  const { path, project_path, error_normalized, session_id, type, ts } = before ?? after ?? {};
  const which = path ?? `${project_path} ${error_normalized ?? `${session_id} ${type} ${ts}`}`;
  if (before === undefined || after === undefined)
    return `${which}: ${before ? 'is missing' : 'is one too many'}`;
  const columns = Object.keys(before).filter((column) => before[column] !== after[column]);
  const changes = columns.map(
    (column) => `${column} is ${shown(after[column])} instead of ${shown(before[column])}`,
  );
  return `${which}: ${changes.join(', ')}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

type HookTimes = { readonly runs: number; readonly worstMs: number; readonly spooled: number };

/** Hooks that record while the import is running, as in a session next to it. */
async function runHooksBeside(program: string, home: string, running: Promise<unknown>): Promise<HookTimes> {
  let isRunning = true;
  void running.finally(() => {
    isRunning = false;
  });
  let [runs, worstMs, spooled] = [0, 0, 0];
  const { spool, database } = pathsIn(home);
  while (!existsSync(database) && isRunning) await Bun.sleep(5);
  for (; isRunning; runs++) {
    const common = { session_id: 'beside', cwd: '/home/dev/beside', hook_event_name: 'UserPromptSubmit' };
    const event = JSON.stringify({ ...common, prompt: `prompt ${runs}` });
    worstMs = Math.max(worstMs, timed([program, 'hook', 'prompt-logger'], { home }, event));
    if (existsSync(spool)) spooled += readdirSync(spool).length;
    await Bun.sleep(20);
  }
  return { runs, worstMs, spooled };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      size: { type: 'string', default: '1024' },
      slack: { type: 'string', default: '1' },
      program: { type: 'string' },
    },
  });
  return inTemporary(async (root) => {
    const subject = { program: await programOr(values.program, root), transcripts: join(root, 'projects') };
    const made = generate(subject.transcripts, Number(values.size) * MIB);
    console.error(`Made ${made.sessions} sessions, ${(made.bytes / MIB).toFixed(0)} MiB`);
    return measure(subject, { root, mib: made.bytes / MIB, slack: Number(values.slack) });
  });
}

type Place = { readonly root: string; readonly mib: number; readonly slack: number };

async function measure(subject: Subject, { root, mib, slack }: Place): Promise<number> {
  const home = (name: string) => {
    mkdirSync(join(root, name));
    return join(root, name);
  };
  const whole = home('whole');
  const first = await runImport(subject, whole);
  const before = readRows(whole);
  const second = await runImport(subject, whole);
  const besideHome = home('beside');
  const beside = runImport(subject, besideHome);
  const hooks = await runHooksBeside(subject.program, besideHome, beside);
  const killed = home('killed');
  let kills = 0;
  for (let count = 1; count <= KILLS; count++) {
    if (await killImport(subject, killed, first.ms * (0.1 + 0.05 * count))) kills++;
  }
  const resumed = await runImport(subject, killed);
  const after = { again: readRows(whole), killed: readRows(killed) };
  const differing = [...before].flatMap(([table, rows]) =>
    Object.entries(after).flatMap(([name, others]) =>
      differences(`${table} ${name}`, rows, others.get(table) ?? []),
    ),
  );
  const speed = mib / (first.ms / 1000);
  const seconds = (ms: number, digits = 1) => `${(ms / 1000).toFixed(digits)} s`;
  const size = (mebibytes: number) => `${mebibytes.toFixed(0)} MiB`;
  const { runs, worstMs, spooled } = hooks;
  printTable(
    ['what', 'measured', 'limit'],
    [
      ['transcripts', size(mib), ''],
      ['first import', `${seconds(first.ms)}, ${size(speed)}/s`, `${size(SPEED_MIB_MIN / slack)}/s`],
      ['peak memory', size(Math.max(first.peakMib, resumed.peakMib)), `${MEMORY_MIB_MAX * slack} MiB`],
      ['second import', `${seconds(second.ms, 2)}, ${size(second.peakMib)}`, seconds(AGAIN_MS_MAX * slack)],
      ['hooks beside it', `${runs} runs, worst ${worstMs.toFixed(0)} ms, ${spooled} wait`, '0 wait'],
      ['killed and resumed', `${kills} kills, ${seconds(resumed.ms)} for the rest`, 'at least 1 kill'],
      ...[...before].map(([name, rows]) => [name, digest(rows), 'the same each time']),
    ],
  );
  return exitCodeFor([
    ...differing,
    ...(speed < SPEED_MIB_MIN / slack ? [`too slow: ${speed.toFixed(0)} MiB/s`] : []),
    ...(first.peakMib > MEMORY_MIB_MAX * slack ? [`too large: ${first.peakMib.toFixed(0)} MiB`] : []),
    ...(second.ms > AGAIN_MS_MAX * slack ? [`the second import took ${second.ms.toFixed(0)} ms`] : []),
    ...(hooks.spooled > 0 ? [`${hooks.spooled} hooks could not write`] : []),
    ...(kills === 0 ? ['nothing could be killed'] : []),
  ]);
}

if (import.meta.main) process.exitCode = await main();
