import { isRecord, type Json, readRecord, readString } from '../../core/guards.ts';
import type { Permissions } from '../../runs/model/permissions.ts';
import { type ClientUser, merged } from '../route.ts';
import { opencodeConfig } from './login.ts';

const TOOLS = ['edit', 'bash', 'webfetch', 'websearch'] as const;
/** Allowed to every run, so that only what is kept back of them has to be told. */
const READING = ['read', 'grep', 'glob', 'list'] as const;

/**
 * What OpenCode's configuration lets it do, measured with 1.18.33: without a word of it, everything. Its rules come to
 * ours: what is allowed, and of what all is allowed, what is not. Those of the agent that the client takes by itself are
 * the stronger ones.
 */
export function opencodePermissions(user: ClientUser): Permissions {
  const config = opencodeConfig(user);
  const agent = readRecord(readRecord(config, 'agent'), readString(config, 'default_agent') ?? 'build');
  const said = [config, agent]
    .flatMap((one) => [switchedOff(one), byTool(one.permission)])
    .reduce(merged, {});
  if (Object.values(said).every((value) => value === 'allow')) return { mode: 'all', allow: [], deny: [] };
  const rulesFor = (tool: string) => rulesOf(tool, said[tool] ?? said['*'] ?? 'allow');
  const rules = TOOLS.flatMap(rulesFor);
  return {
    mode: 'default',
    allow: rules.flatMap(({ text, action }) => (action === 'allow' ? [text] : [])),
    deny: [...rules, ...READING.flatMap(rulesFor)].flatMap(({ text, action, isBare }) =>
      action === 'allow' || (isBare && action === 'ask') ? [] : [text],
    ),
  };
}

function byTool(permission: unknown): Json {
  if (isRecord(permission)) return permission;
  return permission === undefined ? {} : { '*': permission };
}

/** An older way to say it; one permission is for all tools that write. */
function switchedOff({ tools }: Json): Json {
  const names = Object.entries(isRecord(tools) ? tools : {}).flatMap(([name, isOn]) => (isOn ? [] : [name]));
  return Object.fromEntries(
    names.map((name) => [/^(?:write|patch|multiedit)$/.test(name) ? 'edit' : name, 'deny']),
  );
}

/** The last rule that fits decides, so that none before one for every call means anything. */
function rulesOf(tool: string, value: unknown) {
  const all = isRecord(value) ? Object.entries(value) : [['*', value] as const];
  const last = all.findLastIndex(([pattern]) => pattern === '*');
  return all.slice(Math.max(0, last)).map(([pattern, action]) => {
    const isBare = pattern === '*';
    return { text: isBare ? tool : `${tool}(${pattern})`, action, isBare };
  });
}
