import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { getProjectPath } from '../core/project.ts';
import type { Requester } from '../core/runs/run.ts';
import { type Environment, isAbsolutePath } from '../core/state-paths.ts';

/** Of the end of a transcript; it has a model at each message of the assistant. */
const READ_BYTES = 256 * 1024;
const SESSION_ID = /^[\w-]{1,100}$/;
/** In a line of the assistant's, not in what a tool said: there every quotation mark has a backslash. */
const MODEL = /"model":"(claude-[\w.@:/[\]-]{1,150})"/g;

/**
 * The model that the session works with which asks (R16): by the end of Claude Code's own transcript of it, else as the
 * environment sets it. Null when nobody says. Other clients have nothing of the kind.
 */
export function callersModel({ client, session, cwd }: Requester, env: Environment): string | null {
  if (client !== 'claude') return null;
  const path = session === null ? undefined : transcriptPath(session, cwd, env);
  const models = path === undefined ? [] : [...endOf(path).matchAll(MODEL)];
  return models.at(-1)?.[1] ?? (env.ANTHROPIC_MODEL || null);
}

function transcriptPath(session: string, cwd: string, env: Environment): string | undefined {
  const configuration = env.CLAUDE_CONFIG_DIR || (env.HOME && `${env.HOME}/.claude`);
  if (!configuration || !isAbsolutePath(configuration) || !SESSION_ID.test(session)) return undefined;
  const slug = (getProjectPath(cwd, env) ?? cwd).replace(/[^A-Za-z0-9]/g, '-');
  return `${configuration}/projects/${slug}/${session}.jsonl`;
}

function endOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, READ_BYTES));
    return bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
  } catch {
    return ''; // It has no transcript, or it is elsewhere.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
