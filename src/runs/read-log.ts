import type { AgentEvent } from '../clients/client.ts';
import { clientNamed } from '../clients/clients.ts';
import { cutText } from '../core/text.ts';
import { GrowingFile, readTail } from '../system/growing-file.ts';
import { archivedNames } from './archive.ts';
import { isLive, type Run, type RunWithTurn, turnFiles } from './model/run.ts';
import { type LogEntry, toLogEntries } from './model/run-log.ts';
import { isoTime } from './model/stats.ts';
import { NO_USAGE, runtimeMs, type Turn } from './model/turn.ts';
import { queuePosition } from './store/queue.ts';
import type { RunEvent } from './store/rows.ts';
import { countRuns, listRuns, type RunFilter, type RunListing } from './store/runs.ts';
import { readRuns } from './store/runs-db.ts';
import { turnsOf } from './store/turns.ts';
import type { RunsWorld } from './world.ts';

const TEXT_LENGTH_MAX = 32 * 1024;
/** Of what was said, and of tools, each: in UTF-16 units, and entries. */
const KEPT_LENGTH_MAX = 4 * 1024 * 1024;
const KEPT_ENTRIES_MAX = 2000;
const READ_BYTES = 4 * 1024 * 1024;
/** So many events become entries at once. */
const BATCH_MAX = 512;
/** In which the newest entry is looked for. */
const TAIL_BYTES = 64 * 1024;

/**
 * What was said and done in all turns of a run, from the first on, archived ones too; empty when nothing was written. Of
 * a very long run the end: what was said before, and calls of tools before, are left out each by itself. What a turn
 * was asked stands in front of what it said. @throws Error that says which file cannot be read.
 */
export function readLog(run: Run, { paths }: Pick<RunsWorld, 'paths'>): readonly LogEntry[] {
  const turns = readRuns(paths, (db) => turnsOf(run.id, db)) ?? [];
  const said = new Tail();
  const done = new Tail();
  let position = 0;
  const keep = (entry: LogEntry) => {
    const isSaid = entry.kind === 'user' || entry.kind === 'assistant';
    (isSaid ? said : done).push({
      entry: { ...entry, text: cutText(entry.text, TEXT_LENGTH_MAX) },
      position,
    });
    position++;
  };
  for (const turn of turns) {
    const { directory, output } = turnFiles(paths, run.id, turn.number);
    if (turn.launchedAtMs === null) continue;
    keep({ kind: 'user', text: askedIn(turn, run) });
    for (const file of [...archivedNames(output, directory), output]) readTurn(file, run, keep);
  }
  const kept = [...said.entries, ...done.entries].sort((one, other) => one.position - other.position);
  return kept.map(({ entry }) => entry);
}

/** The newest that a turn has said or called, by the end of what its client has written. Never throws. */
export function newestEntry(
  { run, turn }: RunWithTurn,
  { paths }: Pick<RunsWorld, 'paths'>,
): LogEntry | undefined {
  const lines = readTail(turnFiles(paths, run.id, turn.number).output, TAIL_BYTES).split('\n');
  const reader = readerOf(run);
  const entries = toLogEntries(lines.flatMap((line) => reader.read(line)));
  return entries.findLast(({ kind }) => kind === 'assistant' || kind === 'tool-call');
}

function readerOf({ client, sessionId }: Run) {
  return clientNamed(client).reader({ session: { kind: 'new', id: sessionId ?? '' }, before: NO_USAGE });
}

/** The task without what stands around it in the first prompt; of an announce step that it is one. */
function askedIn({ kind, message }: Turn, { task }: Run): string {
  switch (kind) {
    case 'task':
      return task;
    case 'send':
      return message;
    case 'announce':
      return message.split('\n', 1)[0] ?? '';
  }
}

function readTurn(path: string, run: Run, keep: (entry: LogEntry) => void): void {
  const file = open(path);
  if (file === undefined) return;
  const batch = new Batch(keep);
  try {
    const reader = readerOf(run);
    const onLine = (line: string) => batch.push(reader.read(line));
    // As much as there is by now; what is being written while this reads is of another call.
    for (let left = file.bytes(); left > 0; left -= READ_BYTES) file.read(onLine, READ_BYTES);
    file.readRest(onLine);
  } finally {
    file.close();
  }
  batch.end();
}

function open(path: string): GrowingFile | undefined {
  try {
    return new GrowingFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`Cannot read the log "${path}": ${(error as Error).message}`, { cause: error });
  }
}

/** Turns events into entries without holding all of them: pieces of a message stay together, results know their tool. */
class Batch {
  readonly #keep: (entry: LogEntry) => void;
  readonly #tools = new Map<string, string>();
  #events: AgentEvent[] = [];

  constructor(keep: (entry: LogEntry) => void) {
    this.#keep = keep;
  }

  push(events: readonly AgentEvent[]): void {
    for (const event of events) {
      const isLong = 'text' in event && event.text !== null && event.text.length > TEXT_LENGTH_MAX;
      this.#events.push(isLong ? { ...event, text: cutText(event.text, TEXT_LENGTH_MAX) } : event);
      const isBetweenPieces = event.kind !== 'text' || !event.isPiece;
      const { length } = this.#events;
      if ((length >= BATCH_MAX && isBetweenPieces) || length >= BATCH_MAX * 8) this.end();
    }
  }

  end(): void {
    for (const entry of toLogEntries(this.#events, this.#tools)) this.#keep(entry);
    this.#events = [];
  }
}

type Placed = { readonly entry: LogEntry; readonly position: number };

/** The last entries, of bounded length in all. */
class Tail {
  #entries: Placed[] = [];
  #from = 0;
  #length = 0;

  get entries(): readonly Placed[] {
    return this.#entries.slice(this.#from);
  }

  push(placed: Placed): void {
    this.#entries.push(placed);
    this.#length += placed.entry.text.length;
    while (this.#length > KEPT_LENGTH_MAX || this.#entries.length - this.#from > KEPT_ENTRIES_MAX) {
      this.#length -= this.#entries[this.#from]?.entry.text.length ?? 0;
      this.#from++;
    }
    if (this.#from < KEPT_ENTRIES_MAX) return;
    this.#entries = this.#entries.slice(this.#from);
    this.#from = 0;
  }
}

/** The runs that this lets through, with their places in the queue, and how many there are of the requester's. */
export function readRunList(filter: RunFilter, { paths }: RunsWorld) {
  const found = readRuns(paths, (db) => ({
    ...countRuns(filter.requester, db),
    runs: listRuns(filter, db).map((listing) => ({
      listing,
      queuePosition: isLive(listing) ? queuePosition(listing.run.id, db) : undefined,
    })),
  }));
  return found ?? { active: 0, done: 0, runs: [] };
}

/** What is said of a run in the same words by the commands and over MCP. */
export function runFacts({ run, turn, usage, delivery, waiting }: RunListing, nowMs: number) {
  const { number, sessionId, agentId, client, cleanup, worktree } = run;
  const facts = { number, status: turn.state, sessionId, agentId, client, cleanup, worktree };
  return { ...facts, runtimeMs: runtimeMs(turn, nowMs), usage, delivery, waitingMessages: waiting };
}

/** An event of a run; `safe` makes its text fit to be shown. */
export function eventView({ atMs, actor, type, detail }: RunEvent, safe: (text: string) => string) {
  return { at: isoTime(atMs), actor, type, detail: safe(detail) };
}
