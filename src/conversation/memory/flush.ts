import type { Sqlite } from '../../database/sqlite.ts';
import { isSession } from '../../runs/model/part.ts';
import type { Requester, TurnName } from '../../runs/model/run.ts';
import { isTerminal, type Turn } from '../../runs/model/turn.ts';
import { spawnRun } from '../../runs/spawn.ts';
import {
  type Conversation,
  conversationsOf,
  markFlushed,
  type PartRun,
  partRuns,
} from '../../runs/store/parts.ts';
import { readRuns, runsTransaction } from '../../runs/store/rows.ts';
import { checkpoint, orLogged, type Refusal, type RunsWorld } from '../../runs/world.ts';
import { type ConversationSettings, loadConversationSettings } from '../../settings/conversation-settings.ts';
import { messagesIn, type Said, sessionsOf, turnsSaid } from '../messages.ts';
import { type MemoryEntry, markOf, withEntry, withoutEntry } from './entries.ts';
import { notePrompt, readNote, turnsThatFit } from './note.ts';
import { changeDay } from './recall.ts';

/**
 * Notes on what was said: a run without tools is asked for one, and this program writes it. Which turns are noted down is
 * a position that moves only once the note is written; a run that fails loses nothing, its turns are asked for again.
 */

const PART = 'memory';
/** Below that there is nothing to tell of: two turns. */
const MESSAGES_MIN = 4;
/** Of the newest so many conversations. */
const CONVERSATIONS_MAX = 20;

/** What a run is asked to note down: its turns come behind position `from`, up to `to`. */
type Flush = {
  readonly run: PartRun['run'];
  readonly turn: Turn;
  readonly from: number;
  readonly to: number;
};

/** Takes in the notes that are done, and asks for the next one when so many turns are answered. Never throws and never waits. */
export function advanceMemory(
  { id }: Pick<Conversation, 'id'>,
  requester: Requester,
  world: RunsWorld,
): void {
  orLogged('', world.paths, () => {
    takeNotes(requester.key, world);
    const settings = loadConversationSettings(world.paths);
    if (settings.memory.enabled) askForNote(id, requester, settings, 'when due', world);
  });
}

/** Writes the notes that are done, of all conversations of the requester, each once. @throws Error that names the file when it cannot be written */
export function takeNotes(requester: string, world: RunsWorld): void {
  const isDue = ({ id }: Conversation, db: Sqlite) => flushesIn(id, requester, db)?.made !== undefined;
  const look = (db: Sqlite) =>
    conversationsOf(requester, db)
      .slice(0, CONVERSATIONS_MAX)
      .filter((one) => isDue(one, db));
  for (const { id } of readRuns(world.paths, look) ?? []) takeNote(id, requester, world);
}

function takeNote(id: string, requester: string, { paths, env }: RunsWorld): void {
  // The lock of the database is also that of the files.
  runsTransaction(paths, (db) => {
    const made = flushesIn(id, requester, db)?.made;
    if (made === undefined) return;
    const { note, turn, from, to } = made;
    if (note.kind === 'note') {
      const { date, time } = localTime(turn.endedAtMs ?? 0);
      const entry = { time, text: note.text, mark: markOf(id, { from, to }) };
      changeDay(requester, date, paths, (markdown) => withEntry(markdown, entry));
    }
    checkpoint('after-note', env);
    markFlushed(id, to, db);
  });
}

/**
 * A conversation with the runs that were asked for what comes behind its watermark: the one at work, one that has made a
 * note which is not written yet, and how many have not.
 */
function flushesIn(id: string, requester: string, db: Sqlite) {
  const conversation = conversationsOf(requester, db).find((one) => one.id === id);
  if (conversation === undefined) return undefined;
  const asked = partRuns({ kind: 'conversation', id }, db, `${PART}.${conversation.flushedPosition}.`);
  const own = flushesOf(asked);
  const made = own.flatMap((flush) => {
    const note = flush.turn.state === 'success' ? readNote(flush.turn.result ?? '') : undefined;
    return note === undefined || note.kind === 'unreadable' ? [] : { ...flush, note };
  })[0];
  return {
    conversation,
    made,
    atWork: own.find(({ turn }) => !isTerminal(turn.state)),
    asked: own.length,
  };
}

