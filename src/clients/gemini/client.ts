import type { Json } from '../../core/guards.ts';
import {
  commandRules,
  commandStart,
  mayUse,
  type Permissions,
  parseRules,
  pathRules,
} from '../../runs/model/permissions.ts';
import type { Thinking } from '../../runs/model/run.ts';
import { policyName } from '../../runs/model/tool-policy.ts';
import type { Client, OwnCommand, OwnRequest } from '../client.ts';
import { hookCalls, MCP_SERVER_NAME, type OwnTools, type ShownServer } from '../tools.ts';
import { geminiConfiguration, HOME_VARIABLE, LOGIN_KIND } from './configuration.ts';
import { geminiSessions } from './session.ts';
import { GeminiReader, geminiExits, MESSAGE_COMMAND, withJoiners } from './stream.ts';

/** All that a child may be offered; whatever else the client has or will have is not: its agents, plans, topics. */
const TOOLS: OwnTools = {
  ...{ glob: 'read', google_web_search: 'web_search', grep_search: 'read', list_directory: 'read' },
  ...{ read_file: 'read', replace: 'edit', run_shell_command: 'exec', web_fetch: 'web_fetch' },
  ...{ write_file: 'write', write_todos: 'todo' },
};

/**
 * Gemini CLI as a sub-agent, measured with 0.61.0.
 *
 * The client's home is the turn's private directory: hooks, servers, extensions, skills, agents, policies and `GEMINI.md`
 * of the user are not in it, and there is no other switch for them. What belongs to the user's login is brought in, see
 * `login` of its configuration; the sessions stay from turn to turn, see `keeps`. The project is not trusted, which leaves out its
 * settings, hooks, `.env` and `GEMINI.md`.
 *
 * Some things are refused to every child: `$(…)` in a command, a path outside the project for all but commands, a change of
 * `package.json`, `Makefile` and the like by anything but a command.
 *
 * What remains: settings of an administrator; a list of the project's files in the first message. With a server of ours
 * the project has to be trusted once the settings have been read: then its `GEMINI.md` and `.gemini/.env` are read too.
 */
export const gemini: Client = {
  name: 'gemini',
  title: 'Gemini CLI',
  npmPackage: '@google/gemini-cli',
  keepsBudget: false,
  politeSignal: 'SIGTERM',
  thinking: ['low', 'medium', 'high'], // Some models cannot be kept from thinking at all.
  version: { read: (stdout) => /^(\d+\.\d+\.\d+\S*)\s*$/m.exec(stdout)?.[1], measured: ['0.61.0'] },
  gaps: () => [], // All that is offered is on a list.
  ruleGaps: pathRules,
  tools: TOOLS,
  command,
  attach: ({ id, kept }) => ({ args: ['--resume', id], env: { [HOME_VARIABLE]: kept } }),
  reader: (start) => new GeminiReader(start),
  hookCalls,
  sessions: geminiSessions,
  exitCodes: geminiExits,
  ...geminiConfiguration,
};

const FLAGS: readonly string[] = [
  ...['--output-format', 'stream-json'],
  ...['--approval-mode', 'default'], // Nobody can be asked, so what no rule allows is denied.
  ...['--extensions', 'none'],
];

const ENV: Readonly<Record<string, string>> = {
  GEMINI_CLI_TRUST_WORKSPACE: 'false',
  GEMINI_CLI_NO_RELAUNCH: 'true', // A second process, and a first one that ignores signals.
  NO_BROWSER: 'true',
  NO_COLOR: '1',
};

/**
 * The client replaces `@path` by the file, unless what it reads is a command, of which it takes all as it stands. So the
 * prompt goes in as a command of our own, whose text says no more than that.
 */
const COMMAND_FILE = `.gemini/commands/${MESSAGE_COMMAND}.toml`;
const INSTRUCTIONS_FILE = '.gemini/system.md';

