import { expect, test } from 'bun:test';
import { isAgentTool, isEditingTool, isFileTool } from '../../src/lessons/command.ts';

type Row = { tool: string; edits?: true; file?: true; agent?: true };
const rows: Row[] = [
  { tool: 'Edit', edits: true, file: true },
  { tool: 'Write', edits: true, file: true },
  { tool: 'MultiEdit', edits: true, file: true },
  { tool: 'NotebookEdit', edits: true, file: true },
  { tool: 'Read', file: true },
  { tool: 'Agent', agent: true },
  { tool: 'Task', agent: true },
  { tool: 'Bash' },
  { tool: 'Grep' },
  { tool: 'TaskCreate' },
  { tool: 'edit' },
  { tool: 'mcp__files__Edit' },
  { tool: '' },
  { tool: 'constructor' },
];
for (const { tool, edits = false, file = false, agent = false } of rows) {
  test(`isEditingTool() is ${edits} when the tool is ${tool}`, () => expect(isEditingTool(tool)).toBe(edits));
  test(`isFileTool() is ${file} when the tool is ${tool}`, () => expect(isFileTool(tool)).toBe(file));
  test(`isAgentTool() is ${agent} when the tool is ${tool}`, () => expect(isAgentTool(tool)).toBe(agent));
}
