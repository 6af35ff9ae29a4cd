import type { CliContext } from './context.ts';

/** What the clients set for whatever their agents run. */
const AGENT_MARKS = ['CLAUDECODE', 'AI_AGENT'];

/** By what an agent seems to run this; undefined for a person. */
export function agentMark({ env }: Pick<CliContext, 'env'>): string | undefined {
  return AGENT_MARKS.find((name) => env[name]);
}
