import { reasonOf } from '../../core/guards.ts';
import { inertText } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import { appendToLog } from '../../system/failure-log.ts';

const LINE_LENGTH_MAX = 500;

export type PluginLog = {
  /** `component: message` on one line. */
  info(component: string, message: string): void;
  /** What went wrong, once for each of its wordings. */
  failure(action: string, error: unknown): void;
};

/** The plugin's log, a line each: when, how grave, which part, what. It never throws. */
export function pluginLog(path: string, now: () => Date): PluginLog {
  const told = new Set<string>();
  const write = (level: string, line: string) =>
    appendToLog(path, `${now().toISOString()} ${level} ${inertText(redactSecrets(line), LINE_LENGTH_MAX)}`);
  return {
    info: (component, message) => write('INFO', `${component}: ${message}`),
    failure: (action, error) => {
      const line = `plugin: Cannot ${action}: ${reasonOf(error)}`;
      if (told.has(line)) return;
      told.add(line);
      write('ERROR', line);
    },
  };
}
