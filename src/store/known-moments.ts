import { isRecord, parseJson } from '../core/guards.ts';
import type { Recording } from '../core/recording.ts';
import type { Db } from './connection.ts';
import type { Value } from './sqlite.ts';

/**
 * What has no id to be known by: prompts, and the ends of sub-agents. Each comes in by its hook and by the transcript, in
 * either order, and is recognised by its time. The hook comes up to so much later than the transcript says.
 */

type Prompt = Extract<Recording, { kind: 'prompt' }>;
type Stop = Extract<Recording, { kind: 'subagent-stop' }>;

/** What the transcript's records have beside those of a hook: until when that may still come in. */
export type Source = { readonly delayMsMax?: number | undefined };

/** A hook's clock and the transcript's differ by what the client does between. */
const CLOCK_MS_MAX = 2000;
/** How much later than the transcript says a hook may record, where nothing else is known. */
export const HOOK_DELAY_MS_MAX = 10_000;
/** A prompt that was typed while the agent worked comes to the hooks when the agent comes to it. */
export const QUEUED_MS_MAX = 30 * 60_000;
/** Nobody types two prompts in this time: then they are the same, although their texts differ a little. */
const SAME_PROMPT_MS = 250;
/** Copies of prompts in a session that goes on from another one have nothing but text and time to be known by. */
const COPIED_PROMPT_MS = 1000;

/** Whether the prompt is recorded already. */
export function isKnownPrompt(prompt: Prompt, { delayMsMax }: Source, db: Db): boolean {
  const { ts, sessionId } = prompt.at;
  if (delayMsMax === undefined) {
    const earlier = readPrompts(
      'session_id = ?',
      [sessionId, ...around(ts, QUEUED_MS_MAX, CLOCK_MS_MAX)],
      db,
    );
    return earlier.some((row) => isSame(row, prompt) && Date.parse(ts) - row.atMs <= awaitedMs(row));
  }
  const own = readPrompts('session_id = ?', [sessionId, ...around(ts, CLOCK_MS_MAX, delayMsMax)], db);
  if (own.some((row) => row.text === prompt.text || Math.abs(row.atMs - Date.parse(ts)) <= SAME_PROMPT_MS))
    return true;
  const near = around(ts, COPIED_PROMPT_MS, COPIED_PROMPT_MS);
  return readPrompts('project_path IS ?', [prompt.at.projectPath, ...near], db).some(
    (row) => row.text === prompt.text,
  );
}

/** Whether the end of this sub-agent is recorded already. */
export function isKnownStop({ at }: Stop, { delayMsMax }: Source, db: Db): boolean {
  const [before, after] =
    delayMsMax === undefined ? [HOOK_DELAY_MS_MAX, CLOCK_MS_MAX] : [CLOCK_MS_MAX, delayMsMax];
  const row = db.sqlite.get(
    `SELECT 1 FROM events WHERE session_id = ? AND ts BETWEEN ? AND ? AND type = 'subagent_stop'
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.agentId') END IS ? LIMIT 1`,
    at.sessionId,
    ...around(at.ts, before, after),
    at.agentId,
  );
  return row !== undefined;
}

type PromptRow = {
  readonly text: unknown;
  readonly charCount: unknown;
  readonly delayMsMax: unknown;
  readonly atMs: number;
};

/** Of a hook's own record nothing is awaited but the same hook, called twice. */
function awaitedMs({ delayMsMax }: PromptRow): number {
  return typeof delayMsMax === 'number' ? delayMsMax : CLOCK_MS_MAX;
}

/** The length tells apart what is not to be kept as text. */
function isSame({ text, charCount }: PromptRow, prompt: Prompt): boolean {
  return text === prompt.text && charCount === prompt.charCount;
}

function readPrompts(where: string, values: Value[], db: Db): PromptRow[] {
  return db.sqlite
    .all(`SELECT ts, data FROM events WHERE ${where} AND ts BETWEEN ? AND ? AND type = 'prompt'`, ...values)
    .map((row) => {
      const data = parseJson(String(row.data));
      const { text, charCount, delayMsMax } = isRecord(data) ? data : {};
      return { text, charCount, delayMsMax, atMs: Date.parse(String(row.ts)) };
    });
}

function around(ts: string, beforeMs: number, afterMs: number): [string, string] {
  const atMs = Date.parse(ts);
  return [new Date(atMs - beforeMs).toISOString(), new Date(atMs + afterMs).toISOString()];
}
