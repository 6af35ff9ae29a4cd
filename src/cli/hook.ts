import { Argument, type Command } from 'commander';
import { HOOKS } from '../hooks/hook-names.ts';
import { type CliContext, EXIT, newCommand } from './context.ts';

const HOOK_EXAMPLES = `
Without NAME the event on standard input decides. A hook ends with 0 whatever happens and says nothing but its answer.

Examples:
  $ self-generation hook subagent-context < event.json
  $ self-generation hook < event.json
  $ self-generation hook applied s1a2b3c4d5e < event.json      the hook of an applied suggestion

Exit codes: 0 ran, 1 no such hook. Never 2: the client would take that for a veto.`;

/**
 * `hook`: what the client runs. The program's entry point has run it before anything else was loaded; a call that
 * comes here is one for help, or a wrong one.
 */
export function hookCommand(context: CliContext): Command {
  const command = newCommand('hook', context)
    .description('run one hook on the event on standard input; the client does that')
    .addArgument(new Argument('[name]').choices([...HOOKS.map((hook) => hook.name), 'applied']))
    .argument('[id]', 'of the suggestion, for an applied one')
    .addHelpText('after', HOOK_EXAMPLES)
    .exitOverride((error) => {
      if (error.exitCode !== 0) context.setExitCode(EXIT.failed);
      throw error;
    })
    .action((name?: string) => {
      const missing =
        name === 'applied'
          ? 'an applied hook is called by the id of its suggestion'
          : 'a hook reads its event from standard input';
      command.error(`error: ${missing}`);
    });
  return command;
}
