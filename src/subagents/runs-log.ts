import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cutText, oneLine } from '../core/text.ts';

const LOG_BYTES_MAX = 256 * 1024;
const MESSAGE_LENGTH_MAX = 1000;

export type RunsLogEntry = { readonly ts: string; readonly run: string; readonly message: string };

/**
 * Notes what went wrong around a run, one JSON line each; nobody watches a supervisor. The log and its predecessor have
 * at most 256 KiB each. Never throws.
 */
export function logRunFailure(run: string, failure: unknown, paths: StatePaths, now: Date): void {
  try {
    const path = paths.runsLog;
    const words = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
    const message = redactSecrets(oneLine(cutText(words, MESSAGE_LENGTH_MAX)));
    const entry: RunsLogEntry = { ts: now.toISOString(), run, message };
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile() === false) return; // A pipe without a reader would take the line, and never let go of us.
    if ((found?.size ?? 0) > LOG_BYTES_MAX) renameSync(path, `${path}.1`);
    appendFileSync(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  } catch {
    // There is nowhere left to say it.
  }
}
