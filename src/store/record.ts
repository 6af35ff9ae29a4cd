import { unreachable } from '../core/guards.ts';
import type { CallRecord, Origin, Recording, ToolError } from '../core/recording.ts';
import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from './connection.ts';
import { countShown, isForgotten, recordSeen } from './error-kb.ts';
import { type EventType, insertEvent } from './events.ts';
import { isKnownPrompt, isKnownStop, type Source } from './known-moments.ts';
import { summarizeSession } from './session-summary.ts';
import { type TakenSpool, takeSpool } from './spool.ts';
import { sqliteErrorCode } from './sqlite.ts';
import { markShown, registerCached } from './suggestions.ts';

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

const FROM_A_HOOK: Source = {};

/**
 * Writes one recording inside the caller's transaction; false when all of it was known. `source` says what a transcript
 * adds to what a hook knows.
 */
export function apply(recording: Recording, db: Db, source: Source = FROM_A_HOOK): boolean {
  switch (recording.kind) {
    case 'prompt':
      if (isKnownPrompt(recording, source, db)) return false;
      applyPrompt(recording, source, db);
      return true;
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
    case 'session-end':
      append(
        recording,
        'session_summary',
        summarizeSession(recording.at.sessionId, recording.reason, db),
        db,
      );
      return true;
    default:
      return unreachable(recording);
  }
}

function applyPrompt(recording: Extract<Recording, { kind: 'prompt' }>, source: Source, db: Db): void {
  const { text, charCount, skill } = recording;
  append(recording, 'prompt', { text, charCount, delayMsMax: source.delayMsMax }, db);
  if (skill) append(recording, 'skill_used', { skillName: skill }, db);
}

function applyToolUse(recording: Extract<Recording, { kind: 'tool-use' }>, db: Db): boolean {
  if (isKnownCall(recording.toolUseId, db)) return false;
  const { meta, isUnfinished } = recording;
  const { skill } = meta;
  if (typeof skill === 'string') append(recording, 'skill_used', { skillName: skill }, db);
  append(
    recording,
    'tool_use',
    { ...callData(recording, recording.at), meta, success: true, isUnfinished },
    db,
  );
  return true;
}

/** The keys under which a call stands in `events.data`. */
function callData(call: CallRecord, { agentId }: Origin): Record<string, unknown> {
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
  const data = {
    ...callData(error, at),
    told: recording.shownKbId,
    agentType: at.agentType,
    error: key,
    said,
    errorRaw,
    noise,
    isHidden,
  };
  append(recording, 'tool_error', data, db);
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

function append(recording: Recording, type: EventType, data: Record<string, unknown>, db: Db): number {
  const { ts, sessionId, project, projectPath } = recording.at;
  return insertEvent({ type, ts, sessionId, project, projectPath, data: withoutNull(data) }, db);
}

function withoutNull(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data).filter(([, value]) => value !== null && value !== undefined),
  );
}
