import { pathExists, readTextFile, writeMark } from '#runtime';
import type { Telling } from '../benefit/model/telling.ts';
import { isRecord, parseJson, readString } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cutText, fingerprint } from '../core/text.ts';

/**
 * Which agent was given what, or would have been. Hooks that an agent waits for must not wait for the database, so they leave
 * a note in a file, and the next hook that may write takes it in. A note is no event: it may be lost when the machine fails
 * in that moment.
 */
export type GivenNote = {
  readonly ts: string;
  readonly sessionId: string;
  /** Null: the main session. */
  readonly agentId: string | null;
  readonly agentType: string | null;
  readonly project: string;
  readonly projectPath: string;
  /** Empty where all of it was held out. */
  readonly text: string;
  /** The client's name, where it is known. */
  readonly client?: string | undefined;
  readonly tellings: readonly Telling[];
};

const SLOTS = 4096;
const SLOTS_TRIED = 64;
/** Of a fingerprint: more than there are slots. */
const NOTE_DIGITS = 4;

/**
 * Leaves the note in one of 4,096 files: the one that its content chooses, or the next that is free, so that none is lost while
 * it waits. Where nobody ever takes notes in, the disk does not fill: then it is not left. Its directory is there from
 * install on: a process that ends at once has no time to make one. Never throws.
 */
export function noteGiven(given: GivenNote, paths: StatePaths): void {
  const text = JSON.stringify(given);
  const first = Number.parseInt(fingerprint(text).slice(-NOTE_DIGITS), 36);
  for (let tried = 0; tried < SLOTS_TRIED; tried++) {
    const file = `${paths.given}/${((first + tried) % SLOTS).toString(16).padStart(3, '0')}.json`;
    if (pathExists(file)) continue;
    writeMark(file, text);
    return;
  }
}

/** What a sub-agent is to do: the client tells it to PreToolUse, which comes right before SubagentStart. */
export type SubagentTask = { readonly sessionId: string; readonly agentType: string; readonly words: string };

const WORDS_LENGTH_MAX = 4000;
const SLOT_DIGITS = 2;

/**
 * Leaves the task for the sub-agent that starts next, in one of 1,296 files. Its directory is there from install on. Of
 * several at once of one type the last stays, which only changes in what order lessons are told. Never throws.
 */
export function noteTask(task: SubagentTask, paths: StatePaths): void {
  writeMark(pathOf(task, paths), JSON.stringify({ ...task, words: cutText(task.words, WORDS_LENGTH_MAX) }));
}

/** The words of the task; empty when none was left. */
export function readTask(of: Omit<SubagentTask, 'words'>, paths: StatePaths): string {
  const note = parseJson(readTextFile(pathOf(of, paths)) ?? '');
  const isSame = isRecord(note) && note.sessionId === of.sessionId && note.agentType === of.agentType;
  return isSame ? (readString(note, 'words') ?? '') : '';
}

function pathOf({ sessionId, agentType }: Omit<SubagentTask, 'words'>, paths: StatePaths): string {
  return `${paths.tasks}/${fingerprint(`${sessionId}\n${agentType}`).slice(-SLOT_DIGITS)}.json`;
}
