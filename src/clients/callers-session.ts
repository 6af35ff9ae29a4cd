import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { isRecord, type Json, parseJson, readRecord, readString } from '../core/guards.ts';
import { type Environment, isAbsolutePath } from '../core/state-paths.ts';
import type { PermissionMode } from '../runs/model/permissions.ts';
import type { Requester } from '../runs/model/run.ts';
import { claudeMode } from './claude/configuration.ts';
import { codexDirectory, codexMode } from './codex/configuration.ts';

/**
 * What the client's own record says of the session that asks. A field counts in its own place of a line that is whole: what
 * somebody said has a backslash before every quotation mark, but what a tool was called with may have any fields.
 */

/** Read at a time, from the end. */
const BLOCK_BYTES = 256 * 1024;
/** Of the end of a transcript; a model stands at each message of the assistant. */
const MODEL_BYTES_MAX = 1024 * 1024;
/** A mode stands at each prompt, which may be long ago. */
const MODE_BYTES_MAX = 256 * 1024 * 1024;
const SESSION_ID = /^[\w-]{1,100}$/;
const MODEL = /^claude-[\w.@:/[\]-]{1,150}$/;
/** Directories of days in which a rollout is looked for, the newest first. */
const DAYS_MAX = 30;

/**
 * The model that the session works with which asks (R16): by the end of Claude Code's own transcript of it, else as the
 * environment sets it. Null when nobody says. Other clients have nothing of the kind.
 */
export function callersModel({ client, session }: Requester, env: Environment): string | null {
  if (client !== 'claude') return null;
  const path = session === null ? undefined : transcriptPath(session, env);
  const model = lastSaid(path, '"model":"claude-', MODEL_BYTES_MAX, (line) => {
    const said = line.type === 'assistant' ? readString(readRecord(line, 'message'), 'model') : undefined;
    return said !== undefined && MODEL.test(said) ? said : undefined;
  });
  return model ?? (env.ANTHROPIC_MODEL || null);
}

/** The mode in which the session that asks was last seen, by its transcript or rollout; undefined: nobody says. */
export function callersMode({ client, session }: Requester, env: Environment): PermissionMode | undefined {
  if (client === 'claude' && session !== null) {
    const path = transcriptPath(session, env);
    return claudeMode(
      lastSaid(path, '"permissionMode":', MODE_BYTES_MAX, (line) => readString(line, 'permissionMode')),
    );
  }
  const thread = env.CODEX_THREAD_ID;
  if (client !== 'codex' || !thread) return undefined;
  return lastSaid(rolloutPath(thread, env), '"sandbox_policy":', MODE_BYTES_MAX, (line) => {
    if (line.type !== 'turn_context') return undefined;
    const turn = readRecord(line, 'payload');
    const sandbox = readRecord(turn, 'sandbox_policy');
    return codexMode(readString(sandbox, 'type') ?? readString(sandbox, 'mode'), turn.approval_policy);
  });
}

/** By its id alone: the shell of the session may have gone elsewhere, and the client may know the directory by another name. */
function transcriptPath(session: string, env: Environment): string | undefined {
  const configuration = env.CLAUDE_CONFIG_DIR || (env.HOME && `${env.HOME}/.claude`);
  if (!configuration || !isAbsolutePath(configuration) || !SESSION_ID.test(session)) return undefined;
  try {
    const paths = below(`${configuration}/projects`).map((project) => `${project}/${session}.jsonl`);
    const times = paths.flatMap((path) => {
      const file = statSync(path, { throwIfNoEntry: false });
      return file === undefined ? [] : [{ path, timeMs: file.mtimeMs }];
    });
    return times.sort((one, other) => other.timeMs - one.timeMs)[0]?.path;
  } catch {
    return undefined; // It keeps none, or elsewhere.
  }
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` below the client's own directory. */
function rolloutPath(thread: string, env: Environment): string | undefined {
  if (!SESSION_ID.test(thread)) return undefined;
  try {
    const root = `${codexDirectory({ env, agentDir: null })}/sessions`;
    const days = below(root).flatMap(below).flatMap(below).slice(0, DAYS_MAX);
    return days.flatMap(below).find((path) => path.endsWith(`-${thread}.jsonl`));
  } catch {
    return undefined; // It keeps none, or elsewhere.
  }
}

/** What is in a directory, the newest first where names are dates. */
function below(directory: string): string[] {
  const names = readdirSync(directory).sort().reverse();
  return names.map((name) => `${directory}/${name}`);
}

/** What the last line says that says it. Nothing counts before one with the words that is not whole: it may say it. */
function lastSaid<T>(
  path: string | undefined,
  words: string,
  bytesMax: number,
  read: (line: Json) => T | undefined,
): T | undefined {
  if (path === undefined) return undefined;
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    for (const text of linesFromEnd(file, bytesMax)) {
      if (!text.includes(words)) continue;
      const line = parseJson(text);
      if (!isRecord(line)) return undefined;
      const found = read(line);
      if (found !== undefined) return found;
    }
  } catch {
    // It has no record, or it is elsewhere.
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return undefined;
}

/** The lines at the end of a file, the last one first, and no more of it read than is asked for. */
function* linesFromEnd(file: number, bytesMax: number): Generator<string> {
  const { size } = fstatSync(file);
  const first = Math.max(0, size - bytesMax);
  let pieces: string[] = []; // Of the line that begins further ahead, the last one first.
  for (let end = size; end > first; end -= BLOCK_BYTES) {
    const bytes = Buffer.alloc(Math.min(BLOCK_BYTES, end - first));
    const length = readSync(file, bytes, 0, bytes.length, end - bytes.length);
    const [beginning = '', ...lines] = bytes.toString('latin1', 0, length).split('\n');
    for (const line of lines.reverse()) {
      yield [line, ...pieces.reverse()].join('');
      pieces = [];
    }
    pieces.push(beginning);
  }
  if (first === 0) yield pieces.reverse().join('');
}
