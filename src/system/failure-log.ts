import type { StatePaths } from '../core/state-paths.ts';

const LOG_BYTES_MAX = 256 * 1024;
const MESSAGE_LENGTH_MAX = 1000;

export type HookLogEntry = { readonly ts: string; readonly hook: string; readonly message: string };

/** Notes a failure of a hook; `doctor` shows them. Never throws. */
export function logHookFailure(hook: string, message: string, { hookLog }: StatePaths, now: Date): void {
  const entry: HookLogEntry = { ts: now.toISOString(), hook, message: message.slice(0, MESSAGE_LENGTH_MAX) };
  appendToLog(hookLog, entry);
}

/**
 * Adds one line to a log, JSON where it is no text. It and its predecessor have at most 256 KiB each. Never throws: what cannot even note
 * its failure still has to end well.
 */
export function appendToLog(path: string, entry: object | string): void {
  try {
    const fs = process.getBuiltinModule('node:fs');
    fs.mkdirSync(path.slice(0, path.lastIndexOf('/')), { recursive: true, mode: 0o700 });
    const found = fs.statSync(path, { throwIfNoEntry: false });
    if (found?.isFile() === false) return; // A pipe without a reader would never let go of us.
    if ((found?.size ?? 0) > LOG_BYTES_MAX) fs.renameSync(path, `${path}.1`);
    fs.appendFileSync(path, `${typeof entry === 'string' ? entry : JSON.stringify(entry)}\n`, {
      mode: 0o600,
    });
  } catch {
    // There is nowhere left to say it.
  }
}
