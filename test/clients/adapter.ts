import { expect } from 'bun:test';
import { type TurnRequest, turnCommand } from '../../src/clients/client.ts';
import { clientNamed } from '../../src/clients/clients.ts';
import { ASKS_NEVER } from '../../src/runs/model/permissions.ts';
import { NO_POLICY, type ToolPolicy } from '../../src/runs/model/tool-policy.ts';
import type { ClientName } from '../support/clients.ts';
import { NO_ROUTE } from './route-of.ts';

/** What every client is asked in the tests of its command line, and what is seen of its answer. */

export const SESSION = '11111111-1111-4111-8111-111111111111';
export const REQUEST: TurnRequest = {
  ...{ prompt: '/help -x @secret.txt !{id} {{args}}', session: { kind: 'new', id: SESSION } },
  ...{ route: NO_ROUTE, policy: NO_POLICY, permissions: ASKS_NEVER },
  ...{ model: null, thinking: null, budgetUsd: null, mcp: null, agentDir: null },
  ...{ cwd: '/home/dev/project', directory: '/home/dev/turn' },
};
const COMMAND = '/opt/self-generation';
/** As its client is told to start it, and with how long a call may take. */
export const STARTED = { command: COMMAND, args: ['mcp', 'a "b" \\'], env: { TOKEN: 'secret' } };
export const SERVER = { ...STARTED, timeoutMs: 90_500 };

export const policed = (policy: Partial<ToolPolicy>) => ({ policy: { ...NO_POLICY, ...policy } });

/** What is to be started for a turn that differs so from REQUEST. */
export function commandOf(name: ClientName, changes: Partial<TurnRequest> = {}) {
  return turnCommand(clientNamed(name), { ...REQUEST, ...changes });
}

/** Which tools a client is offered. Where two places say it, they have to say the same. */
export function offeredBy(name: ClientName, changes: Partial<TurnRequest> = {}): string[] {
  const { args, env, files } = commandOf(name, changes);
  switch (name) {
    case 'claude': {
      const { allow } = JSON.parse(files['settings.json'] ?? '').permissions;
      return agreed((args[args.indexOf('--tools') + 1] ?? '').split(',').filter(Boolean), allow);
    }
    case 'codex': {
      const off = args.flatMap((arg) => /^(.*)=(?:false|"disabled")$/.exec(arg)?.[1] ?? []);
      const writing = args[args.indexOf('--sandbox') + 1] === 'workspace-write' ? ['writing'] : [];
      return [
        ...writing,
        ...Object.keys(CODEX_SWITCHES).filter((one) => !off.includes(CODEX_SWITCHES[one] ?? '')),
      ];
    }
    case 'gemini': {
      const parsed = Bun.TOML.parse(files['.gemini/policies/run.toml'] ?? '') as {
        rule: Record<string, unknown>[];
      };
      const allowed = parsed.rule.filter(
        ({ decision, mcpName }) => decision === 'allow' && mcpName === undefined,
      );
      expect(parsed.rule.at(-1)).toMatchObject({ toolName: '*', decision: 'deny' });
      return agreed(
        JSON.parse(files['.gemini/settings.json'] ?? '').tools.core,
        allowed.map(({ toolName }) => String(toolName)),
      );
    }
    case 'opencode': {
      const { agent } = JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '');
      const [first, ...rules] = Object.entries(agent['self-generation-sub-agent'].permission);
      expect(first).toEqual(['*', 'deny']);
      return rules.flatMap(([tool, action]) =>
        action === 'allow' && tool !== 'external_directory' ? [tool] : [],
      );
    }
  }
}

/** Which tools of our server a client shows its child: `only` those, if any, and none of `except`; null: it has no server. */
export function shownBy(name: ClientName, policy: Partial<ToolPolicy>) {
  const { args, env, files } = commandOf(name, { mcp: SERVER, ...policed(policy) });
  if (!JSON.stringify([args, env, files]).includes(SERVER.command)) return null;
  switch (name) {
    case 'claude': {
      const own = /^mcp__self-generation__(.*)/;
      const named = (flag: string) =>
        (args[args.indexOf(flag) + 1] ?? '').split(',').flatMap((rule) => own.exec(rule)?.[1] ?? []);
      return { only: named('--allowedTools'), except: named('--disallowedTools') };
    }
    case 'codex': {
      const list = (key: string): string[] =>
        JSON.parse(args.find((arg) => arg.includes(`.${key}=`))?.split('=')[1] ?? '[]');
      return { only: list('enabled_tools'), except: list('disabled_tools') };
    }
    case 'gemini': {
      const { mcpServers } = JSON.parse(files['.gemini/settings.json'] ?? '');
      const { includeTools: only = [], excludeTools: except = [] } = mcpServers['self-generation'];
      return { only, except };
    }
    case 'opencode': {
      const { permission } = JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '').agent['self-generation-sub-agent'];
      const own = Object.entries(permission).filter(([tool]) => tool.startsWith('self-generation_'));
      const named = (wanted: string) =>
        own.flatMap(([tool, action]) => (action === wanted ? [tool.slice('self-generation_'.length)] : []));
      return { only: named('allow').filter((tool) => tool !== '*'), except: named('deny') };
    }
  }
}

function agreed(one: string[], other: string[]): string[] {
  expect(one).toEqual(other);
  return one;
}

/** By what the client switches each of them off. */
const CODEX_SWITCHES: Readonly<Record<string, string>> = {
  shell_tool: 'features.shell_tool',
  unified_exec: 'features.unified_exec',
  view_image: 'features.view_image',
  web_search: 'web_search',
  update_plan: 'tools.update_plan.enabled',
  skills: 'skills.include_instructions',
  skill_search: 'features.skill_search',
  network: 'sandbox_workspace_write.network_access',
};
