import { readRecord, readString } from '../../core/guards.ts';
import type { PermissionMode, Permissions } from '../../core/runs/permissions.ts';
import { geminiDirectory } from '../routes/gemini-route.ts';
import { type ClientUser, configIn } from '../routes/route.ts';

const MODES: Readonly<Record<string, PermissionMode>> = {
  plan: 'plan',
  default: 'default',
  auto_edit: 'edit',
  autoEdit: 'edit',
};

/** What the settings of Gemini CLI let it do, measured with 0.61.0. Everything at once it does by its command line alone. */
export function geminiPermissions(user: ClientUser): Permissions {
  const settings = configIn(`${geminiDirectory(user)}/settings.json`, user);
  const mode = readString(readRecord(settings, 'general'), 'defaultApprovalMode');
  const tools = readRecord(settings, 'tools');
  return {
    mode: MODES[mode ?? ''] ?? 'default',
    allow: ['web_search', ...rulesOf(tools.allowed)], // The first is never asked about.
    deny: rulesOf(tools.exclude),
  };
}

/** `run_shell_command(git)` speaks of what begins with that word. */
function rulesOf(names: unknown): string[] {
  const texts = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  return texts.map((text) => text.replace(/^(\w+)\((.+)\)$/s, '$1($2:*)'));
}
