import type { Command } from 'commander';
import { ExploreAgent } from '../../runs/context/agents.ts';
import { readInput } from '../../system/files.ts';
import { type CliContext, subcommand } from '../context.ts';
import { printJson } from '../output.ts';
import { type RunsHere, withRunsHere } from '../subagents/runs-here.ts';
import {
  AGENT_CODES,
  type AgentFlags,
  readTask,
  requestHanding,
  resultJson,
  tellOnce,
  tellResult,
  withAgentOptions,
  withAgents,
} from './agent-call.ts';
import { withHandoverOptions } from './handover-options.ts';

const AFTER = `

The agent reads and searches, and changes nothing. A file that its answer names and that it has not read is marked
(unverified). It is handed nothing of a conversation unless you say what. Ctrl-C stops it.
${AGENT_CODES}`;

/** `explore`: has a question about the project looked up by an agent that only reads. */
export function exploreCommand(context: CliContext, read = readInput): Command {
  const description = 'have a question about the project looked up by an agent that only reads';
  const calls = [
    "'Where are sessions expired, and what tests that?'",
    "--client codex --max-iterations 8 'Which settings are read at start?'",
    "--context recent --recent 6 'What else has to change for this?'",
  ];
  const command = subcommand(
    'explore',
    { description, calls, after: AFTER },
    context,
    (flags: AgentFlags, words: readonly string[]) =>
      withRunsHere({ context, read }, flags, 'explore', (here) => explore(here, flags, words)),
  ).argument('[query...]', 'what to find out; "-" reads it from standard input');
  return withHandoverOptions(withAgentOptions(command));
}

async function explore(here: RunsHere, flags: AgentFlags, words: readonly string[]): Promise<void> {
  const query = await readTask('explore', words, here);
  const request = await requestHanding('explore', query, flags, here);
  const { result } = await withAgents(request, here, async (setting) => {
    return { result: await new ExploreAgent('explore', setting).run(query, { task: query }) };
  });
  const tell = () => {
    if (here.isJson) printJson(resultJson('explore', result, here), here.context);
    else tellResult('explore', result, here);
  };
  await tellOnce(result, tell, here);
}
