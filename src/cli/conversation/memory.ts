import type { Command } from 'commander';
import { type MemoryEntry, searchEntries } from '../../conversation/memory/entries.ts';
import { askForNote, forgetEntry, takeNotes } from '../../conversation/memory/flush.ts';
import { readMemory } from '../../conversation/memory/recall.ts';
import type { TurnName } from '../../runs/model/run.ts';
import { endReason, isTerminal } from '../../runs/model/turn.ts';
import { waitForRuns } from '../../runs/stop.ts';
import { currentConversation } from '../../runs/store/parts.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { loadConversationSettings } from '../../settings/conversation-settings.ts';
import { type CliContext, commandGroup, EXIT, exitCodes, subcommand } from '../context.ts';
import { shownText } from '../output.ts';
import {
  answer,
  complain,
  complainUsage,
  type JsonFlag,
  type RunsHere,
  refuse,
  visibleLine,
  withRunsHere,
} from '../subagents/runs-here.ts';
import { progressOf } from '../subagents/wait.ts';

const CODES = [0, 1, 2, 3, 4];
const ENDS = `${exitCodes(CODES).slice(0, -1)}, 130 interrupted.`;

const AFTER = `
Notes on what was said with "run", by project; a new session is told the newest of them. "memory.enabled" in the settings
has a model write them now and then, "memory flush" at once. They stand as Markdown in ~/.self-generation/memory.

Examples:
  $ self-generation memory                    the notes of this project, the newest first
  $ self-generation memory search login test
  $ self-generation memory forget 3f9a2c

${ENDS}`;

/** `memory`: what is remembered of the conversations of a project. */
export function memoryCommand(context: CliContext): Command {
  const inRuns = (flags: JsonFlag, act: (here: RunsHere) => void | Promise<void>) =>
    withRunsHere({ context, read: async () => '' }, flags, 'read the memory', act);
  const description = 'what is remembered of earlier conversations';
  const listAll = (flags: JsonFlag) => inRuns(flags, (here) => tellEntries(entriesHere(here), here));
  const group = commandGroup('memory', { description, after: AFTER }, context, listAll);
  const commands = [
    subcommand('memory list', { description: 'list the notes', calls: [''], codes: CODES }, context, listAll),
    subcommand(
      'memory search',
      { description: 'list the notes with all of these words', calls: ['login test'], codes: CODES },
      context,
      (flags: JsonFlag, words: readonly string[]) => inRuns(flags, (here) => search(words, here)),
    ).argument('[words...]', 'in any case'),
    subcommand(
      'memory forget',
      { description: 'remove a note', calls: ['3f9a2c'], codes: CODES },
      context,
      (flags: JsonFlag, id?: string) => inRuns(flags, (here) => forget(id, here)),
    ).argument('[id]', 'of the note'),
    subcommand(
      'memory flush',
      { description: 'have what was said noted down now', calls: [''], after: `\n\n${ENDS}` },
      context,
      (flags: JsonFlag) => inRuns(flags, flush),
    ),
  ];
  for (const command of commands) group.addCommand(command);
  return group;
}

/** Those that are made by now among them. */
function entriesHere({ requester, world }: RunsHere): MemoryEntry[] {
  takeNotes(requester.key, world);
  return readMemory(requester.key, world.paths);
}

function tellEntries(entries: readonly MemoryEntry[], here: RunsHere): void {
  const { bold } = here.context.colours;
  const texts = entries.map(
    ({ id, date, time, text }) => `${bold(id)}  ${date} ${time}\n${indented(text)}\n`,
  );
  answer({ entries }, texts.length === 0 ? 'There is no note.\n' : texts.join('\n'), here);
}

function indented(text: string): string {
  return shownText(text).replace(/^(?=.)/gm, '  ');
}

function search(words: readonly string[], here: RunsHere): void {
  if (words.join('').trim() === '') complainUsage('search WORDS', here, 'memory ');
  tellEntries(searchEntries(entriesHere(here), words), here);
}

function forget(id: string | undefined, here: RunsHere): void {
  if (id === undefined) complainUsage('forget ID', here, 'memory ');
  const { requester, world } = here;
  const entry = readMemory(requester.key, world.paths).find((one) => one.id === id);
  if (entry === undefined)
    complain(
      `Cannot forget "${visibleLine(id)}": there is no such note; "memory list" shows their ids`,
      EXIT.notFound,
      here,
    );
  forgetEntry(entry, requester.key, world);
  answer({ forgotten: entry }, `Forgotten: the note of ${entry.date} ${entry.time}.\n`, here);
}

async function flush(here: RunsHere): Promise<void> {
  const { requester, world, context } = here;
  takeNotes(requester.key, world);
  const current = () => readRuns(world.paths, (db) => currentConversation(requester.key, db));
  const conversation = current();
  if (conversation === undefined)
    return complain('Cannot note anything down: there is no conversation yet', EXIT.failed, here);
  const before = new Set(readMemory(requester.key, world.paths).map(({ id }) => id));
  const asked = askForNote(conversation.id, requester, loadConversationSettings(world.paths), 'now', world);
  if (asked !== undefined && 'status' in asked) return refuse(asked, 'Cannot note anything down: ', here);
  const failure = asked === undefined ? undefined : await awaited(asked, here);
  takeNotes(requester.key, world);
  const isStuck = asked !== undefined && current()?.flushedPosition === conversation.flushedPosition;
  const why = failure ?? (isStuck ? 'the answer of the model was none that was asked for' : undefined);
  if (why !== undefined)
    complain(`Nothing was noted down: ${why}. Nothing is lost: it is asked for again`, EXIT.failed, here);
  const added = readMemory(requester.key, world.paths).filter(({ id }) => !before.has(id));
  if (here.isJson || added.length > 0) return tellEntries(added, here);
  const none =
    asked === undefined ? 'All that was said is noted down already' : 'Nothing of it was worth a note';
  context.stdout(`${none}.\n`);
}

/** Why the note could not be made; undefined: it was. */
async function awaited(turn: TurnName, here: RunsHere): Promise<string | undefined> {
  const { world, context } = here;
  const leave = new AbortController();
  const release = context.onInterrupt(() => leave.abort());
  const progress = progressOf(here);
  const { onProgress } = progress;
  try {
    const { runs } = await waitForRuns([turn], { timeoutMs: null, signal: leave.signal, onProgress }, world);
    const state = runs[0]?.turn.state ?? 'lost';
    if (!isTerminal(state)) return complain('It goes on: the note is taken in later', EXIT.interrupted, here);
    return state === 'success' ? undefined : ((runs[0] && endReason(runs[0].turn)) ?? state);
  } finally {
    progress.stop();
    release();
  }
}
