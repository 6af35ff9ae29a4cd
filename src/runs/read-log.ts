import type { AgentEvent, TurnReader } from '../clients/client.ts';
import { clientNamed } from '../clients/clients.ts';
import { GrowingFile, readTail } from '../system/lines.ts';
import { archivedNames } from './archive.ts';
import { isLive, type Run, type RunWithTurn, turnFiles } from './model/run.ts';
import { type LogEntry, logWriter, toLogEntries } from './model/run-log.ts';
import { isoTime } from './model/stats.ts';
import { NO_USAGE, runtimeMs, type Turn } from './model/turn.ts';
import { queuePosition } from './store/queue.ts';
import type { RunEvent } from './store/rows.ts';
import { readRuns } from './store/rows.ts';
import { countRuns, listRuns, type RunFilter, type RunListing } from './store/runs.ts';
import { turnsOf } from './store/turns.ts';
import type { RunsWorld } from './world.ts';

/** Of what was said, and of tools, each: in UTF-16 units, and entries. */
const KEPT_LENGTH_MAX = 4 * 1024 * 1024;
const KEPT_ENTRIES_MAX = 2000;
const READ_BYTES = 4 * 1024 * 1024;
/** In which the newest entry is looked for. */
const TAIL_BYTES = 64 * 1024;

/**
 * What was said and done in all turns of a run, from the first on, archived ones too; empty when nothing was written. Of
 * a very long run the end: what was said before, and calls of tools before, are left out each by itself. What a turn
 * was asked stands in front of what it said. @throws Error that says which file cannot be read.
 */
export function readLog(run: Run, { paths }: Pick<RunsWorld, 'paths'>): readonly LogEntry[] {
  const turns = readRuns(paths, (db) => turnsOf(run.id, db)) ?? [];
  const [said, done] = [tail(), tail()];
  let position = 0;
  const keep = (entry: LogEntry) => {
    const isSaid = entry.kind === 'user' || entry.kind === 'assistant';
    (isSaid ? said : done).push(entry, position++);
  };
  for (const turn of turns) {
    if (turn.launchedAtMs === null) continue;
    const writer = logWriter(keep);
    writer.push({ kind: 'user', text: askedIn(turn, run) });
    readTurnEvents(run, turn.number, { paths }, { onEvent: writer.push, onFileEnd: writer.end });
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

/** Reads what the client of a run has written, for who only looks. */
export function readerOf({ client, sessionId }: Pick<Run, 'client' | 'sessionId'>): TurnReader {
  return clientNamed(client).reader({ session: { kind: 'new', id: sessionId ?? '' }, before: NO_USAGE });
}

/** The task without what stands around it in the first prompt; of an announce step that it is one. */
function askedIn({ kind, message }: Turn, { task }: Run): string {
  if (kind === 'task') return task;
  return kind === 'send' ? message : (message.split('\n', 1)[0] ?? '');
}

type EventSink = { readonly onEvent: (event: AgentEvent) => void; readonly onFileEnd?: () => void };

/** What the client has written in a turn of a run, by now, archived or not. @throws Error that says which file cannot be read. */
export function readTurnEvents(
  run: Run,
  turn: number,
  { paths }: Pick<RunsWorld, 'paths'>,
  { onEvent, onFileEnd }: EventSink,
): void {
  const { directory, output } = turnFiles(paths, run.id, turn);
  for (const path of [...archivedNames(output, directory), output]) {
    const file = open(path);
    if (file === undefined) continue;
    try {
      const reader = readerOf(run);
      const onLine = (line: string) => {
        for (const event of reader.read(line)) onEvent(event);
      };
      // As much as there is by now; what is being written while this reads is of another call.
      for (let left = file.bytes(); left > 0; left -= READ_BYTES) file.read(onLine, READ_BYTES);
      file.readRest(onLine);
    } finally {
      file.close();
    }
    onFileEnd?.();
  }
}

function open(path: string): GrowingFile | undefined {
  try {
    return new GrowingFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`Cannot read the log "${path}": ${(error as Error).message}`, { cause: error });
  }
}

/** The last entries, of bounded length in all, each with its place. */
function tail() {
  const entries: { readonly entry: LogEntry; readonly position: number }[] = [];
  let length = 0;
  const push = (entry: LogEntry, position: number) => {
    entries.push({ entry, position });
    length += entry.text.length;
    while (length > KEPT_LENGTH_MAX || entries.length > KEPT_ENTRIES_MAX)
      length -= entries.shift()?.entry.text.length ?? 0;
  };
  return { entries, push };
}

/** The runs that this lets through, with their places in the queue, and how many there are of the requester's. */
export function readRunList(filter: RunFilter, { paths }: RunsWorld) {
  const found = readRuns(paths, (db) => ({
    ...countRuns(filter, db),
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
