import { readTextFile } from '#runtime';
import { parseJson } from '../core/guards.ts';
import { readRunSettings } from '../core/runs/read-run-settings.ts';
import type { RunSettings } from '../core/runs/settings.ts';
import type { StatePaths } from '../core/state-paths.ts';

/** The settings of background runs. A file of its own: what hooks load knows nothing of them. */
export function loadRunSettings(paths: StatePaths): RunSettings {
  const text = readTextFile(paths.config);
  return readRunSettings(text === undefined ? {} : parseJson(text)).settings;
}
