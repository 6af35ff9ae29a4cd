import { readTextFile } from '#runtime';
import type { Environment } from '../core/state-paths.ts';

/**
 * Whether Claude Code's own settings run this hook of ours: then that of the plugin stands down, so that nothing is told
 * or recorded twice. A look at the text and no more, because a sub-agent waits: `self-generation … hook NAME` in one
 * entry, in either form. `name`: of a hook of ours.
 */
export function isRunBySettings(name: string, env: Environment, platform: string): boolean {
  const home = (platform === 'win32' ? env.USERPROFILE : undefined) ?? env.HOME;
  const directory = env.CLAUDE_CONFIG_DIR || (home && `${home}/.claude`);
  const text = directory && readTextFile(`${directory}/settings.json`);
  if (!text) return false;
  const entry = new RegExp(`self-generation\\b[^{}]{0,300}?\\bhook\\b[^\\w{}]+${name}(?![\\w-])`);
  return entry.test(text.replace(/^\s*\/\/.*$/gm, ''));
}
