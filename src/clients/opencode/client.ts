import type { Json } from '../../core/guards.ts';
import {
  commandRules,
  commandStart,
  mayUse,
  type Permissions,
  parseRules,
  pathRules,
} from '../../runs/model/permissions.ts';
import { isToolAllowed } from '../../runs/model/tool-policy.ts';
import type { Client, OwnCommand, OwnRequest } from '../client.ts';
import { hookCalls, MCP_SERVER_NAME, type OwnTools } from '../tools.ts';
import { OPENCODE_PLACES, opencodeConfiguration } from './configuration.ts';
import { opencodeSessions } from './session-store.ts';
import { OpencodeReader } from './stream.ts';

/** All that a child may be offered, by the names of the client's permissions. */
const TOOLS: OwnTools = {
  ...{ bash: 'exec', glob: 'read', grep: 'read', list: 'read' },
  ...{ read: 'read', todowrite: 'todo', webfetch: 'web_fetch', websearch: 'web_search' },
};

/**
 * OpenCode as a sub-agent, measured with 1.18.33.
 *
 * The child is an agent of our own, to whom everything is denied but the tools of a list; what is denied is not offered.
 * One permission is for all tools that write, so a policy that denies one of `write` and `edit` denies both. A policy is
 * about tools: what a command does is not looked at.
 *
 * The user's and the project's configuration, instructions, plugins and commands are not read; the login is, which is
 * with the user's data, and what the user's configuration says of providers is carried over. What remains: settings of
 * an administrator, and those that a login brings with it; the `AGENTS.md` beside a file that is read, below the working
 * directory, which goes with the file.
 *
 * Each run has a database of its own for its sessions: of several clients that find none, or an older one, all but the
 * first fail. A login of `opencode console` is in the user's database, and so not for a child.
 */
export const opencode: Client = {
  name: 'opencode',
  title: 'OpenCode',
  npmPackage: 'opencode-ai',
  keepsBudget: false,
  politeSignal: 'SIGTERM',
  thinking: ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  version: { read: (stdout) => /^v?(\d+\.\d+\.\d+\S*)\s*$/m.exec(stdout)?.[1], measured: ['1.18.33'] },
  gaps: () => [],
  ruleGaps: pathRules,
  modelProblem: (model) => (/^[^/]+\/.+/.test(model) ? undefined : 'opencode names models as provider/model'),
  tools: TOOLS,
  command,
  attach: ({ id, kept }) => ({ args: ['--session', id], env: { OPENCODE_DB: databaseIn(kept) } }),
  reader: (start) => new OpencodeReader(start),
  hookCalls: (call) => hookCalls({ ...call, tool: withServer(call.tool) }),
  sessions: opencodeSessions,
  ...opencodeConfiguration,
};

/** The client's own that are named like the tool of a server. */
const UNDERSCORED = ['apply_patch', 'plan_enter', 'plan_exit'];

/** A server's tool as other clients call it; here it is `<server>_<tool>`. */
function withServer(tool: string): string {
  const isOwn = UNDERSCORED.includes(tool) || tool.startsWith('mcp__');
  return isOwn ? tool : tool.replace(/^([^_]+)_/, 'mcp__$1__');
}

/** Never for a child, said once more. */
const DENIED = ['task', 'skill', 'question', 'plan_enter', 'plan_exit', 'doom_loop', 'lsp'];
const AGENT = 'self-generation-sub-agent';
const TITLE = 'sub-agent';
const CONFIGURATION_DIRECTORY = 'opencode-home';
const SESSIONS_DIRECTORY = 'opencode-sessions';
const SHELL_FILE = 'shell-env.sh';
const PLUGIN_PACKAGE = { dependencies: { '@opencode-ai/plugin': '*' } };

function command(request: OwnRequest): OwnCommand {
  const { session, model, thinking, directory } = request;
  return {
    args: [
      'run',
      ...['--format', 'json', '--thinking'],
      '--pure', // Without plugins.
      ...(session.kind === 'resume' ? [`--session=${session.id}`] : []),
      ...['--agent', AGENT],
      ...['--title', TITLE], // Otherwise the model is asked for one.
      ...['--print-logs', '--log-level', 'INFO'], // Which model answers stands nowhere else.
      ...(model === null ? [] : [`--model=${model}`]),
      // A model's variants are its provider's; one that it does not have changes nothing.
      ...(thinking === null ? [] : [`--variant=${thinking === 'off' ? 'none' : thinking}`]),
    ],
    stdin: request.prompt,
    files: files(request),
    keeps: session.kind === 'once' ? [] : [SESSIONS_DIRECTORY],
    env: {
      ...ENV,
      XDG_CONFIG_HOME: `${directory}/${CONFIGURATION_DIRECTORY}`,
      BASH_ENV: `${directory}/${SHELL_FILE}`,
      OPENCODE_TEST_HOME: directory, // `~/.opencode` is a configuration directory too.
      OPENCODE_DB: session.kind === 'once' ? ':memory:' : databaseIn(directory),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(configuration(request)),
    },
    passedOn: OPENCODE_PLACES,
  };
}

function databaseIn(directory: string): string {
  return `${directory}/${SESSIONS_DIRECTORY}/opencode.db`;
}

/** What is stronger than every other configuration. */
function configuration(request: OwnRequest): object {
  const { route, session } = request;
  const permission = toolRules(request);
  const prompt = session.kind === 'once' ? { prompt: session.instructions } : {};
  return {
    ...route.settings,
    agent: { [AGENT]: { mode: 'primary', ...prompt, permission } },
    permission: { '*': 'deny' },
    instructions: [],
    share: 'disabled',
    autoupdate: false,
    snapshot: false, // A copy of the whole repository, for an undo that nobody will ask for.
    lsp: false, // Servers that outlive the turn.
  };
}

