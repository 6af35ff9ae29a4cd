import { isRecord } from '../../core/guards.ts';
import type { Permissions } from '../../core/runs/permissions.ts';
import { opencodeConfig } from '../routes/opencode-route.ts';
import type { ClientUser } from '../routes/route.ts';

const TOOLS = ['edit', 'bash', 'webfetch', 'websearch'] as const;

/**
 * What OpenCode's configuration lets it do, measured with 1.18.33: without a word of it, everything. Its rules come to
 * ours: what is allowed, and of what all is allowed, what is not.
 */
export function opencodePermissions(user: ClientUser): Permissions {
  const { permission } = opencodeConfig(user);
  if (permission === undefined || permission === 'allow') return { mode: 'all', allow: [], deny: [] };
  const said = isRecord(permission) ? permission : {};
  const standard = isRecord(permission) ? (said['*'] ?? 'allow') : permission;
  const rules = TOOLS.flatMap((tool) => rulesOf(tool, said[tool] ?? standard));
  return {
    mode: 'default',
    allow: rules.flatMap(({ text, action }) => (action === 'allow' ? [text] : [])),
    deny: rules.flatMap(({ text, action, isBare }) =>
      action === 'allow' || (isBare && action === 'ask') ? [] : [text],
    ),
  };
}

function rulesOf(tool: string, value: unknown) {
  const rules = isRecord(value) ? Object.entries(value) : [['*', value] as const];
  return rules.map(([pattern, action]) => {
    const isBare = pattern === '*';
    return { text: isBare ? tool : `${tool}(${pattern})`, action, isBare };
  });
}
