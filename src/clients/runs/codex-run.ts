import type { Thinking } from '../../core/runs/run.ts';
import { isToolAllowed, type ToolPolicy } from '../../core/runs/tool-policy.ts';
import { commonEnv, PASSED_ON } from '../one-shot.ts';
import { codexReader } from './codex-reader.ts';
import { deniedServerTools, MCP_SERVER_NAME } from './own-tools.ts';
import type { McpServer, RunClient, TurnCommand, TurnRequest, TurnSession } from './run-client.ts';

/**
 * Codex as a sub-agent, measured with 0.169.0.
 *
 * `config.toml` is not read, so the user's servers, hooks and profiles are out of reach, and so is a provider that stands
 * in that file alone. Sessions are saved where the user's are. What remains: `AGENTS.md` in the user's own `~/.codex`, which
 * no switch leaves out; `exec` and `wait` of newer models, which run JavaScript that reaches no more than the other tools
 * do; a command that runs on after its call has returned, which is ended with the turn (`process` in a policy).
 *
 * Files are written in the working directory and in directories for temporary files, and not in `.git`: a child cannot
 * commit. Denied writing holds for commands too, and so does a denied `web_fetch` for their way into the network.
 */
export const codexRun: RunClient = {
  name: 'codex',
  program: 'codex',
  capabilities: {
    choosesSessionId: false,
    canFork: true,
    keepsBudget: false,
    usageArrives: 'at the end',
    politeSignal: 'SIGINT', // The only one upon which it ends the commands that it has started.
    thinking: ['low', 'medium', 'high', 'xhigh', 'max'],
  },
  version: {
    args: ['--version'],
    read: (stdout) => /^codex-cli (\d+\.\d+\.\d+\S*)/m.exec(stdout)?.[1],
    measured: ['0.169.0'],
  },
  gaps,
  command,
  reader: codexReader,
};

/**
 * Where the login is: for `agent-login.ts`. An agent's own directory without one of these files gets the user's, by a link:
 * a copy would grow old, as each renewal of the login voids the one before.
 */
export const CODEX_LOGIN = {
  /** Names the client's own directory; without it, that is this one below the user's home. */
  variable: 'CODEX_HOME',
  directory: '.codex',
  files: ['auth.json'],
} as const;

/** One tool of the client's does all of it. */
const WRITING = ['write', 'edit', 'apply_patch'] as const;

/** As settings, not as `--disable`: there a feature that another release does not have is an error. */
const FEATURES_OFF: readonly string[] = [
  ...['hooks', 'plugins', 'apps', 'memories', 'tool_suggest', 'shell_snapshot'],
  ...['multi_agent', 'multi_agent_v2', 'goals', 'sleep_tool', 'image_generation'],
  'unbounded_connection_retries', // Without a network the client would wait for ever.
];

const SETTINGS: readonly string[] = [
  ...FEATURES_OFF.map(isOff),
  'agents.enabled=false',
  'tools.experimental_request_user_input.enabled=false',
  'project_doc_max_bytes=0',
  'include_apps_instructions=false',
  'include_collaboration_mode_instructions=false',
  'analytics.enabled=false',
  'cli_auth_credentials_store="auto"', // A setting of the file that is not read: the login may be in the keyring.
];

/** What a child must not see of its client's login. */
const LOGINS: readonly string[] = ['CODEX_API_KEY', 'CODEX_ACCESS_TOKEN', 'OPENAI_*'];

function gaps(policy: ToolPolicy): readonly string[] {
  const denied = WRITING.filter((tool) => !isToolAllowed(policy, tool));
  const writes = denied.length < WRITING.length ? denied : [];
  const runsOn = isToolAllowed(policy, 'exec') && !isToolAllowed(policy, 'process');
  return [...writes, ...(runsOn ? ['process'] : [])];
}

