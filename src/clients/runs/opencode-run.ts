import type { Thinking } from '../../core/runs/run.ts';
import { isToolAllowed, type ToolPolicy } from '../../core/runs/tool-policy.ts';
import { CLOUD_LOGINS, commonEnv, PASSED_ON } from '../one-shot.ts';
import { opencodeReader } from './opencode-reader.ts';
import { deniedServerTools, MCP_SERVER_NAME, type OwnTool, offeredTools } from './own-tools.ts';
import type { McpServer, RunClient, TurnCommand, TurnRequest, TurnSession } from './run-client.ts';

/**
 * OpenCode as a sub-agent, measured with 1.18.33.
 */
export const opencodeRun: RunClient = {
  name: 'opencode',
  program: 'opencode',
  capabilities: {
    choosesSessionId: false,
    canFork: true,
    keepsBudget: false,
    usageArrives: 'per message',
    politeSignal: 'SIGTERM',
    thinking: ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  },
  version: {
    args: ['--version'],
    read: (stdout) => /^(\d+\.\d+\.\d+\S*)\s*$/.exec(stdout)?.[1],
    measured: ['1.18.33'],
  },
  gaps: () => [],
  command,
  reader: opencodeReader,
};

const AGENT = 'sub-agent';

/** What a permission of the client's lets a child do; whatever else the client has or will have is denied. */
const TOOLS: readonly OwnTool[] = [
  { name: 'bash', policyName: 'exec' },
  { name: 'glob', policyName: 'read' },
  { name: 'grep', policyName: 'read' },
  { name: 'list', policyName: 'read' },
  { name: 'read', policyName: 'read' },
  { name: 'todowrite', policyName: 'todo' },
  { name: 'webfetch', policyName: 'web_fetch' },
  { name: 'websearch', policyName: 'web_search' },
];

const CONFIGURATION_DIRECTORY = 'opencode-home';
const _SHELL_FILE = 'shell-env.sh';
const PLUGIN_PACKAGE = { dependencies: { '@opencode-ai/plugin': '*' } };

const FILES: TurnCommand['files'] = {
  [`${CONFIGURATION_DIRECTORY}/opencode/node_modules/.keep`]: '',
  [`${CONFIGURATION_DIRECTORY}/opencode/package.json`]: JSON.stringify(PLUGIN_PACKAGE),
  [`${CONFIGURATION_DIRECTORY}/opencode/package-lock.json`]: JSON.stringify({
    lockfileVersion: 3,
    packages: { '': PLUGIN_PACKAGE },
  }),
};

function command(request: TurnRequest): TurnCommand {
  const { session, model, thinking, directory, agentDir } = request;
  return {
    program: opencodeRun.program,
    args: [
      'run',
      ...['--format', 'json', '--thinking'],
      ...sessionArgs(session),
      '--pure',
      ...['--agent', AGENT],
      ...['--title', AGENT],
      ...['--print-logs', '--log-level', 'ERROR'],
      ...(model === null ? [] : [`--model=${model}`]),
      ...variant(thinking),
    ],
    stdin: request.prompt,
    files: FILES,
    env: {
      ...commonEnv(directory),
      XDG_CONFIG_HOME: `${directory}/${CONFIGURATION_DIRECTORY}`,
      OPENCODE_TEST_HOME: directory,
      OPENCODE_CONFIG_CONTENT: JSON.stringify(configuration(request)),
      OPENCODE_DISABLE_PROJECT_CONFIG: '1',
      OPENCODE_DISABLE_CLAUDE_CODE: '1',
      OPENCODE_DISABLE_EXTERNAL_SKILLS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_SHARE: '1',
      ...(agentDir === null ? {} : { XDG_DATA_HOME: agentDir }),
    },
    passedOn: [...PASSED_ON, ...CLOUD_LOGINS, ...LOGINS],
  };
}

function sessionArgs(session: TurnSession): string[] {
  switch (session.kind) {
    case 'new':
      return [];
    case 'resume':
      return [`--session=${session.id}`];
    case 'fork':
      return [`--session=${session.id}`, '--fork'];
  }
}

function variant(thinking: Thinking | null): string[] {
  return thinking === null ? [] : [`--variant=${thinking === 'off' ? 'none' : thinking}`];
}

function configuration({ policy, tools, mcp }: TurnRequest): object {
  const server = tools === 'none' ? null : mcp;
  const permission = tools === 'none' ? { '*': 'deny' } : permissions(policy, server);
  return {
    agent: { [AGENT]: { mode: 'primary', permission } },
    permission: { '*': 'deny' },
    mcp: server === null ? {} : { [MCP_SERVER_NAME]: local(server) },
    instructions: [],
    share: 'disabled',
    autoupdate: false,
    snapshot: false,
    lsp: false,
  };
}

function local({ command, args, env }: McpServer): object {
  return { type: 'local', command: [command, ...args], environment: env, enabled: true };
}

/** The last rule that fits decides. */
function permissions(policy: ToolPolicy, server: McpServer | null): Record<string, unknown> {
  const allowed = [...offeredTools(policy, TOOLS), ...(canEdit(policy) ? ['edit'] : [])];
  const serverTool = (name: string) => `${MCP_SERVER_NAME}_${name.slice(`mcp__${MCP_SERVER_NAME}__`.length)}`;
  return {
    '*': 'deny',
    ...Object.fromEntries(allowed.map((name) => [name, 'allow'])),
    external_directory: 'allow',
    ...(server === null ? {} : { [`${MCP_SERVER_NAME}_*`]: 'allow' }),
    ...Object.fromEntries(deniedServerTools(policy).map((name) => [serverTool(name), 'deny'])),
  };
}

/** One permission is for all tools that write, so all of them have to be let through. */
function canEdit(policy: ToolPolicy): boolean {
  const isDenied = (name: string) => !isToolAllowed({ ...policy, allow: null }, name);
  if (isDenied('apply_patch')) return false;
  return ['edit', 'write'].every((name) => isToolAllowed(policy, name));
}

const LOGINS: readonly string[] = [
  ...['OPENCODE_CONFIG', 'OPENCODE_AUTH_CONTENT', 'OPENCODE_API_KEY', 'OPENCODE_MODELS_*'],
  'OPENCODE_DISABLE_MODELS_FETCH',
  ...['ANTHROPIC_*', 'OPENAI_*', 'AZURE_*', 'GEMINI_API_KEY', 'GITHUB_TOKEN', 'OPENROUTER_API_KEY'],
  ...['XAI_API_KEY', 'GROQ_API_KEY', 'MISTRAL_API_KEY', 'DEEPSEEK_API_KEY', 'CEREBRAS_API_KEY'],
  'MOONSHOT_API_KEY',
];
