import { readTextFile, writeMark } from '#runtime';
import { isRecord, parseJson, readString } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cutText, fingerprint } from '../core/text.ts';

/**
 * Which sub-agent was given what. SubagentStart must not wait for the database, so it leaves a note in a file, and the
 * next hook that may write takes it in. A note is no event: it may be lost when the machine fails in that moment.
 */
export type GivenContext = {
  readonly ts: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly agentType: string | null;
  readonly project: string;
  readonly projectPath: string;
  readonly text: string;
};

/**
 * Leaves the note, in one of 4,096 files that the end of the agent's id chooses: where nobody ever takes notes in, the
 * disk does not fill. Its directory is there from install on: a process that ends at once has no time to make one.
 * Never throws.
 */
export function noteGiven(given: GivenContext, paths: StatePaths): void {
  let slot = '';
  for (const letter of given.agentId.slice(-3)) slot += '0123456789abcdef'.includes(letter) ? letter : '0';
  writeMark(`${paths.given}/${slot}.json`, JSON.stringify(given));
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
