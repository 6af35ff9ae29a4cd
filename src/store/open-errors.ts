import { type Command, coversCommand, describeCommand } from '../core/command.ts';
import { describeResolution, type Helper } from '../core/describe-resolution.ts';
import { isRecord, parseJson } from '../core/guards.ts';
import { messagesIn } from '../core/messages.ts';
import type { Origin, Recording, ToolError } from '../core/recording.ts';
import { isEditingTool } from '../core/tools.ts';
import type { Db } from './connection.ts';
import { recordResolution } from './error-kb.ts';
import type { Row } from './sqlite.ts';

type ToolUse = Extract<Recording, { kind: 'tool-use' }>;

/** An error that nothing has solved yet. */
export type OpenError = {
  readonly eventId: number;
  readonly agentId: string | null;
  readonly tool: string;
  readonly error: string;
  readonly errorRaw: string | null;
  readonly command: Command | null;
  readonly file: string | null;
  readonly mentionedFiles: readonly string[];
};

const OPEN_MAX = 50;
const HELPERS_MAX = 50;
const SEQUENCE_MAX = 5;
const PROMPT_LENGTH_MAX = 200;

/** Remembers a recorded error until its command or file succeeds. */
export function openError(eventId: number, at: Origin, error: ToolError, db: Db): void {
  db.sqlite.run(
    `INSERT INTO open_errors(event_id, ts, session_id, agent_id, project_path, tool, error_normalized, error_raw,
       command, file, mentioned_files) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    eventId,
    at.ts,
    at.sessionId,
    at.agentId,
    at.projectPath,
    error.tool,
    error.error,
    error.errorRaw,
    error.command && JSON.stringify(error.command),
    error.file,
    JSON.stringify(error.mentionedFiles),
  );
  // What nobody looks at any more must not stay open for ever when the newer ones are solved.
  db.sqlite.run(
    `DELETE FROM open_errors WHERE session_id = ? AND event_id <=
       (SELECT event_id FROM open_errors WHERE session_id = ? ORDER BY event_id DESC LIMIT 1 OFFSET ?)`,
    at.sessionId,
    at.sessionId,
    OPEN_MAX,
  );
}

/** The session's unsolved errors, oldest first. */
export function queryOpenErrors(sessionId: string, db: Db): OpenError[] {
  if (!db.shape.has('open_errors', 'event_id')) return [];
  return db.sqlite
    .all(
      'SELECT * FROM (SELECT * FROM open_errors WHERE session_id = ? ORDER BY event_id DESC LIMIT ?) ORDER BY event_id',
      sessionId,
      OPEN_MAX,
    )
    .map(readOpenError);
}

/**
 * Learns from a success: every open error of this session that had the same command family or the same file is
 * solved by it, once, and what was done in between is what helped (D15, D16).
 */
export function resolveErrors(successId: number, success: ToolUse, db: Db): void {
  const solved = queryOpenErrors(success.at.sessionId, db).filter((error) => isSolvedBy(error, success));
  if (solved.length === 0) return;
  // Oldest first, so that the newest of equal errors stays.
  const newestOf = new Map(solved.map((error) => [error.error, error]));
  for (const [normalizedError, newest] of newestOf) {
    const count = solved.filter((error) => error.error === normalizedError).length;
    learn(normalizedError, { newest, count, successId }, success, db);
  }
  for (const error of solved) db.sqlite.run('DELETE FROM open_errors WHERE event_id = ?', error.eventId);
}

/**
 * The same agent, or the main session finishing what its sub-agent began: two agents working side by side do not
 * solve each other's errors.
 */
function isSolvedBy(error: OpenError, success: ToolUse): boolean {
  if (success.at.agentId !== null && success.at.agentId !== error.agentId) return false;
  if (error.tool === 'Bash' && success.tool === 'Bash') {
    return (
      error.command !== null && success.command !== null && coversCommand(success.command, error.command)
    );
  }
  if (error.file === null || error.file !== success.file) return false;
  return error.tool === success.tool || (isEditingTool(error.tool) && isEditingTool(success.tool));
}

type Lesson = { readonly newest: OpenError; readonly count: number; readonly successId: number };

function learn(
  normalizedError: string,
  { newest, count, successId }: Lesson,
  success: ToolUse,
  db: Db,
): void {
  const helpers = helpersBetween(newest, successId, success, db);
  const command = success.command && describeCommand(success.command);
  const retried = newest.command !== null && command === describeCommand(newest.command);
  const summary = describeResolution(
    { helpers, tool: success.tool, command, retried },
    messagesIn(success.language),
  );
  if (summary === '') return;
  const otherTools = helpers.some((helper) => helper.tool !== newest.tool);
  recordResolution(
    normalizedError,
    {
      summary,
      tool: newest.tool,
      sessionId: success.at.sessionId,
      resolvedBy: otherTools ? 'cross_tool_resolution' : 'success_after_error',
      errorRaw: newest.errorRaw,
      filePath: success.file ?? helpers.findLast((helper) => isEditingTool(helper.tool))?.file ?? null,
      toolSequence: [...helpers.map((helper) => helper.tool), success.tool].slice(-SEQUENCE_MAX),
      promptContext: newestPrompt(success.at.sessionId, db),
      command,
    },
    {
      ts: success.at.ts,
      projectPath: success.at.projectPath,
      files: [newest.file, ...newest.mentionedFiles, ...editedFiles(helpers)].filter((file) => file !== null),
      seenCount: count,
    },
    db,
  );
}

function editedFiles(helpers: readonly Helper[]): string[] {
  return helpers.flatMap((helper) => (isEditingTool(helper.tool) && helper.file ? [helper.file] : []));
}

/** The calls that succeeded after the error and before the success, in order, of the agent that had the error. */
function helpersBetween(error: OpenError, successId: number, success: ToolUse, db: Db): Helper[] {
  const rows = db.sqlite.all(
    `SELECT data FROM events WHERE session_id = ? AND id > ? AND id < ? AND type = 'tool_use'
     ORDER BY id DESC LIMIT ?`,
    success.at.sessionId,
    error.eventId,
    successId,
    HELPERS_MAX,
  );
  return rows.reverse().flatMap((row) => {
    const data = parseJson(String(row.data));
    if (!isRecord(data)) return [];
    const agentId = typeof data.agentId === 'string' ? data.agentId : null;
    if (agentId !== error.agentId && agentId !== success.at.agentId) return [];
    return [
      {
        tool: String(data.tool),
        file: typeof data.file === 'string' ? data.file : null,
        command: typeof data.command === 'string' && data.command !== '' ? data.command : null,
      },
    ];
  });
}

function newestPrompt(sessionId: string, db: Db): string | null {
  const row = db.sqlite.get(
    `SELECT substr(json_extract(data, '$.text'), 1, ?) AS text FROM events
     WHERE session_id = ? AND type = 'prompt' AND json_valid(data) ORDER BY ts DESC, id DESC LIMIT 1`,
    PROMPT_LENGTH_MAX,
    sessionId,
  );
  return typeof row?.text === 'string' ? row.text : null;
}

function readOpenError(row: Row): OpenError {
  const files = parseJson(String(row.mentioned_files ?? '[]'));
  return {
    eventId: Number(row.event_id),
    agentId: row.agent_id === null ? null : String(row.agent_id),
    tool: String(row.tool),
    error: String(row.error_normalized),
    errorRaw: row.error_raw === null ? null : String(row.error_raw),
    command: readCommand(parseJson(String(row.command))),
    file: row.file === null ? null : String(row.file),
    mentionedFiles: Array.isArray(files) ? files.filter((file) => typeof file === 'string') : [],
  };
}

/** The row may come from a spool file that another version wrote or that is damaged. */
function readCommand(value: unknown): Command | null {
  if (!isRecord(value)) return null;
  const { program, family, targets, hidesFailure } = value;
  if (typeof program !== 'string' || typeof family !== 'string' || !Array.isArray(targets)) return null;
  return {
    program,
    family,
    targets: targets.filter((target) => typeof target === 'string'),
    hidesFailure: hidesFailure === true,
  };
}
