import type { Environment } from '../core/state-paths.ts';
import { thisProcess } from '../subagents/world.ts';
import { serveMcp } from './serve.ts';

/** The whole process of the MCP server: it ends when its client has closed standard input. */
export function mcpProcess(): Promise<void> {
  const world = thisProcess();
  return serveMcp({ ...world, env: withoutEmpty(world.env) });
}

/** A variable that a client filled in with nothing, or did not know how to fill in, is none. */
function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== '' && !/^\$\{\w+:-\}$/.test(value ?? '')),
  );
}
