import type { Command } from 'commander';
import { type CliContext, newCommand, seeHelp } from './context.ts';

const HELP = `
Serves tools to an agent: known errors and what solved them, background sub-agents (start, list, ask, stop), explore, plan and
orchestrate. With --knowledge it is one tool, known_errors, which only looks.

"self-generation install --mcp" registers it with the clients that are there, "install --mcp claude codex" with these; the
plugin of Claude Code brings it. By hand, in any client that reads such a list:

  "mcpServers": {
    "self-generation": { "command": "~/.self-generation/hooks/self-generation", "args": ["mcp"] }
  }

Put the whole path in place of ~ where the client does not.

Examples:
  $ self-generation install --mcp
  $ claude mcp add self-generation -- ~/.self-generation/hooks/self-generation mcp --knowledge

Exit codes: 0 the client has closed its end, 1 failed, 2 wrong usage.`;

/** `mcp`: what the client runs. main.ts itself runs the server; only calls for help and wrong calls come here. */
export function mcpCommand(context: CliContext): Command {
  const command = newCommand('mcp', context)
    .description('serve the tools for agents (MCP) on standard input and output; the client does that')
    .option('--knowledge', 'only the tool that looks up known errors')
    .addHelpText('after', HELP);
  return command.action(() => command.error(`error: give each option once. ${seeHelp('mcp')}`));
}
