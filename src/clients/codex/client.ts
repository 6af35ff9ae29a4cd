import {
  granted,
  mayUse,
  NETWORK,
  type Permissions,
  parseRule,
  pathRules,
} from '../../runs/model/permissions.ts';
import { isToolAllowed, type ToolPolicy } from '../../runs/model/tool-policy.ts';
import { RUN_VARIABLE } from '../../system/process-identity.ts';
import type { Client, OwnCommand, OwnRequest } from '../client.ts';
import { hookCalls, MCP_SERVER_NAME, type OwnTools, offeredTools, type ShownServer } from '../tools.ts';
import { CODEX_PLACES, codexConfiguration, routeArgs, toml } from './configuration.ts';
import { codexSessions } from './session.ts';
import { CodexReader } from './stream.ts';

/** What the policy may take away one by one. */
const TOOLS: OwnTools = {
  ...{ exec_command: 'exec', update_plan: 'todo', view_image: 'read' },
  ...{ web_search: 'web_search', write_stdin: 'process' },
};

/**
 * Codex as a sub-agent, measured with 0.169.0.
 *
 * `config.toml` is not read, so the user's servers, hooks and profiles are out of reach; what it says of the provider is
 * carried over. Sessions are saved where the user's are. What remains: `AGENTS.md` in the client's own directory,
 * which no switch leaves out; `exec` and `wait` of newer models, which run JavaScript that reaches no more than the other
 * tools do; `apply_patch`, which a sandbox without writing refuses; a command that runs on after its call has returned,
 * which is ended with the turn (`process` in a policy).
 *
 * What a turn may do is a matter of the sandbox, in which any command runs: it looks at everything, or also writes files in
 * the working directory and in directories for temporary files, and not in `.git`: a child cannot commit, and the client
 * refuses commands like `rm -f`. The network is open to commands only when a rule says so, and the policy does not deny
 * `web_fetch`. What the sandbox refuses a command, nobody else is told. Where the system lets the client have
 * no sandbox, no command runs.
 */
export const codex: Client = {
  name: 'codex',
  title: 'Codex',
  npmPackage: '@openai/codex',
  keepsBudget: false,
  politeSignal: 'SIGINT', // The only one upon which it ends the commands that it has started.
  thinking: ['low', 'medium', 'high', 'xhigh', 'max'],
  version: { read: (stdout) => /^codex-cli (\d+\.\d+\.\d+\S*)/m.exec(stdout)?.[1], measured: ['0.169.0'] },
  gaps,
  ruleGaps,
  hidesRefusals: true,
  tools: TOOLS,
  command,
  attach: ({ id }) => ({ args: ['resume', id] }),
  reader: (start) => new CodexReader(start),
  hookCalls,
  sessions: codexSessions,
  ...codexConfiguration,
};

/** As settings, not as `--disable`: there a feature that another release does not have is an error. */
const FEATURES_OFF: readonly string[] = [
  ...['hooks', 'plugins', 'apps', 'memories', 'tool_suggest', 'shell_snapshot'],
  ...['multi_agent', 'multi_agent_v2', 'goals', 'sleep_tool', 'image_generation'],
  'unbounded_connection_retries', // Without a network the client would wait for ever.
];

const SETTINGS: readonly string[] = [
  ...FEATURES_OFF.map(isOff),
  ...['agents.enabled=false', 'tools.experimental_request_user_input.enabled=false'],
  ...['project_doc_max_bytes=0', 'include_apps_instructions=false'],
  ...['include_collaboration_mode_instructions=false', 'analytics.enabled=false'],
];

/** A command may go on after its call has returned, and be asked after: the client has no switch for that alone. */
function gaps(policy: ToolPolicy): readonly string[] {
  const offered = offeredTools(policy, TOOLS);
  return offered.includes('exec_command') && !offered.includes('write_stdin') ? ['process'] : [];
}

/** Commands read whatever there is, and about single ones nobody can be asked. */
function ruleGaps(permissions: Permissions): readonly string[] {
  const rules = permissions.deny.map((text) => ({ text, ...parseRule(text) }));
  const aboutCommands = rules.filter(({ tool, calls }) => tool === 'exec' && calls !== null);
  return [...pathRules(permissions), ...aboutCommands.map(({ text }) => text)];
}