function command(request: TurnRequest): TurnCommand {
  const { prompt, session, model, thinking, directory, agentDir } = request;
  const server = request.tools === 'none' ? null : request.mcp;
  const policy = request.tools === 'none' ? { deny: ['*'], allow: null } : request.policy;
  const settings = [
    ...SETTINGS,
    ...toolSettings(policy),
    ...(server === null ? [] : serverSettings(server, policy)),
    `shell_environment_policy.exclude=${toml([...LOGINS, ...Object.keys(server?.env ?? {})])}`,
    ...(thinking === null ? [] : [`model_reasoning_effort=${toml(effort(thinking))}`]),
  ];
  return {
    program: codexRun.program,
    args: [
      'exec',
      ...['--sandbox', mayWrite(policy) ? 'workspace-write' : 'read-only'],
      ...['--color', 'never'],
      ...sessionArgs(session),
      '--json',
      '--ignore-user-config',
      '--ignore-rules',
      '--skip-git-repo-check',
      ...settings.flatMap((setting) => ['-c', setting]),
      ...(model === null ? [] : [`--model=${model}`]),
      ...(session.kind === 'new' ? [] : ['--', session.id]),
      '-',
    ],
    stdin: prompt,
    files: {},
    env: {
      ...commonEnv(directory),
      ...server?.env,
      ...(agentDir === null ? {} : { [CODEX_LOGIN.variable]: agentDir }),
    },
    passedOn: [...PASSED_ON, CODEX_LOGIN.variable, 'CODEX_CA_CERTIFICATE', 'CODEX_SQLITE_HOME', ...LOGINS],
  };
}

function sessionArgs(session: TurnSession): string[] {
  return session.kind === 'new' ? [] : [session.kind];
}

function toolSettings(policy: ToolPolicy): string[] {
  const may = (tool: string) => isToolAllowed(policy, tool);
  const canAct = may('exec') || mayWrite(policy) || may('web_search') || may('mcp');
  return [
    ...(may('exec') ? [] : ['shell_tool', 'unified_exec'].map(isOff)),
    ...(may('read') ? [] : [isOff('view_image')]),
    ...(canAct ? [] : [isOff('code_mode_host')]),
    ...(may('web_search') ? [] : ['web_search="disabled"']),
    ...(may('todo') ? [] : ['tools.update_plan.enabled=false']),
    ...(may('skill') ? [] : ['skills.include_instructions=false', isOff('skill_search')]),
    `sandbox_workspace_write.network_access=${may('web_fetch')}`,
  ];
}

/** The values of the environment go by it: arguments can be seen by everybody on the machine. */
function serverSettings({ command: program, args, env }: McpServer, policy: ToolPolicy): string[] {
  const prefix = `mcp__${MCP_SERVER_NAME}__`;
  const denied = deniedServerTools(policy).map((tool) => tool.slice(prefix.length));
  const settings = {
    command: program,
    args,
    env_vars: [...Object.keys(env), 'SELF_GENERATION_RUN'],
    disabled_tools: denied,
    default_tools_approval_mode: 'approve', // Nobody can be asked.
    required: true, // Otherwise a child whose server does not start would work without it, and say nothing.
  };
  return Object.entries(settings).map(
    ([key, value]) => `mcp_servers.${MCP_SERVER_NAME}.${key}=${toml(value)}`,
  );
}

/** Whether anything that writes is let through; what is not, then, is a gap. */
function mayWrite(policy: ToolPolicy): boolean {
  return WRITING.some((tool) => isToolAllowed(policy, tool));
}

/** The models know no less than `low`. */
function effort(thinking: Thinking): Thinking {
  return thinking === 'off' || thinking === 'minimal' ? 'low' : thinking;
}

function isOff(feature: string): string {
  return `features.${feature}=false`;
}

/** A string, a truth value or a list of strings; DEL is the one character that JSON allows as it is and TOML does not. */
function toml(value: string | boolean | readonly string[]): string {
  return JSON.stringify(value).replaceAll('\x7f', '\\u007f');
}