/** The last rule that fits decides. */
function toolRules({ policy, permissions, tools, server }: OwnRequest): Readonly<Json> {
  // All that write go together; a list of what is allowed need not name the one that only some models have.
  const canPatch = isToolAllowed({ ...policy, allow: null }, 'apply_patch');
  const canEdit = canPatch && ['edit', 'write'].every((name) => isToolAllowed(policy, name));
  const allowed = [...tools, ...(canEdit ? ['edit'] : [])];
  const denied = [...Object.keys(TOOLS), 'edit', ...DENIED].filter((name) => !allowed.includes(name));
  const own = (name: string) => `${MCP_SERVER_NAME}_${name}`;
  const allowedOwn = server === null ? [] : (server.only ?? ['*']);
  return {
    '*': 'deny',
    external_directory: mayUse('exec', permissions) ? 'allow' : OUTSIDE,
    ...all([...allowed, ...allowedOwn.map(own)], 'allow'),
    ...Object.fromEntries(allowed.flatMap((name) => keptBack(name, permissions))),
    ...all([...denied, ...(server?.except ?? []).map(own)], 'deny'),
  };
}

/** Denied by a pattern that fits all, a tool is still offered, so that who wants it is told, and heard. */
const EVERY_CALL = { '?*': 'deny' };
/** The client keeps long outputs there, for its model to read on. */
const OUTSIDE = { ...EVERY_CALL, '*/opencode/tool-output/*': 'allow' };

function keptBack(name: string, permissions: Permissions): [string, unknown][] {
  const kind = name === 'edit' ? 'edit' : TOOLS[name];
  if (kind === 'exec') return [[name, commandPatterns(permissions)]];
  if (kind === 'read') {
    // By the client's own rules for the tool; those of other clients are gaps.
    const rules = parseRules(permissions.deny).filter(({ tool }) => tool === name);
    const patterns = rules.map(({ calls }) => calls ?? '?*');
    return rules.length === 0 ? [] : [[name, { '*': 'allow', ...all(patterns, 'deny') }]];
  }
  if (kind === undefined || kind === 'todo' || mayUse(kind, permissions)) return [];
  return [[name, kind === 'edit' ? EVERY_CALL : 'deny']];
}

function commandPatterns(permissions: Permissions): 'allow' | Readonly<Record<string, string>> {
  const { others, allow, deny } = commandRules(permissions);
  if (others && deny.length === 0) return 'allow';
  return {
    '?*': others ? 'allow' : 'deny',
    ...all(allow.flatMap(allowedPatterns), 'allow'),
    ...(others ? {} : { '*>*': 'deny' }), // Who may run a command may not write into any file with it.
    ...all(deny.flatMap(deniedPatterns), 'deny'),
  };
}

/** A rule of another form, or with what only here stands for any letter, does not widen what may be run. */
function allowedPatterns(calls: string): string[] {
  const start = commandStart(calls);
  if (/\?|\*:\*$/.test(calls)) return [];
  return start === undefined ? [calls] : [start, `${start} *`];
}

/** Also behind a variable that is set for it, behind another program, and by its path. */
function deniedPatterns(calls: string): string[] {
  const start = commandStart(calls);
  const patterns = start === undefined ? [calls.replace(/:\*$/, '*')] : [start, `${start} *`];
  return patterns.flatMap((pattern) => [pattern, `* ${pattern}`, `*/${pattern}`]);
}

function all(names: readonly string[], action: 'allow' | 'deny'): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, action]));
}

/**
 * The client installs a package into each configuration directory, unless it looks as if it were there already. Our
 * server stands in a file, not in the environment that the child's commands see. Those commands get back the
 * configuration of other programs, which is below the same variable: of Git in any case, of all where a shell is Bash.
 */
function files({ server }: OwnRequest): Readonly<Record<string, string>> {
  const { command: program = '', args = [], env: environment = {}, timeoutMs: timeout } = server?.entry ?? {};
  const entry = { type: 'local', command: [program, ...args], environment, enabled: true, timeout };
  const servers = server === null ? {} : { [MCP_SERVER_NAME]: entry };
  const lock = { lockfileVersion: 3, packages: { '': PLUGIN_PACKAGE } };
  return {
    [`${CONFIGURATION_DIRECTORY}/opencode/node_modules/.keep`]: '',
    [`${CONFIGURATION_DIRECTORY}/opencode/package.json`]: JSON.stringify(PLUGIN_PACKAGE),
    [`${CONFIGURATION_DIRECTORY}/opencode/package-lock.json`]: JSON.stringify(lock),
    [`${CONFIGURATION_DIRECTORY}/opencode/opencode.json`]: JSON.stringify({ mcp: servers }),
    [`${CONFIGURATION_DIRECTORY}/git/config`]: GIT_CONFIGURATION,
    [SHELL_FILE]: 'unset BASH_ENV XDG_CONFIG_HOME OPENCODE_CONFIG_CONTENT\n',
  };
}

const GIT_CONFIGURATION = `[core]
\texcludesFile = ~/.config/git/ignore
\tattributesFile = ~/.config/git/attributes
[include]
\tpath = ~/.config/git/config
`;

const ENV: Readonly<Record<string, string>> = {
  ...{ OPENCODE_DISABLE_PROJECT_CONFIG: '1', OPENCODE_DISABLE_CLAUDE_CODE: '1' },
  ...{ OPENCODE_DISABLE_EXTERNAL_SKILLS: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
  ...{ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_SHARE: '1' },
};
