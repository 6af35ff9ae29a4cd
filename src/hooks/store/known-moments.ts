import type { Json } from '../../core/guards.ts';
import type { Db } from '../../database/connection.ts';
import { recordIn } from '../../database/sqlite.ts';
import type { Recording } from '../decision.ts';

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
  const { ts, sessionId, projectPath } = prompt.at;
  const ms = Date.parse(ts);
  const span =
    delayMsMax === undefined ? around(ts, QUEUED_MS_MAX, CLOCK_MS_MAX) : around(ts, CLOCK_MS_MAX, delayMsMax);
  const own = readMoments('prompt', { sessionId }, span, db);
  if (delayMsMax === undefined) return own.some((row) => isSame(row, prompt) && isOfHook(row, ms));
  if (own.some((row) => isOfTranscript(row, ms, delayMsMax) && row.data.text === prompt.text)) return true;
  if (own.some((row) => Math.abs(row.atMs - ms) <= SAME_PROMPT_MS)) return true;
  const near = around(ts, COPIED_PROMPT_MS, COPIED_PROMPT_MS);
  return readMoments('prompt', { projectPath }, near, db).some((row) => row.data.text === prompt.text);
}

/** Whether the end of this sub-agent is recorded already. */
export function isKnownStop({ at }: Stop, { delayMsMax }: Source, db: Db): boolean {
  const { ts, sessionId, agentId } = at;
  const ms = Date.parse(ts);
  const near = around(ts, HOOK_DELAY_MS_MAX, HOOK_DELAY_MS_MAX);
  return readMoments('subagent_stop', { sessionId }, near, db).some(
    (row) =>
      (row.data.agentId ?? null) === agentId &&
      (delayMsMax === undefined ? isOfHook(row, ms) : isOfTranscript(row, ms, delayMsMax)),
  );
}

type Moment = { readonly atMs: number; readonly data: Json };

/** Whether what a hook records at this time is what the row tells: the same hook, called twice, or the transcript. */
function isOfHook({ atMs, data }: Moment, ms: number): boolean {
  const { delayMsMax } = data;
  const awaitedMs = typeof delayMsMax === 'number' ? delayMsMax : CLOCK_MS_MAX;
  return ms - atMs <= awaitedMs && atMs - ms <= CLOCK_MS_MAX;
}

/** Whether what the transcript dates so is what the row tells: a hook's record of it, or the same line, read again. */
function isOfTranscript({ atMs, data }: Moment, ms: number, delayMsMax: number): boolean {
  const laterMsMax = typeof data.delayMsMax === 'number' ? CLOCK_MS_MAX : delayMsMax;
  return ms - atMs <= CLOCK_MS_MAX && atMs - ms <= laterMsMax;
}

/** The length tells apart what is not to be kept as text. */
function isSame({ data }: Moment, { text, charCount }: Prompt): boolean {
  return data.text === text && data.charCount === charCount;
}

type Whose = { readonly sessionId: string } | { readonly projectPath: string | null };

function readMoments(
  type: 'prompt' | 'subagent_stop',
  whose: Whose,
  [from, until]: [string, string],
  db: Db,
): Moment[] {
  const [column, value] =
    'sessionId' in whose ? ['session_id', whose.sessionId] : ['project_path', whose.projectPath];
  return db.sqlite
    .all(
      `SELECT ts, data FROM events WHERE ${column} IS ? AND ts BETWEEN ? AND ? AND type = ?`,
      value ?? null,
      from,
      until,
      type,
    )
    .map((row) => ({ atMs: Date.parse(String(row.ts)), data: recordIn(row.data) }));
}

function around(ts: string, beforeMs: number, afterMs: number): [string, string] {
  const atMs = Date.parse(ts);
  return [new Date(atMs - beforeMs).toISOString(), new Date(atMs + afterMs).toISOString()];
}
