import { join } from 'node:path';
import type { ClientName } from '../support/clients.ts';
import type { ToolCall } from './one-shot-dialects.ts';

/** How the clients name what their sub-agents can do, and what a project may bring for them. */

/** What must never be in a question: of the project, nothing is read by the client itself. */
export const PROJECT = 'the-words-of-the-project';

/** What is particular to a client. */
export type Dialect = {
  readonly model: string;
  readonly unknownModel: string;
  /** All that a child is offered, and what it is of that when nothing may write, run or reach the web. */
  readonly tools: readonly string[];
  readonly harmlessTools: readonly string[];
  readonly read: (path: string) => ToolCall;
  /** Puts `line 1` in the place of `line one`. */
  readonly edit: (path: string) => ToolCall;
  readonly write: (path: string) => ToolCall;
  readonly command: (command: string) => ToolCall;
  /** A tool of our server. */
  readonly server: (tool: string) => Omit<ToolCall, 'input'>;
  /** The client's own ways to agents and to commands in the background. */
  readonly agents: readonly ToolCall[];
  /** In the project: settings, servers, plugins and instructions that a child must not take up. */
  readonly project: (marks: string) => Readonly<Record<string, unknown>>;
  /** What the client has and takes up when it is started plainly. */
  readonly plainTools: readonly string[];
  readonly projectMarks: readonly string[];
};

/** A configuration directory of OpenCode's that looks as if its package had been installed into it already. */
const PACKAGE = { dependencies: { '@opencode-ai/plugin': '*' } };
export const inPlace = (directory: string) => ({
  [`${directory}/node_modules/.keep`]: '',
  [`${directory}/package.json`]: JSON.stringify(PACKAGE),
  [`${directory}/package-lock.json`]: JSON.stringify({ lockfileVersion: 3, packages: { '': PACKAGE } }),
});

/** The command that leaves a mark. */
export const touch = (marks: string, mark: string) => `touch '${join(marks, mark)}'`;
const hooks = (marks: string) => ({
  SessionStart: [{ hooks: [{ type: 'command', command: touch(marks, 'project-hook') }] }],
});
const servers = (marks: string) => ({ p: { command: 'touch', args: [join(marks, 'project-mcp')] } });
const patch = (lines: string) => ({
  name: 'apply_patch',
  input: `*** Begin Patch\n*** ${lines}\n*** End Patch`,
});
const call = (name: string, input: ToolCall['input']): ToolCall => ({ name, input });
const agent = { description: 'x', prompt: 'x', subagent_type: 'general-purpose' };
const replaced = { old_string: 'line one', new_string: 'line 1' };

