import { readTextFile, writeMark } from '#runtime';
import { fingerprint } from '../core/fingerprint.ts';
import { isRecord, parseJson, readString } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cutText } from '../core/text.ts';

/** What a sub-agent is to do: the client tells it to PreToolUse, which comes right before SubagentStart. */
export type Task = { readonly sessionId: string; readonly agentType: string; readonly words: string };

const WORDS_LENGTH_MAX = 4000;
const SLOT_DIGITS = 2;

/**
 * Leaves the task for the sub-agent that starts next, in one of 1,296 files. Its directory is there from install on. Of
 * several at once of one type the last stays, which only changes in what order lessons are told. Never throws.
 */
export function noteTask(task: Task, paths: StatePaths): void {
  writeMark(pathOf(task, paths), JSON.stringify({ ...task, words: cutText(task.words, WORDS_LENGTH_MAX) }));
}

/** The words of the task; empty when none was left. */
export function readTask(of: Omit<Task, 'words'>, paths: StatePaths): string {
  const note = parseJson(readTextFile(pathOf(of, paths)) ?? '');
  const isSame = isRecord(note) && note.sessionId === of.sessionId && note.agentType === of.agentType;
  return isSame ? (readString(note, 'words') ?? '') : '';
}

function pathOf({ sessionId, agentType }: Omit<Task, 'words'>, paths: StatePaths): string {
  return `${paths.tasks}/${fingerprint(`${sessionId}\n${agentType}`).slice(-SLOT_DIGITS)}.json`;
}
