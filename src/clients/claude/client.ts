import type { Json } from '../../core/guards.ts';
import { mayUse, type Permissions, parseRule } from '../../runs/model/permissions.ts';
import type { Client, OwnCommand, OwnRequest, TurnSession } from '../client.ts';
import { MCP_SERVER_NAME, type OwnTools } from '../tools.ts';
import { claudeConfiguration } from './configuration.ts';
import { claudeSessions } from './session.ts';
import { ClaudeReader } from './stream.ts';

/** All that a child may be offered. */
const TOOLS: OwnTools = {
  ...{ Bash: 'exec', Edit: 'edit', Glob: 'read', Grep: 'read', NotebookEdit: 'edit' },
  ...{ Read: 'read', TodoWrite: 'todo', WebFetch: 'web_fetch', WebSearch: 'web_search', Write: 'write' },
};

/**
 * Claude Code as a sub-agent, measured with 2.1.328.
 *
 * Only the tools of a list are offered, so a denied one is not there, nor is what later releases bring. What a turn may do
 * beyond looking around in its directory stands in rules, and what no rule allows is refused without a question (`dontAsk`,
 * or the mode that lets files be edited; no mode that skips permissions, which root must not have). Some things are refused
 * to every child: writing in `.git`, `.claude` and the like by anything but git itself, `rm -rf ./*`, a command that ends in
 * `&`. A policy is about tools: what a command does is not looked at.
 *
 * Of the user's settings the login is wanted (`apiKeyHelper`, `env`), so they are read; safe mode leaves out what else they
 * bring. It leaves out our own server too, so a child that has one runs without it: hooks, servers, commands and styles are
 * switched off one by one as well. The project's settings, `CLAUDE.md` and `AGENTS.md` are not read; a turn's first prompt
 * brings what is wanted of them. What remains: hooks and settings of an administrator; of the user's settings `language`,
 * `model` and rules that forbid; plugins of language servers where there is a server of ours. Sessions are saved where the
 * user's are.
 */
export const claude: Client = {
  name: 'claude',
  title: 'Claude Code',
  npmPackage: '@anthropic-ai/claude-code',
  keepsBudget: true,
  politeSignal: 'SIGINT', // Upon which it ends its commands, and says what the turn took.
  thinking: ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  version: {
    read: (stdout) => /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/m.exec(stdout)?.[1],
    measured: ['2.1.328'],
  },
  gaps: () => [], // All that is offered is on a list.
  ruleGaps: () => [], // They are its own.
  asksToRead: true,
  tools: TOOLS,
  command,
  attach: ({ id }) => ({ args: ['--resume', id] }),
  reader: (start) => new ClaudeReader(start),
  hookCalls: (call) => [call],
  sessions: claudeSessions,
  ...claudeConfiguration,
};

/** Never for a child, said once more: other agents, commands in the background, and waking up later. */
const DENIED: readonly string[] = [
  ...['Task', 'Agent', 'SendMessage', 'ListAgents', 'Workflow', 'TeamCreate', 'TeamDelete'],
  ...['Bash(run_in_background:true)', 'Monitor', 'BashOutput', 'KillShell', 'TaskOutput', 'TaskStop'],
  ...['CronCreate', 'CronDelete', 'CronList', 'ScheduleWakeup', 'RemoteTrigger'],
  ...['Skill', 'EnterWorktree', 'ExitWorktree', 'AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'],
];

const SETTINGS_FILE = 'settings.json';
const SERVERS_FILE = 'mcp.json';
/** For all that edit. The mode for that would let commands through too, like `rm`. */
const EDITS_HERE = ['Edit(./**)'];
const EDITING = ['Edit', 'Write', 'NotebookEdit'];
/** What a rule's tool is called here; one about paths has the same name for all that edit. */
const RULE_NAMES: Readonly<Record<string, readonly string[]>> = {
  ...{ read: ['Read', 'Glob', 'Grep'], edit: ['Edit'], exec: ['Bash'] },
  ...{ web_fetch: ['WebFetch'], web_search: ['WebSearch'] },
};

