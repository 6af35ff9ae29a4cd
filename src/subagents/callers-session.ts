import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { claudeMode } from '../clients/permissions/claude-permissions.ts';
import { codexMode } from '../clients/permissions/codex-permissions.ts';
import { codexDirectory } from '../clients/routes/codex-route.ts';
import { getProjectPath } from '../core/project.ts';
import type { PermissionMode } from '../core/runs/permissions.ts';
import type { Requester } from '../core/runs/run.ts';
import { type Environment, isAbsolutePath } from '../core/state-paths.ts';

/**
 * What the client's own record says of the session that asks. In it every quotation mark of what somebody said has a
 * backslash, so that no text can pass for a field of the client's.
 */

/** Read at a time, from the end. */
const BLOCK_BYTES = 256 * 1024;
/** Of the end of a transcript; a model stands at each message of the assistant. */
const MODEL_BYTES_MAX = BLOCK_BYTES;
/** A mode stands at each prompt, which may be long ago. */
const MODE_BYTES_MAX = 256 * 1024 * 1024;
/** No match is longer. */
const OVERLAP_BYTES = 1024;
const SESSION_ID = /^[\w-]{1,100}$/;
const MODEL = /"model":"(claude-[\w.@:/[\]-]{1,150})"/g;
const MODE = /"permissionMode":"(\w{1,40})"/g;
const SANDBOX = /"sandbox_policy":\{"(?:type|mode)":"([a-z-]{1,40})"/g;
/** Directories of days in which a rollout is looked for, the newest first. */
const DAYS_MAX = 30;

/**
 * The model that the session works with which asks (R16): by the end of Claude Code's own transcript of it, else as the
 * environment sets it. Null when nobody says. Other clients have nothing of the kind.
 */
export function callersModel({ client, session, cwd }: Requester, env: Environment): string | null {
  if (client !== 'claude') return null;
  const path = session === null ? undefined : transcriptPath(session, cwd, env);
  return lastMatch(path, MODEL, MODEL_BYTES_MAX) ?? (env.ANTHROPIC_MODEL || null);
}

/**
 * The mode in which the session that asks was last seen, as Claude Code's transcript and Codex' rollout say it; undefined
 * when nobody does.
 */
export function callersMode(
  { client, session, cwd }: Requester,
  env: Environment,
): PermissionMode | undefined {
  if (client === 'claude' && session !== null)
    return claudeMode(lastMatch(transcriptPath(session, cwd, env), MODE, MODE_BYTES_MAX));
  const thread = env.CODEX_THREAD_ID;
  if (client === 'codex' && thread)
    return codexMode(lastMatch(rolloutPath(thread, env), SANDBOX, MODE_BYTES_MAX));
  return undefined;
}

function transcriptPath(session: string, cwd: string, env: Environment): string | undefined {
  const configuration = env.CLAUDE_CONFIG_DIR || (env.HOME && `${env.HOME}/.claude`);
  if (!configuration || !isAbsolutePath(configuration) || !SESSION_ID.test(session)) return undefined;
  const slug = (getProjectPath(cwd, env) ?? cwd).replace(/[^A-Za-z0-9]/g, '-');
  return `${configuration}/projects/${slug}/${session}.jsonl`;
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` below the client's own directory. */
function rolloutPath(thread: string, env: Environment): string | undefined {
  if (!SESSION_ID.test(thread)) return undefined;
  try {
    const root = `${codexDirectory({ env, agentDir: null })}/sessions`;
    const below = (path: string) => newestFirst(path).map((name) => `${path}/${name}`);
    const days = below(root).flatMap(below).flatMap(below).slice(0, DAYS_MAX);
    return days.flatMap(below).find((path) => path.endsWith(`-${thread}.jsonl`));
  } catch {
    return undefined; // It keeps none, or elsewhere.
  }
}

function newestFirst(directory: string): string[] {
  return readdirSync(directory).sort().reverse();
}

/** What the pattern's group last stands for in the file; its end is read first, and no more of it than has to be. */
function lastMatch(path: string | undefined, pattern: RegExp, bytesMax: number): string | undefined {
  if (path === undefined) return undefined;
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { size } = fstatSync(file);
    const first = Math.max(0, size - bytesMax);
    for (let end = size; end > first; end -= BLOCK_BYTES) {
      const start = Math.max(first, end - BLOCK_BYTES);
      const bytes = Buffer.alloc(Math.min(end + OVERLAP_BYTES, size) - start);
      const text = bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, start));
      const found = [...text.matchAll(pattern)].at(-1)?.[1];
      if (found !== undefined) return found;
    }
  } catch {
    // It has no record, or it is elsewhere.
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return undefined;
}
