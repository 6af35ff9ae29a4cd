import { thisProcess } from '../subagents/world.ts';
import { serveMcp } from './serve.ts';

/** The whole process of the MCP server: it ends when its client has closed standard input. */
export function mcpProcess(): Promise<void> {
  return serveMcp(thisProcess());
}
