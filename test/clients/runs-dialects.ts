import { join } from 'node:path';
import type { ToolCall } from './one-shot-dialects.ts';
import { inPlace } from './one-shot-users.ts';

/** How Claude Code and OpenCode name what their sub-agents can do, and what a project may bring for them. */

/** What must never be in a question: of the project, nothing is read by the client itself. */
export const PROJECT = 'the-words-of-the-project';

/** What is particular to a client. */
export type Dialect = {
  readonly model: string;
  readonly unknownModel: string;
  readonly tools: readonly string[];
  /** Without what runs commands and what writes. */
  readonly readingTools: readonly string[];
  readonly server: (tool: string) => string;
  readonly read: (path: string) => ToolCall;
  readonly edit: (path: string, from: string, to: string) => ToolCall;
  readonly write: (path: string) => ToolCall;
  readonly command: (command: string) => ToolCall;
  readonly agents: readonly ToolCall[];
  /** In the project: settings, servers, plugins and instructions that a child must not take up. */
  readonly project: (marks: string) => Readonly<Record<string, string>>;
  /** What the client has and takes up when it is started plainly. */
  readonly plainTools: readonly string[];
  readonly projectMarks: readonly string[];
};

/** The command that leaves a mark. */
export const touch = (marks: string, mark: string) => `touch '${join(marks, mark)}'`;
const agent = { description: 'x', prompt: 'x', subagent_type: 'general-purpose' };

export const DIALECTS: Readonly<Record<'claude' | 'opencode', Dialect>> = {
  claude: {
    model: 'haiku',
    unknownModel: 'nosuch',
    tools: ['Bash', 'Edit', 'Glob', 'Grep', 'NotebookEdit', 'Read', 'WebFetch', 'WebSearch', 'Write'],
    readingTools: ['Glob', 'Grep', 'Read', 'WebFetch', 'WebSearch'],
    server: (tool) => `mcp__self-generation__${tool}`,
    read: (file_path) => ({ name: 'Read', input: { file_path } }),
    edit: (file_path, old_string, new_string) => ({
      name: 'Edit',
      input: { file_path, old_string, new_string },
    }),
    write: (file_path) => ({ name: 'Write', input: { file_path, content: 'x' } }),
    command: (command) => ({ name: 'Bash', input: { command, description: 'x' } }),
    agents: [
      { name: 'Task', input: agent },
      { name: 'Agent', input: agent },
      { name: 'Bash', input: { command: 'sleep 60', description: 'x', run_in_background: true } },
      { name: 'ScheduleWakeup', input: { delaySeconds: 60, reason: 'x', prompt: 'x' } },
    ],
    project: (marks) => ({
      '.claude/settings.json': JSON.stringify({
        hooks: { SessionStart: [{ hooks: [{ type: 'command', command: touch(marks, 'project-hook') }] }] },
        permissions: { allow: ['Task', 'Agent'] },
      }),
      '.claude/agents/helper.md': `---\nname: helper\ndescription: ${PROJECT}\n---\n${PROJECT}`,
      '.mcp.json': JSON.stringify({
        mcpServers: { p: { command: 'touch', args: [join(marks, 'project-mcp')] } },
      }),
    }),
    plainTools: ['Task', 'Agent'],
    projectMarks: ['project-hook', 'project-mcp'],
  },
  opencode: {
    model: 'scripted/some-model',
    unknownModel: 'scripted/nosuch',
    tools: ['bash', 'edit', 'glob', 'grep', 'read', 'todowrite', 'webfetch', 'write'],
    readingTools: ['glob', 'grep', 'read', 'todowrite', 'webfetch'],
    server: (tool) => `self-generation_${tool}`,
    read: (filePath) => ({ name: 'read', input: { filePath } }),
    edit: (filePath, oldString, newString) => ({ name: 'edit', input: { filePath, oldString, newString } }),
    write: (filePath) => ({ name: 'write', input: { filePath, content: 'x' } }),
    command: (command) => ({ name: 'bash', input: { command, description: 'x' } }),
    agents: [
      { name: 'task', input: { ...agent, subagent_type: 'general' } },
      { name: 'skill', input: { name: 'x' } },
    ],
    project: (marks) => ({
      'opencode.json': JSON.stringify({
        mcp: { p: { type: 'local', command: ['touch', join(marks, 'project-mcp')] } },
        permission: { task: 'allow' },
        instructions: ['CONTEXT.md'],
      }),
      ...inPlace('.opencode'),
      '.opencode/agent/helper.md': `---\ndescription: ${PROJECT}\nmode: subagent\n---\n${PROJECT}`,
      'CONTEXT.md': PROJECT,
    }),
    plainTools: ['task'],
    projectMarks: ['project-mcp'],
  },
};
