import { pathExists } from '#runtime';
import { isRecord, type Json, lookOr, parseJson, unreachable } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { type EventType, insertEvent, queryEvents, type StoredEvent } from '../../database/events.ts';
import { isForgotten } from '../../database/forgotten-errors.ts';
import { linkSession } from '../../database/ledger.ts';
import { recordIn, sqliteErrorCode } from '../../database/sqlite.ts';
import { isEditingTool } from '../../lessons/command.ts';
import { countShown, recordSeen } from '../../lessons/store/seen-errors.ts';
import { markShown, registerCached } from '../../suggestions/model/store.ts';
import type { CallRecord, Origin, Recording, ToolError } from '../decision.ts';

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
export function applySpool(paths: StatePaths, db: Db) {
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
    case 'tool-use': {
      const { at, meta, isUnfinished } = recording;
      if (isKnownHere(recording.toolUseId, at, db)) return false;
      if (typeof meta.skill === 'string') append(recording, 'skill_used', { skillName: meta.skill }, db);
      append(recording, 'tool_use', { ...callData(recording, at), meta, success: true, isUnfinished }, db);
      return true;
    }
    case 'tool-errors': {
      let isNew = false;
      for (const error of recording.errors) {
        if (isKnownHere(error.toolUseId, recording.at, db)) continue;
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

/** The keys under which a call stands in `events.data`. */
function callData(call: CallRecord, { agentId }: Origin): Json {
  const { tool, toolUseId, command, line, directory, remark, file, chars } = call;
  return { tool, toolUseId, agentId, command, line, directory, remark, file, chars };
}

function applyToolError(
  recording: Extract<Recording, { kind: 'tool-errors' }>,
  error: ToolError,
  db: Db,
): void {
  const { at } = recording;
  if (isForgotten(error.error, db)) return;
  const { error: key, said, errorRaw, noise, isHidden } = error;
  const told = { told: recording.shownKbId, held: recording.heldKbId, agentType: at.agentType };
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
  return sessionOfCall(toolUseId, db) !== undefined;
}

/** The session under which the call was recorded. */
function sessionOfCall(toolUseId: string | null, db: Db): string | undefined {
  if (toolUseId === null) return undefined;
  const row = db.sqlite.get(
    `SELECT session_id FROM events WHERE type IN ('tool_use', 'tool_error')
       AND CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END = ? LIMIT 1`,
    toolUseId,
  );
  return row && String(row.session_id);
}

/** The same, of a call in this session: one that is known under another belongs to a copy of that. */
function isKnownHere(toolUseId: string | null, { sessionId }: Origin, db: Db): boolean {
  const known = sessionOfCall(toolUseId, db);
  if (known !== undefined && known !== sessionId) linkSession(sessionId, known, db);
  return known !== undefined;
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
  const own = readMoments('prompt', ['session_id', sessionId], span, db);
  const same = own.filter(({ data }) => data.text === prompt.text);
  // The length distinguishes prompts whose text is not stored.
  if (delayMsMax === undefined)
    return same.some((row) => row.data.charCount === prompt.charCount && isOfHook(row, ms));
  if (same.some((row) => isOfTranscript(row, ms, delayMsMax))) return true;
  if (own.some((row) => Math.abs(row.atMs - ms) <= SAME_PROMPT_MS)) return true;
  const near = around(ts, COPIED_PROMPT_MS, COPIED_PROMPT_MS);
  const copied = readMoments('prompt', ['project_path', projectPath], near, db).find(
    (row) => row.data.text === prompt.text,
  );
  if (copied !== undefined && copied.sessionId !== sessionId) linkSession(sessionId, copied.sessionId, db);
  return copied !== undefined;
}

/** Whether the end of this sub-agent is recorded already. */
function isKnownStop({ at }: Stop, { delayMsMax }: TranscriptSource, db: Db): boolean {
  const { ts, sessionId, agentId } = at;
  const ms = Date.parse(ts);
  const near = around(ts, HOOK_DELAY_MS_MAX, HOOK_DELAY_MS_MAX);
  return readMoments('subagent_stop', ['session_id', sessionId], near, db).some(
    (row) =>
      (row.data.agentId ?? null) === agentId &&
      (delayMsMax === undefined ? isOfHook(row, ms) : isOfTranscript(row, ms, delayMsMax)),
  );
}

type Moment = { readonly atMs: number; readonly sessionId: string; readonly data: Json };

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

type Whose = readonly [column: 'session_id' | 'project_path', value: string | null];

function readMoments(
  type: 'prompt' | 'subagent_stop',
  [column, value]: Whose,
  span: readonly [from: string, until: string],
  db: Db,
): Moment[] {
  const sql = `SELECT ts, session_id, data FROM events WHERE ${column} IS ? AND ts BETWEEN ? AND ? AND type = ?`;
  const rows = db.sqlite.all(sql, value, ...span, type);
  return rows.map((row) => ({
    atMs: Date.parse(String(row.ts)),
    sessionId: String(row.session_id),
    data: recordIn(row.data),
  }));
}

function around(ts: string, beforeMs: number, afterMs: number): [string, string] {
  const atMs = Date.parse(ts);
  return [new Date(atMs - beforeMs).toISOString(), new Date(atMs + afterMs).toISOString()];
}

/**
 * Recordings that could not be written wait here as one file each; whoever writes next takes them in. The folder
 * exists only while something waits, so that looking costs one call.
 */

const FILES_TAKEN_MAX = 200;
const FILES_WAITING_MAX = 10_000;
const DRAFT_AGE_MAX_MS = 60_000;
/** Each takes a few hundredths of a millisecond. */
const ATTEMPTS_MAX = 1000;

/** Whether recordings wait for a writer. */
export function isSpoolWaiting(paths: StatePaths): boolean {
  return pathExists(paths.spool);
}

/** Puts recordings into the spool. Throws when the disk does not take them or too many wait already. */
export function spool(recordings: readonly Recording[], paths: StatePaths, nowMs: number): void {
  const fs = process.getBuiltinModule('node:fs');
  const name = `${String(nowMs).padStart(14, '0')}-${process.pid}-${Math.random().toString(36).slice(2, 10)}.json`;
  const text = JSON.stringify(recordings);
  for (let attempt = 1; ; attempt++) {
    try {
      fs.mkdirSync(paths.spool, { recursive: true, mode: 0o700 });
      if (fs.readdirSync(paths.spool).length >= FILES_WAITING_MAX) {
        throw new Error(`Cannot keep an event: ${FILES_WAITING_MAX} already wait in "${paths.spool}"`);
      }
      const draft = `${paths.spool}/.${name}`;
      fs.writeFileSync(draft, text, { mode: 0o600 });
      fs.renameSync(draft, `${paths.spool}/${name}`);
      return;
    } catch (error) {
      // A writer that has emptied the folder removes it, at any moment between these calls: then it is made again. Bun says
      // EEXIST when it goes while it is made.
      const { code } = error as NodeJS.ErrnoException;
      if ((code !== 'ENOENT' && code !== 'EEXIST') || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/**
 * Reads the waiting recordings, oldest first, inside the caller's transaction. Their names are stored with them: a
 * crash before the files are removed must not count them twice. `discard`: removes them, after the commit.
 */
function takeSpool(paths: StatePaths, db: Db) {
  const recordings: Recording[] = [];
  if (!isSpoolWaiting(paths)) return { recordings, discard: () => {} };
  const fs = process.getBuiltinModule('node:fs');
  // The writer before us may have just taken the last file and removed the folder.
  const names = lookOr(() => fs.readdirSync(paths.spool), []);
  const done: string[] = [];
  let takenCount = 0;
  for (const name of names.filter((name) => name.endsWith('.json') && !name.startsWith('.')).sort()) {
    if (takenCount === FILES_TAKEN_MAX) break;
    const found = readRecordings(`${paths.spool}/${name}`);
    if (found === 'later') continue;
    done.push(name);
    if (!markTaken(name, db)) continue;
    takenCount++;
    recordings.push(...found);
  }
  const drafts = names.filter((name) => name.startsWith('.') && isStale(`${paths.spool}/${name}`));
  return { recordings, discard: () => discard(paths, [...done, ...drafts]) };
}

/** Returns false if the file was taken before and could not be removed. */
function markTaken(name: string, db: Db): boolean {
  const sql = 'INSERT OR IGNORE INTO spool_taken(name, ts) VALUES (?, ?)';
  return db.sqlite.run(sql, name, new Date().toISOString()).changes > 0;
}

/** `later` when the file cannot be read now; nothing when it is damaged or no file, so that it is done with. */
function readRecordings(file: string): Recording[] | 'later' {
  try {
    const fs = process.getBuiltinModule('node:fs');
    if (!fs.statSync(file).isFile()) return []; // A pipe would be read for ever.
    const value = parseJson(fs.readFileSync(file, 'utf8'));
    return Array.isArray(value) ? value.filter((one) => isRecord(one) && isRecord(one.at)) : [];
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    return ['EMFILE', 'ENFILE', 'EIO', 'EAGAIN', 'ENOMEM'].includes(code) ? 'later' : [];
  }
}

/** A draft that nobody finishes any more: its process has been killed. */
function isStale(file: string): boolean {
  const writtenMs = process.getBuiltinModule('node:fs').statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return writtenMs !== undefined && Date.now() - writtenMs > DRAFT_AGE_MAX_MS;
}

function discard(paths: StatePaths, names: readonly string[]): void {
  const fs = process.getBuiltinModule('node:fs');
  // One may be gone already, or cannot be removed: then its name is in spool_taken.
  for (const name of names) lookOr(() => fs.unlinkSync(`${paths.spool}/${name}`), undefined);
  // It fails when something new came in meanwhile, or the folder is gone.
  lookOr(() => fs.rmdirSync(paths.spool), undefined);
}

/** Returns true if somebody has looked of which repository this path is a clone. */
export function isRepositoryKnown(projectPath: string, db: Db): boolean {
  return db.sqlite.get('SELECT 1 FROM repositories WHERE project_path = ?', projectPath) !== undefined;
}