function command(request: OwnRequest): OwnCommand {
  const { prompt, session, tools, server, directory } = request;
  if (session.kind === 'once') return question(request, session.instructions);
  return {
    args: [
      ...FLAGS,
      // Without trust no server is started. It comes once the settings have been read, which leaves the project's out.
      ...(server === null ? [] : ['--skip-trust']),
      ...['--allowed-mcp-server-names', server === null ? 'none' : MCP_SERVER_NAME],
      session.kind === 'new' ? `--session-id=${session.id}` : `--resume=${session.id}`,
      ...modelArgs(request),
    ],
    stdin: `/${MESSAGE_COMMAND}\n${prompt}`,
    files: {
      '.gemini/settings.json': JSON.stringify({
        ...SETTINGS,
        tools: { ...SETTINGS.tools, core: tools },
        useWriteTodos: tools.includes('write_todos'),
        mcp: { allowed: server === null ? [] : [MCP_SERVER_NAME], serverCommand: '' },
        mcpServers: server === null ? {} : { [MCP_SERVER_NAME]: serverSettings(server) },
        ...(request.thinking === null ? {} : { modelConfigs: thinkingSettings(request.thinking) }),
      }),
      [COMMAND_FILE]: 'prompt = "The message for you follows."\n',
      '.gemini/policies/run.toml': rules(tools, request.permissions, server !== null),
    },
    keeps: ['.gemini/tmp'], // Where the sessions are.
    env: { ...ENV, [HOME_VARIABLE]: directory },
  };
}

/**
 * In the user's own home, because the working directory, which is ours, has settings that outweigh the user's. What remains
 * of those: `GEMINI.md` in `~/.gemini`, and the session that the client saves there.
 */
function question(request: OwnRequest, instructions: string): OwnCommand {
  return {
    args: [...FLAGS, ...['--allowed-mcp-server-names', 'none'], ...modelArgs(request)],
    // A slash in the very first place would be a command of the user's own.
    stdin: `\n${withJoiners(request.prompt)}`,
    files: { '.gemini/settings.json': JSON.stringify(QUESTION_SETTINGS), [INSTRUCTIONS_FILE]: instructions },
    env: {
      ...ENV,
      GEMINI_CLI_TRUST_WORKSPACE: 'true', // `--skip-trust` comes too late for the settings to count.
      GEMINI_SYSTEM_MD: INSTRUCTIONS_FILE,
    },
    passedOn: [HOME_VARIABLE],
  };
}

function modelArgs({ model }: OwnRequest): string[] {
  return model === null ? [] : [`--model=${model}`];
}

const SETTINGS = {
  security: {
    // Put in by the client itself, from its environment; without the variable it goes by the others.
    auth: { selectedType: `\${${LOGIN_KIND}:-}` },
    folderTrust: { enabled: false }, // Otherwise a project without trust is an error.
    environmentVariableRedaction: { enabled: true }, // Commands are not to see the login.
  },
  hooksConfig: { enabled: false },
  tools: { allowed: [], discoveryCommand: '', callCommand: '', sandbox: false },
  skills: { enabled: false },
  experimental: { enableAgents: false },
  context: { loadMemoryFromIncludeDirectories: false },
  general: {
    ...{ enableAutoUpdate: false, checkpointing: { enabled: false } },
    ...{ sessionRetention: { enabled: false }, plan: { enabled: false } },
  },
  ...{ privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false }, ide: { enabled: false } },
  advanced: { ignoreLocalEnv: true }, // The client would look for a `.env` in every directory above.
} as const;

const { security: _, ...OF_THE_USER } = SETTINGS;
const QUESTION_SETTINGS = {
  ...OF_THE_USER,
  tools: { ...SETTINGS.tools, core: [] },
  mcp: { allowed: [], serverCommand: '' },
  useWriteTodos: false,
  context: { ...SETTINGS.context, includeDirectoryTree: false },
  model: {
    maxSessionTurns: 3, // A model that calls tools which are not there gets no further.
    disableLoopDetection: true, // It takes lists with many like lines for a loop, and drops all that was said.
  },
  general: { ...SETTINGS.general, maxAttempts: 3 },
};

