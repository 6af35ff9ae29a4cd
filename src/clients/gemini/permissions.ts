import { readRecord, readString } from '../../core/guards.ts';
import { type PermissionMode, type Permissions, parseRule } from '../../runs/model/permissions.ts';
import { type ClientUser, configIn } from '../route.ts';
import { geminiDirectory, isTrusted } from './login.ts';

const MODES: Readonly<Record<string, PermissionMode>> = {
  ...{ plan: 'plan', default: 'default', auto_edit: 'edit', autoEdit: 'edit' },
};

const CHANGING = ['edit', 'exec', 'web_fetch', 'web_search'];

/** What the settings of Gemini CLI let it do, measured with 0.61.0. Everything at once it does by its command line alone. */
export function geminiPermissions(user: ClientUser): Permissions {
  const directory = geminiDirectory(user);
  const settings = configIn(`${directory}/settings.json`, user);
  const folderTrust = readRecord(readRecord(settings, 'security'), 'folderTrust');
  const mode = readString(readRecord(settings, 'general'), 'defaultApprovalMode');
  const tools = readRecord(settings, 'tools');
  const isAsked = folderTrust.enabled !== false && !isTrusted(directory, user); // It asks there whatever the mode is.
  return {
    mode: isAsked ? 'default' : (MODES[mode ?? ''] ?? 'default'),
    allow: ['web_search', ...rulesOf(tools.allowed)], // The first is never asked about.
    deny: [...rulesOf(tools.exclude), ...(Array.isArray(tools.core) ? missingOf(rulesOf(tools.core)) : [])],
  };
}

/** What is not on the list of all the tools that there are; of commands, some on it are no more than those. */
function missingOf(names: readonly string[]): string[] {
  const tools = names.flatMap((name) => parseRule(name)?.tool ?? []);
  return CHANGING.filter((tool) => !tools.includes(tool));
}

/** `run_shell_command(git)` speaks of what begins with that word. */
function rulesOf(names: unknown): string[] {
  const texts = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  return texts.map((text) => text.replace(/^(\w+)\((.+)\)$/s, '$1($2:*)'));
}
