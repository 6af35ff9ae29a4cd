import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HookContext } from '../../src/hooks/decision.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { readConfig } from '../../src/settings/hook-settings.ts';
import {
  importTranscripts,
  type TranscriptImport,
  type TranscriptReport,
} from '../../src/transcripts/import.ts';
import { type Home, readRows } from './home.ts';
import { PROJECT } from './payloads.ts';

/** Transcripts as the client writes them, made up. */

export type Entry = Record<string, unknown>;

export const START = '2026-11-20T09:00:00.000Z';

/** Counts seconds from START; transcripts that share one happen side by side. */
export class Clock {
  #ms = Date.parse(START);

  constructor(startMs = Date.parse(START)) {
    this.#ms = startMs;
  }

  tick(seconds = 1): string {
    this.#ms += seconds * 1000;
    return new Date(this.#ms).toISOString();
  }
}

export type TranscriptOptions = {
  readonly session?: string;
  readonly agent?: string;
  readonly cwd?: string;
  readonly clock?: Clock;
};

/** One transcript, written entry by entry. */
export class Transcript {
  readonly entries: Entry[] = [];
  readonly #common: Entry;
  readonly #clock: Clock;
  #calls = 0;

  constructor({ session = 's1', agent, cwd = PROJECT, clock = new Clock() }: TranscriptOptions = {}) {
    const sidechain = agent === undefined ? { isSidechain: false } : { isSidechain: true, agentId: agent };
    this.#common = { ...sidechain, userType: 'external', cwd, sessionId: session, version: '2.1.328' };
    this.#clock = clock;
  }

  add(entry: Entry): this {
    const own = { uuid: crypto.randomUUID(), timestamp: this.#clock.tick() };
    this.entries.push({ ...this.#common, ...own, ...entry });
    return this;
  }

  prompt(content: unknown, changes: Entry = {}): this {
    return this.add({ type: 'user', message: { role: 'user', content }, ...changes });
  }

  queued(prompt: unknown, changes: Entry = {}): this {
    const attachment = { type: 'queued_command', prompt, commandMode: 'prompt' };
    return this.add({ type: 'attachment', attachment, ...changes });
  }

  say(text: string, stopReason: string | null = 'end_turn', changes: Entry = {}): this {
    const message = { role: 'assistant', content: [{ type: 'text', text }], stop_reason: stopReason };
    return this.add({ type: 'assistant', message, ...changes });
  }

  /** A call whose result does not come yet; gives its id. */
  call(
    name: string,
    input: Entry,
    id = `toolu_${this.#common.sessionId}_${this.#common.agentId ?? ''}_${this.#calls++}`,
  ) {
    const content = [{ type: 'tool_use', id, name, input }];
    this.add({ type: 'assistant', message: { role: 'assistant', content, stop_reason: 'tool_use' } });
    return id;
  }

  result(id: string, content: unknown, changes: Entry = {}): this {
    const block = { tool_use_id: id, type: 'tool_result', content };
    return this.add({ type: 'user', message: { role: 'user', content: [block] }, ...changes });
  }

  failure(id: string, content: unknown, changes: Entry = {}): this {
    const block = { type: 'tool_result', content, is_error: true, tool_use_id: id };
    return this.add({ type: 'user', message: { role: 'user', content: [block] }, ...changes });
  }

  succeed(name: string, input: Entry, output = 'ok'): this {
    const response = { stdout: output, stderr: '', interrupted: false };
    return this.result(this.call(name, input), output, { toolUseResult: response });
  }

  fail(name: string, input: Entry, error: string): this {
    return this.failure(this.call(name, input), error, { toolUseResult: `Error: ${error}` });
  }

  get text(): string {
    return this.entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  }
}

/** Where the client would put it, below the home directory. */
export function transcriptPath(session: string, agent?: string): string {
  const folder = '.claude/projects/-home-dev-app';
  return agent === undefined
    ? `${folder}/${session}.jsonl`
    : `${folder}/${session}/subagents/agent-${agent}.jsonl`;
}

/** The project of a directory, without looking at the disk. */
export function projectAt(directory: string): HookContext['project'] {
  return { name: directory.slice(directory.lastIndexOf('/') + 1), path: directory, spellings: [directory] };
}

/** Long after all transcripts here, and before their events are too old. */
export const NOW = new Date('2026-11-21T09:00:00.000Z');

/** Imports what lies below the home directory. */
export function importHome(home: Home, changes: Partial<TranscriptImport> = {}): TranscriptReport {
  const options: TranscriptImport = {
    ...{ roots: [`${home.path}/.claude/projects`], projectPath: undefined, sinceMs: undefined },
    ofRuns: new Set<string>(),
    ...{ config: readConfig({}), env: { HOME: home.path }, paths: home.paths, projectAt },
    now: () => NOW,
    inTurn: (work) => work(),
    onProgress: () => {},
    ...changes,
  };
  return writeDatabase(home.paths, (db) => importTranscripts(options, db));
}

/** What an import leaves behind, without the ids, which depend on what was written when. */
export function importedRows(home: Home): Record<string, unknown[]> {
  const rows = (sql: string) => readRows(home.paths, sql);
  return {
    events: rows(
      'SELECT type, ts, session_id, project, project_path, data FROM events ORDER BY ts, session_id, type, data',
    ),
    errors: rows(
      `SELECT ts, error_normalized, error_raw, said, project_path, seen_count, shown_count FROM error_kb
       ORDER BY error_normalized, project_path`,
    ),
    progress: rows('SELECT bytes_done, bytes_seen, head FROM imports ORDER BY path'),
  };
}

/** Writes a file below the home directory. */
export function putText(home: Home, name: string, text: string | Uint8Array): string {
  const path = `${home.path}/${name}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Names in the directory for temporary files after the work, in which nothing else has put any. */
export function leftBehind(home: Home, work: () => void): string[] {
  const before = process.env.TMPDIR;
  const directory = `${home.path}/temporary`;
  mkdirSync(directory);
  process.env.TMPDIR = directory;
  try {
    work();
    return readdirSync(directory);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(directory, { recursive: true });
  }
}
