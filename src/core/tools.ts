/** The client's tools, as far as what they did can be learned from. */

const EDITING = new Set(['Edit', 'Write', 'MultiEdit', 'NotebookEdit']);
const FILE = new Set([...EDITING, 'Read']);

/** Whether the tool changes the file that it is called on. */
export function isEditingTool(tool: string): boolean {
  return EDITING.has(tool);
}

/** Whether the tool is called on one file. */
export function isFileTool(tool: string): boolean {
  return FILE.has(tool);
}

/** The tool that starts a sub-agent: `Task` until 2.1.62, `Agent` since. */
export function isAgentTool(tool: string): boolean {
  return tool === 'Agent' || tool === 'Task';
}

/** Whether the tool runs a shell command. */
export function isShellTool(tool: string): boolean {
  return tool === 'Bash' || tool === 'PowerShell';
}
