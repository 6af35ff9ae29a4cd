import { type Json, unreachable } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { type EventType, insertEvent, queryEvents, type StoredEvent } from '../../database/events.ts';
import { recordIn, sqliteErrorCode } from '../../database/sqlite.ts';
import { isEditingTool } from '../../lessons/command.ts';
import { countShown, isForgotten, recordSeen } from '../../lessons/store/error-entries.ts';
import { markShown, registerCached } from '../../suggestions/store.ts';
import type { CallRecord, Origin, Recording, ToolError } from '../decision.ts';
import { type TakenSpool, takeSpool } from './spool.ts';

/**
 * Writes what a hook wants to be remembered, and before it whatever still waits in the spool, in one transaction.
 * Throws what SQLite throws; then nothing has been written.
 */
export function record(recordings: readonly Recording[], paths: StatePaths, db: Db): void {
  const spool = db.sqlite.transaction(() => {
    const taken = applySpool(paths, db);
    for (const recording of recordings) apply(recording, db);
    return taken;
  });
  spool.discard();
}

/** Writes what waits in the spool, inside the caller's transaction; after its commit the files are to be discarded. */
export function applySpool(paths: StatePaths, db: Db): TakenSpool {
  const taken = takeSpool(paths, db);
  for (const recording of taken.recordings) applyWaiting(recording, db);
  return taken;
}

/** A waiting recording that cannot be applied, from another version or damaged, must not block all that follow. */
function applyWaiting(recording: Recording, db: Db): void {
  db.sqlite.exec('SAVEPOINT waiting');
  try {
    apply(recording, db);
  } catch (error) {
    const code = sqliteErrorCode(error);
    if (code !== undefined && !code.startsWith('SQLITE_CONSTRAINT') && code !== 'SQLITE_ERROR') throw error;
    db.sqlite.exec('ROLLBACK TO waiting');
  }
  db.sqlite.exec('RELEASE waiting');
}

/**
 * Writes one recording inside the caller's transaction; false when all of it was known. `source` says what a transcript
 * adds to what a hook knows.
 */
export function apply(recording: Recording, db: Db, source: TranscriptSource = {}): boolean {
  switch (recording.kind) {
    case 'prompt': {
      if (isKnownPrompt(recording, source, db)) return false;
      const { text, charCount, skill } = recording;
      append(recording, 'prompt', { text, charCount, delayMsMax: source.delayMsMax }, db);
      if (skill) append(recording, 'skill_used', { skillName: skill }, db);
      return true;
    }
    case 'suggestions-shown':
      // Those that another implementation left in the cache have no row before they are announced.
      registerCached(recording.since, db);
      markShown(recording.ids, db);
      return true;
    case 'tool-use':
      return applyToolUse(recording, db);
    case 'tool-errors': {
      let isNew = false;
      for (const error of recording.errors) {
        if (isKnownCall(error.toolUseId, db)) continue;
        applyToolError(recording, error, db);
        isNew = true;
      }
      if (recording.shownKbId !== null) countShown(recording.shownKbId, recording.at.ts, db);
      return isNew;
    }
    case 'subagent-stop': {
      if (isKnownStop(recording, source, db)) return false;
      const { agentId, agentType } = recording.at;
      append(recording, 'subagent_stop', { agentId, agentType, delayMsMax: source.delayMsMax }, db);
      return true;
    }
    case 'session-end': {
      const summary = summarizeSession(recording.at.sessionId, recording.reason, db);
      append(recording, 'session_summary', summary, db);
      return true;
    }
    default:
      return unreachable(recording);
  }
}

function applyToolUse(recording: Extract<Recording, { kind: 'tool-use' }>, db: Db): boolean {
  if (isKnownCall(recording.toolUseId, db)) return false;
  const { at, meta, isUnfinished } = recording;
  if (typeof meta.skill === 'string') append(recording, 'skill_used', { skillName: meta.skill }, db);
  append(recording, 'tool_use', { ...callData(recording, at), meta, success: true, isUnfinished }, db);
  return true;
}

/** The keys under which a call stands in `events.data`. */
function callData(call: CallRecord, { agentId }: Origin): Json {
  const { tool, toolUseId, command, line, directory, remark, file } = call;
  return { tool, toolUseId, agentId, command, line, directory, remark, file };
}

function applyToolError(
  recording: Extract<Recording, { kind: 'tool-errors' }>,
  error: ToolError,
  db: Db,
): void {
  const { at } = recording;
  if (isForgotten(error.error, db)) return;
  const { error: key, said, errorRaw, noise, isHidden } = error;
  const told = { told: recording.shownKbId, agentType: at.agentType };
  const text = { error: key, said, errorRaw, noise, isHidden };
  append(recording, 'tool_error', { ...callData(error, at), ...told, ...text }, db);
  if (noise === null || noise === 'unclear')
    recordSeen(key, { ts: at.ts, projectPath: at.projectPath, said, errorRaw }, db);
}