function command(request: OwnRequest): OwnCommand {
  const { session, model, thinking, tools, server, budgetUsd, directory } = request;
  const servers = { mcpServers: { [MCP_SERVER_NAME]: { type: 'stdio', ...server?.entry } } };
  const settings = {
    disableAllHooks: true,
    outputStyle: 'default',
    permissions: permissionSettings(request.permissions, tools),
  };
  return {
    args: [
      '--print',
      ...['--output-format', 'stream-json', '--verbose'],
      ...sessionArgs(session),
      ...['--setting-sources', 'user'],
      ...['--settings', `${directory}/${SETTINGS_FILE}`],
      '--strict-mcp-config', // Alone it means no server.
      ...(server === null ? [] : ['--mcp-config', `${directory}/${SERVERS_FILE}`]),
      '--disable-slash-commands',
      ...toolArgs(request),
      ...(model === null ? [] : [`--model=${model}`]),
      // The least that the client has is `low`; thinking itself is switched off by variables.
      ...(thinking === null || thinking === 'off'
        ? []
        : ['--effort', thinking === 'minimal' ? 'low' : thinking]),
      ...(budgetUsd === null ? [] : [`--max-budget-usd=${budgetUsd}`]),
    ],
    stdin: `\n${request.prompt}`, // A slash in the very first place would be a command of the client's own.
    files: {
      [SETTINGS_FILE]: JSON.stringify(settings),
      ...(server === null ? {} : { [SERVERS_FILE]: JSON.stringify(servers) }),
    },
    env: {
      ...ENV,
      ...(server === null ? { CLAUDE_CODE_SAFE_MODE: '1' } : {}),
      ...(thinking === 'off' ? NO_THINKING : {}),
    },
    passedOn: ['CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_GIT_BASH_PATH'],
  };
}

function sessionArgs(session: TurnSession): string[] {
  if (session.kind === 'once') return ['--no-session-persistence', '--system-prompt', session.instructions];
  return [`--${session.kind === 'new' ? 'session-id' : 'resume'}=${session.id}`];
}

/** What is offered, and that our own tools may be used without a question. */
function toolArgs({ tools, server, permissions }: OwnRequest): string[] {
  const all = `mcp__${MCP_SERVER_NAME}`;
  const own = (names: readonly string[]) => names.map((name) => `${all}__${name}`);
  const allowed = server?.only ? own(server.only) : [all];
  return [
    ...['--tools', tools.join(',')],
    ...['--permission-mode', MODES[permissions.mode]],
    ...(server === null ? [] : ['--allowedTools', allowed.join(',')]),
    ...['--disallowedTools', [...DENIED, ...own(server?.except ?? [])].join(',')],
  ];
}

/** In each of them a call that would be asked about is refused. For all that may do everything there is a rule for each tool. */
const MODES: Readonly<Record<Permissions['mode'], string>> = {
  ...{ plan: 'dontAsk', default: 'dontAsk', edit: 'acceptEdits', auto: 'auto', all: 'dontAsk' },
};

/** In a file, as rules may quote what is nobody's business. */
function permissionSettings(permissions: Permissions, tools: readonly string[]): Json {
  const { mode, allow, deny } = permissions;
  const isPlan = mode === 'plan' && !mayUse('edit', permissions);
  const isWhole = (rule: string) => parseRule(rule)?.calls === null;
  const isBareEdit = (rule: string) => isWhole(rule) && parseRule(rule)?.tool === 'edit';
  return {
    allow: [
      ...(mode === 'all' ? tools : []),
      ...allow.flatMap((rule) => (isBareEdit(rule) ? EDITS_HERE : ownRules(rule))),
    ],
    // A tool that is denied as a whole is not even offered, and nobody would learn that it was wanted.
    ask: [...(isPlan ? EDITING : []), ...deny.filter(isWhole).flatMap(ownRules)],
    deny: deny.filter((rule) => !isWhole(rule)).flatMap(ownRules),
  };
}

/** A rule in the client's names; one of its own stays as it is. */
function ownRules(text: string): string[] {
  const rule = parseRule(text);
  const names = RULE_NAMES[rule?.tool ?? ''];
  if (rule === undefined || names === undefined) return [text];
  if (rule.calls !== null) return names.map((name) => `${name}(${rule.calls})`);
  return rule.tool === 'edit' ? EDITING : [...names];
}

/** Newer models heed only the first, older releases know only the second. */
const NO_THINKING = { CLAUDE_CODE_DISABLE_THINKING: '1', MAX_THINKING_TOKENS: '0' };

const ENV: Readonly<Record<string, string>> = {
  ...{ CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1', CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' },
  // Without it the client reads every file that a prompt names after an @, whether the policy allows reading or not.
  CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
  ...{ CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1', CLAUDE_CODE_DISABLE_CRON: '1' },
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  // Tools of a server are offered as they are, not to be searched for.
  ENABLE_TOOL_SEARCH: 'false',
  DISABLE_AUTOUPDATER: '1',
};
