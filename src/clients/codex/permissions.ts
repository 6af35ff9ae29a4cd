import { readRecord, readString } from '../../core/guards.ts';
import { NETWORK, type PermissionMode, type Permissions } from '../../runs/model/permissions.ts';
import type { ClientUser } from '../route.ts';
import { codexConfig } from './login.ts';

const MODES: Readonly<Record<string, PermissionMode>> = {
  ...{ 'read-only': 'default', 'workspace-write': 'edit', 'danger-full-access': 'all' },
};

/** The mode that a sandbox comes to, and when the client asks: `untrusted` asks about whatever is more than looking. */
export function codexMode(sandbox: string | undefined, approval: unknown): PermissionMode | undefined {
  const mode = sandbox === undefined ? undefined : MODES[sandbox];
  return approval === 'untrusted' && mode !== undefined ? 'default' : mode;
}

/** What Codex' `config.toml` lets it do, measured with 0.169.0: a project that is trusted may be written in. */
export function codexPermissions(user: ClientUser): Permissions {
  const config = codexConfig(user);
  const project = readRecord(readRecord(config, 'projects'), user.cwd ?? '');
  const standard = project.trust_level === 'trusted' ? 'workspace-write' : 'read-only';
  const hasNetwork = readRecord(config, 'sandbox_workspace_write').network_access === true;
  return {
    mode: codexMode(readString(config, 'sandbox_mode') ?? standard, config.approval_policy) ?? 'default',
    allow: [
      ...(config.web_search === 'disabled' ? [] : ['web_search']), // Which the client never asks about.
      ...(hasNetwork ? [NETWORK] : []),
    ],
    deny: [],
  };
}