/**
 * Whether the call is recorded. One call comes in by several ways: its own hook, that of its batch, the transcript, and
 * the copies of that which a continued or forked session has.
 */
export function isKnownCall(toolUseId: string | null, db: Db): boolean {
  if (toolUseId === null) return false;
  const row = db.sqlite.get(
    `SELECT 1 FROM events WHERE type IN ('tool_use', 'tool_error')
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END = ? LIMIT 1`,
    toolUseId,
  );
  return row !== undefined;
}

function append({ at }: Recording, type: EventType, data: Json, db: Db): void {
  const { ts, sessionId, project, projectPath } = at;
  const known = Object.entries(data).filter(([, value]) => value !== null && value !== undefined);
  insertEvent({ type, ts, sessionId, project, projectPath, data: Object.fromEntries(known) }, db);
}

const EVENTS_MAX = 2000;
const SEQUENCE_MAX = 200;
const ERRORS_MAX = 20;
const PROMPTS_MAX = 3;
const PROMPT_LENGTH_MAX = 100;
const FILES_MAX = 5;

/**
 * What a session did (REQ-DC-401), over its newest 2,000 events. Errors that were solved before the end are counted
 * apart from those that were not.
 */
export function summarizeSession(sessionId: string, reason: string, db: Db): Json {
  const newestFirst = queryEvents({ sessionId, limit: EVENTS_MAX }, db);
  const prompts = newestFirst.filter((event) => event.type === 'prompt');
  const toolUses = newestFirst.filter((event) => event.type === 'tool_use');
  const toolCounts = new Map<string, number>();
  for (const { tool } of toolUses) toolCounts.set(String(tool), (toolCounts.get(String(tool)) ?? 0) + 1);
  const errors = newestFirst.filter((event) => event.type === 'tool_error');
  const unresolved = errors.filter((error) => error.noise === undefined && isOpen(error, newestFirst));
  const edited = toolUses.filter((use) => isEditingTool(String(use.tool)) && typeof use.file === 'string');
  return {
    promptCount: prompts.length,
    toolCounts: Object.fromEntries(toolCounts),
    toolSequence: toolUses
      .slice(0, SEQUENCE_MAX)
      .reverse()
      .map((use) => use.tool),
    errorCount: errors.length,
    unresolvedErrorCount: unresolved.length,
    uniqueErrors: [...new Set(unresolved.map((error) => error.said ?? error.error))].slice(0, ERRORS_MAX),
    lastPrompts: prompts
      .slice(0, PROMPTS_MAX)
      .map((event) => cutText(String(event.text ?? ''), PROMPT_LENGTH_MAX)),
    lastEditedFiles: [...new Set(edited.map((use) => use.file))].slice(0, FILES_MAX),
    reason,
  };
}

/** Whether the same command, or a call on the same file, has not worked since. */
function isOpen(error: StoredEvent, newestFirst: readonly StoredEvent[]): boolean {
  for (const event of newestFirst) {
    if (event === error) return true;
    if (event.type !== 'tool_use' || event.isUnfinished === true) continue;
    const isSame =
      typeof error.command === 'string' ? event.command === error.command : event.file === error.file;
    if (isSame) return false;
  }
  return true;
}

/**
 * What has no id to be known by: prompts, and the ends of sub-agents. Each comes in by its hook and by the transcript, in
 * either order, and is recognised by its time. The hook comes up to so much later than the transcript says.
 */

type Prompt = Extract<Recording, { kind: 'prompt' }>;
type Stop = Extract<Recording, { kind: 'subagent-stop' }>;

/** What the transcript's records have beside those of a hook: until when that may still come in. */
type TranscriptSource = { readonly delayMsMax?: number | undefined };

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
function isKnownPrompt(prompt: Prompt, { delayMsMax }: TranscriptSource, db: Db): boolean {
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
function isKnownStop({ at }: Stop, { delayMsMax }: TranscriptSource, db: Db): boolean {
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

/** Whether a hook's record of this time and the row are the same: the hook called twice, or the transcript's line. */
function isOfHook({ atMs, data }: Moment, ms: number): boolean {
  const { delayMsMax } = data;
  const awaitedMs = typeof delayMsMax === 'number' ? delayMsMax : CLOCK_MS_MAX;
  return ms - atMs <= awaitedMs && atMs - ms <= CLOCK_MS_MAX;
}

/** Whether a transcript's line of this time and the row are the same: a hook's record of it, or the line read again. */
function isOfTranscript({ atMs, data }: Moment, ms: number, delayMsMax: number): boolean {
  const laterMsMax = typeof data.delayMsMax === 'number' ? CLOCK_MS_MAX : delayMsMax;
  return ms - atMs <= CLOCK_MS_MAX && atMs - ms <= laterMsMax;
}

/** The length distinguishes prompts whose text is not stored. */
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
