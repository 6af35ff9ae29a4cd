import { statSync } from 'node:fs';
import { isRecord, type Json, parseJson, readRecord, readString } from '../../core/guards.ts';
import { realPath } from '../../system/atomic-file.ts';
import { readTail } from '../../system/growing-file.ts';
import { seen } from '../../system/process-identity.ts';
import type { ExitCodes } from '../client.ts';

/** Exit codes of Gemini CLI's commands, by the conversation in the run's home: its output does not say them. */

/** Of the end of each conversation. */
const READ_BYTES_MAX = 4 * 1024 * 1024;
const CONVERSATIONS_MAX = 4;
const CONVERSATIONS = new Bun.Glob('{home,*.home}/.gemini/tmp/*/chats/*.jsonl');
const SCAN = { absolute: true, dot: true, followSymlinks: true };

/** Reads the newest conversations of a run. Never throws: what cannot be read says nothing. */
export function geminiExits(runDirectory: string): ExitCodes {
  const codes = new Map<string, number>();
  for (const file of conversations(runDirectory)) {
    for (const line of readTail(file, READ_BYTES_MAX).split('\n')) {
      // Most of a conversation is of no interest, and some of it is long.
      if (!line.includes('"toolCalls"')) continue;
      const message = parseJson(line);
      const calls = isRecord(message) && Array.isArray(message.toolCalls) ? message.toolCalls : [];
      for (const call of calls.filter(isRecord)) addCall(call, codes);
    }
  }
  return (callId) => codes.get(callId);
}

function addCall(call: Json, codes: Map<string, number>): void {
  const id = readString(call, 'id');
  const output = outputOf(call);
  if (id === undefined || output === undefined) return;
  // Behind the output itself, which may say anything: the last lines are the client's own.
  const told = /\nExit Code: (\d{1,10})(?=\n(?:Signal|Background PIDs|Process Group PGID): |\n<\/|\s*$)/g;
  const last = [...output.matchAll(told)].at(-1)?.[1];
  const isKilled = /\nSignal: \S+(?=\n|\s*$)/.test(output.slice(-400));
  codes.set(id, last === undefined ? (isKilled ? -1 : 0) : Number(last));
}

function outputOf({ result }: Json): string | undefined {
  const parts = Array.isArray(result) ? result.filter(isRecord) : [];
  for (const part of parts) {
    const output = readString(readRecord(readRecord(part, 'functionResponse'), 'response'), 'output');
    if (output !== undefined) return output;
  }
  return undefined;
}

/** `turn-1.home/.gemini/tmp/<project>/chats/session-….jsonl`, the newest first; the home of a turn leads to what stays. */
function conversations(runDirectory: string): string[] {
  const files = seen(() => [...CONVERSATIONS.scanSync({ cwd: runDirectory, ...SCAN })], []);
  const age = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const distinct = [...new Set(files.map(realPath))];
  return distinct.sort((one, other) => age(other) - age(one)).slice(0, CONVERSATIONS_MAX);
}