function command(request: OwnRequest): OwnCommand {
  const { prompt, session, model, route, thinking, policy, permissions, server } = request;
  // Who may run any command may write, unless some files are excepted.
  const within = mayUse('exec', permissions) ? granted(permissions, ['edit']) : permissions;
  const writes = mayWrite(policy) && mayUse('edit', within);
  // What a child must not see of its client's login.
  const keys = [...route.passedOn, ...Object.keys({ ...route.env, ...server?.entry.env })];
  const settings = [
    ...SETTINGS,
    ...toolSettings(request),
    ...(server === null ? [] : serverSettings(server)),
    `shell_environment_policy.exclude=${toml(keys)}`,
    ...(session.kind === 'once'
      ? [...FOR_QUESTIONS, `developer_instructions=${toml(session.instructions)}`]
      : []),
    ...(thinking === null ? [] : [`model_reasoning_effort=${toml(thinking)}`]),
  ];
  return {
    args: [
      'exec',
      ...['--sandbox', writes ? 'workspace-write' : 'read-only'],
      ...['--color', 'never'],
      ...(session.kind === 'once' ? ['--ephemeral'] : session.kind === 'resume' ? ['resume'] : []),
      ...['--json', '--ignore-user-config', '--ignore-rules', '--skip-git-repo-check'],
      ...settings.flatMap((setting) => ['-c', setting]),
      ...routeArgs(route),
      ...(model === null ? [] : [`--model=${model}`]),
      ...(session.kind === 'resume' ? ['--', session.id] : []),
      '-',
    ],
    stdin: prompt,
    env: { ...server?.entry.env },
    passedOn: CODEX_PLACES,
  };
}

/** Nothing is said of where the client works, and what it may do there. */
const FOR_QUESTIONS = ['include_environment_context=false', 'include_permissions_instructions=false'];

function toolSettings({ policy, permissions, tools, server }: OwnRequest): string[] {
  const offered = new Set(tools);
  const isSkilled = isToolAllowed(policy, 'skill');
  return [
    ...(offered.has('exec_command') ? [] : ['shell_tool', 'unified_exec'].map(isOff)),
    ...(offered.has('view_image') ? [] : [isOff('view_image')]),
    ...(offered.has('web_search') && mayUse('web_search', permissions) ? [] : ['web_search="disabled"']),
    ...(offered.has('update_plan') ? [] : ['tools.update_plan.enabled=false']),
    ...(isSkilled ? [] : ['skills.include_instructions=false', isOff('skill_search')]),
    ...(server !== null || offered.size > 0 || mayWrite(policy) ? [] : [isOff('code_mode_host')]),
    `sandbox_workspace_write.network_access=${isToolAllowed(policy, 'web_fetch') && mayUse(NETWORK, permissions)}`,
  ];
}

/** The values of the environment go by it: arguments can be seen by everybody on the machine. */
function serverSettings({ entry, only, except }: ShownServer): string[] {
  const { command: program, args, env } = entry;
  const settings = {
    command: program,
    args,
    env_vars: [...Object.keys(env), RUN_VARIABLE],
    default_tools_approval_mode: 'approve', // Nobody can be asked.
    required: true, // Otherwise a child whose server does not start would work without it, and say nothing.
    disabled_tools: except,
    ...(only === null ? {} : { enabled_tools: only }),
  };
  const named = (key: string) => `mcp_servers.${MCP_SERVER_NAME}.${key}`;
  return Object.entries(settings).map(([key, value]) => `${named(key)}=${toml(value)}`);
}

/** One tool writes, so who denies any of its names denies it; a list of what is allowed need not have them all. */
function mayWrite(policy: ToolPolicy): boolean {
  const may = (tool: string) => isToolAllowed(policy, tool);
  const mayAll = { ...policy, allow: null };
  const isDenied = ['write', 'edit', 'apply_patch'].some((tool) => !isToolAllowed(mayAll, tool));
  return !isDenied && (may('apply_patch') || (may('write') && may('edit')));
}

function isOff(feature: string): string {
  return `features.${feature}=false`;
}
