import type { StatePaths } from '../core/state-paths.ts';

const LOG_BYTES_MAX = 256 * 1024;
const MESSAGE_LENGTH_MAX = 1000;

export type HookLogEntry = { readonly ts: string; readonly hook: string; readonly message: string };

/**
 * Notes a failure of a hook, one JSON line each; `doctor` shows them. The log and its predecessor have at most
 * 256 KiB each. Never throws: a hook that cannot even note its failure still has to end well.
 */
export function logHookFailure(hook: string, message: string, paths: StatePaths, now: Date): void {
  try {
    const fs = process.getBuiltinModule('node:fs');
    const entry: HookLogEntry = {
      ts: now.toISOString(),
      hook,
      message: message.slice(0, MESSAGE_LENGTH_MAX),
    };
    fs.mkdirSync(paths.hookLog.slice(0, paths.hookLog.lastIndexOf('/')), { recursive: true, mode: 0o700 });
    const found = fs.statSync(paths.hookLog, { throwIfNoEntry: false });
    if (found?.isFile() === false) return; // A pipe without a reader would never let go of us.
    if ((found?.size ?? 0) > LOG_BYTES_MAX) fs.renameSync(paths.hookLog, `${paths.hookLog}.1`);
    fs.appendFileSync(paths.hookLog, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  } catch {
    // There is nowhere left to say it.
  }
}