/**
 * Has the turns noted down that are not yet, `when due` if there are enough of them; returns the run that was asked for it,
 * which may have been asked before, or undefined where there is nothing to note down.
 */
export function askForNote(
  id: string,
  requester: Requester,
  settings: ConversationSettings,
  when: 'when due' | 'now',
  world: RunsWorld,
): TurnName | Refusal | undefined {
  const found = readRuns(world.paths, (db) => flushesIn(id, requester.key, db));
  if (found === undefined) return undefined;
  const { conversation, made, atWork, asked: failed } = found;
  const from = conversation.flushedPosition;
  const before = atWork ?? made;
  if (before !== undefined) return { runId: before.run.id, turn: before.turn.number };
  const parts = readRuns(world.paths, (db) => partRuns({ kind: 'conversation', id }, db)) ?? [];
  const open = answeredSince(from, turnsSaid(parts));
  const answered = open.filter(({ turn }) => turn.result !== null).length;
  // After a failure only with more turns: what fails again and again is not asked for at each of them.
  const due = when === 'now' ? 1 : settings.memory.flushEvery * (failed + 1);
  if (answered < due || (when === 'when due' && 2 * open.length < MESSAGES_MIN)) return undefined;
  const messages = open.map(messagesIn);
  const taken = turnsThatFit(messages);
  const last = open[taken - 1];
  const session = sessionsOf(parts).at(-1);
  if (last === undefined || session === undefined) return undefined;
  const client = settings.memory.client ?? session.run.client;
  const isOwn = client === session.run.client;
  const answer = spawnRun(
    {
      task: notePrompt(messages.slice(0, taken).flat()),
      part: { kind: 'conversation', id, name: `${PART}.${from}.${failed + 1}` },
      label: `memory of turns ${from} to ${last.turn.position}`,
      profile: 'ask',
      client,
      model: settings.memory.model ?? (isOwn ? (session.run.model.resolved ?? undefined) : undefined),
    },
    requester,
    world,
  );
  return answer.status === 'accepted' ? { runId: answer.runId, turn: 1 } : answer;
}

/** Removes an entry, while nobody else writes the file of its day. @throws Error that names the file when it cannot be written */
export function forgetEntry({ id, date }: MemoryEntry, requester: string, { paths }: RunsWorld): void {
  runsTransaction(paths, () =>
    changeDay(requester, date, paths, (markdown) => withoutEntry(date, markdown, id)),
  );
}

/** The turns behind this position of which nothing is at work any more: no later one is taken before an earlier one. */
function answeredSince(position: number, turns: readonly Said[]): Said[] {
  const open = turns.filter(({ turn }) => turn.position > position);
  const end = open.findIndex(({ turn }) => !isTerminal(turn.state));
  return end < 0 ? open : open.slice(0, end);
}

/** The runs that were asked for notes, in the order in which they were. */
function flushesOf(parts: readonly PartRun[]): Flush[] {
  return parts.flatMap(({ run, turns }) => {
    const [, from, to] = /^memory of turns (\d+) to (\d+)$/.exec(run.label ?? '') ?? [];
    const turn = turns[0];
    if (isSession(run.part) || turn === undefined || from === undefined || to === undefined) return [];
    return { run, turn, from: Number(from), to: Number(to) };
  });
}

/** When the newest note of a conversation was made, in milliseconds since 1970; 0: there is none. */
export function newestNoteMs(parts: readonly PartRun[]): number {
  return Math.max(
    0,
    ...flushesOf(parts).map(({ turn }) => (turn.state === 'success' ? (turn.endedAtMs ?? 0) : 0)),
  );
}

/** As the user's clock has it: `2026-11-23` and `14:32`. */
function localTime(atMs: number) {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, '0');
  return {
    date: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
    time: `${two(at.getHours())}:${two(at.getMinutes())}`,
  };
}
