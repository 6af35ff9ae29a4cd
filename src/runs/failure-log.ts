import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cutText, oneLine } from '../core/text.ts';
import { appendToLog } from '../system/failure-log.ts';

const MESSAGE_LENGTH_MAX = 1000;

/** Notes what went wrong around a run: nobody watches a supervisor. Never throws. */
export function logRunFailure(run: string, failure: unknown, { runsLog }: StatePaths): void {
  const words = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
  const message = redactSecrets(oneLine(cutText(words, MESSAGE_LENGTH_MAX)));
  appendToLog(runsLog, { ts: new Date().toISOString(), run, message });
}

/** Does it; undefined when that fails, which is noted. Never throws. */
export function orLogged<T>(run: string, paths: StatePaths, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    logRunFailure(run, error, paths);
    return undefined;
  }
}
