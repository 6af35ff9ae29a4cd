import type { Thinking } from '../../core/runs/run.ts';
import { CLOUD_LOGINS, commonEnv, PASSED_ON } from '../one-shot.ts';
import { claudeReader } from './claude-reader.ts';
import { deniedServerTools, MCP_SERVER_NAME, type OwnTool, offeredTools } from './own-tools.ts';
import type { RunClient, TurnCommand, TurnRequest, TurnSession } from './run-client.ts';

/**
 * Claude Code as a sub-agent, measured with 2.1.328.
 */
export const claudeRun: RunClient = {
  name: 'claude',
  program: 'claude',
  capabilities: {
    choosesSessionId: true,
    canFork: true,
    keepsBudget: true,
    usageArrives: 'per message',
    politeSignal: 'SIGINT',
    thinking: ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  },
  version: {
    args: ['--version'],
    read: (stdout) => /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/.exec(stdout)?.[1],
    measured: ['2.1.328'],
  },
  gaps: () => [],
  command,
  reader: claudeReader,
};

/** All that a child may be offered; whatever else the client has or will have is not. */
const TOOLS: readonly OwnTool[] = [
  { name: 'Bash', policyName: 'exec' },
  { name: 'Edit', policyName: 'edit' },
  { name: 'Glob', policyName: 'read' },
  { name: 'Grep', policyName: 'read' },
  { name: 'NotebookEdit', policyName: 'edit' },
  { name: 'Read', policyName: 'read' },
  { name: 'TodoWrite', policyName: 'todo' },
  { name: 'WebFetch', policyName: 'web_fetch' },
  { name: 'WebSearch', policyName: 'web_search' },
  { name: 'Write', policyName: 'write' },
];

const DENIED: readonly string[] = [
  ...['Task', 'Agent', 'SendMessage', 'ListAgents', 'Workflow', 'TeamCreate', 'TeamDelete'],
  ...['Bash(run_in_background:true)', 'Monitor', 'TaskOutput', 'TaskStop', 'BashOutput', 'KillShell'],
  ...['CronCreate', 'CronDelete', 'CronList', 'ScheduleWakeup', 'RemoteTrigger'],
  ...['EnterWorktree', 'ExitWorktree', 'AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode', 'Skill'],
];

const MCP_FILE = 'mcp.json';

function command(request: TurnRequest): TurnCommand {
  const { session, model, thinking, budgetUsd, directory, agentDir } = request;
  const server = request.tools === 'none' ? null : request.mcp;
  const tools = request.tools === 'none' ? [] : offeredTools(request.policy, TOOLS);
  const servers = server === null ? {} : { [MCP_SERVER_NAME]: { type: 'stdio', ...server } };
  return {
    program: claudeRun.program,
    args: [
      '--print',
      ...['--output-format', 'stream-json', '--verbose'],
      ...sessionArgs(session),
      ...['--setting-sources', 'user'],
      ...['--settings', JSON.stringify({ disableAllHooks: true })],
      ...['--strict-mcp-config', '--mcp-config', `${directory}/${MCP_FILE}`],
      '--disable-slash-commands',
      ...['--permission-mode', 'dontAsk'],
      ...['--tools', tools.join(',')],
      ...['--disallowedTools', [...DENIED, ...deniedServerTools(request.policy)].join(',')],
      ...allowed(tools, server !== null),
      ...(model === null ? [] : [`--model=${model}`]),
      ...effort(thinking),
      ...(budgetUsd === null ? [] : [`--max-budget-usd=${budgetUsd}`]),
    ],
    stdin: `\n${request.prompt}`, // A slash in the very first place would be a command of the client's own.
    files: { [MCP_FILE]: JSON.stringify({ mcpServers: servers }) },
    env: {
      ...commonEnv(directory),
      ...ENV,
      ...(thinking === 'off' ? { MAX_THINKING_TOKENS: '0' } : {}),
      ...(agentDir === null ? {} : { CLAUDE_CONFIG_DIR: agentDir }),
    },
    passedOn: [...PASSED_ON, ...CLOUD_LOGINS, ...LOGINS],
  };
}

function sessionArgs(session: TurnSession): string[] {
  switch (session.kind) {
    case 'new':
      return ['--session-id', session.id];
    case 'resume':
      return ['--resume', session.id];
    case 'fork':
      return ['--resume', session.id, '--fork-session'];
  }
}

function allowed(tools: readonly string[], hasServer: boolean): string[] {
  const rules = [...tools, ...(hasServer ? [`mcp__${MCP_SERVER_NAME}`] : [])];
  return rules.length === 0 ? [] : ['--allowedTools', rules.join(',')];
}

function effort(thinking: Thinking | null): string[] {
  if (thinking === null || thinking === 'off') return [];
  return ['--effort', thinking === 'minimal' ? 'low' : thinking];
}

const ENV: TurnCommand['env'] = {
  CLAUDE_CODE_SAFE_MODE: '1',
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
  CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
  CLAUDE_CODE_DISABLE_CRON: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  ENABLE_TOOL_SEARCH: 'false',
  DISABLE_AUTOUPDATER: '1',
};

const LOGINS: readonly string[] = [
  ...['ANTHROPIC_*', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_API_KEY_HELPER_TTL_MS'],
  ...['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'],
  ...['CLAUDE_CODE_SKIP_BEDROCK_AUTH', 'CLAUDE_CODE_SKIP_VERTEX_AUTH', 'CLAUDE_CODE_SKIP_FOUNDRY_AUTH'],
  ...['CLAUDE_CODE_CLIENT_CERT', 'CLAUDE_CODE_CLIENT_KEY', 'CLAUDE_CODE_CLIENT_KEY_PASSPHRASE'],
  ...['CLOUD_ML_REGION', 'VERTEX_REGION_*', 'AZURE_*', 'CLAUDE_CODE_GIT_BASH_PATH'],
];