export const DIALECTS: Readonly<Record<ClientName, Dialect>> = {
  claude: {
    model: 'haiku',
    unknownModel: 'nosuch',
    tools: ['Bash', 'Edit', 'Glob', 'Grep', 'NotebookEdit', 'Read', 'WebFetch', 'WebSearch', 'Write'],
    harmlessTools: ['Glob', 'Grep', 'Read'],
    read: (file_path) => call('Read', { file_path }),
    edit: (file_path) => call('Edit', { file_path, ...replaced }),
    write: (file_path) => call('Write', { file_path, content: 'x' }),
    command: (command) => call('Bash', { command, description: 'x' }),
    server: (tool) => ({ name: `mcp__self-generation__${tool}` }),
    agents: [
      call('Task', agent),
      call('Agent', agent),
      call('Bash', { command: 'sleep 60', description: 'x', run_in_background: true }),
      call('ScheduleWakeup', { delaySeconds: 60, reason: 'x', prompt: 'x' }),
    ],
    project: (marks) => ({
      'CLAUDE.md': PROJECT,
      '.claude/settings.json': { hooks: hooks(marks), permissions: { allow: ['Task', 'Agent'] } },
      '.claude/agents/helper.md': `---\nname: helper\ndescription: ${PROJECT}\n---\n${PROJECT}`,
      '.mcp.json': { mcpServers: servers(marks) },
    }),
    plainTools: ['Agent'],
    projectMarks: ['project-hook', 'project-mcp'],
  },
  codex: {
    model: 'gpt-5.5',
    unknownModel: 'nosuch',
    tools: ['apply_patch', 'exec_command', 'view_image', 'web_search', 'write_stdin'],
    harmlessTools: ['apply_patch', 'view_image'], // The first is refused by the sandbox.
    read: (path) => call('exec_command', { cmd: `sleep 0.2; cat '${path}'` }),
    edit: (path) => patch(`Update File: ${path}\n@@\n-line one\n+line 1`),
    write: (path) => patch(`Add File: ${path}\n+x`),
    command: (command) => call('exec_command', { cmd: `sleep 0.2; ${command}` }),
    server: (name) => ({ name, namespace: 'mcp__self_generation' }),
    agents: [
      call('spawn_agent', { message: 'x' }),
      { ...call('spawn_agent', { message: 'x' }), namespace: 'multi_agent_v1' },
      { ...call('spawn_agent', { task_name: 'x', message: 'x' }), namespace: 'collaboration' },
    ],
    project: (marks) => ({
      '.codex/hooks.json': { hooks: hooks(marks) },
      '.codex/config.toml': `[mcp_servers.p]\ncommand = "touch"\nargs = ["${join(marks, 'project-mcp')}"]`,
    }),
    plainTools: ['spawn_agent'],
    projectMarks: [],
  },
  gemini: {
    model: 'gemini-2.5-flash',
    unknownModel: 'nosuch',
    tools: [
      ...['glob', 'google_web_search', 'grep_search', 'list_directory', 'read_file', 'replace'],
      ...['run_shell_command', 'web_fetch', 'write_file', 'write_todos'],
    ],
    harmlessTools: ['glob', 'grep_search', 'list_directory', 'read_file', 'write_todos'],
    read: (file_path) => call('read_file', { file_path }),
    edit: (file_path) => call('replace', { file_path, ...replaced, instruction: 'x' }),
    write: (file_path) => call('write_file', { file_path, content: 'x' }),
    command: (command) => call('run_shell_command', { command, description: 'x' }),
    server: (tool) => ({ name: `mcp_self-generation_${tool}` }),
    agents: [
      call('invoke_agent', { agent_name: 'generalist', prompt: 'x' }),
      call('run_shell_command', { command: 'sleep 300', is_background: true }),
    ],
    project: (marks) => ({
      'GEMINI.md': PROJECT,
      '.gemini/.env': `THE_PROJECT=${PROJECT}`,
      '.gemini/agents/mine.md': `---\nname: mine\ndescription: ${PROJECT}\nkind: local\n---\n${PROJECT}`,
      '.gemini/settings.json': {
        context: { fileName: 'AGENTS.md' },
        tools: { core: ['invoke_agent'] },
        mcpServers: servers(marks),
        hooks: hooks(marks),
      },
    }),
    plainTools: [],
    projectMarks: [],
  },
  opencode: {
    model: 'scripted/some-model',
    unknownModel: 'scripted/nosuch',
    tools: ['bash', 'edit', 'glob', 'grep', 'read', 'todowrite', 'webfetch', 'write'],
    harmlessTools: ['glob', 'grep', 'read', 'todowrite'],
    read: (filePath) => call('read', { filePath }),
    edit: (filePath) => call('edit', { filePath, oldString: 'line one', newString: 'line 1' }),
    write: (filePath) => call('write', { filePath, content: 'x' }),
    command: (command) => call('bash', { command, description: 'x' }),
    server: (tool) => ({ name: `self-generation_${tool}` }),
    agents: [call('task', { ...agent, subagent_type: 'general' }), call('skill', { name: 'x' })],
    project: (marks) => ({
      'opencode.json': {
        mcp: { p: { type: 'local', command: ['touch', join(marks, 'project-mcp')] } },
        permission: { task: 'allow' },
        instructions: ['CONTEXT.md'],
      },
      ...inPlace('.opencode'),
      '.opencode/agent/helper.md': `---\ndescription: ${PROJECT}\nmode: subagent\n---\n${PROJECT}`,
      'CONTEXT.md': PROJECT,
    }),
    plainTools: ['task'],
    projectMarks: ['project-mcp'],
  },
};
