import { parseJson5, readTextFile } from '#runtime';
import { parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { type Config, readConfig } from './hook-settings.ts';

/** The user's settings; a missing or unreadable file means the defaults (REQ-INF-102). */
export function loadConfig(paths: StatePaths): Config {
  const text = readTextFile(paths.config);
  return readConfig(text === undefined ? {} : parseSettings(text));
}

/** A settings file: JSON, or JSON5 with comments and names without quotes. Undefined when it is neither; never throws. */
export function parseSettings(text: string): unknown {
  return parseJson(text) ?? parseJson5(text);
}

/** Off only when the settings say `enabled: false` (RA-407). */
export function isEnabled(config: Config): boolean {
  return config.enabled !== false;
}
