import { type Json, readRecord, readString } from '../../core/guards.ts';
import type { PermissionMode, Permissions } from '../../runs/model/permissions.ts';
import { type ClientUser, configIn } from '../route.ts';
import { claudeDirectory, directoriesAbove, isTrusted, OF_ADMINISTRATOR } from './login.ts';

const MODES: Readonly<Record<string, PermissionMode>> = {
  ...{ plan: 'plan', default: 'default', dontAsk: 'default', acceptEdits: 'edit', auto: 'auto' },
  bypassPermissions: 'all',
};

/** What the client knows by exactly this name; a rule of its for any other one allows nothing. */
const TOOLS = /^\s*(?:Bash|Edit|Glob|Grep|Read|WebFetch|WebSearch|Write)\s*(?:\(|$)/;

/** The mode by the client's own name for it. */
export function claudeMode(name: string | undefined): PermissionMode | undefined {
  return name === undefined ? undefined : MODES[name];
}

/**
 * What Claude Code's settings let a session do, measured with 2.1.328. What a project's settings forbid counts always, and
 * in all that is below; what they allow counts where the user has told the client that the project may be believed. What
 * would be asked about counts as forbidden: nobody can be asked.
 */
export function claudePermissions(user: ClientUser): Permissions {
  const own = configIn(`${claudeDirectory(user)}/settings.json`, user);
  const [project = [], ...above] = directoriesAbove(user.cwd).map((directory) =>
    ['settings.json', 'settings.local.json'].map((name) => configIn(`${directory}/.claude/${name}`, user)),
  );
  const ofAdministrator = OF_ADMINISTRATOR.map((path) => configIn(path, user));
  const believed = [own, ...(isTrusted(user) ? project : []), ...ofAdministrator];
  const modes = believed.flatMap(
    (one) => claudeMode(readString(readRecord(one, 'permissions'), 'defaultMode')) ?? [],
  );
  const all = [own, ...project, ...above.flat(), ...ofAdministrator];
  return {
    mode: modes.at(-1) ?? 'default',
    allow: believed.flatMap((one) => rulesIn(one, 'allow')).filter((rule) => TOOLS.test(rule)),
    deny: [...new Set(all.flatMap((one) => [...rulesIn(one, 'deny'), ...rulesIn(one, 'ask')]))],
  };
}

function rulesIn(settings: Json, name: 'allow' | 'deny' | 'ask'): string[] {
  const rules = readRecord(settings, 'permissions')[name];
  return Array.isArray(rules) ? rules.filter((rule) => typeof rule === 'string') : [];
}
