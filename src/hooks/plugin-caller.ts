import { readTextFile } from '#runtime';
import { asRecord, readRecords, readTexts } from '../core/guards.ts';
import { type Environment, userHomeOf } from '../core/state-paths.ts';
import { parseSettings } from '../settings/hook-settings.ts';

/** Who has allowed many commands has a large file; 1 MiB takes some 2 ms. */
const SETTINGS_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Whether Claude Code's own settings run this hook of ours: then that of the plugin stands down, so that nothing is told
 * or recorded twice. By the words of an entry, in either form and wherever the program lies: a sub-agent waits. `name`: of
 * a hook of ours.
 */
export function isRunBySettings(name: string, env: Environment, platform: string): boolean {
  const home = userHomeOf(env, platform);
  const directory = env.CLAUDE_CONFIG_DIR || (home && `${home}/.claude`);
  const text = directory && readTextFile(`${directory}/settings.json`, SETTINGS_BYTES_MAX);
  if (!text?.includes(name)) return false;
  const ours = new RegExp(`[\\\\/]self-generation(?:\\.exe)?['"]? hook ${name}(?: |$)`);
  for (const groups of Object.values(asRecord(asRecord(parseSettings(text)).hooks)))
    for (const group of readRecords(groups))
      for (const { command, args } of readRecords(group.hooks))
        if (ours.test([command, ...readTexts(args)].join(' '))) return true;
  return false;
}