function serverSettings({ entry, only, except }: ShownServer): Json {
  const { timeoutMs: timeout, ...started } = entry;
  const shown = only === null ? {} : { includeTools: only };
  return {
    ...started,
    timeout,
    trust: true,
    ...shown,
    ...(except.length === 0 ? {} : { excludeTools: except }),
  };
}

/**
 * Whatever has no rule of its own is denied, and so is a command that would run on in the background. A pattern that every
 * command fits keeps the client from asking about single ones, as it does about those that redirect or call Git. A rule
 * that denies every call by a pattern leaves the tool offered, so that who wants it is told, and heard.
 */
function rules(tools: readonly string[], permissions: Permissions, hasServer: boolean): string {
  const background = [
    'toolName = "run_shell_command"',
    `argsPattern = '"is_background":\\s*true'`,
    'denyMessage = "Nothing can run in the background here."',
  ];
  const server = ['toolName = "*"', `mcpName = "${MCP_SERVER_NAME}"`];
  return [
    rule(background, 'deny', 999),
    ...tools.flatMap((tool) => toolRules(tool, permissions)),
    ...(hasServer ? [rule(server, 'allow', 900)] : []),
    rule(['toolName = "*"'], 'deny', 800),
  ].join('\n');
}

const ANY_CALL = "argsPattern = '[{]'";

function toolRules(tool: string, permissions: Permissions): string[] {
  const named = `toolName = "${tool}"`;
  if (tool === 'run_shell_command') return commandRulesOf(named, permissions);
  const kind = TOOLS[tool] ?? 'read';
  const isKept = parseRules(permissions.deny).some((rule) => rule.tool === policyName(tool));
  const isFree = kind === 'read' || kind === 'todo' || mayUse(kind, permissions);
  return isFree && !isKept ? [rule([named], 'allow', 900)] : [rule([named, ANY_CALL], 'deny', 850)];
}

/** A rule that the client has no form for does not widen what may be run; one that denies keeps all commands back. */
function commandRulesOf(named: string, permissions: Permissions): string[] {
  const { others, allow, deny } = commandRules(permissions);
  const starting = (calls: string) => {
    const start = commandStart(calls);
    return start === undefined ? [] : [`commandPrefix = ${JSON.stringify(start)}`];
  };
  const denied = deny.map(starting);
  const isKnown = denied.every((lines) => lines.length > 0);
  const anyCommand = [`argsPattern = '"command":'`, 'allowRedirection = true'];
  // Also behind a variable that is set for it, behind another program, and by its path.
  const behind = deny.flatMap((calls) => {
    const words = RegExp.escape(JSON.stringify(commandStart(calls) ?? '').slice(1, -1));
    return `argsPattern = ${JSON.stringify(`"command":".*[ /]${words}[ "\\\\]`)}`;
  });
  return [
    ...[...denied.flat(), ...behind].map((line) => rule([named, line], 'deny', 950)),
    ...(isKnown ? allow.flatMap(starting).map((line) => rule([named, line], 'allow', 900)) : []),
    others && isKnown ? rule([named, ...anyCommand], 'allow', 900) : rule([named, ANY_CALL], 'deny', 850),
  ];
}

function rule(lines: readonly string[], decision: 'allow' | 'deny', priority: number): string {
  return ['[[rule]]', ...lines, `decision = "${decision}"`, `priority = ${priority}`, ''].join('\n');
}

/** By the names that the client has for all models of a generation: the earlier take a budget, the later a level. */
function thinkingSettings(thinking: Thinking): Json {
  const override = (base: string, thinkingConfig: Json) => ({
    match: { model: base },
    modelConfig: { generateContentConfig: { thinkingConfig } },
  });
  const earlier = override('chat-base-2.5', { thinkingBudget: BUDGETS[thinking] });
  return { customOverrides: [earlier, override('chat-base-3', { thinkingLevel: thinking.toUpperCase() })] };
}

/** In tokens, for the levels that the client has. */
const BUDGETS: Partial<Record<Thinking, number>> = { low: 1024, medium: 8192, high: 24_576 };
