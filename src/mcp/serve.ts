import type { RunsWorld } from '../subagents/features.ts';

/** The process that the server runs in; where the state lies follows from its environment. */
export type McpProcess = Omit<RunsWorld, 'paths'>;

/** The MCP server on standard input and output. Resolves when standard input has ended; never ends the process. */
export async function serveMcp(_process: McpProcess): Promise<void> {}
